// bench/plan.h: what is measured, and what came out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace duelease::bench {

struct Plan {
  std::uint64_t orders = 500'000;
  unsigned threads = 4;
  unsigned batch = 100;
  std::size_t payload_bytes = 64;
  bool keeps_history = false;    // The engine's queue does.
  std::filesystem::path folder;  // Each round has a store of its own in it, removed afterwards.
};

struct Round {
  double seconds = 0;
  std::uint64_t lifecycles = 0;
  std::uint64_t bytes_written = 0;  // Handed to the operating system, from /proc/self/io.
  double rate() const { return seconds > 0 ? static_cast<double>(lifecycles) / seconds : 0; }
};

// Takes the time and the bytes of what happens between its construction and finish().
class Meter {
 public:
  Meter();
  Round finish(std::uint64_t lifecycles) const;

 private:
  std::chrono::steady_clock::time_point began_;
  std::uint64_t bytes_began_;
};

std::uint64_t resident_bytes();  // Of this process.

std::string order_id(std::uint64_t number);  // 16 bytes, in no particular order.

// A lifecycle is: schedule, claim, complete. Both end the program with a message when something is wrong.
Round run_engine(const Plan& plan);
// A bare loop on RocksDB that writes the same keys, and values of the same sizes, in the same groups.
Round run_bare(const Plan& plan);

}  // namespace duelease::bench
