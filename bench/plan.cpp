#include "plan.h"

#include <cstdio>
#include <fstream>

namespace duelease::bench {

namespace {

std::uint64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "wchar:") return value;
  }
  return 0;
}

}  // namespace

Meter::Meter() : began_(std::chrono::steady_clock::now()), bytes_began_(bytes_written()) {}

Round Meter::finish(std::uint64_t lifecycles) const {
  Round round;
  round.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  round.lifecycles = lifecycles;
  round.bytes_written = bytes_written() - bytes_began_;
  return round;
}

std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    std::uint64_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

std::string order_id(std::uint64_t number) {
  // An odd factor permutes the 64-bit numbers: no two orders share an id, and neighbours lie far apart.
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number * 0x9e3779b97f4a7c15U));
  return text;
}

}  // namespace duelease::bench
