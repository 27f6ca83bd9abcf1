#include "histogram.h"

#include <catch2/catch.hpp>

using duelease::bench::Histogram;
using namespace std::chrono_literals;

TEST_CASE("a percentile is off by one percent at most", "[bench]") {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(i * 1ms);
  CHECK(histogram.count() == 1000);
  CHECK(histogram.percentile_ms(0.5) == Approx(500).epsilon(0.011));
  CHECK(histogram.percentile_ms(0.99) == Approx(990).epsilon(0.011));
  CHECK(histogram.percentile_ms(1) == 1000);
  CHECK(histogram.max_ms() == 1000);
}

TEST_CASE("what is too short or too long for the classes counts all the same", "[bench]") {
  Histogram histogram;
  histogram.add(0ns);
  histogram.add(2h);
  CHECK(histogram.count() == 2);
  CHECK(histogram.percentile_ms(0.5) == Approx(0.001).epsilon(0.011));
  CHECK(histogram.max_ms() == 7'200'000);
}

TEST_CASE("a histogram is the same after it was written down, and two add up", "[bench]") {
  Histogram one;
  Histogram other;
  one.add(3ms);
  one.add(40ms);
  other.add(500ms);
  one += Histogram(other.classes(), other.max_ms());
  const Histogram again(one.classes(), one.max_ms());
  CHECK(again.count() == 3);
  CHECK(again.max_ms() == 500);
  CHECK(again.percentile_ms(0.3) == Approx(3).epsilon(0.011));
  CHECK(again.percentile_ms(0.6) == Approx(40).epsilon(0.011));
}
