// When an order blocks, when its tries are used up, when it is tried again.
#include "model/rules.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <set>

#include "base/limits.h"
#include "support/printing.h"

using namespace duelease;
using namespace std::chrono_literals;

namespace {

constexpr Time now{1'767'225'600'000ms};

model::Record ended(State state, Time at) {
  model::Record record;
  record.state = state;
  record.updated_at = at;
  return record;
}

QueueSettings backoff(Duration base, Duration cap, std::uint32_t jitter_percent) {
  QueueSettings settings;
  settings.backoff_base = base;
  settings.backoff_cap = cap;
  settings.backoff_jitter_percent = jitter_percent;
  return settings;
}

Duration wait_after(std::uint32_t tries, const QueueSettings& settings, std::uint64_t seed = 1) {
  return model::retry_time(tries, settings, now, seed) - now;
}

}  // namespace

TEST_CASE("FAILED and ABORTED free the id and the key, every other state blocks", "[rules]") {
  for (int value = 0; value <= 255; ++value) {
    const State state{static_cast<std::uint8_t>(value)};
    CAPTURE(state);
    const bool free = state == State::failed || state == State::aborted;
    CHECK(model::state_blocks(state) == !free);
    CHECK(model::blocks(ended(state, now), std::nullopt, now + 100h) == !free);
    // A retention is about successes alone.
    const bool blocks = model::blocks(ended(state, now), std::optional<Duration>(0ms), now + 100h);
    CHECK(blocks == (!free && state != State::success));
  }
}

TEST_CASE("a success blocks until its retention is over, and not a millisecond longer", "[rules]") {
  const model::Record record = ended(State::success, now);
  const auto blocks = [&](Duration keep, Duration passed) {
    return model::blocks(record, std::optional<Duration>(keep), now + passed);
  };
  CHECK(blocks(1h, 0ms));
  CHECK(blocks(1h, 1h - 1ms));
  CHECK_FALSE(blocks(1h, 1h));
  CHECK_FALSE(blocks(1h, 1h + 1ms));
  CHECK_FALSE(blocks(0ms, 0ms));
  CHECK(blocks(1ms, 0ms));
  CHECK(blocks(1h, -24h));  // The wall clock was set back.
  // The longest retention of the latest success there can be.
  const model::Record last = ended(State::success, Time{Duration{limits::time_ms_max}});
  CHECK(model::blocks(last, Duration{limits::keep_ms_max}, Time{Duration{limits::time_ms_max}}));
}

TEST_CASE("tries are left until as many were used as there are", "[rules]") {
  model::Record record;
  const auto left = [&](std::uint32_t tries, std::uint32_t used) {
    record.tries = tries;
    record.tries_used = used;
    return model::tries_left(record);
  };
  CHECK(left(1, 0));
  CHECK_FALSE(left(1, 1));
  CHECK(left(25, 24));
  CHECK_FALSE(left(25, 25));
  CHECK_FALSE(left(25, 26));  // The limit was lowered by an upsert.
  CHECK(left(0, 0));
  CHECK(left(0, std::numeric_limits<std::uint32_t>::max()));
}

TEST_CASE("the backoff doubles from its base up to its cap", "[rules]") {
  const QueueSettings settings = backoff(1s, 1h, 0);
  CHECK(wait_after(1, settings) == 1s);
  CHECK(wait_after(2, settings) == 2s);
  CHECK(wait_after(3, settings) == 4s);
  CHECK(wait_after(12, settings) == 2048s);
  CHECK(wait_after(13, settings) == 1h);
  CHECK(wait_after(1000, settings) == 1h);
  CHECK(wait_after(std::numeric_limits<std::uint32_t>::max(), settings) == 1h);
  CHECK(wait_after(0, settings) == 1s);
}

TEST_CASE("the backoff keeps to its cap where base and cap are odd", "[rules]") {
  CHECK(wait_after(1, backoff(10s, 3s, 0)) == 3s);  // A cap below the base.
  CHECK(wait_after(2, backoff(3s, 5s, 0)) == 5s);
  CHECK(wait_after(1, backoff(0ms, 1h, 0)) == 0ms);
  CHECK(wait_after(std::numeric_limits<std::uint32_t>::max(), backoff(0ms, 1h, 100)) == 0ms);
  CHECK(wait_after(7, backoff(1h, 0ms, 100)) == 0ms);
  const Duration most{limits::backoff_ms_max};
  CHECK(wait_after(1, backoff(most, most, 0)) == most);
  CHECK(wait_after(std::numeric_limits<std::uint32_t>::max(), backoff(1ms, most, 0)) == most);
}

TEST_CASE("a retry that would be due after the last date is due on it", "[rules]") {
  const Time last{Duration{limits::time_ms_max}};
  const QueueSettings settings = backoff(24h, 24h, 100);
  CHECK(model::retry_time(1, backoff(24h, 24h, 0), last, 1) == last);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CHECK(model::retry_time(1, settings, last, seed) <= last);
    CHECK(model::retry_time(1, settings, Time{Duration{limits::time_ms_min}}, seed) >=
          Time{Duration{limits::time_ms_min}});
  }
}

TEST_CASE("jitter stays within its share, fills it, and has no bias", "[rules]") {
  const std::uint32_t percent = GENERATE(1u, 10u, 50u, 100u);
  const QueueSettings settings = backoff(1000ms, 1h, percent);
  const Duration reach{1000 * percent / 100};
  Duration lowest = 1h, highest{0};
  std::int64_t sum = 0;
  constexpr int draws = 20'000;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const Duration wait = wait_after(1, settings, seed);
    REQUIRE(wait >= 1000ms - reach);
    REQUIRE(wait <= 1000ms + reach);
    lowest = std::min(lowest, wait);
    highest = std::max(highest, wait);
    sum += wait.count();
  }
  CHECK(lowest <= 1000ms - reach * 9 / 10);
  CHECK(highest >= 1000ms + reach * 9 / 10);
  CHECK(std::abs(sum / draws - 1000) <= 1 + reach.count() / 20);
}

TEST_CASE("the same seed gives the same time, another seed another", "[rules]") {
  const QueueSettings settings = backoff(1h, 1h, 100);
  std::set<Duration> waits;
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t seed = random();
    CHECK(wait_after(3, settings, seed) == wait_after(3, settings, seed));
    waits.insert(wait_after(3, settings, seed));
  }
  CHECK(waits.size() > 990);
  // A replay on another machine must come to these very times.
  CHECK(wait_after(1, settings, 0) == 3'219'539ms);
  CHECK(wait_after(1, settings, 1) == 2'393'626ms);
}
