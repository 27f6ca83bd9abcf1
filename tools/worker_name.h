// tools/worker_name.h: what `work` and `claim` have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duelease::tools {

// "a,b" -> "a", "b".
std::vector<std::string> split_queues(std::string_view text);

// Tells which host and which process of it holds a lease.
std::string default_worker_name();

}  // namespace duelease::tools
