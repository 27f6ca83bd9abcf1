#include "client/backoff.h"

#include <catch2/catch.hpp>

using duelease::Duration;
using duelease::client::backoff;

TEST_CASE("the pause doubles up to the cap, less up to a half", "[client]") {
  const Duration base{50};
  const Duration cap{300};
  const auto longest = [&](std::uint32_t failures) { return backoff(base, cap, failures, 0).count(); };
  CHECK(longest(1) == 50);
  CHECK(longest(2) == 100);
  CHECK(longest(3) == 200);
  CHECK(longest(4) == 300);
  CHECK(longest(4'000'000'000) == 300);
  for (std::uint64_t random = 0; random < 1000; ++random) {
    const Duration pause = backoff(base, cap, 2, random);
    CHECK(pause >= Duration{50});
    CHECK(pause <= Duration{100});
  }
  CHECK(backoff(base, cap, 2, 50) == Duration{50});
  CHECK(backoff(Duration{1}, Duration{1}, 1, 12345) == Duration{1});
}
