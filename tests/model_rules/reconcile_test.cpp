// What a row of the truth does to an order, case by case.
#include "model/reconcile.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "model/rules.h"
#include "model/transitions.h"
#include "model/validate.h"
#include "support/printing.h"

using namespace duelease;
using namespace std::chrono_literals;
using model::Record;

namespace {

constexpr Time now{1'000'000'000ms};
constexpr std::uint64_t since = 100;

Record order(State state, std::uint64_t sequence) {
  Record record;
  record.state = state;
  record.due = now + 1h;
  record.sequence = sequence;
  record.updated_at = now - 1min;
  return record;
}

ReconcileRequest row(Time due) {
  return {.queue = "q", .id = "x", .due = due, .since = since, .read_at = now - 10min};
}

Outcome decide(const Record& record, Time due, const QueueSettings& settings = {}) {
  const Result<Outcome> outcome = model::reconcile({&record}, row(due), settings, now);
  REQUIRE(outcome);
  return *outcome;
}

QueueSettings kept_for(Duration duration) {
  QueueSettings settings;
  settings.keep_success = duration;
  return settings;
}

}  // namespace

TEST_CASE("a row and an order that waits") {
  const Time due = now + 1h;
  CHECK(decide(order(State::wait, since), due) == Outcome::unchanged);
  CHECK(decide(order(State::wait, since + 1), due) == Outcome::unchanged);
  CHECK(decide(order(State::wait, since), due + 1ms) == Outcome::rescheduled);
  CHECK(decide(order(State::wait, since + 1), due + 1ms) == Outcome::newer);
  Record overdue = order(State::wait, since);
  overdue.due = now - 24h;
  CHECK(decide(overdue, now - 24h) == Outcome::unchanged);
}

TEST_CASE("a row and an order that waits for another try") {
  const Time asked = now - 24h;
  Record record = order(State::wait, since);
  model::reschedule(record, asked, now - 24h);
  model::hand_out(record, Token{since + 1}, "w", now - 2h);
  model::report_failure(record, {}, {}, now - 1min, 0);
  CHECK(record.due > asked);
  CHECK(decide(record, asked) ==
        Outcome::unchanged);  // Its backoff stays, and its tries are not used up at once.
  CHECK(decide(record, record.due) == Outcome::rescheduled);
  CHECK(decide(record, now + 1h) == Outcome::rescheduled);

  model::hand_out(record, Token{since + 2}, "w", now);
  model::release(record, {.due = now + 2h}, now);
  CHECK(decide(record, asked) == Outcome::unchanged);
  model::hand_out(record, Token{since + 3}, "w", now);
  model::report_failure(record, {.final = true}, {}, now, 0);
  model::revive(record, now, now);
  CHECK(decide(record, asked) == Outcome::unchanged);

  model::reschedule(record, now + 3h, now);  // By hand: that is what it is asked to be now.
  CHECK(decide(record, asked) == Outcome::rescheduled);
  CHECK(decide(record, now + 3h) == Outcome::unchanged);
}

TEST_CASE("a row and an order that is done or being done") {
  for (const std::uint64_t sequence : {since, since + 1}) {
    for (const State state : {State::processing, State::success, State::failed, State::aborted, State{17}}) {
      CHECK(decide(order(state, sequence), now) == Outcome::refused);
    }
  }
}

TEST_CASE("a row and an order that had vanished") {
  Record vanished = order(State::aborted, since);
  vanished.vanished = true;
  CHECK(decide(vanished, now) == Outcome::scheduled);
  vanished.sequence = since + 1;
  CHECK(decide(vanished, now) == Outcome::newer);
}

TEST_CASE("a row without an order, and one under a run that has ended") {
  CHECK(*model::reconcile({}, row(now), {}, now) == Outcome::scheduled);
  const Record orphan = order(State::wait, since + 1);
  CHECK(*model::reconcile({&orphan, true}, row(now), {}, now) == Outcome::scheduled);
  CHECK(*model::reconcile({&orphan, true}, row(now), kept_for(1ms), now) == Outcome::scheduled);
}

TEST_CASE("a missing order may have been done and purged since the source was read") {
  CHECK(*model::reconcile({}, row(now), kept_for(10min + 1ms), now) == Outcome::scheduled);
  const Result<Outcome> refused = model::reconcile({}, row(now), kept_for(10min), now);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK_THAT(refused.error().message,
             Catch::Contains("600000 ms ago") && Catch::Contains("keeps a success for 600000 ms"));

  // A success past its retention is as good as purged.
  const Record done = order(State::success, since);
  CHECK(decide(done, now, kept_for(1min + 1ms)) == Outcome::refused);
  CHECK_FALSE(model::reconcile({&done}, row(now), kept_for(1min), now));
  ReconcileRequest fresh = row(now);
  fresh.read_at = now - 30s;
  CHECK(*model::reconcile({&done}, fresh, kept_for(1min), now) == Outcome::scheduled);
}

TEST_CASE("a sequence of another store") {
  CHECK(model::validate_since(7, 7));
  const Result<> refused = model::validate_since(8, 7);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().message == "since is 8, the last sequence of the store is 7");
}

TEST_CASE("which key an order owns") {
  Record record = order(State::wait, 1);
  CHECK_FALSE(model::owned_key(record));
  record.key = "k";
  for (const State state : {State::wait, State::processing, State::success, State{17}}) {
    record.state = state;
    CHECK(model::owned_key(record) == "k");
  }
  for (const State state : {State::failed, State::aborted}) {
    record.state = state;
    CHECK_FALSE(model::owned_key(record));
    CHECK(model::owned_key(record, State::wait) == "k");
  }
  record.state = State::wait;
  record.grandfathered = true;
  CHECK_FALSE(model::owned_key(record));
  record.state = State::failed;
  model::revive(record, now, now);
  CHECK(model::owned_key(record) == "k");
}

TEST_CASE("an import as a record") {
  ImportRequest request{.queue = "q", .id = "x", .due = now - 24h, .key = "k"};
  QueueSettings settings;
  settings.tries = 9;
  const Record waiting = model::adopt(request, settings, now);
  CHECK(waiting.state == State::wait);
  CHECK(waiting.due == now - 24h);
  CHECK(waiting.priority == 128);
  CHECK(waiting.tries == 9);
  CHECK(waiting.created_at == now);
  CHECK(waiting.updated_at == now);
  CHECK(waiting.generation == 1);

  request.state = State::failed;
  request.ended_at = now - 1h;
  request.error = std::string(5000, 'e');
  const Record failed = model::adopt(request, settings, now);
  CHECK(failed.state == State::failed);
  CHECK(failed.due == now - 24h);
  CHECK(failed.updated_at == now - 1h);
  CHECK(failed.created_at == now - 1h);
  CHECK(failed.error.size() == 4096);
  request.created_at = now - 2h;
  CHECK(model::adopt(request, settings, now).created_at == now - 2h);
}

TEST_CASE("a WAIT order that vanishes") {
  Record record = order(State::wait, 1);
  model::vanish(record, now);
  CHECK(record.state == State::aborted);
  CHECK(record.vanished);
  CHECK(record.updated_at == now);
  CHECK(record.error == "it was not in the source of a reconcile");
}

TEST_CASE("what an import must look like") {
  const auto refusal = [](ImportRequest request) {
    request.queue = "q";
    request.id = "x";
    const Result<> valid = model::validate(request);
    return valid ? std::string() : valid.error().message;
  };
  CHECK(refusal({}) == "");
  CHECK(refusal({.state = State::success, .created_at = Time{}, .ended_at = Time{}}) == "");
  CHECK(refusal({.state = State::processing}) ==
        "an order cannot be imported as PROCESSING; allowed are WAIT, SUCCESS, FAILED and ABORTED");
  CHECK_THAT(refusal({.state = State{17}}), Catch::Contains("UNKNOWN"));
  CHECK_THAT(refusal({.ended_at = Time{}}), Catch::Contains("a WAIT order has not ended"));
  CHECK_THAT(refusal({.state = State::failed, .ended_at = Time::max()}), Catch::Contains("time of the end"));
  CHECK_THAT(refusal({.created_at = Time::min()}), Catch::Contains("time of creation"));
  CHECK_THAT(refusal({.key = ""}), Catch::Contains("key has 0 bytes"));

  CHECK(model::validate_past({.created_at = now, .ended_at = now}, now));
  CHECK(model::validate_past({.ended_at = now + 1ms}, now).error().message ==
        "time of the end is 1 ms in the future, allowed is up to now");
  CHECK(model::validate_past({.created_at = now + 7ms}, now).error().message ==
        "time of creation is 7 ms in the future, allowed is up to now");
}

TEST_CASE("what a row and a cancel with since must look like") {
  ReconcileRequest bad = row(now);
  CHECK(model::validate(bad));
  bad.read_at = Time::max();
  CHECK_THAT(model::validate(bad).error().message, Catch::Contains("time of the reading"));
  CHECK(model::validate(CancelRequest{.queue = "q", .id = "x", .since = 1}));
  CHECK(model::validate(CancelRequest{.queue = "q", .id = "x", .force = true, .since = 1}).error().code ==
        Code::invalid);
}
