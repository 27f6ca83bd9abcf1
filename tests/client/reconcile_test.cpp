// Imports and reconciles over the network.
#include "duelease/reconcile.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/served.h"

using namespace duelease;
using namespace duelease::test;

namespace {

std::vector<ReconcileRow> truth(std::size_t count) {
  std::vector<ReconcileRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].id = std::to_string(i);
    rows[i].due = Time{Duration{1'800'000'000'000}};
    rows[i].payload = "p";
  }
  return rows;
}

}  // namespace

TEST_CASE("orders are imported with their states", "[client]") {
  Served served;
  const auto client = served.client();
  std::vector<ImportRequest> imports;
  for (const State state : {State::wait, State::success, State::failed, State::aborted}) {
    ImportRequest& request = imports.emplace_back();
    request.queue = "q";
    request.id = std::string(state_name(state)) + '\n';
    request.due = Time{Duration{1000}};
    request.state = state;
    request.error = "e";
    request.created_at = Time{Duration{10}};
    if (state != State::wait) request.ended_at = Time{Duration{2000}};
  }
  imports[0].key = imports[1].key = "k";
  imports[1].grandfather = true;
  const std::vector<Result<Answer>> answers = client->import_orders(imports);
  REQUIRE(answers.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(well(answers[i]).outcome == Outcome::scheduled);
    CHECK(answers[i]->state == imports[i].state);
    const Order order = *well(client->order("q", imports[i].id));
    CHECK(order.state == imports[i].state);
    CHECK(order.created_at == Time{Duration{10}});
    CHECK(order.error == "e");
    CHECK(order.grandfathered == (i == 1));
    CHECK_FALSE(order.vanished);
  }
  const Answer again = well(client->import_orders(imports[1]));
  CHECK(again.outcome == Outcome::duplicate);
  CHECK(again.state == State::success);
  CHECK(again.blocker == imports[1].id);
  CHECK(client->import_orders({.queue = "q", .id = "x", .state = State::processing}).error().code ==
        Code::invalid);
}

TEST_CASE("a reconcile over the network does what one on the engine does", "[client]") {
  Served served;
  const auto client = served.client();
  const auto reconcile = [&](std::vector<ReconcileRow> rows, bool dry_run = false) {
    Reconciler reconciler =
        well(Reconciler::begin(*client, {.queue = "q", .cancel_missing = true, .dry_run = dry_run}));
    reconciler.add(std::move(rows));
    std::vector<std::string> vanished;
    const ReconcileReport report =
        well(reconciler.finish([&](std::string_view id) { vanished.emplace_back(id); }));
    CHECK(vanished.size() == report.vanished);
    return report;
  };
  CHECK(reconcile(truth(3000)).scheduled == 3000);
  const ReadMark mark = well(client->read_mark());
  CHECK(mark.since == well(served.engine().last_sequence()));
  CHECK(reconcile(truth(3000)).unchanged == 3000);
  CHECK(well(client->read_mark()).since == mark.since);
  CHECK(reconcile(truth(2990), true).vanished == 10);
  CHECK(well(client->stats("q")).counts.wait == 3000);
  CHECK(reconcile(truth(2990)).vanished == 10);
  CHECK(well(client->stats("q")).counts == Counts{2990, 0, 0, 0, 10});
  CHECK(well(client->order("q", "2995"))->vanished);
  CHECK(reconcile(truth(2991)).scheduled == 1);
}

TEST_CASE("a reconcile asks for no more at once than its client takes", "[client]") {
  Served served;
  ClientOptions options = served.client_options();
  options.requests_in_flight_max = 7;
  const auto client = well(Client::connect(options));
  CHECK(client->options().requests_in_flight_max == 7);
  for (const std::size_t count : {20, 3}) {
    Reconciler reconciler = well(Reconciler::begin(*client, {.queue = "q", .cancel_missing = true}));
    reconciler.add(truth(count));
    CHECK(well(reconciler.finish()).errors == 0);
  }
  CHECK(well(client->stats("q")).counts == Counts{3, 0, 0, 0, 17});
}

TEST_CASE("what somebody else has cancelled since is no answer of a reconcile's cancel", "[client]") {
  Served served;
  const auto client = served.client();
  well(client->schedule({.queue = "q", .id = "a", .due = Time{Duration{5000}}}));
  CancelRequest vanished{.queue = "q", .id = "a"};
  vanished.since = well(client->read_mark()).since;
  well(client->cancel({"q", "a"}));
  CHECK(well(client->cancel(vanished)).outcome == Outcome::newer);
}

TEST_CASE("single rows, and what they may be answered", "[client]") {
  Served served;
  const auto client = served.client();
  const ReadMark mark = well(client->read_mark());
  ReconcileRequest row{.queue = "q", .id = "a", .due = Time{Duration{5000}}, .key = "k"};
  row.since = mark.since;
  row.read_at = mark.read_at;
  CHECK(well(client->reconcile(row)).outcome == Outcome::scheduled);
  CHECK(well(client->reconcile(row)).outcome == Outcome::unchanged);
  row.due = Time{Duration{6000}};
  CHECK(well(client->reconcile(row)).outcome == Outcome::newer);
  row.since = well(client->read_mark()).since;
  CHECK(well(client->reconcile(row)).outcome == Outcome::rescheduled);
  row.id = "b";
  const Answer duplicate = well(client->reconcile(row));
  CHECK(duplicate.outcome == Outcome::duplicate);
  CHECK(duplicate.blocker == "a");
  well(client->cancel({"q", "a"}));
  row.id = "a";
  const Answer refused = well(client->reconcile(row));
  CHECK(refused.outcome == Outcome::refused);
  CHECK(refused.state == State::aborted);
  row.since += 1000;
  CHECK(client->reconcile(row).error().code == Code::invalid);
}

// The rows are sent again on a new connection; those that took effect find their orders there.
TEST_CASE("a reconcile goes on when its connection fails", "[client]") {
  Served served;
  const auto client = served.client();
  Reconciler reconciler = well(Reconciler::begin(*client, {.queue = "q", .cancel_missing = true}));
  served.proxy().lose_next_reply();
  const std::vector<Result<Answer>> answers = reconciler.add(truth(1000));
  for (const Result<Answer>& answer : answers) {
    const Outcome outcome = well(answer).outcome;
    CHECK((outcome == Outcome::scheduled || outcome == Outcome::unchanged));
  }
  well(reconciler.finish());
  CHECK(well(client->stats("q")).counts.wait == 1000);
}
