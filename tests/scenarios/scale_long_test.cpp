// Scenarios of scale at their full size.
#include "scenarios/scale.h"

#include <iostream>

#include "support/printing.h"

using namespace duelease;

TEST_CASE("tombstones: a claim costs the same after 5 million completes", "[tombstones][long]") {
  const test::Tombstones times = test::measure_tombstones(5'000'000);
  const auto line = [](const char* what, const test::Times& fresh, const test::Times& used) {
    std::cout << what << ": fresh p50 " << fresh.p50 * 1e6 << " us, p99 " << fresh.p99 * 1e6
              << " us; after 5 M p50 " << used.p50 * 1e6 << " us, p99 " << used.p99 * 1e6 << " us\n";
  };
  line("claim on an empty queue", times.fresh_empty, times.used_empty);
  line("claim on 10 orders", times.fresh_ten, times.used_ten);
  std::cout << "rows stepped over for a claim on 10 orders, p99: " << times.skipped_p99 << '\n';
  CHECK(times.skipped_p99 <= 100);
  CHECK(times.used_ten.p50 <= 2 * times.fresh_ten.p50);
  CHECK(times.used_empty.p50 <= 2 * times.fresh_empty.p50);
}

TEST_CASE("purge_is_linear: a million orders in batches of 10,000", "[purge_is_linear][long]") {
  test::run_purge_is_linear(1'000'000, 10'000, GENERATE(false, true));
}

TEST_CASE("overdue_backlog: a million orders", "[overdue_backlog][long]") {
  const test::Times others = test::run_overdue_backlog(1'000'000);
  std::cout << "commands of others meanwhile: p50 " << others.p50 * 1e3 << " ms, p99 " << others.p99 * 1e3
            << " ms\n";
}
