// Scenarios of leases and tokens: a worker that is late, dead or cut off harms nobody.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "duelease/engine.h"
#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using test::Disk;
using test::World;

namespace {

struct Late {
  Claimed a;  // Held by A, reaped.
  Claimed b;  // Held by B.
};

// Order "x" with a key: A's lease ran out and was reaped, B holds it.
Late let_b_take_over(World& world) {
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .payload = "p", .key = "k"});
  Late late;
  late.a = world.claim_one("A", 30s);
  world.pass(30s);
  REQUIRE(world.reap() == 1);
  late.b = world.claim_one("B", 30s);
  REQUIRE(late.b.token > late.a.token);
  REQUIRE(late.b.attempt == 2);
  return late;
}

std::vector<std::string> ids_of(const std::vector<Claimed>& orders) {
  std::vector<std::string> out;
  for (const Claimed& order : orders) out.push_back(order.id);
  return out;
}

std::vector<Token> tokens_of(const std::vector<Claimed>& orders) {
  std::vector<Token> out;
  for (const Claimed& order : orders) out.push_back(order.token);
  return out;
}

}  // namespace

TEST_CASE("late_complete: a late report of a dead worker changes nothing", "[late_complete]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  const Late late = let_b_take_over(world);
  if (restart) world.restart();
  const World::Rows before = world.rows();

  auto report = World::report_of<CompleteRequest>(late.a);
  report.result = "done by A";
  report.app_writes = {{"shop/x", "charged by A"}};
  CHECK(world.tell(report).outcome == Outcome::stale);

  CHECK(world.rows() == before);
  const Answer other = world.schedule({.queue = "q", .id = "y", .due = world.now(), .key = "k"});
  CHECK(other.outcome == Outcome::duplicate);
  CHECK(other.blocker == "x");
  CHECK(world.complete(late.b).outcome == Outcome::completed);
  CHECK(world.tell(report).outcome == Outcome::stale);
  CHECK(world.complete(late.b).outcome == Outcome::already);
  CHECK(world.counts() == Counts{.success = 1});
  CHECK(world.order("x").attempt == 2);
  CHECK(world.order("x").failures == 0);
}

TEST_CASE("late_fail_and_release: a late failure queues nothing and charges no try",
          "[late_fail_and_release]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  const Late late = let_b_take_over(world);
  if (restart) world.restart();
  const World::Rows before = world.rows();

  CHECK(world.fail(late.a).outcome == Outcome::stale);
  auto final_failure = World::report_of<FailRequest>(late.a);
  final_failure.final = true;
  CHECK(world.tell(final_failure).outcome == Outcome::stale);
  CHECK(world.release(late.a).outcome == Outcome::stale);

  CHECK(world.rows() == before);
  CHECK(world.claim("C", 1).empty());
  CHECK(world.complete(late.b).outcome == Outcome::completed);
}

TEST_CASE("late_extend: a late extend does not move the deadline of the new holder", "[late_extend]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const Late late = let_b_take_over(world);
  const World::Rows before = world.rows();
  CHECK(world.extend(late.a, 1h).outcome == Outcome::stale);
  CHECK(world.rows() == before);

  world.pass(29'999ms);
  CHECK(world.reap() == 0);
  world.pass(1ms);
  CHECK(world.reap() == 1);
}

TEST_CASE("late_extend: an extend never shortens a lease", "[late_extend]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  world.schedule("x", world.now());
  const Claimed claimed = world.claim_one("A", 60s);
  const Time end = claimed.lease_expires_at;

  Answer answer = world.extend(claimed, 1s);
  CHECK(answer.outcome == Outcome::extended);
  CHECK(answer.at == end);
  world.pass(50s);
  answer = world.extend(claimed, 10s);  // To the very same time.
  CHECK(answer.at == end);
  answer = world.extend(claimed, 20s);
  CHECK(answer.at == end + 10s);
  CHECK(world.order("x").lease_expires_at == end + 10s);

  if (restart) world.restart();
  world.pass(19'999ms);
  CHECK(world.reap() == 0);
  world.pass(1ms);
  CHECK(world.reap() == 1);
}

TEST_CASE("expired_but_not_reaped: a token is good until the order is reaped", "[expired_but_not_reaped]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  world.schedule("x", world.now());
  const Claimed claimed = world.claim_one("A", 30s);
  world.pass(10min);
  if (restart) world.restart(10min);

  SECTION("complete") { CHECK(world.complete(claimed).outcome == Outcome::completed); }
  SECTION("fail") { CHECK(world.fail(claimed).outcome == Outcome::requeued); }
  SECTION("release") { CHECK(world.release(claimed).outcome == Outcome::requeued); }
  SECTION("extend makes it a lease again") {
    CHECK(world.extend(claimed, 30s).at == world.now() + 30s);
    world.pass(29'999ms);
    CHECK(world.reap() == 0);
    CHECK(world.complete(claimed).outcome == Outcome::completed);
  }
  SECTION("afterwards it is not") {
    world.pass(30s);  // After a restart each lease has its grace.
    CHECK(world.reap() == 1);
    CHECK(world.complete(claimed).outcome == Outcome::stale);
    if (restart) world.restart();
    CHECK(world.complete(claimed).outcome == Outcome::stale);
  }
}

TEST_CASE("token_never_returns: not after a cancel, a purge, a new generation", "[token_never_returns]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  const auto between = [&] {
    if (restart) world.restart(1min);
  };
  world.schedule("x", world.now());
  const Claimed a = world.claim_one("A", 1h);
  between();
  CHECK(world.cancel("x", true).outcome == Outcome::aborted);
  CHECK(world.complete(a).outcome == Outcome::stale);
  between();
  CHECK(world.purge(State::aborted, {"x"}) == 1);
  CHECK_FALSE(world.find("x"));
  CHECK(world.complete(a).outcome == Outcome::stale);
  between();
  CHECK(world.schedule("x", world.now()).outcome == Outcome::scheduled);
  CHECK(world.complete(a).outcome == Outcome::stale);
  between();
  const Claimed b = world.claim_one("B", 1h);
  CHECK(b.token > a.token);
  CHECK(world.complete(a).outcome == Outcome::stale);
  CHECK(world.complete(b).outcome == Outcome::completed);
  between();
  CHECK(world.complete(a).outcome == Outcome::stale);
  CHECK(world.complete(b).outcome == Outcome::already);
}

TEST_CASE("token_never_returns: a restored backup starts above all that its source gave out since",
          "[token_never_returns]") {
  const test::TemporaryFolder folder;
  Options options;
  options.durability = Durability::none;
  const auto claim_new = [](Engine& engine, const std::string& id) {
    REQUIRE(engine.schedule({.queue = "q", .id = id, .due = Time{0ms}}));
    const Result<std::vector<Claimed>> claimed = engine.claim({.queues = {"q"}, .worker = "w"});
    REQUIRE(claimed);
    REQUIRE(claimed->size() == 1);
    return claimed->front();
  };

  auto source = Engine::open(folder / "source", options);
  REQUIRE(source);
  const Claimed held = claim_new(**source, "held");
  REQUIRE((*source)->backup(folder / "backup"));
  Token last{};
  for (int i = 0; i < 100; ++i) last = claim_new(**source, std::to_string(i)).token;

  for (const char* name : {"first", "second"}) {
    REQUIRE(restore(folder / "backup", folder / name));
    auto restored = Engine::open(folder / name, options);
    REQUIRE(restored);
    const Claimed fresh = claim_new(**restored, "fresh");
    CHECK(fresh.token > last);
    last = fresh.token;
    // What was held when the backup was made is held still.
    const Result<Answer> answer = (*restored)->complete({.queue = "q", .id = "held", .token = held.token});
    REQUIRE(answer);
    CHECK(answer->outcome == Outcome::completed);
  }
}

TEST_CASE("crash_accounting: FAILED exactly when the tries are used up", "[crash_accounting]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  world.set_queue({.backoff_base = 0ms});
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .tries = 5});

  struct Step {
    enum { die, fail, release } what;
    std::uint32_t attempt, tries_used, failures;
    State state;
  };
  const std::vector<Step> steps = {
      {Step::die, 1, 1, 0, State::wait},     {Step::fail, 2, 2, 1, State::wait},
      {Step::release, 3, 2, 1, State::wait}, {Step::die, 4, 3, 1, State::wait},
      {Step::release, 5, 3, 1, State::wait}, {Step::fail, 6, 4, 2, State::wait},
      {Step::die, 7, 5, 2, State::failed},
  };
  for (const Step& step : steps) {
    CAPTURE(step.attempt);
    const Claimed claimed = world.claim_one("w", 30s);
    CHECK(claimed.attempt == step.attempt);
    if (restart) world.restart();
    world.pass(30s);
    if (step.what == Step::die) CHECK(world.reap() == 1);
    if (step.what == Step::fail) world.fail(claimed);
    if (step.what == Step::release) world.release(claimed);
    const Order order = world.order("x");
    CHECK(order.state == step.state);
    CHECK(order.attempt == step.attempt);
    CHECK(order.tries_used == step.tries_used);
    CHECK(order.failures == step.failures);
  }
  CHECK(world.counts() == Counts{.failed = 1});
}

TEST_CASE("crash_accounting: with unlimited tries an order outlives any number of workers",
          "[crash_accounting]") {
  World world(Disk::memory);
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .tries = 0});
  for (std::uint32_t i = 1; i <= 200; ++i) {
    CHECK(world.claim_one("w", 1s).attempt == i);
    world.pass(1s);
    REQUIRE(world.reap() == 1);
  }
  CHECK(world.state("x") == State::wait);
}

TEST_CASE("down_longer_than_the_lease: holders get the grace, and nothing is handed out at once",
          "[down_longer_than_the_lease]") {
  constexpr std::uint32_t orders = 10'000;
  engine::CoreOptions options;
  options.restart_grace = 5s;
  World world(GENERATE(Disk::memory, Disk::rocks), options);
  world.check_always(false);
  world.open_group();
  for (std::uint32_t i = 0; i < orders; ++i) world.schedule("o" + std::to_string(i), world.now());
  REQUIRE(world.close_group());
  const std::vector<Claimed> held = world.claim("w", orders);
  REQUIRE(held.size() == orders);

  world.restart(2h);
  CHECK(world.counts() == Counts{.processing = orders});
  world.run_for(4'999ms);
  CHECK(world.counts().processing == orders);
  CHECK(world.complete(held[0]).outcome == Outcome::completed);
  CHECK(world.extend(held[1], 1min).outcome == Outcome::extended);
  world.pass(1ms);
  std::uint64_t waiting = 0;
  while (waiting < orders - 2) {  // By passes, so that other commands get their turn in between.
    world.tick();
    const std::uint64_t now_waiting = world.counts().wait;
    REQUIRE(now_waiting > waiting);
    REQUIRE(now_waiting - waiting <= 1000);
    waiting = now_waiting;
  }
  CHECK(world.complete(held[2]).outcome == Outcome::stale);
  CHECK(world.complete(held[1]).outcome == Outcome::completed);
  world.check_sound();
}

TEST_CASE("down_longer_than_the_lease: a wrong clock neither prolongs leases nor ends them",
          "[down_longer_than_the_lease]") {
  engine::CoreOptions options;
  options.restart_grace = 5s;
  World world(GENERATE(Disk::memory, Disk::rocks), options);
  world.schedule("long", world.now());
  const Claimed long_one = world.claim_one("w", 1h);
  world.schedule("short", world.now());
  const Claimed short_one = world.claim_one("w", 2s);

  SECTION("back by a day: at most the full length") {
    world.restart(-24h);
    world.run_for(1'999ms);
    CHECK(world.state("short") == State::processing);
    world.run_for(1ms);
    CHECK(world.state("short") == State::wait);
    world.run_for(1h - 2s - 1ms);
    CHECK(world.state("long") == State::processing);
    world.run_for(1ms);
    CHECK(world.state("long") == State::wait);
  }
  SECTION("forward by a day: at least the grace") {
    world.restart(24h);
    world.run_for(1'999ms);  // The grace is at most the full length.
    CHECK(world.state("short") == State::processing);
    world.run_for(1ms);
    CHECK(world.state("short") == State::wait);
    world.run_for(2'999ms);
    CHECK(world.state("long") == State::processing);
    world.run_for(1ms);
    CHECK(world.state("long") == State::wait);
  }
}

TEST_CASE("lease_starts_at_delivery: the time in the queue does not count", "[lease_starts_at_delivery]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.check_always(false);
  world.open_group();
  for (int i = 0; i < 1000; ++i) world.schedule("o" + std::to_string(i), world.now());
  REQUIRE(world.close_group());
  world.pass(8h);
  ClaimRequest request{.queues = {"q"}, .worker = "w", .count = 1000, .lease = 1h};
  const std::vector<Claimed> claimed = world.claim(request);
  REQUIRE(claimed.size() == 1000);
  for (const Claimed& order : claimed) REQUIRE(order.lease_expires_at == world.now() + 1h);
  world.pass(1h - 1ms);
  CHECK(world.reap() == 0);
  world.pass(1ms);
  CHECK(world.reap() == 1000);
  world.check_sound();
}

TEST_CASE("lease_starts_at_delivery: nor does the time that the claim waited", "[lease_starts_at_delivery]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.schedule("x", world.now() + 8h);
  const std::uint64_t ticket =
      world.claim_and_wait({.queues = {"q"}, .worker = "w", .lease = 1h, .wait = 24h});
  world.run_for(8h);
  const auto served = world.served(ticket);
  REQUIRE(served);
  REQUIRE((*served)->size() == 1);
  CHECK((*served)->front().lease_expires_at == world.now() + 1h);
  world.pass(1h - 1ms);
  CHECK(world.reap() == 0);
  world.pass(1ms);
  CHECK(world.reap() == 1);
}

TEST_CASE("lost_claim_reply: the same request id answers the same orders and tokens", "[lost_claim_reply]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  for (const char* id : {"a", "b", "c", "d"}) world.schedule(id, world.now());
  const ClaimRequest request{.queues = {"q"}, .worker = "w", .count = 3, .lease = 1h, .request = "r1"};
  const std::vector<Claimed> lost = world.claim(request);
  REQUIRE(ids_of(lost) == std::vector<std::string>{"a", "b", "c"});
  world.pass(10min);
  if (restart) world.restart();

  const World::Rows before = world.rows();
  const std::vector<Claimed> again = world.claim(request);
  CHECK(ids_of(again) == ids_of(lost));
  CHECK(tokens_of(again) == tokens_of(lost));
  CHECK(again[2].lease_expires_at == lost[2].lease_expires_at);
  CHECK(again[2].attempt == 1);
  CHECK(world.rows() == before);

  // Nobody else gets them, under the same request id neither.
  ClaimRequest other = request;
  other.worker = "other";
  CHECK(ids_of(world.claim(other)) == std::vector<std::string>{"d"});

  CHECK(world.complete(lost[1]).outcome == Outcome::completed);
  CHECK(ids_of(world.claim(request)) == std::vector<std::string>{"a", "c"});
  CHECK(world.complete(lost[0]).outcome == Outcome::completed);
  CHECK(world.complete(lost[2]).outcome == Outcome::completed);
  world.schedule("e", world.now());
  CHECK(ids_of(world.claim(request)) == std::vector<std::string>{"e"});
}

TEST_CASE("lost_claim_reply: a repeated claim that waits gets what the first one got", "[lost_claim_reply]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const ClaimRequest request{.queues = {"q"}, .worker = "w", .count = 5, .wait = 1h, .request = "r1"};
  const std::uint64_t first = world.claim_and_wait(request);
  const std::uint64_t second = world.claim_and_wait(request);
  world.schedule("a", world.now());
  REQUIRE(world.served(first));
  CHECK(ids_of(**world.served(first)) == std::vector<std::string>{"a"});

  // The second one is answered when it would get something, and then with what its worker holds.
  world.schedule("b", world.now());
  REQUIRE(world.served(second));
  CHECK(ids_of(**world.served(second)) == std::vector<std::string>{"a"});
  CHECK(tokens_of(**world.served(second)) == tokens_of(**world.served(first)));
  CHECK(world.state("b") == State::wait);
}
