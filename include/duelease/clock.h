// duelease/clock.h: where the engine gets its time from.
//
// Two uses: in production, system_clock(); in a test, a clock of your own that you move by hand, which
// is how years of leases and restarts are tested in seconds.
#pragma once

#include <chrono>
#include <memory>

#include "duelease/types.h"

namespace duelease {

// Milliseconds of a clock that never steps. Its zero is arbitrary and differs between processes, so a
// value means nothing on disk. Leases run on it.
struct MonotonicClock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};
using Monotonic = MonotonicClock::time_point;

// One reading of both clocks.
struct Now {
  Time wall{};
  Monotonic monotonic{};
};

// Must be safe to call from any thread. monotonic() must never go back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now now() const = 0;
};

// The machine's clocks (CLOCK_REALTIME and CLOCK_MONOTONIC).
std::shared_ptr<const Clock> system_clock();

}  // namespace duelease
