// The model test for as long as it takes to meet what is rare. DUELEASE_STEPS sets how long.
#include <catch2/catch.hpp>

#include "model/runs.h"

using namespace duelease::model_test;

TEST_CASE("the core does what the oracle does, for a long time", "[long]") {
  run_all(50 * default_steps, 5, {});
}

TEST_CASE("after many failed writes the store is as of the last commit", "[long]") {
  run_all(10 * default_steps, 6, {.faults = true});
}
