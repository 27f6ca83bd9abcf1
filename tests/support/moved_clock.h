// support/moved_clock.h: the machine's clock, whose wall time a test can set, as an operator or NTP does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "duelease/clock.h"

namespace duelease::test {

class MovedClock final : public Clock {
 public:
  Now now() const override {
    ++reads_;
    Now now = real_->now();
    now.wall += Duration{step_ms_.load()};
    return now;
  }

  void step(Duration step) { step_ms_ += step.count(); }
  // How often it was asked: an engine that spins asks all the time.
  std::uint64_t reads() const { return reads_; }

 private:
  const std::shared_ptr<const Clock> real_ = system_clock();
  std::atomic<std::int64_t> step_ms_ = 0;
  mutable std::atomic<std::uint64_t> reads_ = 0;
};

}  // namespace duelease::test
