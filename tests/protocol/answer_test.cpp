// What print_x in reply.h prints, read_x in answer.h reads; and the very bytes that src/protocol/README.md promises.
#include "protocol/answer.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "protocol/reply.h"
#include "support/printing.h"

using namespace duelease;
using namespace duelease::protocol;
using namespace std::string_literals;

namespace {

Time at(std::int64_t ms) { return Time{Duration{ms}}; }

Value value_of(const std::string& bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  Result<std::optional<Value>> value = reader.next();
  INFO(bytes);
  REQUIRE(value.has_value());
  REQUIRE(value->has_value());
  return std::move(**value);
}

std::string printed(const Answer& answer) {
  std::string out;
  print_answer(out, answer);
  return out;
}

Answer read_back(const Answer& answer, Asked asked = Asked::other) {
  const Result<Answer> read = read_answer(value_of(printed(answer)), asked);
  REQUIRE(read);
  return *read;
}

void check_same(const Answer& read, const Answer& answer) {
  INFO(outcome_name(answer.outcome));
  CHECK(read.outcome == answer.outcome);
  CHECK(read.state == answer.state);
  CHECK(read.blocker == answer.blocker);
}

template <class T>
Error error_of(const Result<T>& result) {
  REQUIRE(!result);
  return result.error();
}

}  // namespace

TEST_CASE("outcomes are the words of the protocol", "[answer]") {
  CHECK(printed({.outcome = Outcome::scheduled}) == "+SCHEDULED\r\n");
  CHECK(printed({.outcome = Outcome::rescheduled}) == "+RESCHEDULED\r\n");
  CHECK(printed({.outcome = Outcome::completed}) == "+COMPLETED\r\n");
  CHECK(printed({.outcome = Outcome::already}) == "+ALREADY\r\n");
  CHECK(printed({.outcome = Outcome::stale}) == "+STALE\r\n");
  CHECK(printed({.outcome = Outcome::requeued, .at = at(5)}) == "+WAIT\r\n");
  CHECK(printed({.outcome = Outcome::failed}) == "+FAILED\r\n");
  CHECK(printed({.outcome = Outcome::aborted}) == "+ABORTED\r\n");
  CHECK(printed({.outcome = Outcome::extended, .at = at(1'700'000'000'000)}) == ":1700000000000\r\n");
  CHECK(printed({.outcome = Outcome::not_found}) == "+NOTFOUND\r\n");
  CHECK(printed({.outcome = Outcome::unchanged}) == "+UNCHANGED\r\n");
  CHECK(printed({.outcome = Outcome::newer, .state = State::aborted}) == "+NEWER\r\n");
  CHECK(printed({.outcome = Outcome::scheduled, .state = State::success}) == "+SUCCESS\r\n");
  CHECK(printed({.outcome = Outcome::refused, .state = State::processing}) == "+PROCESSING\r\n");
  CHECK(printed({.outcome = Outcome::refused, .state = State::failed}) == "+FAILED\r\n");
  CHECK(printed({.outcome = Outcome::duplicate, .state = State::success, .blocker = "a\r\n"}) ==
        "*3\r\n$9\r\nDUPLICATE\r\n$7\r\nSUCCESS\r\n$3\r\na\r\n\r\n");
}

TEST_CASE("outcomes are read back with the state that they mean", "[answer]") {
  check_same(read_back({.outcome = Outcome::scheduled}), {.outcome = Outcome::scheduled});
  check_same(read_back({.outcome = Outcome::rescheduled}), {.outcome = Outcome::rescheduled});
  check_same(read_back({.outcome = Outcome::completed}),
             {.outcome = Outcome::completed, .state = State::success});
  check_same(read_back({.outcome = Outcome::already}),
             {.outcome = Outcome::already, .state = State::success});
  check_same(read_back({.outcome = Outcome::stale}), {.outcome = Outcome::stale});
  check_same(read_back({.outcome = Outcome::requeued}), {.outcome = Outcome::requeued});
  check_same(read_back({.outcome = Outcome::failed}), {.outcome = Outcome::failed, .state = State::failed});
  check_same(read_back({.outcome = Outcome::aborted}),
             {.outcome = Outcome::aborted, .state = State::aborted});
  check_same(read_back({.outcome = Outcome::not_found}), {.outcome = Outcome::not_found});
  const Answer duplicate{.outcome = Outcome::duplicate, .state = State::processing, .blocker = "4711"};
  check_same(read_back(duplicate), duplicate);
  const Answer extended = read_back({.outcome = Outcome::extended, .at = at(-7)});
  check_same(extended, {.outcome = Outcome::extended, .state = State::processing});
  CHECK(extended.at == at(-7));
}

TEST_CASE("the name of a state is an outcome or a reason, as the request has it", "[answer]") {
  const auto refused = [](State state, Asked asked) {
    const Answer read = read_back({.outcome = Outcome::refused, .state = state}, asked);
    CHECK(read.state == state);
    return read.outcome;
  };
  for (const Asked asked : {Asked::other, Asked::reschedule, Asked::cancel, Asked::retry, Asked::reconcile}) {
    CHECK(refused(State::processing, asked) == Outcome::refused);
    CHECK(refused(State::success, asked) == Outcome::refused);
  }
  CHECK(refused(State::wait, Asked::other) == Outcome::requeued);
  CHECK(refused(State::failed, Asked::other) == Outcome::failed);
  CHECK(refused(State::aborted, Asked::other) == Outcome::aborted);
  CHECK(refused(State::wait, Asked::reschedule) == Outcome::refused);
  CHECK(refused(State::failed, Asked::reschedule) == Outcome::refused);
  CHECK(refused(State::aborted, Asked::reschedule) == Outcome::refused);
  CHECK(refused(State::failed, Asked::cancel) == Outcome::refused);
  CHECK(refused(State::aborted, Asked::cancel) == Outcome::aborted);
  CHECK(refused(State::wait, Asked::retry) == Outcome::requeued);  // The one that cannot be told apart.
  CHECK(refused(State::failed, Asked::retry) == Outcome::refused);
  CHECK(refused(State::aborted, Asked::retry) == Outcome::refused);
  check_same(read_back({.outcome = Outcome::not_found}, Asked::cancel), {.outcome = Outcome::not_found});
  CHECK(refused(State::failed, Asked::reconcile) == Outcome::refused);
  CHECK(refused(State::aborted, Asked::reconcile) == Outcome::refused);
  for (const Outcome outcome :
       {Outcome::scheduled, Outcome::rescheduled, Outcome::unchanged, Outcome::newer}) {
    check_same(read_back({.outcome = outcome}, Asked::reconcile), {.outcome = outcome});
  }
  check_same(read_back({.outcome = Outcome::newer}, Asked::cancel), {.outcome = Outcome::newer});
  for (const State state : {State::wait, State::success, State::failed, State::aborted}) {
    const Answer imported{.outcome = Outcome::scheduled, .state = state};
    check_same(read_back(imported, Asked::import_order), imported);
  }
}

TEST_CASE("orders handed out", "[answer]") {
  const std::vector<Claimed> orders = {{.queue = "q",
                                        .id = "4711",
                                        .token = Token{17},
                                        .attempt = 2,
                                        .lease_expires_at = at(1'700'000'030'000),
                                        .due = at(-5),
                                        .payload = std::string("\0\r\n", 3),
                                        .key = "",
                                        .run = "r",
                                        .lease = Duration{30'000}},
                                       {.queue = "p", .id = "x", .token = Token{9223372036854775807U}}};
  std::string out;
  print_claimed(out, orders);
  CHECK(out ==
        "*2\r\n*9\r\n$4\r\n4711\r\n:17\r\n:2\r\n:1700000030000\r\n:-5\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n$"
        "1\r\nr\r\n$1\r\nq\r\n"
        "*9\r\n$1\r\nx\r\n:9223372036854775807\r\n:0\r\n:0\r\n:0\r\n$0\r\n\r\n$-1\r\n$-1\r\n$1\r\np\r\n"s);
  const Result<std::vector<Claimed>> read = read_claimed(value_of(out));
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Claimed& a = orders[i];
    const Claimed& b = (*read)[i];
    CHECK(std::tie(a.queue, a.id, a.token, a.attempt, a.lease_expires_at, a.due, a.payload, a.key, a.run) ==
          std::tie(b.queue, b.id, b.token, b.attempt, b.lease_expires_at, b.due, b.payload, b.key, b.run));
    CHECK(b.lease == Duration{0});  // Not on the wire.
  }
  out.clear();
  print_claimed(out, {});
  CHECK(out == "*0\r\n");
  CHECK(read_claimed(value_of(out))->empty());
}

TEST_CASE("an order as it stands", "[answer]") {
  Order order{.queue = "q",
              .id = "4711",
              .state = State::processing,
              .due = at(5),
              .priority = 128,
              .tries = 25,
              .attempt = 3,
              .tries_used = 1,
              .failures = 2,
              .key = "k",
              .run = "r",
              .token = Token{17},
              .sequence = 18,
              .worker = "w",
              .lease_expires_at = at(9),
              .created_at = at(1),
              .updated_at = at(2),
              .error = "e",
              .result = "ok",
              .payload = "p"};
  for (const bool bare : {false, true}) {
    if (bare) order = {.id = "4711"};
    std::string out;
    print_order(out, order);
    const Result<std::optional<Order>> read = read_order(value_of(out));
    REQUIRE(read);
    REQUIRE(*read);
    const Order& b = **read;
    CHECK(std::tie(order.id, order.state, order.due, order.priority, order.attempt, order.failures, order.key,
                   order.run, order.token, order.worker) ==
          std::tie(b.id, b.state, b.due, b.priority, b.attempt, b.failures, b.key, b.run, b.token, b.worker));
    CHECK(std::tie(order.lease_expires_at, order.created_at, order.updated_at, order.error, order.result,
                   order.payload, order.tries, order.tries_used,
                   order.sequence) == std::tie(b.lease_expires_at, b.created_at, b.updated_at, b.error,
                                               b.result, b.payload, b.tries, b.tries_used, b.sequence));
  }
}

TEST_CASE("an order is fields in a fixed order, absent ones nil", "[answer]") {
  std::string out;
  print_order(out, Order{.id = "4711",
                         .due = at(5),
                         .priority = 128,
                         .tries = 25,
                         .sequence = 7,
                         .created_at = at(1),
                         .updated_at = at(2)});
  CHECK(out ==
        "*38\r\n$2\r\nid\r\n$4\r\n4711\r\n$5\r\nstate\r\n$4\r\nWAIT\r\n$3\r\ndue\r\n:5\r\n$7\r\nattempt\r\n:"
        "0\r\n"
        "$8\r\nfailures\r\n:0\r\n$8\r\npriority\r\n:128\r\n$3\r\nkey\r\n$-1\r\n$3\r\nrun\r\n$-1\r\n$"
        "5\r\ntoken\r\n:0\r\n"
        "$6\r\nworker\r\n$-1\r\n$16\r\nlease_expires_at\r\n$-1\r\n$10\r\ncreated_at\r\n:1\r\n$10\r\nupdated_"
        "at\r\n:2\r\n"
        "$5\r\nerror\r\n$-1\r\n$6\r\nresult\r\n$-1\r\n$7\r\npayload\r\n$0\r\n\r\n"
        "$5\r\ntries\r\n:25\r\n$10\r\ntries_used\r\n:0\r\n$8\r\nsequence\r\n:7\r\n");
  out.clear();
  print_order(out, std::nullopt);
  CHECK(out == "$-1\r\n");
  const Result<std::optional<Order>> none = read_order(value_of(out));
  REQUIRE(none);
  CHECK_FALSE(none->has_value());
}

TEST_CASE("pages and names", "[answer]") {
  for (const Page& page : {Page{}, Page{.ids = {"a", "", std::string("\0\r\n", 3)}, .next = "cursor"}}) {
    std::string out;
    print_page(out, page);
    const Result<Page> read = read_page(value_of(out));
    REQUIRE(read);
    CHECK(read->ids == page.ids);
    CHECK(read->next == page.next);
    out.clear();
    print_names(out, page.ids);
    CHECK(*read_names(value_of(out)) == page.ids);
  }
  std::string out;
  print_page(out, {.ids = {"a"}});
  CHECK(out == "*2\r\n$-1\r\n*1\r\n$1\r\na\r\n");
}

TEST_CASE("the counts of a queue", "[answer]") {
  const Stats stats{.counts = {.wait = 1, .processing = 2, .success = 3, .failed = 4, .aborted = 5},
                    .due = 6,
                    .oldest_overdue = Duration{7},
                    .leases = 8};
  std::string out;
  print_stats(out, stats);
  CHECK(out ==
        "*16\r\n$4\r\nWAIT\r\n:1\r\n$10\r\nPROCESSING\r\n:2\r\n$7\r\nSUCCESS\r\n:3\r\n$6\r\nFAILED\r\n:4\r\n"
        "$7\r\nABORTED\r\n:5\r\n$3\r\ndue\r\n:6\r\n$17\r\noldest_overdue_ms\r\n:7\r\n$6\r\nleases\r\n:8\r\n");
  const Result<Stats> read = read_stats(value_of(out));
  REQUIRE(read);
  CHECK(read->counts == stats.counts);
  CHECK(read->due == 6);
  CHECK(read->oldest_overdue == Duration{7});
  CHECK(read->leases == 8);
}

TEST_CASE("the settings of a queue, in the words that QUEUE SET takes", "[answer]") {
  QueueSettings settings;
  std::string out;
  print_settings(out, settings);
  CHECK(out ==
        "*18\r\n$5\r\nlease\r\n:30000\r\n$5\r\ntries\r\n:25\r\n$12\r\nbackoff_base\r\n:1000\r\n$"
        "11\r\nbackoff_cap\r\n"
        ":3600000\r\n$22\r\nbackoff_jitter_percent\r\n:10\r\n$17\r\npayload_bytes_max\r\n:1048576\r\n"
        "$12\r\nkeep_success\r\n$7\r\nforever\r\n$12\r\nkeep_history\r\n:0\r\n$6\r\npaused\r\n$2\r\nno\r\n");
  CHECK(*read_settings(value_of(out)) == settings);
  settings = {.lease = Duration{1},
              .tries = 2,
              .backoff_base = Duration{3},
              .backoff_cap = Duration{4},
              .backoff_jitter_percent = 5,
              .payload_bytes_max = 6,
              .keep_success = Duration{7},
              .keep_history = Duration{8},
              .paused = true};
  out.clear();
  print_settings(out, settings);
  CHECK(*read_settings(value_of(out)) == settings);

  // They are read back by QUEUE SET, word by word.
  const Value value = value_of(out);
  std::vector<std::string> words = {"QUEUE", "SET", "q"};
  for (const Value& word : value.array) {
    words.push_back(word.kind == Value::Kind::integer ? std::to_string(word.integer) : word.text);
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  const auto parsed = parse_request(views, at(0));
  REQUIRE(parsed.index() == 0);
  const auto* set = std::get_if<QueueSetRequest>(&std::get<Request>(parsed));
  REQUIRE(set != nullptr);
  CHECK(set->keep_success == std::optional<Duration>(7));
  CHECK(set->keep_history == Duration{8});
  CHECK(set->paused == true);
}

TEST_CASE("the history of an order", "[answer]") {
  std::string out;
  print_history(out, {});
  CHECK(out == "*0\r\n");
  const std::vector<HistoryEntry> entries = {
      {.event = HistoryEvent::scheduled, .state = State::wait, .at = at(1), .due = at(2), .sequence = 3},
      {.event = HistoryEvent::failed,
       .state = State::failed,
       .at = at(4),
       .worker = "w",
       .token = Token{5},
       .attempt = 6,
       .reason = "no\r\npaper",
       .sequence = 7}};
  out.clear();
  print_history(out, entries);
  CHECK(
      out.starts_with("*2\r\n*18\r\n$2\r\nat\r\n:1\r\n$5\r\nevent\r\n$9\r\nscheduled\r\n$5\r\nstate\r\n"
                      "$4\r\nWAIT\r\n$3\r\ndue\r\n:2\r\n$6\r\nworker\r\n$-1\r\n$5\r\ntoken\r\n:0\r\n"
                      "$7\r\nattempt\r\n:0\r\n$6\r\nreason\r\n$-1\r\n$8\r\nsequence\r\n:3\r\n*18\r\n"));
  CHECK(*read_history(value_of(out)) == entries);
  // An event of a newer server is passed on as what it is: not known here.
  const std::size_t event = out.find("$6\r\nfailed");
  REQUIRE(event != std::string::npos);
  out.replace(event, 10, "$6\r\nmelted");
  CHECK(read_history(value_of(out))->at(1).event == HistoryEvent::unknown);
  CHECK_FALSE(read_history(value_of("*1\r\n*0\r\n")));
  CHECK(read_history(value_of("*1\r\n-BUSY\r\n")).error().code ==
        Code::corrupt);  // No refusal of the request.
  CHECK_FALSE(read_history(value_of(":1\r\n")));
}

TEST_CASE("the state of a run", "[answer]") {
  for (const RunState state : {RunState::creating, RunState::running, RunState::done, RunState::error}) {
    std::string out;
    print_run_state(out, state);
    CHECK(out == "+" + std::string(run_state_name(state)) + "\r\n");
    CHECK(*read_run_state(value_of(out)) == state);
  }
}

TEST_CASE("a run as it stands", "[answer]") {
  Run run{.run = "nightly",
          .state = RunState::error,
          .ttl = Duration{30'000},
          .expires_at = at(7),
          .opened_at = at(1),
          .started_at = at(2),
          .ended_at = at(3),
          .reason = "no paper",
          .counts = {.wait = 1, .processing = 2, .success = 3, .failed = 4, .aborted = 5},
          .purged = {.success = 6, .failed = 7, .aborted = 8}};
  for (const bool bare : {false, true}) {
    if (bare) run = {.run = "r", .opened_at = at(-1)};
    std::string out;
    print_run(out, run);
    const Result<Run> read = read_run(value_of(out));
    REQUIRE(read);
    CHECK(std::tie(run.run, run.state, run.ttl, run.expires_at, run.opened_at, run.started_at, run.ended_at,
                   run.reason, run.counts, run.purged) ==
          std::tie(read->run, read->state, read->ttl, read->expires_at, read->opened_at, read->started_at,
                   read->ended_at, read->reason, read->counts, read->purged));
  }
}

TEST_CASE("a run is fields in a fixed order, absent ones nil", "[answer]") {
  std::string out;
  print_run(out, Run{.run = "r", .opened_at = at(1), .counts = {.wait = 2}});
  CHECK(out ==
        "*32\r\n$3\r\nrun\r\n$1\r\nr\r\n$5\r\nstate\r\n$8\r\nCREATING\r\n$3\r\nttl\r\n$-1\r\n"
        "$10\r\nexpires_at\r\n$-1\r\n$9\r\nopened_at\r\n:1\r\n$10\r\nstarted_at\r\n$-1\r\n"
        "$8\r\nended_at\r\n$-1\r\n$6\r\nreason\r\n$-1\r\n$4\r\nWAIT\r\n:2\r\n$10\r\nPROCESSING\r\n:0\r\n"
        "$7\r\nSUCCESS\r\n:0\r\n$6\r\nFAILED\r\n:0\r\n$7\r\nABORTED\r\n:0\r\n$14\r\npurged_SUCCESS\r\n:0\r\n"
        "$13\r\npurged_FAILED\r\n:0\r\n$14\r\npurged_ABORTED\r\n:0\r\n");
}

TEST_CASE("a check", "[answer]") {
  std::string out;
  print_check(out, {.invariants = {{.invariant = "a", .count = 0}, {.invariant = "b", .count = 3}}});
  CHECK(out == "*4\r\n$1\r\na\r\n:0\r\n$1\r\nb\r\n:3\r\n");
  const Result<CheckReport> read = read_check(value_of(out));
  REQUIRE(read);
  REQUIRE(read->invariants.size() == 2);
  CHECK(read->invariants[1].invariant == "b");
  CHECK(read->violations() == 3);
}

TEST_CASE("counts and texts", "[answer]") {
  CHECK(*read_count(value_of(":5\r\n")) == 5);
  CHECK(*read_text(value_of("+OK\r\n")) == "OK");
  CHECK(*read_text(value_of("$3\r\ndue\r\n")) == "due");
}

TEST_CASE("an error reply becomes the error that it was", "[answer]") {
  std::string out;
  print_error(out, Error{Code::not_found, "no such queue: 'q\n'"});
  CHECK(out == "-NOTFOUND no such queue: 'q '\r\n");
  const Value refused = value_of(out);
  const auto check = [](const Error& error) {
    CHECK(error.code == Code::not_found);
    CHECK(error.message == "no such queue: 'q '");
  };
  check(error_of(read_answer(refused)));
  check(error_of(read_claimed(refused)));
  check(error_of(read_order(refused)));
  check(error_of(read_page(refused)));
  check(error_of(read_names(refused)));
  check(error_of(read_stats(refused)));
  check(error_of(read_settings(refused)));
  check(error_of(read_run_state(refused)));
  check(error_of(read_run(refused)));
  check(error_of(read_check(refused)));
  check(error_of(read_count(refused)));
  check(error_of(read_text(refused)));

  const Error unknown = error_of(read_answer(value_of("-WRONGPASS go away\r\n")));
  CHECK(unknown.code == Code::invalid);
  CHECK(unknown.message == "WRONGPASS go away");
  CHECK(error_of(read_answer(value_of("-NOAUTH say AUTH first\r\n"))).code == Code::denied);
  CHECK(error_of(read_answer(value_of("-CLOSING\r\n"))).code == Code::closing);
  CHECK(error_of(read_order(value_of("-CORRUPT order '1' does not decode\r\n"))).code == Code::corrupt);
}

TEST_CASE("a reply that does not fit the request is corrupt, and shown", "[answer]") {
  const auto fits_not = [](const auto& read, const std::string& bytes) {
    INFO(bytes);
    const Error error = error_of(read(value_of(bytes)));
    CHECK(error.code == Code::corrupt);
    return error.message;
  };
  const auto answer = [](const Value& value) { return read_answer(value); };
  CHECK(fits_not(answer, "+HELLO\r\n") ==
        "the reply does not fit the request: an outcome was expected, and not a simple string 'HELLO'");
  for (const char* bytes :
       {"$-1\r\n", "$4\r\nWAIT\r\n", "*0\r\n", "+DUPLICATE\r\n", "+wait\r\n",
        "*3\r\n$9\r\nDUPLICATE\r\n$4\r\nNONE\r\n$1\r\na\r\n", "*3\r\n$9\r\nDUPLICATE\r\n$4\r\nWAIT\r\n:1\r\n",
        "*3\r\n$4\r\nABCD\r\n$4\r\nWAIT\r\n$1\r\na\r\n", "*2\r\n$9\r\nDUPLICATE\r\n$4\r\nWAIT\r\n"}) {
    fits_not(answer, bytes);
  }
  for (const char* bytes :
       {"+OK\r\n", "*1\r\n*0\r\n", "*1\r\n:1\r\n",
        "*1\r\n*9\r\n$1\r\nx\r\n:-1\r\n:0\r\n:0\r\n:0\r\n$0\r\n\r\n$-1\r\n$-1\r\n$1\r\np\r\n",
        "*1\r\n*9\r\n$1\r\nx\r\n:1\r\n:4294967296\r\n:0\r\n:0\r\n$0\r\n\r\n$-1\r\n$-1\r\n$1\r\np\r\n"}) {
    fits_not(read_claimed, bytes);
  }
  for (const char* bytes : {"+OK\r\n", "*0\r\n", "*2\r\n$2\r\nid\r\n$1\r\na\r\n"})
    fits_not(read_order, bytes);
  for (const char* bytes : {"*0\r\n", "*2\r\n:1\r\n*0\r\n", "*2\r\n$-1\r\n$-1\r\n"})
    fits_not(read_page, bytes);
  for (const char* bytes : {"$-1\r\n", "*1\r\n:1\r\n"}) fits_not(read_names, bytes);
  CHECK_THAT(fits_not(read_stats, "*2\r\n$4\r\nWAIT\r\n:-1\r\n"), Catch::Contains("a field WAIT"));
  fits_not(read_settings, "*0\r\n");
  for (const char* bytes : {"+UNKNOWN\r\n", "+done\r\n", "$4\r\nDONE\r\n", "$-1\r\n"})
    fits_not(read_run_state, bytes);
  CHECK_THAT(fits_not(read_run, "*4\r\n$3\r\nrun\r\n$1\r\nr\r\n$5\r\nstate\r\n$7\r\nUNKNOWN\r\n"),
             Catch::Contains("a run with a field state"));
  for (const char* bytes : {"*0\r\n", "*1\r\n$1\r\na\r\n", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "+OK\r\n"})
    fits_not(read_check, bytes);
  for (const char* bytes : {":-1\r\n", "+1\r\n"}) fits_not(read_count, bytes);
  for (const char* bytes : {":1\r\n", "$-1\r\n"}) fits_not(read_text, bytes);
}

TEST_CASE("fields that are not known are passed over", "[answer]") {
  std::string out;
  print_stats(out, {.due = 6});
  out.replace(0, 5, "*18\r\n$6\r\nfuture\r\n*0\r\n");
  const Result<Stats> read = read_stats(value_of(out));
  REQUIRE(read);
  CHECK(read->due == 6);
}
