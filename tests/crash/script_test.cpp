// The script that the crash tests run is worth running, and its oracle is right.
#include <catch2/catch.hpp>

#include "crash/crash_script.h"

using namespace duelease;
using namespace duelease::test;

TEST_CASE("the crash script meets every outcome and breaks no invariant") {
  const Script script = make_script(2);
  const std::set<Outcome> all = {Outcome::scheduled, Outcome::rescheduled, Outcome::duplicate,
                                 Outcome::completed, Outcome::already,     Outcome::stale,
                                 Outcome::requeued,  Outcome::failed,      Outcome::aborted,
                                 Outcome::extended,  Outcome::refused,     Outcome::not_found};
  CHECK(script.outcomes == all);
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
