// bench/round_json.h: a round as text, on its way from the process that ran it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "workloads.h"

namespace duelease::bench {

std::string text_of(const Round& round);
Round round_from_text(const std::string& text);

}  // namespace duelease::bench
