// Random commands at random times, to the core and to an oracle; whatever differs is a fault of one of them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <random>
#include <string>

#include "model/world.h"

using namespace duelease::model_test;

namespace {

// Enough to meet everything; sanitizers and unoptimised code get fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t total = 100'000;
#elif defined(__OPTIMIZE__)
constexpr std::uint64_t total = 1'000'000;
#else
constexpr std::uint64_t total = 200'000;
#endif
constexpr std::uint64_t steps_of_a_run = 5'000;

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  return std::strtoull(text, nullptr, 0);
}

void run(std::uint64_t seed, std::uint64_t steps, Mode mode) {
  mode.journal = number_from("DUELEASE_JOURNAL").value_or(mode.journal);
  World world(seed, mode);
  try {
    world.run(steps);
  } catch (const std::exception& mismatch) {
    // Not by FAIL: it breaks lines.
    const std::string test = Catch::getResultCapture().getCurrentTestName();
    std::cerr << "\nThe last commands:\n"
              << world.journal() << "\n"
              << mismatch.what() << "\n\nTo see it again:\n  DUELEASE_SEED=" << seed << " DUELEASE_STEPS=" << steps
              << " duelease_test_model '" << test << "'\n"
              << std::endl;
    FAIL("the core and the oracle differ, seed " << seed);
  }
}

void run_all(std::uint64_t steps, std::uint64_t base, Mode mode) {
  if (const std::optional<std::uint64_t> seed = number_from("DUELEASE_SEED")) {
    return run(*seed, number_from("DUELEASE_STEPS").value_or(steps_of_a_run), mode);
  }
  const std::uint64_t fresh = std::random_device{}();
  std::cout << "fresh base seed " << fresh << std::endl;
  for (std::uint64_t i = 0; i < steps / steps_of_a_run; ++i) run((i % 2 ? fresh : base) * 1'000'003 + i, steps_of_a_run, mode);
}

}  // namespace

TEST_CASE("the core does what the oracle does") { run_all(total, 1, {}); }

TEST_CASE("after a failed write the store is as of the last commit") { run_all(total / 4, 2, {.faults = true}); }
