#include "model/runs.h"

#include <errno.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace duelease::model_test {

namespace {

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  return std::strtoull(text, nullptr, 0);
}

// To std::cerr: Catch would break the lines.
void report(const World& world, std::uint64_t seed, std::uint64_t steps, const std::string& what) {
  const std::string test = Catch::getResultCapture().getCurrentTestName();
  std::cerr << "\nThe last commands:\n"
            << world.journal() << "\n"
            << what << "\n\nTo see it again:\n  DUELEASE_SEED=" << seed << " DUELEASE_STEPS=" << steps << " "
            << program_invocation_short_name << " '" << test << "'\n"
            << std::endl;
}

// While it lives, a broken promise (DUELEASE_CHECK) or a sanitizer that ends the process reports the run first.
class LastWords {
 public:
  LastWords(const World& world, std::uint64_t seed, std::uint64_t steps) {
    say_ = [&world, seed, steps] { report(world, seed, steps, "the process ends"); };
    old_handler_ = std::signal(SIGABRT, [](int signal) {
      std::signal(signal, SIG_DFL);
      say();
      std::raise(signal);
    });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    __sanitizer_set_death_callback(say);
#endif
  }
  ~LastWords() {
    say_ = nullptr;
    std::signal(SIGABRT, old_handler_);
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  static void say() {
    if (const std::function<void()> words = std::exchange(say_, nullptr)) words();
  }

  static inline std::function<void()> say_;
  void (*old_handler_)(int) = nullptr;
};

void run(World& world, std::uint64_t seed, std::uint64_t steps) {
  try {
    const LastWords last_words(world, seed, steps);
    world.run(steps);
  } catch (const std::exception& mismatch) {
    report(world, seed, steps, mismatch.what());
    FAIL("the core and the oracle differ, seed " << seed);
  }
}

void for_each_seed(std::uint64_t steps, std::uint64_t base,
                   const std::function<void(std::uint64_t seed, std::uint64_t steps)>& body) {
  if (const std::optional<std::uint64_t> seed = number_from("DUELEASE_SEED")) {
    return body(*seed, number_from("DUELEASE_STEPS").value_or(steps_of_a_run));
  }
  const std::uint64_t fresh = std::random_device{}();
  std::cout << "base seed " << base << ", fresh base seed " << fresh << std::endl;
  const std::uint64_t total = number_from("DUELEASE_STEPS").value_or(steps);
  for (std::uint64_t i = 0; i * steps_of_a_run < total; ++i) {
    body((i % 2 == 0 ? base : fresh) * 1'000'003 + i, steps_of_a_run);
  }
}

}  // namespace

Seen run_all(std::uint64_t steps, std::uint64_t base, const Mode& mode) {
  Seen seen;
  Mode with_journal = mode;
  with_journal.journal = number_from("DUELEASE_JOURNAL").value_or(mode.journal);
  for_each_seed(steps, base, [&](std::uint64_t seed, std::uint64_t steps_now) {
    World world(seed, with_journal);
    run(world, seed, steps_now);
    seen.add(world.seen());
  });
  if (number_from("DUELEASE_SEEN")) std::cout << seen.text() << std::flush;
  return seen;
}

void run_twice(std::uint64_t steps, std::uint64_t base, const Mode& first, const Mode& second,
               Compares compares) {
  for_each_seed(steps / 2, base, [&](std::uint64_t seed, std::uint64_t steps_now) {
    World one(seed, first);
    run(one, seed, steps_now);
    World two(seed, second);
    run(two, seed, steps_now);
    const bool is_same = one.replies_digest() == two.replies_digest() &&
                         one.store_digest() == two.store_digest() &&
                         (compares != Compares::all || one.writes_digest() == two.writes_digest());
    if (is_same) return;
    report(two, seed, steps_now, "two runs of the same commands differ");
    FAIL("two runs differ, seed " << seed);
  });
}

void require_seen(const Seen& seen, const std::vector<std::string>& marks) {
  const bool is_whole =
      default_steps >= 1'000'000 && !number_from("DUELEASE_SEED") && !number_from("DUELEASE_STEPS");
  if (!is_whole) return;
  std::string missing;
  for (const std::string& what : seen.missing(marks)) missing += what + "\n";
  INFO("these were never met:\n" << missing);
  CHECK(missing.empty());
}

}  // namespace duelease::model_test
