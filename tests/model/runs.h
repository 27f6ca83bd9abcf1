// model/runs.h: many runs, and what to say when one fails.
//
// A run is made by its seed alone. To see a failed one again, as its message says:
//
//     DUELEASE_SEED=17 DUELEASE_STEPS=5000 duelease_test_model 'the core does what the oracle does'
//
// DUELEASE_JOURNAL=n shows more of the commands before the failure; DUELEASE_SEEN=1 shows what was met.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/seen.h"
#include "model/world.h"

namespace duelease::model_test {

// Steps of a whole test, unless they are many: fewer where each takes longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
inline constexpr std::uint64_t default_steps = 100'000;
#else
inline constexpr std::uint64_t default_steps = 1'000'000;
#endif
inline constexpr std::uint64_t steps_of_a_run = 5'000;

// Each seed in turn: those of `base`, which are always the same, and as many fresh ones. A run that does not
// agree with the oracle fails the test case that is running.
Seen run_all(std::uint64_t steps, std::uint64_t base, const Mode& mode);

// The same run twice: they must do the same, as far as `compares` says.
enum class Compares : std::uint8_t { all, replies_and_end };
void run_twice(std::uint64_t steps, std::uint64_t base, const Mode& first, const Mode& second,
               Compares compares);

// Fails the test case if one of these was not met. Not where the steps are fewer than usual.
void require_seen(const Seen& seen, const std::vector<std::string>& marks);

}  // namespace duelease::model_test
