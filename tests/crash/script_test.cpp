// The script that the crash tests run is worth running, and its oracle is right.
#include <catch2/catch.hpp>

#include "crash/crash_script.h"

using namespace duelease;
using namespace duelease::test;

namespace {

// After each group.
void check_sound(const Script& script) {
  REQUIRE(script.states.size() == script.groups.size() + 1);
  for (std::size_t k = 0; k < script.states.size(); ++k) {
    INFO("after group " << k);
    const store::MemoryStore store = memory_store_with(script.states[k]);
    const Result<CheckReport> report = engine::check_store(store, "");
    REQUIRE(report);
    for (const Violation& violation : report->invariants) {
      INFO(violation.invariant << ": " << violation.example);
      CHECK(violation.count == 0);
    }
    if (k > 0) CHECK(script.states[k] != script.states[k - 1]);
  }
}

}  // namespace

TEST_CASE("the crash script meets every outcome and breaks no invariant") {
  const Script script = make_script(2);
  const std::set<Outcome> all = {Outcome::scheduled, Outcome::rescheduled, Outcome::duplicate,
                                 Outcome::completed, Outcome::already,     Outcome::stale,
                                 Outcome::requeued,  Outcome::failed,      Outcome::aborted,
                                 Outcome::extended,  Outcome::refused,     Outcome::not_found};
  CHECK(script.outcomes == all);
  check_sound(script);
}

TEST_CASE("the crash script of a sweep has several groups in the middle of it, and gets to its end") {
  const Script script = make_sweep_script();
  check_sound(script);
  std::size_t in_sweep = 0;
  for (const Contents& state : script.states) {
    const Result<Run> run = engine::read_run(memory_store_with(state), "batch", "r");
    if (run && run->state == RunState::error && run->counts.wait > 0) ++in_sweep;
  }
  CHECK(in_sweep >= 3);
  const store::MemoryStore end = memory_store_with(script.states.back());
  CHECK(engine::read_run(end, "batch", "r")->counts == Counts{0, 0, 1, 0, 999});
  CHECK(engine::read_order(end, "batch", "alone").value()->state == State::processing);
}

TEST_CASE("the same commands give the same store") {
  const Script script = make_script(2);
  store::MemoryStore store = memory_store_with(script.states[0]);
  const std::unique_ptr<engine::Core> core = open_core(store, script.times[0]);
  for (std::size_t k = 0; k < script.groups.size(); ++k) {
    REQUIRE(write_group(*core, script.groups[k]));
    INFO("group " << k << ": " << difference(contents_of(store), script.states[k + 1]));
    REQUIRE(contents_of(store) == script.states[k + 1]);
  }
}
