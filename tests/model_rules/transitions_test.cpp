// The state machine of one order, arrow by arrow: what changes, and that nothing else does.
#include "model/transitions.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "base/limits.h"
#include "model/rules.h"
#include "support/printing.h"

using namespace duelease;
using namespace std::chrono_literals;
using model::Record;

namespace {

constexpr Time created{1'000'000'000ms};
constexpr Time now = created + 1h;
constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();

// Every field holds something that a careless transition could lose.
Record full(State state) {
  Record record;
  record.state = state;
  record.due = created + 1min;
  record.priority = 7;
  record.tries = 25;
  record.attempt = 9;
  record.tries_used = 5;
  record.failures = 3;
  record.generation = 2;
  record.key = "key";
  record.run = "run";
  record.token = Token{77};
  record.sequence = 78;
  record.worker = "w";
  record.created_at = created;
  record.updated_at = created + 1s;
  record.error = "old error";
  record.result = "";
  record.payload = "payload";
  record.unknown = "unknown";
  return record;
}

// `before` with the changes that are expected.
template <class Change>
Record changed(Record before, Change change) {
  change(before);
  return before;
}

}  // namespace

TEST_CASE("schedule: from nothing to WAIT", "[transitions]") {
  QueueSettings settings;
  settings.tries = 9;
  ScheduleRequest request{.queue = "q", .id = "x", .due = created};

  const Record plain = model::schedule(request, settings, now);
  Record expected;
  expected.due = created;
  expected.tries = 9;
  expected.created_at = expected.updated_at = now;
  CHECK(plain == expected);
  CHECK(plain.priority == 128);
  CHECK(plain.generation == 1);

  request.payload = "p";
  request.key = "k";
  request.run = "r";
  request.priority = std::uint8_t{0};
  request.tries = 0U;
  expected.payload = "p";
  expected.key = "k";
  expected.run = "r";
  expected.priority = 0;
  expected.tries = 0;
  CHECK(model::schedule(request, settings, now) == expected);
}

TEST_CASE("upsert: WAIT to WAIT, with what is given and the rest as it was", "[transitions]") {
  ScheduleRequest request{.queue = "q", .id = "x", .due = now + 5s, .upsert = true};
  Record record = full(State::wait);
  model::upsert(record, request, now);
  CHECK(record == changed(full(State::wait), [](Record& r) {
          r.due = now + 5s;
          r.updated_at = now;
        }));

  request.payload = "";
  request.priority = std::uint8_t{255};
  request.tries = 1U;
  model::upsert(record, request, now + 1s);
  CHECK(record == changed(full(State::wait), [](Record& r) {
          r.due = now + 5s;
          r.payload = "";
          r.priority = 255;
          r.tries = 1;
          r.updated_at = now + 1s;
        }));
}

TEST_CASE("reschedule: WAIT to WAIT at another time", "[transitions]") {
  Record record = full(State::wait);
  model::reschedule(record, created - 1h, now);
  CHECK(record == changed(full(State::wait), [](Record& r) {
          r.due = created - 1h;
          r.updated_at = now;
        }));
}

TEST_CASE("hand_out: WAIT to PROCESSING", "[transitions]") {
  Record record = full(State::wait);
  model::hand_out(record, Token{78}, "other", now);
  CHECK(record == changed(full(State::wait), [](Record& r) {
          r.state = State::processing;
          r.token = Token{78};
          r.worker = "other";
          r.attempt = 10;
          r.tries_used = 6;
          r.updated_at = now;
        }));
}

TEST_CASE("succeed: PROCESSING to SUCCESS", "[transitions]") {
  Record record = full(State::processing);
  model::succeed(record, "result", now);
  CHECK(record == changed(full(State::processing), [](Record& r) {
          r.state = State::success;
          r.result = "result";
          r.updated_at = now;
        }));
}

TEST_CASE("report_failure: PROCESSING to WAIT at the retry time", "[transitions]") {
  QueueSettings settings;
  settings.backoff_jitter_percent = 0;
  FailRequest request{.queue = "q", .id = "x", .token = Token{77}, .error = "no"};
  Record record = full(State::processing);
  model::report_failure(record, request, settings, now, 1);
  CHECK(record == changed(full(State::processing), [](Record& r) {
          r.state = State::wait;
          r.failures = 4;
          r.error = "no";
          r.due = now + 16s;  // The fifth try.
          r.asked_due = created + 1min;
          r.updated_at = now;
        }));

  request.retry_at = now - 1h;
  record = full(State::processing);
  model::report_failure(record, request, settings, now, 1);
  CHECK(record.due == now - 1h);
}

TEST_CASE("report_failure: PROCESSING to FAILED when it is final or no tries are left", "[transitions]") {
  FailRequest request{.queue = "q", .id = "x", .token = Token{77}, .error = "no", .retry_at = now + 1h};
  Record record = full(State::processing);
  SECTION("final") { request.final = true; }
  SECTION("the last try") { record.tries = 5; }
  SECTION("beyond the last try") { record.tries = 1; }
  const Record before = record;
  model::report_failure(record, request, {}, now, 1);
  CHECK(record == changed(before, [](Record& r) {
          r.state = State::failed;
          r.failures = 4;
          r.error = "no";
          r.updated_at = now;
        }));
}

TEST_CASE("report_failure: an error is cut, not refused", "[transitions]") {
  FailRequest request{.queue = "q", .id = "x", .error = std::string(limits::error_bytes_max, 'e')};
  Record record = full(State::processing);
  model::report_failure(record, request, {}, now, 1);
  CHECK(record.error == request.error);
  request.error += "more";
  record = full(State::processing);
  model::report_failure(record, request, {}, now, 1);
  CHECK(record.error == std::string(limits::error_bytes_max, 'e'));
}

TEST_CASE("an error is not cut in the middle of a character", "[transitions]") {
  const std::string whole(limits::error_bytes_max - 1, 'e');
  FailRequest request{.queue = "q", .id = "x", .error = whole + "\xc3\xa9"};
  Record record = full(State::processing);
  model::report_failure(record, request, {}, now, 1);
  CHECK(record.error == whole);
  ImportRequest import{.queue = "q", .id = "x", .state = State::failed};
  import.error = request.error;
  CHECK(model::adopt(import, {}, now).error == whole);
  CHECK(model::cut("a\xc3\xa9", 3) == "a\xc3\xa9");
  CHECK(model::cut("\x80\x80\x80\x80\x80\x80", 5).size() == 2);  // No UTF-8: not far.
  CHECK(model::cut("\x80\x80", 1).empty());
}

TEST_CASE("release: PROCESSING to WAIT, the try not counted", "[transitions]") {
  ReleaseRequest request{.queue = "q", .id = "x", .token = Token{77}};
  Record record = full(State::processing);
  model::release(record, request, now);
  CHECK(record == changed(full(State::processing), [](Record& r) {
          r.state = State::wait;
          r.tries_used = 4;
          r.updated_at = now;
        }));
  request.due = now + 1h;
  record = full(State::processing);
  model::release(record, request, now);
  CHECK(record.due == now + 1h);
}

TEST_CASE("lose_lease: PROCESSING to WAIT at its old place, or FAILED when no tries are left",
          "[transitions]") {
  Record record = full(State::processing);
  model::lose_lease(record, now);
  CHECK(record == changed(full(State::processing), [](Record& r) {
          r.state = State::wait;
          r.updated_at = now;
        }));

  record = full(State::processing);
  record.tries = 5;
  model::lose_lease(record, now);
  CHECK(record == changed(full(State::processing), [](Record& r) {
          r.state = State::failed;
          r.tries = 5;
          r.error = "the lease ran out and no tries are left";
          r.updated_at = now;
        }));
}

TEST_CASE("abort: WAIT or PROCESSING to ABORTED", "[transitions]") {
  const State from = GENERATE(State::wait, State::processing);
  Record record = full(from);
  model::abort(record, now);
  CHECK(record == changed(full(from), [](Record& r) {
          r.state = State::aborted;
          r.updated_at = now;
        }));
}

TEST_CASE("revive: FAILED to WAIT with a fresh set of tries", "[transitions]") {
  Record record = full(State::failed);
  model::revive(record, now + 1s, now);
  CHECK(record == changed(full(State::failed), [](Record& r) {
          r.state = State::wait;
          r.due = now + 1s;
          r.asked_due = created + 1min;
          r.tries_used = 0;
          r.updated_at = now;
        }));
}

TEST_CASE("counters stop at their end rather than start again", "[transitions]") {
  Record record = full(State::wait);
  record.tries = 0;
  record.attempt = record.tries_used = record.failures = most;
  model::hand_out(record, Token{78}, "w", now);
  CHECK(record.attempt == most);
  CHECK(record.tries_used == most);
  model::report_failure(record, {}, {}, now, 1);
  CHECK(record.failures == most);
  CHECK(record.state == State::wait);
}
