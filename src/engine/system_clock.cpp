#include <chrono>

#include "duelease/clock.h"

namespace duelease {

namespace {

class SystemClock final : public Clock {
 public:
  Now now() const override {
    const auto wall = std::chrono::floor<Duration>(std::chrono::system_clock::now());
    const auto monotonic = std::chrono::floor<Duration>(std::chrono::steady_clock::now().time_since_epoch());
    return Now{wall, Monotonic{monotonic}};
  }
};

}  // namespace

std::shared_ptr<const Clock> system_clock() { return std::make_shared<SystemClock>(); }

}  // namespace duelease
