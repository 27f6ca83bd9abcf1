// Scenarios of scale, small enough for every day. What an operation costs is counted in rows read; where
// time is measured, other programs on the machine are given room.
#include "scenarios/scale.h"

#include <algorithm>

#include "support/printing.h"

using namespace duelease;

TEST_CASE("tombstones: a claim costs the same after 100,000 completes", "[tombstones]") {
  const test::Tombstones times = test::measure_tombstones(100'000);
  constexpr double noise = 50e-6;
  INFO("ten orders: p50 " << times.used_ten.p50 * 1e6 << " us, fresh " << times.fresh_ten.p50 * 1e6 << " us");
  INFO("no orders: p50 " << times.used_empty.p50 * 1e6 << " us, fresh " << times.fresh_empty.p50 * 1e6
                         << " us");
  CHECK(times.skipped_from_start > 10'000);
  CHECK(times.skipped_p99 <= 100);
  CHECK(times.used_ten.p50 <= 5 * std::max(times.fresh_ten.p50, noise));
  CHECK(times.used_empty.p50 <= 5 * std::max(times.fresh_empty.p50, noise));
}

TEST_CASE("purge_is_linear: each batch goes on where the last ended", "[purge_is_linear]") {
  test::run_purge_is_linear(50'000, 5'000, GENERATE(false, true));
}

TEST_CASE("overdue_backlog: drained in due order, while others are served", "[overdue_backlog]") {
  test::run_overdue_backlog(20'000);
}
