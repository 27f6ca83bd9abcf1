// support/manual_clock.h: a clock that a test moves by hand, for an engine with threads.
//
// An engine sleeps on the machine's clock, so after a move it has to be woken to see the new time: any change
// does that, also one that changes nothing (see look_now() in support/live_engine.h).
#pragma once

#include <mutex>

#include "duelease/clock.h"

namespace duelease::test {

class ManualClock final : public Clock {
 public:
  Now now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  // Both clocks.
  void pass(Duration duration) {
    const std::lock_guard lock(mutex_);
    now_.wall += duration;
    now_.monotonic += duration;
  }
  void step_wall_clock(Duration step) {
    const std::lock_guard lock(mutex_);
    now_.wall += step;
  }

 private:
  mutable std::mutex mutex_;
  Now now_{Time{Duration{1'767'225'600'000}}, Monotonic{Duration{1'000'000}}};  // 2026-01-01T00:00:00Z
};

}  // namespace duelease::test
