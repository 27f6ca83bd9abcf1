// Limits fit together: what passes one of them does not break on another.
#include "base/limits.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

using namespace duelease;

TEST_CASE("times are those that RFC 3339 can write", "[limits]") {
  constexpr std::int64_t day_ms = 24LL * 3600 * 1000;
  // Days from civil, by Howard Hinnant: 0001-01-01 is day -719162, 9999-12-31 is day 2932896.
  CHECK(limits::time_ms_min == -719'162 * day_ms);
  CHECK(limits::time_ms_max == 2'932'897 * day_ms - 1);
}

TEST_CASE("sums of a time and a duration do not overflow", "[limits]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t duration :
       {limits::lease_ms_max, limits::wait_ms_max, 2 * limits::backoff_ms_max, limits::keep_ms_max}) {
    CHECK(duration <= most - limits::time_ms_max);
    CHECK(limits::time_ms_min >= -most + duration);
  }
  // Jitter is computed as a share in percent.
  CHECK(limits::backoff_ms_max <= most / 100);
  // A backoff below its cap is doubled.
  CHECK(limits::backoff_ms_max <= most / 2);
}

TEST_CASE("tokens stay readable as signed 64-bit integers, over many restores", "[limits]") {
  CHECK(limits::sequence_max == static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  CHECK(limits::sequence_max / limits::restore_jump > 500'000);
  // A jump covers five years at 100,000 transitions a second.
  CHECK(limits::restore_jump > 5ULL * 365 * 24 * 3600 * 100'000);
}

TEST_CASE("one command does not fill what a group or a message holds", "[limits]") {
  CHECK(limits::app_write_bytes_max < limits::payload_bytes_ceiling);
  CHECK(limits::app_key_bytes_max < limits::app_write_bytes_max);
  CHECK(limits::result_bytes_max < limits::payload_bytes_ceiling);
  // Protobuf messages are limited to 2 GiB.
  CHECK(limits::payload_bytes_ceiling + limits::result_bytes_max + 10 * 1024 <
        static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
}

TEST_CASE("upkeep in one pass is less than a caller may ask for", "[limits]") {
  CHECK(limits::reap_pass_max <= limits::reap_count_max);
  CHECK(limits::purge_pass_max <= limits::purge_count_max);
  CHECK(limits::clock_step_ms_min <= limits::nap_ms_max);
}
