// The transitions of a run: what changes, and that nothing else does; and how its orders are counted.
#include "model/run.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "base/limits.h"
#include "support/printing.h"

using namespace duelease;
using namespace std::chrono_literals;
using model::RunRecord;

namespace {

constexpr Time opened{1'000'000'000ms};
constexpr Time now = opened + 1h;

// Every field holds something that a careless transition could lose.
RunRecord full(RunState state) {
  RunRecord run;
  run.state = state;
  run.ttl = 30s;
  run.expires_at = opened + 30s;
  run.opened_at = opened;
  run.counts = {1, 2, 3, 4, 5};
  run.purged = {0, 0, 1, 2, 3};
  run.unknown = "later";
  return run;
}

}  // namespace

TEST_CASE("a run is alive unless it is known to have ended", "[run]") {
  CHECK(model::is_alive(RunState::creating));
  CHECK(model::is_alive(RunState::running));
  CHECK_FALSE(model::is_alive(RunState::done));
  CHECK_FALSE(model::is_alive(RunState::error));
  CHECK(model::is_alive(RunState{5}));  // Of a newer version: its orders are left alone.
}

TEST_CASE("a run begins in CREATING, with its time to live ahead of it", "[run]") {
  RunRecord expected;
  expected.opened_at = now;
  CHECK((model::open_run(std::nullopt, now) == expected));
  expected.ttl = 30s;
  expected.expires_at = now + 30s;
  CHECK((model::open_run(30s, now) == expected));
}

TEST_CASE("a run that starts remembers when it first did", "[run]") {
  RunRecord run = full(RunState::creating);
  model::start_run(run, now);
  RunRecord expected = full(RunState::running);
  expected.started_at = now;
  CHECK((run == expected));
  model::start_run(run, now + 1h);
  CHECK((run == expected));
}

TEST_CASE("a heartbeat begins the time to live again, and nothing else", "[run]") {
  RunRecord run = full(RunState::running);
  model::beat_run(run, now);
  RunRecord expected = full(RunState::running);
  expected.expires_at = now + 30s;
  CHECK((run == expected));

  RunRecord forever = full(RunState::running);
  forever.ttl.reset();
  forever.expires_at = {};
  expected = forever;
  model::beat_run(forever, now);
  CHECK((forever == expected));
}

TEST_CASE("a time to live does not reach beyond the calendar", "[run]") {
  constexpr Time last{Duration{limits::time_ms_max}};
  CHECK((model::open_run(30s, last - 1s).expires_at == last));
}

TEST_CASE("a run that ends keeps its counts, and says why", "[run]") {
  const RunState state = GENERATE(RunState::done, RunState::error);
  RunRecord run = full(GENERATE(RunState::creating, RunState::running));
  model::end_run(run, state, "why", now);
  RunRecord expected = full(state);
  expected.reason = "why";
  expected.ended_at = now;
  CHECK((run == expected));
}

TEST_CASE("a long reason is cut", "[run]") {
  RunRecord run = full(RunState::running);
  model::end_run(run, RunState::error, std::string(limits::error_bytes_max + 1, 'e'), now);
  CHECK((run.reason == std::string(limits::error_bytes_max, 'e')));
}

TEST_CASE("an order is counted where it goes to, and no longer where it comes from", "[run]") {
  RunRecord run = full(RunState::running);
  model::count_order(run, std::nullopt, State::wait);
  CHECK((run.counts == Counts{2, 2, 3, 4, 5}));
  model::count_order(run, State::wait, State::processing);
  CHECK((run.counts == Counts{1, 3, 3, 4, 5}));
  model::count_order(run, State::processing, State::success);
  CHECK((run.counts == Counts{1, 2, 4, 4, 5}));
  model::count_order(run, State::processing, State::failed);
  CHECK((run.counts == Counts{1, 1, 4, 5, 5}));
  model::count_order(run, State::processing, State::aborted);
  CHECK((run.counts == Counts{1, 0, 4, 5, 6}));
  model::count_order(run, State::failed, State::wait);
  CHECK((run.counts == Counts{2, 0, 4, 4, 6}));
  CHECK((run.purged == full(RunState::running).purged));
}

TEST_CASE("an order that is purged stays counted, as one that is gone", "[run]") {
  RunRecord run = full(RunState::done);
  model::count_order(run, State::success, std::nullopt);
  model::count_order(run, State::aborted, std::nullopt);
  CHECK((run.counts == full(RunState::done).counts));
  CHECK((run.purged == Counts{0, 0, 2, 2, 4}));
}

TEST_CASE("a count that damage left too low does not go below 0", "[run]") {
  RunRecord run = full(RunState::running);
  run.counts = {};
  model::count_order(run, State::wait, State::processing);
  CHECK((run.counts == Counts{0, 1, 0, 0, 0}));
}
