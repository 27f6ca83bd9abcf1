// The reads: an order as it stands, why it is not being processed, lists page by page, figures.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/reads.h"
#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using test::Disk;
using test::World;

namespace {

using Ids = std::vector<std::string>;

std::string why(World& world, const std::string& id) {
  const Result<std::string> text = engine::read_why(world.store(), "q", id, world.now());
  REQUIRE(text);
  return *text;
}

Stats stats(World& world, const std::string& queue = "q") {
  const Result<Stats> out = engine::read_stats(world.store(), queue, world.now());
  REQUIRE(out);
  return *out;
}

// All pages of `limit` ids.
Ids list(World& world, std::optional<State> state, std::uint32_t limit) {
  Ids out;
  ListRequest request{.queue = "q", .state = state, .limit = limit};
  for (;;) {
    const Result<Page> page = engine::read_list(world.store(), request);
    REQUIRE(page);
    CHECK(page->ids.size() <= limit);
    out.insert(out.end(), page->ids.begin(), page->ids.end());
    if (page->next.empty()) return out;
    CHECK(page->ids.size() == limit);
    request.after = page->next;
  }
}

}  // namespace

TEST_CASE("why: a line for a person, for each state", "[reads]") {
  World world(Disk::memory);
  CHECK(why(world, "x") == "no such order");
  world.schedule("x", world.now() + 26h + 30min);
  CHECK(why(world, "x") == "due in 1 d 2 h");
  world.reschedule("x", world.now() + 90s);
  CHECK(why(world, "x") == "due in 1 min 30 s");
  world.reschedule("x", world.now() + 2h);
  CHECK(why(world, "x") == "due in 2 h");
  world.reschedule("x", world.now() + 1ms);
  CHECK(why(world, "x") == "due in 1 ms");
  world.pass(1ms);
  CHECK(why(world, "x") == "due since 0 ms, no worker has claimed it yet");
  world.pass(2500ms);
  CHECK(why(world, "x") == "due since 2 s 500 ms, no worker has claimed it yet");
  world.set_queue({.backoff_base = 10s, .backoff_jitter_percent = 0, .paused = true});
  CHECK(why(world, "x") == "queue q is paused");
  world.set_queue({.paused = false});

  Claimed claimed = world.claim_one("w1", 30s);
  world.pass(1s);
  CHECK(why(world, "x") == "leased by w1, attempt 1, for another 29 s");
  world.pass(30s);
  CHECK(why(world, "x") == "leased by w1, attempt 1; the lease ran out 1 s ago and is about to be reaped");
  world.fail(claimed, "printer on fire");
  const std::string failed_once = why(world, "x");
  CHECK(failed_once.find("due in 10 s, after 1 failure") == 0);
  CHECK(failed_once.find("printer on fire") != std::string::npos);

  world.pass(10s);
  auto report = World::report_of<FailRequest>(world.claim_one("w2"));
  report.final = true;
  report.error = "no\npaper";
  world.tell(report);
  world.pass(2min);
  CHECK(why(world, "x") == "failed 2 min ago after 2 attempts: no paper");
  world.retry("x");
  world.complete(world.claim_one("w3"));
  CHECK(why(world, "x") == "done 0 ms ago");
  world.schedule("y", world.now());
  world.cancel("y");
  world.step_wall_clock(-1h);
  CHECK(why(world, "y") == "aborted 0 ms ago");
}

TEST_CASE("order: each field as it stands", "[reads]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const Time start = world.now();
  world.schedule(
      {.queue = "q", .id = "x", .due = start, .payload = "p", .key = "k", .priority = 9, .tries = 4});
  Order order = world.order("x");
  CHECK(order.queue == "q");
  CHECK(order.id == "x");
  CHECK(order.state == State::wait);
  CHECK(order.due == start);
  CHECK(order.priority == 9);
  CHECK(order.tries == 4);
  CHECK(order.attempt == 0);
  CHECK(order.key == "k");
  CHECK_FALSE(order.run);
  CHECK(order.token == Token{0});
  CHECK(order.sequence == world.last_sequence());
  CHECK(order.worker.empty());
  CHECK_FALSE(order.lease_expires_at);
  CHECK(order.created_at == start);
  CHECK(order.updated_at == start);
  CHECK(order.payload == "p");

  world.pass(1s);
  Claimed claimed = world.claim_one("w", 20s);
  order = world.order("x");
  CHECK(order.state == State::processing);
  CHECK(order.attempt == 1);
  CHECK(order.tries_used == 1);
  CHECK(order.token == claimed.token);
  CHECK(order.sequence == static_cast<std::uint64_t>(claimed.token));
  CHECK(order.worker == "w");
  CHECK(order.lease_expires_at == start + 21s);
  CHECK(order.created_at == start);
  CHECK(order.updated_at == start + 1s);

  auto report = World::report_of<CompleteRequest>(claimed);
  report.result = "r";
  world.tell(report);
  order = world.order("x");
  CHECK(order.state == State::success);
  CHECK(order.result == "r");
  CHECK(order.payload == "p");
  CHECK(order.token == claimed.token);
  CHECK(order.sequence == world.last_sequence());
  CHECK_FALSE(order.lease_expires_at);
}

TEST_CASE("list: every page size shows each id once, whatever bytes it has", "[reads]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  Ids names;
  for (const char* part : {"", "a", "b", "\xff", "\xff\xff"}) {
    for (const std::string& end : {std::string("\0", 1), std::string("\0\0", 2), std::string("\xff"),
                                   std::string("z"), std::string("\0\xff", 2)}) {
      names.push_back(std::string(part) + end);
    }
  }
  std::sort(names.begin(), names.end());
  world.check_always(false);
  std::map<std::optional<State>, Ids> expected;
  for (const std::string& name : names) {
    for (const char state : {'w', 'p', 's', 'f', 'a'}) {
      const std::string id = name + state;
      expected[std::nullopt].push_back(id);
      world.schedule(id, state == 'w' ? world.now() + 1h : world.now());
      if (state == 'a') world.cancel(id);
      expected[state == 'w'   ? State::wait
               : state == 'p' ? State::processing
               : state == 's' ? State::success
               : state == 'f' ? State::failed
                              : State::aborted]
          .push_back(id);
      if (state == 'w' || state == 'a') continue;
      const Claimed claimed = world.claim_one("w", 1h);
      if (state == 's') world.complete(claimed);
      if (state == 'f') {
        auto report = World::report_of<FailRequest>(claimed);
        report.final = true;
        world.tell(report);
      }
    }
  }
  world.schedule({.queue = "q0", .id = "neighbour", .due = world.now()});
  world.check_sound();
  for (auto& [state, ids] : expected) {
    std::sort(ids.begin(), ids.end());
    for (const std::uint32_t limit : {1u, 2u, 7u, 24u, 25u, 26u, 1000u}) {
      CAPTURE(limit, ids.size());
      CHECK(list(world, state, limit) == ids);
    }
  }
}

TEST_CASE("list: WAIT is in claim order, over priorities", "[reads]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const auto schedule = [&](std::string id, Duration in, std::uint8_t priority) {
    world.schedule({.queue = "q", .id = std::move(id), .due = world.now() + in, .priority = priority});
  };
  schedule("c", 1h, 128);
  schedule("d", 2h, 128);
  schedule("b", 0s, 128);
  schedule("a", 5h, 0);
  schedule("f", 0s, 255);
  schedule("e", -1h, 255);
  for (const std::uint32_t limit : {1u, 4u, 100u}) {
    CHECK(list(world, State::wait, limit) == Ids{"a", "b", "c", "d", "e", "f"});
  }
}

TEST_CASE("list: a page goes on after its cursor, though orders came and went", "[reads]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  for (const char* id : {"b", "d", "f"}) world.schedule(id, world.now());
  ListRequest request{.queue = "q", .state = {}, .limit = 2};
  const Result<Page> first = engine::read_list(world.store(), request);
  REQUIRE(first);
  world.cancel("d");
  world.purge(State::aborted, {"d"});
  world.schedule("a", world.now());
  world.schedule("e", world.now());
  request.after = first->next;
  const Result<Page> second = engine::read_list(world.store(), request);
  REQUIRE(second);
  CHECK(second->ids == Ids{"e", "f"});

  for (const char* no_cursor : {"x", "0", "0g", "AB"}) {
    request.after = no_cursor;
    const Result<Page> refused = engine::read_list(world.store(), request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::invalid);
  }
  CHECK(list(world, State::failed, 10).empty());
  request = {.queue = "nothing here", .state = {}};
  CHECK_FALSE(engine::read_list(world.store(), request));
  request.queue = "nothing-here";
  const Result<Page> absent = engine::read_list(world.store(), request);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == Code::not_found);
  CHECK(absent.error().message == "no queue nothing-here");
}

TEST_CASE("stats: what is due, and for how long, over all priorities", "[reads]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  CHECK(engine::read_stats(world.store(), "q", world.now()).error().code == Code::not_found);
  world.set_queue({.paused = true});
  CHECK(stats(world).due == 0);
  const auto schedule = [&](std::string id, Duration in, std::uint8_t priority) {
    world.schedule({.queue = "q", .id = std::move(id), .due = world.now() + in, .priority = priority});
  };
  schedule("later", 1h, 0);
  schedule("a", -5s, 7);
  schedule("b", 0s, 7);
  schedule("later too", 1ms, 7);
  schedule("c", -9s, 128);
  schedule("much later", 100h, 255);
  schedule("d", -1s, 255);
  world.schedule({.queue = "r", .id = "other", .due = world.now() - 1h});
  Stats now = stats(world);
  CHECK(now.counts == Counts{.wait = 7});
  CHECK(now.due == 4);
  CHECK(now.oldest_overdue == 9s);
  world.pass(1h);
  CHECK(stats(world).due == 6);
  world.set_queue({.paused = false});
  CHECK(world.claim("w", 2).size() == 2);
  now = stats(world);
  CHECK(now.counts == Counts{.wait = 5, .processing = 2});
  CHECK(now.leases == 2);
  CHECK(now.due == 4);
  CHECK(now.oldest_overdue == 1h + 9s);  // The two most urgent are gone: "later" and "a".
}

TEST_CASE("queues: those with orders and those with settings, once each", "[reads]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  CHECK(engine::read_queues(world.store())->empty());
  world.schedule({.queue = "b", .id = "x", .due = world.now()});
  world.set_queue({.queue = "a", .tries = 1});
  world.set_queue({.queue = "b", .tries = 1});
  world.schedule({.queue = "c:d", .id = "x", .due = world.now()});
  CHECK(*engine::read_queues(world.store()) == Ids{"a", "b", "c:d"});
  // Asking for one makes none.
  world.claim({.queues = {"z"}, .worker = "w"});
  CHECK(world.tell(CancelRequest{"z", "x"}).outcome == Outcome::not_found);
  CHECK(engine::read_queues(world.store())->size() == 3);
  CHECK(engine::read_settings(world.store(), "z").error().code == Code::not_found);
  CHECK(engine::read_settings(world.store(), "c:d")->tries == 25);
}
