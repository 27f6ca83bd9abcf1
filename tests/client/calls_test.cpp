// Each call over the network answers as the engine does.
#include <catch2/catch.hpp>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "client/served.h"

using namespace duelease;
using namespace duelease::test;

namespace {

Outcome outcome(Result<Answer> answer) { return well(std::move(answer)).outcome; }

}  // namespace

TEST_CASE("what a producer calls", "[client]") {
  Served served;
  const auto client = served.client();
  ScheduleRequest order = order_of("q", std::string("a\0b", 3), Time{Duration{1000}});
  order.payload = std::string("\r\n\0 \"", 5);
  order.key = "k";
  order.priority = std::uint8_t{7};
  CHECK(outcome(client->schedule(order)) == Outcome::scheduled);

  const Answer duplicate = well(client->schedule(order));
  CHECK(duplicate.outcome == Outcome::duplicate);
  CHECK(duplicate.blocker == order.id);
  CHECK(duplicate.state == State::wait);
  order.upsert = true;
  CHECK(outcome(client->schedule(order)) == Outcome::rescheduled);

  CHECK(outcome(client->reschedule({"q", order.id, Time{Duration{2000}}})) == Outcome::rescheduled);
  CHECK(outcome(client->reschedule({"q", "none", Time{}})) == Outcome::not_found);
  const std::optional<Order> seen = well(client->order("q", order.id));
  REQUIRE(seen);
  CHECK(seen->queue == "q");
  CHECK(seen->id == order.id);
  CHECK(seen->due == Time{Duration{2000}});
  CHECK(seen->payload == *order.payload);
  CHECK(seen->key == order.key);
  CHECK(seen->priority == 7);
  CHECK(seen->tries == 25);
  CHECK(seen->tries_used == 0);
  CHECK(seen->sequence == well(served.engine().order("q", order.id))->sequence);
  CHECK_FALSE(well(client->order("q", "none")));

  CHECK(outcome(client->cancel({"q", order.id, false})) == Outcome::aborted);
  CHECK(outcome(client->cancel({"q", order.id, false})) == Outcome::aborted);
  CHECK(outcome(client->cancel({"q", "none", false})) == Outcome::not_found);
  const Answer refused = well(client->reschedule({"q", order.id, Time{}}));
  CHECK(refused.outcome == Outcome::refused);
  CHECK(refused.state == State::aborted);
}

TEST_CASE("the history of an order is that of the engine", "[client]") {
  Served served;
  const auto client = served.client();
  CHECK(client->history("q", "x").error().code == Code::not_found);
  QueueSetRequest keep{.queue = "q"};
  keep.keep_history = Duration{3'600'000};
  CHECK(well(client->set_queue(keep)).keep_history == *keep.keep_history);
  CHECK(outcome(client->schedule(order_of("q", "x", Time{}))) == Outcome::scheduled);
  const std::vector<Claimed> claimed = well(client->claim({.queues = {"q"}, .worker = "w"}));
  REQUIRE(claimed.size() == 1);
  FailRequest report{.queue = "q", .id = "x", .token = claimed[0].token, .error = std::string("\0\r\n", 3)};
  report.final = true;
  CHECK(outcome(client->fail(report)) == Outcome::failed);
  const std::vector<HistoryEntry> entries = well(client->history("q", "x"));
  REQUIRE(entries.size() == 3);
  CHECK(entries == well(served.engine().history("q", "x")));
  CHECK(entries[2].reason == report.error);
  std::promise<Result<std::vector<HistoryEntry>>> promise;
  client->history("q", "x", 1, [&](Result<std::vector<HistoryEntry>> r) { promise.set_value(std::move(r)); });
  CHECK(well(promise.get_future().get()) == std::vector<HistoryEntry>{entries[2]});
}

TEST_CASE("braces with two texts are one request to a client too", "[client]") {
  Served served;
  const auto client = served.client();
  CHECK(well(client->schedule({.queue = "q", .id = "a"})).outcome == Outcome::scheduled);
  CHECK(well(client->complete({.queue = "q", .id = "a"})).outcome == Outcome::stale);
  std::promise<Result<Answer>> promise;
  client->schedule({.queue = "q", .id = "b"}, [&](auto answer) { promise.set_value(std::move(answer)); });
  CHECK(well(promise.get_future().get()).outcome == Outcome::scheduled);
}

TEST_CASE("what a worker calls", "[client]") {
  Served served;
  const auto client = served.client();
  CHECK(well(client->claim(claim_of("q", "w"))).empty());
  schedule_many(served.engine(), "q", 4);
  const std::vector<Claimed> claimed = well(client->claim(claim_of("q", "w", 3)));
  REQUIRE(claimed.size() == 3);
  CHECK(claimed[0].id == "0");
  CHECK(claimed[0].queue == "q");
  CHECK(claimed[0].attempt == 1);

  auto extend = report_on<ExtendRequest>(claimed[0]);
  extend.lease = Duration{600'000};
  const Answer extended = well(client->extend(extend));
  CHECK(extended.outcome == Outcome::extended);
  CHECK(extended.at > claimed[0].lease_expires_at);

  auto complete = report_on<CompleteRequest>(claimed[0]);
  complete.result = "done";
  CHECK(outcome(client->complete(complete)) == Outcome::completed);
  CHECK(outcome(client->complete(complete)) == Outcome::already);
  CHECK(well(client->order("q", claimed[0].id))->result == "done");

  auto fail_it = report_on<FailRequest>(claimed[1]);
  fail_it.error = "no money";
  fail_it.final = true;
  CHECK(outcome(client->fail(fail_it)) == Outcome::failed);
  CHECK(outcome(client->fail(fail_it)) == Outcome::stale);
  CHECK(well(client->order("q", claimed[1].id))->error == "no money");
  CHECK(outcome(client->retry({"q", claimed[1].id, std::nullopt})) == Outcome::requeued);

  CHECK(outcome(client->release(report_on<ReleaseRequest>(claimed[2]))) == Outcome::requeued);
  CHECK(well(client->pop({"q", 10})).size() == 3);
}

TEST_CASE("what the owner of a run calls", "[client]") {
  Served served;
  const auto client = served.client();
  CHECK(well(client->run_open({"q", "r", Duration{60'000}})) == RunState::creating);
  ScheduleRequest order = order_of("q", "a");
  order.run = "r";
  CHECK(outcome(client->schedule(order)) == Outcome::scheduled);
  CHECK(well(client->run_start({"q", "r"})) == RunState::running);
  CHECK(well(client->run_beat({"q", "r"})) == RunState::running);
  const Result<RunState> busy = client->run_done({"q", "r"});
  REQUIRE_FALSE(busy);
  CHECK(busy.error().code == Code::busy);
  CHECK_THAT(busy.error().message, Catch::Contains("1 orders in WAIT"));

  const std::vector<Claimed> claimed = well(client->claim(claim_of("q", "w")));
  REQUIRE(claimed.size() == 1);
  CHECK(claimed[0].run == "r");
  CHECK(outcome(client->complete(report_on<CompleteRequest>(claimed[0]))) == Outcome::completed);
  CHECK(well(client->run_done({"q", "r"})) == RunState::done);
  CHECK(client->run_start({"q", "r"}).error().code == Code::not_alive);
  order.id = "b";
  CHECK(client->schedule(order).error().code == Code::not_alive);

  const Run seen = well(client->run("q", "r"));
  const Run here = well(served.engine().run("q", "r"));
  CHECK(seen.queue == "q");
  CHECK(seen.run == "r");
  CHECK(seen.state == RunState::done);
  CHECK(seen.ttl == Duration{60'000});
  CHECK_FALSE(seen.expires_at);
  CHECK(seen.opened_at == here.opened_at);
  CHECK(seen.started_at == here.started_at);
  CHECK(seen.ended_at == here.ended_at);
  CHECK(seen.counts == Counts{.success = 1});

  CHECK(well(client->run_open({"q", "s", std::nullopt})) == RunState::creating);
  CHECK(well(client->run_error({"q", "s", "no paper"})) == RunState::error);
  CHECK(well(client->run("q", "s")).reason == "no paper");
  CHECK(well(client->runs("q")) == std::vector<std::string>{"r", "s"});
  CHECK(client->run("q", "none").error().code == Code::not_found);
  CHECK(client->runs("none").error().code == Code::not_found);
}

TEST_CASE("what upkeep calls", "[client]") {
  Served served;
  const auto client = served.client();
  QueueSetRequest set;
  set.queue = "q";
  set.tries = 3;
  CHECK(well(client->set_queue(set)).tries == 3);
  CHECK(well(client->pause("q")).paused);
  CHECK_FALSE(well(client->resume("q")).paused);
  CHECK(well(client->queue_settings("q")).tries == 3);
  QueueSetRequest elsewhere;
  elsewhere.queue = "none";
  elsewhere.create = false;
  CHECK(client->set_queue(elsewhere).error().code == Code::not_found);
  set.create = false;
  CHECK(well(client->set_queue(set)).tries == 3);
  set.tries = 2'000'000;
  const Result<QueueSettings> wrong = client->set_queue(set);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Code::invalid);
  CHECK_THAT(wrong.error().message, Catch::Contains("2000000"));

  schedule_many(served.engine(), "q", 3);
  CHECK(well(client->queues()) == std::vector<std::string>{"q"});
  CHECK(well(client->stats("q")).counts.wait == 3);
  ListRequest list;
  list.queue = "q";
  list.limit = 2;
  const Page page = well(client->list(list));
  CHECK(page.ids == std::vector<std::string>{"0", "1"});
  list.after = page.next;
  CHECK(well(client->list(list)).ids == std::vector<std::string>{"2"});
  CHECK_THAT(well(client->why("q", "none")), Catch::Contains("no such order"));
  CHECK(well(client->reap({"q", 10})) == 0);
  CHECK(outcome(client->cancel({"q", "0", false})) == Outcome::aborted);
  CHECK(well(client->purge({"q", State::aborted, Duration{0}, 10})) == 1);
  const CheckReport report = well(client->check());
  CHECK(report.violations() == 0);
  CHECK_FALSE(report.invariants.empty());
  well(client->ping());

  const Result<Stats> none = client->stats("none");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::not_found);
}

TEST_CASE("many at once are answered in order", "[client]") {
  Served served;
  const auto client = served.client();
  std::vector<ScheduleRequest> orders;
  for (int i = 0; i < 1000; ++i) orders.push_back(order_of("q", std::to_string(i % 900)));
  orders[17].id = std::string(256, 'x');
  orders[18].app_writes.push_back({"key", "value"});
  const std::vector<Result<Answer>> scheduled = client->schedule(orders);
  REQUIRE(scheduled.size() == 1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    INFO(i);
    if (i == 17 || i == 18) {
      REQUIRE_FALSE(scheduled[i]);
      CHECK(scheduled[i].error().code == Code::invalid);
      continue;
    }
    const bool again = i >= 900 && i != 917 && i != 918;
    CHECK(outcome(scheduled[i]) == (again ? Outcome::duplicate : Outcome::scheduled));
  }
  std::vector<CompleteRequest> reports;
  for (const Claimed& order : well(client->claim(claim_of("q", "w", 900)))) {
    reports.push_back(report_on<CompleteRequest>(order));
  }
  REQUIRE(reports.size() == 900);
  for (const Result<Answer>& answer : client->complete(reports)) CHECK(outcome(answer) == Outcome::completed);
  CHECK(client->complete(std::vector<CompleteRequest>{}).empty());
}

TEST_CASE("calls are made and answered in the order of one caller", "[client]") {
  Served served;
  const auto client = served.client();
  std::mutex mutex;
  std::vector<int> answered;
  Reply<Answer> last;
  for (int i = 0; i < 500; ++i) {
    ScheduleRequest order = order_of("q", "a", Time{Duration{i}});
    order.upsert = true;
    client->schedule(order, [&, i](const Result<Answer>&) {
      const std::lock_guard lock(mutex);
      answered.push_back(i);
    });
  }
  client->cancel({"q", "none", false}, last.callback());
  well(last.get());
  CHECK(answered.size() == 500);
  CHECK(std::is_sorted(answered.begin(), answered.end()));
  CHECK(well(client->order("q", "a"))->due == Time{Duration{499}});
}

TEST_CASE("what has no place on the wire is refused, and nothing is sent", "[client]") {
  Served served;
  ClientOptions options = served.client_options();
  options.request_bytes_max = 1000;
  const auto client = well(Client::connect(options));
  const auto refusal = [](auto result) {
    REQUIRE_FALSE(result);
    return std::string(code_name(result.error().code)) + ": " + result.error().message;
  };
  ScheduleRequest order = order_of("q", "a");
  order.app_writes.push_back({"key", "value"});
  CHECK_THAT(refusal(client->schedule(order)), Catch::StartsWith("invalid: 1 application writes"));
  order.app_writes.clear();
  order.payload = std::string(1000, 'x');
  CHECK_THAT(refusal(client->schedule(order)), Catch::StartsWith("too_large: ") && Catch::Contains("1000"));
  CHECK_THAT(refusal(client->claim(claim_of("a,b", "w"))), Catch::StartsWith("invalid: queue name 'a,b'"));
  ClaimRequest backwards = claim_of("q", "w");
  backwards.wait = Duration{-5};
  CHECK_THAT(refusal(client->claim(backwards)), Catch::StartsWith("invalid: ") && Catch::Contains("-5"));
  ClaimRequest nowhere = claim_of("q", "w");
  nowhere.queues.clear();
  CHECK_THAT(refusal(client->claim(nowhere)), Catch::StartsWith("invalid: "));
  CHECK_FALSE(well(client->order("q", "a")));
}

TEST_CASE("options out of range are refused", "[client]") {
  const auto refusal = [](const ClientOptions& options) {
    const auto client = Client::connect(options);
    REQUIRE_FALSE(client);
    CHECK(client.error().code == Code::invalid);
    return client.error().message;
  };
  ClientOptions options;
  options.host.clear();
  CHECK(refusal(options) == "host is empty");
  options = {};
  options.port = 0;
  CHECK(refusal(options) == "port is 0, allowed are 1 to 65535");
  options = {};
  options.request_timeout = Duration{0};
  CHECK(refusal(options) == "request timeout is 0 ms, allowed are 1 to 86400000");
  options = {};
  options.backoff_cap = Duration{10};
  CHECK(refusal(options) == "backoff cap is 10 ms, allowed are 50 to 86400000");
  options = {};
  options.waiting_claims_max = 0;
  CHECK_THAT(refusal(options), Catch::Contains("a limit of 0 claims that wait"));
  options = {};
  options.user = "ann";
  CHECK(refusal(options) == "user ann has no password");
  options = {};
  options.tls.enabled = true;
  options.tls.ca_file = "/none.pem";
  CHECK_THAT(refusal(options), Catch::Contains("/none.pem"));
}
