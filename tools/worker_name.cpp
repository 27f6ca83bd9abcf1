#include "worker_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace duelease::tools {

std::vector<std::string> split_queues(std::string_view text) {
  std::vector<std::string> queues;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    queues.emplace_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return queues;
}

std::string default_worker_name() {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("{}:{}", std::string_view(host).substr(0, 100), ::getpid());
}

}  // namespace duelease::tools
