// The connection fails when the server has done what was asked, and before the client knows.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "client/served.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

TEST_CASE("lost_claim_reply: the same orders and tokens are answered", "[client]") {
  Served served;
  const auto client = served.client();
  schedule_many(served.engine(), "q", 5);
  served.proxy().lose_next_reply();
  const std::vector<Claimed> claimed = well(client->claim(claim_of("q", "w", 3)));
  CHECK(served.proxy().connections() >= 2);
  REQUIRE(claimed.size() == 3);
  CHECK(well(served.engine().stats("q")).counts.processing == 3);
  for (const Claimed& order : claimed) {
    CHECK(order.attempt == 1);
    CHECK(well(served.engine().order("q", order.id))->token == order.token);
    CHECK(well(client->complete(report_on<CompleteRequest>(order))).outcome == Outcome::completed);
  }
}

TEST_CASE("lost_claim_reply: also when the claim waited", "[client]") {
  Served served;
  const auto client = served.client();
  Reply<std::vector<Claimed>> reply;
  client->claim(claim_of("q", "w", 3, 1h), reply.callback());
  while (served.proxy().connections() < 2) std::this_thread::yield();
  // The greeting of the second connection may still be on its way: lost, it is made again as well.
  served.proxy().lose_next_reply();
  schedule_many(served.engine(), "q", 1);
  const std::vector<Claimed> claimed = well(reply.get());
  REQUIRE(claimed.size() == 1);
  CHECK(claimed[0].attempt == 1);
  CHECK(well(client->complete(report_on<CompleteRequest>(claimed[0]))).outcome == Outcome::completed);
}

TEST_CASE("a lost reply to complete answers already", "[client]") {
  Served served;
  const auto client = served.client();
  schedule_many(served.engine(), "q", 1);
  const Claimed order = well(client->claim(claim_of("q", "w"))).at(0);
  served.proxy().lose_next_reply();
  CHECK(well(client->complete(report_on<CompleteRequest>(order))).outcome == Outcome::already);
  CHECK(well(served.engine().order("q", order.id))->state == State::success);
}

TEST_CASE("a lost reply to fail answers stale, and it has failed once", "[client]") {
  Served served;
  const auto client = served.client();
  schedule_many(served.engine(), "q", 1);
  const Claimed order = well(client->claim(claim_of("q", "w"))).at(0);
  served.proxy().lose_next_reply();
  auto report = report_on<FailRequest>(order);
  report.error = "no money";
  CHECK(well(client->fail(report)).outcome == Outcome::stale);
  const std::optional<Order> after = well(served.engine().order("q", order.id));
  CHECK(after->state == State::wait);
  CHECK(after->failures == 1);
  CHECK(after->error == "no money");
}

TEST_CASE("a lost reply to release answers stale, and one to extend is extended", "[client]") {
  Served served;
  const auto client = served.client();
  schedule_many(served.engine(), "q", 1);
  const Claimed order = well(client->claim(claim_of("q", "w"))).at(0);
  auto extend = report_on<ExtendRequest>(order);
  extend.lease = Duration{60'000};
  served.proxy().lose_next_reply();
  CHECK(well(client->extend(extend)).outcome == Outcome::extended);
  served.proxy().lose_next_reply();
  CHECK(well(client->release(report_on<ReleaseRequest>(order))).outcome == Outcome::stale);
  CHECK(well(served.engine().order("q", order.id))->state == State::wait);
}

TEST_CASE("a lost reply about a run is asked for again", "[client]") {
  Served served;
  const auto client = served.client();
  const auto lost = [&](const auto& call) {
    served.proxy().lose_next_reply();
    return well(call());
  };
  CHECK(lost([&] { return client->run_open({"q", "r", std::nullopt}); }) == RunState::creating);
  CHECK(lost([&] { return client->run_start({"q", "r"}); }) == RunState::running);
  CHECK(lost([&] { return client->run_beat({"q", "r"}); }) == RunState::running);
  CHECK(lost([&] { return client->run_done({"q", "r"}); }) == RunState::done);
  well(client->run_open({"q", "s", std::nullopt}));
  CHECK(lost([&] { return client->run_error({"q", "s", "no paper"}); }) == RunState::error);
  CHECK(lost([&] { return client->run("q", "s"); }).reason == "no paper");
  CHECK(lost([&] { return client->runs("q"); }).size() == 2);
}

TEST_CASE("a lost reply to schedule is for the caller to judge", "[client]") {
  Served served;
  const auto client = served.client();
  served.proxy().lose_next_reply();
  const Result<Answer> lost = client->schedule(order_of("q", "a"));
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == Code::unreachable);
  CHECK_THAT(lost.error().message, Catch::Contains("its answer is lost"));
  const Answer again = well(client->schedule(order_of("q", "a")));
  CHECK(again.outcome == Outcome::duplicate);
  CHECK(again.blocker == "a");
}

TEST_CASE("a lost reply to pop is not asked for again", "[client]") {
  Served served;
  const auto client = served.client();
  schedule_many(served.engine(), "q", 2);
  served.proxy().lose_next_reply();
  const Result<std::vector<Claimed>> lost = client->pop({"q", 1});
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == Code::unreachable);
  CHECK(well(client->stats("q")).counts.success == 1);
}

TEST_CASE("reads are asked again", "[client]") {
  Served served;
  const auto client = served.client();
  schedule_many(served.engine(), "q", 2);
  served.proxy().lose_next_reply();
  CHECK(well(client->stats("q")).counts.wait == 2);
  served.proxy().lose_next_reply();
  well(client->ping());
}
