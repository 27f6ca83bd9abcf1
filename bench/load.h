// bench/load.h: the load generator: as many threads as connections, each with a connection of its own. The same for
// every target.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "histogram.h"
#include "ledger.h"
#include "payloads.h"
#include "target.h"

namespace duelease::bench {

// What is timed. `delay` is from due to delivered.
enum class Call : std::uint8_t { schedule, claim, complete, delay };
inline constexpr std::array all_calls = {Call::schedule, Call::claim, Call::complete, Call::delay};
const char* call_name(Call call);

using Latencies = std::array<Histogram, all_calls.size()>;

// One thread of the load.
struct Lane {
  Connection& connection;
  Latencies& latencies;
  const std::atomic<bool>& failed;  // Another one has: stop.
  unsigned batch;                   // Orders a call.
  // When what is measured was over; else it is when the work returns.
  std::optional<std::chrono::steady_clock::time_point> measured_until{};

  void schedule(const std::vector<NewOrder>& orders);
  std::vector<Handed> claim();
  void complete(const std::vector<Handed>& orders);
  void add(Call call, std::chrono::nanoseconds time) { latencies[static_cast<std::size_t>(call)].add(time); }
};

struct Loaded {
  double seconds = 0;  // From the first call to the end of the last.
  Latencies latencies;
};

// Runs `work` on each of the connections at once. A limit gets one connection instead, and as many orders a call as
// all of them together. Throws the Fault of the first lane that has one.
Loaded run_lanes(Target& target, unsigned connections, unsigned batch,
                 const std::function<void(Lane&)>& work);

// Due times are spread over `spread`, at random, the same in each run.
Time due_of(std::uint64_t number, Time earliest, Duration spread);
// The orders with numbers from `first` on.
std::vector<NewOrder> new_orders(std::uint64_t first, std::uint64_t count, Time earliest, Duration spread,
                                 const Payloads& payloads);

// Schedules them all, a thousand a call over 4 connections, not measured.
void fill(Target& target, std::uint64_t first, std::uint64_t count, Time earliest, Duration spread,
          const Payloads& payloads);

Time now();

}  // namespace duelease::bench
