// Who gets which order, and when: claims at once, claims that wait, pops.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using test::Disk;
using test::World;

namespace {

using Ids = std::vector<std::string>;

Ids ids_of(const std::vector<Claimed>& orders) {
  Ids out;
  for (const Claimed& order : orders) out.push_back(order.id);
  return out;
}

Ids served_ids(World& world, std::uint64_t ticket) {
  const auto served = world.served(ticket);
  if (!served) return {"(still waiting)"};
  REQUIRE(*served);
  return ids_of(**served);
}

void schedule_in(World& world, std::string queue, std::string id, Time due, std::uint8_t priority = 128) {
  ScheduleRequest request;
  request.queue = std::move(queue);
  request.id = std::move(id);
  request.due = due;
  request.priority = priority;
  REQUIRE(world.schedule(std::move(request)).outcome == Outcome::scheduled);
}

}  // namespace

TEST_CASE("orders come by priority, then by due time, then by id", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const Time now = world.now();
  schedule_in(world, "q", "low, early", now - 1h, 200);
  schedule_in(world, "q", "b", now);
  schedule_in(world, "q", "a", now);
  schedule_in(world, "q", std::string("a\0", 2), now);
  schedule_in(world, "q", "earlier", now - 1ms);
  schedule_in(world, "q", "before 1970", Time{-1ms});
  schedule_in(world, "q", "urgent", now, 0);
  schedule_in(world, "q", "least urgent", now - 1h, 255);
  const Ids expected = {"urgent", "before 1970", "earlier",     "a", std::string("a\0", 2),
                        "b",      "low, early",  "least urgent"};
  if (GENERATE(false, true)) world.restart();
  SECTION("at once") { CHECK(ids_of(world.claim("w", 100)) == expected); }
  SECTION("popped") { CHECK(ids_of(world.pop(100)) == expected); }
  SECTION("one by one") {
    Ids ids;
    while (ids.size() < expected.size()) ids.push_back(world.claim_one("w").id);
    CHECK(ids == expected);
  }
}

TEST_CASE("a priority orders what is due, and holds nothing back that is not", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  schedule_in(world, "q", "urgent later", world.now() + 1s, 0);
  schedule_in(world, "q", "low now", world.now(), 255);
  CHECK(ids_of(world.claim("w", 10)) == Ids{"low now"});
  const std::uint64_t ticket = world.claim_and_wait({.queues = {"q"}, .worker = "w", .wait = 1h});
  world.run_for(1s);
  CHECK(served_ids(world, ticket) == Ids{"urgent later"});
}

TEST_CASE("the first named queue is served first, and the next fill up", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  for (const char* queue : {"a", "b", "c"}) {
    for (const char* number : {"1", "2"}) schedule_in(world, queue, std::string(queue) + number, world.now());
  }
  CHECK(ids_of(world.claim({.queues = {"none", "b", "a"}, .worker = "w", .count = 3})) ==
        Ids{"b1", "b2", "a1"});
  world.set_queue({.queue = "a", .paused = true});
  CHECK(ids_of(world.claim({.queues = {"a", "c", "c"}, .worker = "w", .count = 9})) == Ids{"c1", "c2"});
}

TEST_CASE("a paused queue hands nothing out, and all else goes on", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.schedule("held", world.now());
  const Claimed held = world.claim_one("w", 30s);
  world.set_queue({.paused = true});
  if (GENERATE(false, true)) world.restart();
  world.schedule("x", world.now());
  CHECK(world.claim("w", 10).empty());
  CHECK(world.pop(10).empty());
  CHECK(world.complete(held).outcome == Outcome::completed);
  CHECK(world.reschedule("x", world.now() - 1s).outcome == Outcome::rescheduled);
  const std::uint64_t ticket = world.claim_and_wait({.queues = {"q"}, .worker = "w", .wait = 1h});
  CHECK(world.run_for(60s) <= 60);  // Nothing to wake up for.
  CHECK_FALSE(world.served(ticket));
  world.set_queue({.paused = false});
  CHECK(served_ids(world, ticket) == Ids{"x"});
}

TEST_CASE("claims that wait are served oldest first, over all the queues they wait for", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const auto wait = [&](Ids queues, std::uint32_t count = 1) {
    return world.claim_and_wait({.queues = std::move(queues), .worker = "w", .count = count, .wait = 1h});
  };
  const std::uint64_t first = wait({"b", "a"});
  const std::uint64_t second = wait({"a"});
  const std::uint64_t third = wait({"b"});
  const std::uint64_t fourth = wait({"a", "b"}, 5);

  schedule_in(world, "a", "a1", world.now());
  CHECK(served_ids(world, first) == Ids{"a1"});
  CHECK(served_ids(world, second) == Ids{"(still waiting)"});
  schedule_in(world, "b", "b1", world.now());
  CHECK(served_ids(world, third) == Ids{"b1"});
  world.open_group();
  schedule_in(world, "b", "b2", world.now());
  schedule_in(world, "a", "a2", world.now());
  schedule_in(world, "a", "a3", world.now());
  REQUIRE(world.close_group());
  CHECK(served_ids(world, second) == Ids{"a2"});
  CHECK(served_ids(world, fourth) == Ids{"a3", "b2"});
  CHECK(world.core().claims_waiting() == 0);
}

TEST_CASE("a claim does not overtake one that waits", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::uint64_t ticket = world.claim_and_wait({.queues = {"q"}, .worker = "old", .wait = 1h});
  world.schedule("x", world.now() + 1s);
  world.schedule("y", world.now() + 1s);
  world.pass(1s);  // Both fall due, and before the timer goes off somebody asks.
  const bool pops = GENERATE(false, true);
  CHECK(ids_of(pops ? world.pop(9) : world.claim("new", 9)) == Ids{"y"});
  CHECK(served_ids(world, ticket) == Ids{"x"});
}

TEST_CASE("a wait ends empty, or with what comes in its last millisecond", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::uint64_t ticket = world.claim_and_wait({.queues = {"q"}, .worker = "w", .wait = 5s});
  SECTION("nothing came") {
    world.run_for(4'999ms);
    CHECK_FALSE(world.served(ticket));
    world.run_for(1ms);
    CHECK(served_ids(world, ticket).empty());
    world.schedule("x", world.now());
    CHECK(world.claim("w", 9).size() == 1);  // Nobody else took it.
  }
  SECTION("something fell due at its very end") {
    world.schedule("x", world.now() + 5s);
    world.run_for(5s);
    CHECK(served_ids(world, ticket) == Ids{"x"});
  }
  SECTION("cancelled") {
    world.core().cancel_claim(ticket);
    world.core().cancel_claim(ticket);  // Once more is harmless.
    world.tick();
    CHECK(served_ids(world, ticket).empty());
  }
  SECTION("the engine closes") {
    world.core().cancel_claims({Code::closing, "closed"});
    world.tick();
    REQUIRE(world.served(ticket));
    CHECK(world.served(ticket)->error().code == Code::closing);
  }
  CHECK(world.core().claims_waiting() == 0);
}

TEST_CASE("no more claims wait than may", "[claims]") {
  engine::CoreOptions options;
  options.claims_waiting_max = 2;
  World world(Disk::memory, options);
  const ClaimRequest request{.queues = {"q"}, .worker = "w", .wait = 1h};
  const std::uint64_t first = world.claim_and_wait(request);
  world.claim_and_wait(request);
  const Error error = world.refusal(request);
  CHECK(error.code == Code::overloaded);
  CHECK(error.message.find("2 claims") != std::string::npos);
  world.core().cancel_claim(first);
  world.tick();
  world.claim_and_wait(request);
}

TEST_CASE("a reply is limited in bytes, and still makes progress", "[claims]") {
  engine::CoreOptions options;
  options.claim_reply_bytes_max = 10'000;
  World world(GENERATE(Disk::memory, Disk::rocks), options);
  const std::size_t payload_bytes = GENERATE(0u, 100u, 1'000u, 3'000u, 50'000u);
  const bool pops = GENERATE(false, true);
  CAPTURE(payload_bytes, pops);
  constexpr std::size_t orders = 50;
  for (std::size_t i = 0; i < orders; ++i) {
    ScheduleRequest request{.queue = "q", .id = "o" + std::to_string(100 + i), .due = world.now()};
    request.payload = std::string(payload_bytes, 'x');
    world.schedule(request);
  }
  Ids all;
  while (all.size() < orders) {
    const std::vector<Claimed> some = pops ? world.pop(orders) : world.claim("w", orders);
    REQUIRE_FALSE(some.empty());
    std::size_t bytes = 0;
    for (const Claimed& order : some) {
      bytes += order.payload.size();
      all.push_back(order.id);
      CHECK(order.payload.size() == payload_bytes);
    }
    CHECK((some.size() == 1 || bytes <= 10'000));
  }
  CHECK(all.size() == orders);
  CHECK(std::is_sorted(all.begin(), all.end()));
  CHECK(world.claim("w", orders).empty());
}

TEST_CASE("a claim of several queues shares one limit in bytes", "[claims]") {
  engine::CoreOptions options;
  options.claim_reply_bytes_max = 5'000;
  World world(Disk::memory, options);
  for (const char* queue : {"a", "b"}) {
    world.schedule({.queue = queue, .id = queue, .due = world.now(), .payload = std::string(3'000, 'x')});
  }
  const ClaimRequest request{.queues = {"a", "b"}, .worker = "w", .count = 10};
  CHECK(ids_of(world.claim(request)) == Ids{"a"});
  CHECK(ids_of(world.claim(request)) == Ids{"b"});
}

TEST_CASE("what is handed out says all that a worker needs", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::string payload = GENERATE(std::string("p\0\xff", 3), std::string(100'000, 'x'));
  world.schedule(
      {.queue = "q", .id = "x", .due = world.now() - 1s, .payload = payload, .key = "k", .priority = 3});
  SECTION("claimed") {
    const Claimed claimed = world.claim_one("w", 20s);
    CHECK(claimed.queue == "q");
    CHECK(claimed.id == "x");
    CHECK(static_cast<std::uint64_t>(claimed.token) == world.last_sequence());
    CHECK(claimed.attempt == 1);
    CHECK(claimed.lease_expires_at == world.now() + 20s);
    CHECK(claimed.due == world.now() - 1s);
    CHECK(claimed.payload == payload);
    CHECK(claimed.key == "k");
    CHECK_FALSE(claimed.run);
    // The payload is there again after the lease was lost.
    world.pass(20s);
    world.reap();
    if (GENERATE(false, true)) world.restart();
    CHECK(world.claim_one("w").payload == payload);
  }
  SECTION("popped") {
    const std::vector<Claimed> popped = world.pop(1);
    REQUIRE(popped.size() == 1);
    CHECK(popped[0].payload == payload);
    CHECK(popped[0].attempt == 1);
    CHECK(popped[0].key == "k");
    CHECK(world.state("x") == State::success);
    CHECK(world.complete(popped[0]).outcome == Outcome::already);
    CHECK(world.schedule({.queue = "q", .id = "y", .due = world.now(), .key = "k"}).blocker == "x");
  }
}

TEST_CASE("an upsert moves an order between priorities, and leaves one entry", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  schedule_in(world, "q", "x", world.now(), 10);
  schedule_in(world, "q", "y", world.now(), 5);
  ScheduleRequest upsert{
      .queue = "q", .id = "x", .due = world.now(), .payload = "new", .priority = 1, .upsert = true};
  CHECK(world.schedule(upsert).outcome == Outcome::rescheduled);
  const std::vector<Claimed> claimed = world.claim("w", 10);
  REQUIRE(ids_of(claimed) == Ids{"x", "y"});
  CHECK(claimed[0].payload == "new");
}

TEST_CASE("a group looks at the queues that it touched, however many are waited for", "[claims]") {
  World world(Disk::memory);
  world.check_always(false);
  constexpr int claims = 300;
  constexpr int queues_each = 64;
  const auto name = [](int claim, int queue) {
    return "q" + std::to_string(claim) + "-" + std::to_string(queue);
  };
  std::vector<std::uint64_t> tickets;
  for (int claim = 0; claim < claims; ++claim) {
    ClaimRequest request{.queues = {}, .worker = "w", .wait = 1h};
    for (int queue = 0; queue < queues_each; ++queue) {
      request.queues.push_back(name(claim, queue));
      schedule_in(world, request.queues.back(), "later", world.now() + 30min);
    }
    tickets.push_back(world.claim_and_wait(std::move(request)));
  }
  world.core().next_wake(world.clocks());
  const std::uint64_t before = world.core().looks();

  schedule_in(world, name(7, 5), "not yet", world.now() + 1s);
  world.tick();
  CHECK(world.core().next_wake(world.clocks()) == world.clocks().monotonic + 1s);
  world.claim({.queues = {name(9, 1)}, .worker = "v"});
  world.tick();
  CHECK(world.core().looks() - before <= 4);

  world.pass(1s);
  world.tick();
  CHECK(served_ids(world, tickets[7]) == Ids{"not yet"});
  CHECK(world.core().next_wake(world.clocks()) == world.clocks().monotonic + 30min - 1s);
  // The queues of the claim that was served are waited for no longer.
  CHECK(world.core().looks() - before <= 4 + queues_each + 2);
  world.pass(30min - 1s);
  world.tick();
  CHECK(world.core().claims_waiting() == 0);
}

TEST_CASE("what changes the time of a queue that is waited for changes the wake-up", "[claims]") {
  World world(Disk::memory);
  const auto wakes_in = [&]() -> std::optional<Duration> {
    const std::optional<Monotonic> wake = world.core().next_wake(world.clocks());
    return wake ? std::optional<Duration>(*wake - world.clocks().monotonic) : std::nullopt;
  };
  const std::uint64_t ticket = world.claim_and_wait({.queues = {"q", "r"}, .worker = "w", .wait = 24h});
  CHECK(wakes_in() == 24h);
  world.schedule("x", world.now() + 3h);
  CHECK(wakes_in() == 3h);
  schedule_in(world, "r", "y", world.now() + 2h);
  CHECK(wakes_in() == 2h);
  world.set_queue({.queue = "r", .paused = true});
  CHECK(wakes_in() == 3h);
  world.reschedule("x", world.now() + 4h);
  CHECK(wakes_in() == 4h);
  world.set_queue({.queue = "r", .paused = false});
  CHECK(wakes_in() == 2h);
  world.step_wall_clock(30min);
  CHECK(wakes_in() == 90min);
  world.step_wall_clock(-30min);
  world.tell(CancelRequest{"r", "y"});
  CHECK(wakes_in() == 4h);
  world.core().cancel_claim(ticket);
  world.tick();
  CHECK_FALSE(wakes_in());
}

TEST_CASE("a request id gives again what is held of the queues that are named, and no other", "[claims]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const auto claim = [](std::vector<std::string> queues, Duration wait = 0s) {
    return ClaimRequest{.queues = std::move(queues), .worker = "w", .wait = wait, .request = "r"};
  };
  const std::uint64_t waiting = world.claim_and_wait(claim({"shop"}, 1h));
  const std::uint64_t of_both = world.claim_and_wait(claim({"shop", "bank"}, 1h));
  schedule_in(world, "bank", "1", world.now());
  CHECK(served_ids(world, of_both) == Ids{"1"});
  CHECK(served_ids(world, waiting) == Ids{"(still waiting)"});
  CHECK(ids_of(world.claim(claim({"bank"}))) == Ids{"1"});
  CHECK(ids_of(world.claim(claim({"other"}))).empty());
  schedule_in(world, "shop", "2", world.now());
  CHECK(served_ids(world, waiting) == Ids{"2"});
  CHECK(ids_of(world.claim(claim({"bank", "shop"}))) == Ids{"1", "2"});
}
