// Scenarios of time: orders come when they are due, leases run out when they are over, whatever is done to
// the wall clock. First to the millisecond under simulated time, then on a real engine.
#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "duelease/engine.h"
#include "support/moved_clock.h"
#include "support/printing.h"
#include "support/temporary_folder.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using test::Disk;
using test::MovedClock;
using test::World;

namespace {

ClaimRequest wait_for_one(Duration wait = 24h) { return {.queues = {"q"}, .worker = "w", .wait = wait}; }

engine::CoreOptions with_upkeep() { return {}; }

// Runs the world until the claim is answered, at most `limit`, by steps of `step`; the time that took.
Duration time_until_served(World& world, std::uint64_t ticket, Duration limit, Duration step = 1ms) {
  for (Duration passed{0}; passed <= limit; passed += step) {
    if (world.served(ticket)) return passed;
    world.run_for(step);
  }
  FAIL("the claim was not answered in " << limit.count() << " ms");
  return limit;
}

std::string served_id(World& world, std::uint64_t ticket) {
  const auto served = world.served(ticket);
  REQUIRE(served);
  REQUIRE(*served);
  return (*served)->empty() ? "" : (*served)->front().id;
}

class Log {
 public:
  std::function<void(LogLevel, std::string_view)> sink() {
    return [this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(text);
    };
  }
  bool holds(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(lines_.begin(), lines_.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace

// ---- Simulated ----------------------------------------------------------------------------------

TEST_CASE("clock_steps: no lease ends early or late", "[clock_steps]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const Duration step = GENERATE(Duration{-1h}, Duration{24h});
  world.schedule("x", world.now());
  const Claimed claimed = world.claim_one("w", 60s);
  world.run_for(20s);
  world.step_wall_clock(step);
  world.run_for(10s);
  CHECK(world.extend(claimed, 40s).at == world.now() + 40s);
  world.run_for(39'999ms);
  CHECK(world.state("x") == State::processing);
  world.run_for(1ms);
  CHECK(world.state("x") == State::wait);
}

TEST_CASE("clock_steps: due times follow the wall clock, within a second and without spinning",
          "[clock_steps]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  world.schedule("x", world.now() + 10s);
  const std::uint64_t ticket = world.claim_and_wait(wait_for_one());

  SECTION("forward past the due time") {
    world.run_for(5s);
    world.step_wall_clock(24h);
    CHECK(time_until_served(world, ticket, 1s) <= 1s);
  }
  SECTION("back by an hour") {
    world.run_for(5s);
    world.step_wall_clock(-1h);
    const int wakes = world.run_for(1h + 4'999ms);
    CHECK(wakes <= 3700);
    CHECK_FALSE(world.served(ticket));
    world.run_for(1ms);
    CHECK(served_id(world, ticket) == "x");
  }
  SECTION("back and forth") {
    world.step_wall_clock(-1h);
    world.run_for(2s);
    world.step_wall_clock(1h);
    CHECK(time_until_served(world, ticket, 10s) == 8s);
  }
}

TEST_CASE("clock_steps: a retention follows the wall clock", "[clock_steps]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  world.set_queue({.keep_success = std::optional<Duration>(1h)});
  world.schedule("x", world.now());
  world.complete(world.claim_one("w"));
  world.step_wall_clock(-2h);
  world.run_for(1h);
  CHECK(world.schedule("x", world.now()).outcome == Outcome::duplicate);
  world.step_wall_clock(2h);
  CHECK(world.schedule("x", world.now()).outcome == Outcome::scheduled);
}

TEST_CASE("idle_wake_up: delivered in the very millisecond", "[idle_wake_up]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  std::uint64_t ticket = 0;

  SECTION("the order was there before the claim") {
    world.schedule("x", world.now() + 3s);
    ticket = world.claim_and_wait(wait_for_one());
    CHECK(time_until_served(world, ticket, 3s) == 3s);
  }
  SECTION("the claim was there before the order") {
    ticket = world.claim_and_wait(wait_for_one());
    world.run_for(10s);
    world.schedule("x", world.now() + 3s);
    CHECK(time_until_served(world, ticket, 3s) == 3s);
  }
  SECTION("after a reconnect") {
    world.schedule("x", world.now() + 3s);
    const std::uint64_t gone = world.claim_and_wait(wait_for_one());
    world.run_for(1s);
    world.core().cancel_claim(gone);
    world.tick();
    CHECK(served_id(world, gone).empty());
    ticket = world.claim_and_wait(wait_for_one());
    CHECK(time_until_served(world, ticket, 2s) == 2s);
  }
  SECTION("after a restart") {
    world.schedule("x", world.now() + 3s);
    world.restart(1s);
    ticket = world.claim_and_wait(wait_for_one());
    CHECK(time_until_served(world, ticket, 2s) == 2s);
  }
  SECTION("after a reschedule to earlier") {
    world.schedule("x", world.now() + 1h);
    ticket = world.claim_and_wait(wait_for_one());
    world.run_for(1s);
    world.reschedule("x", world.now() + 2s);
    CHECK(time_until_served(world, ticket, 2s) == 2s);
  }
  SECTION("after a reschedule to later") {
    world.schedule("x", world.now() + 1s);
    ticket = world.claim_and_wait(wait_for_one());
    world.reschedule("x", world.now() + 3s);
    CHECK(time_until_served(world, ticket, 3s) == 3s);
  }
  SECTION("after a cancel of the head") {
    world.schedule("head", world.now() + 1s);
    world.schedule("x", world.now() + 3s);
    ticket = world.claim_and_wait(wait_for_one());
    world.cancel("head");
    CHECK(time_until_served(world, ticket, 3s) == 3s);
  }
  SECTION("when a lease runs out") {
    world.schedule("x", world.now());
    world.claim_one("dead", 3s);
    ticket = world.claim_and_wait(wait_for_one());
    CHECK(time_until_served(world, ticket, 3s) == 3s);
  }
  SECTION("when a pause ends") {
    world.schedule("x", world.now() + 1s);
    world.set_queue({.paused = true});
    ticket = world.claim_and_wait(wait_for_one());
    CHECK(world.run_for(3s) <= 3);
    CHECK_FALSE(world.served(ticket));
    world.set_queue({.paused = false});
  }
  SECTION("in another queue that the claim waits for") {
    ticket = world.claim_and_wait({.queues = {"p", "q", "r"}, .worker = "w", .wait = 1h});
    world.schedule({.queue = "r", .id = "x", .due = world.now() + 3s});
    world.schedule("y", world.now() + 4s);
    CHECK(time_until_served(world, ticket, 3s) == 3s);
  }
  CHECK(served_id(world, ticket) == "x");
}

TEST_CASE("idle_wake_up: the wait ends in the very millisecond too", "[idle_wake_up]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const std::uint64_t ticket = world.claim_and_wait(wait_for_one(7s));
  world.step_wall_clock(GENERATE(Duration{0}, Duration{-1h}, Duration{1h}));
  CHECK(time_until_served(world, ticket, 7s) == 7s);
  CHECK(served_id(world, ticket).empty());
}

// ---- Real ---------------------------------------------------------------------------------------

namespace {

using Clocked = std::chrono::steady_clock;

// A real engine whose clock a test can set.
struct Plant {
  Plant() { open(); }
  void open() {
    engine.reset();
    Options options;
    options.clock = clock;
    options.log = log.sink();
    auto opened = Engine::open(folder / "store", options);
    REQUIRE(opened);
    engine = std::move(*opened);
  }
  Time now() const { return clock->now().wall; }
  void schedule(const std::string& id, Time due) {
    REQUIRE(engine->schedule({.queue = "q", .id = id, .due = due}));
  }
  // Waits for one order; empty when none came.
  std::string wait(Duration limit) {
    const Result<std::vector<Claimed>> claimed = engine->claim(wait_for_one(limit));
    REQUIRE(claimed);
    return claimed->empty() ? "" : claimed->front().id;
  }

  test::TemporaryFolder folder;
  std::shared_ptr<MovedClock> clock = std::make_shared<MovedClock>();
  Log log;
  std::unique_ptr<Engine> engine;
};

// Whoever runs the tests may have other work to do, so a late delivery is tried again; an early one never
// happens. An engine that slept to its next look at the clock would be up to a second late every time. Where
// the preparations ended after the due time, the delivery is late from their end on.
constexpr Duration late_max = 200ms;
constexpr int attempts_max = 4;

void expect_on_time(const std::function<Time(Plant&)>& prepare) {
  Duration late{};
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    Plant plant;
    const Time due = prepare(plant);
    const Time prepared = plant.now();
    REQUIRE(plant.wait(10s) == "x");
    const Time delivered = plant.now();
    REQUIRE(delivered >= due);
    late = delivered - std::max(due, prepared);
    if (late <= late_max) return;
  }
  FAIL("delivered " << late.count() << " ms late");
}

}  // namespace

TEST_CASE("idle_wake_up: on a real engine, never early and hardly late", "[idle_wake_up]") {
  SECTION("no traffic") {
    expect_on_time([](Plant& plant) {
      const Time due = plant.now() + 1s;
      plant.schedule("x", due);
      return due;
    });
  }
  SECTION("after a restart") {
    expect_on_time([](Plant& plant) {
      const Time due = plant.now() + 1s;
      plant.schedule("x", due);
      plant.open();
      return due;
    });
  }
  SECTION("after a cancel of the head") {
    expect_on_time([](Plant& plant) {
      const Time due = plant.now() + 400ms;
      plant.schedule("head", due - 300ms);
      plant.schedule("x", due);
      REQUIRE(plant.engine->cancel({.queue = "q", .id = "head"}));
      return due;
    });
  }
}

TEST_CASE("idle_wake_up: on a real engine, when the due time moves while the claim waits", "[idle_wake_up]") {
  Duration late{};
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    Plant plant;
    plant.schedule("x", plant.now() + 1h);
    std::promise<Time> delivered;
    plant.engine->claim(wait_for_one(10s), [&](const Result<std::vector<Claimed>>& claimed) {
      if (claimed && claimed->size() == 1) delivered.set_value(plant.now());
    });
    const Time due = plant.now() + 300ms;
    REQUIRE(plant.engine->reschedule({.queue = "q", .id = "x", .due = due}));
    const Time prepared = plant.now();
    std::future<Time> at = delivered.get_future();
    REQUIRE(at.wait_for(10s) == std::future_status::ready);
    const Time end = at.get();
    REQUIRE(end >= due);
    late = end - std::max(due, prepared);
    if (late <= late_max) return;
  }
  FAIL("delivered " << late.count() << " ms late");
}

TEST_CASE("clock_steps: on a real engine, forward by a day", "[clock_steps]") {
  Plant plant;
  plant.schedule("held", plant.now());
  REQUIRE(plant.wait(0s) == "held");
  plant.schedule("x", plant.now() + 12h);
  CHECK(plant.wait(200ms).empty());
  plant.clock->step(24h);
  const auto start = Clocked::now();
  CHECK(plant.wait(10s) == "x");
  CHECK(Clocked::now() - start < 3s);
  CHECK(plant.log.holds("the wall clock was set forward by 86"));
  const Result<std::optional<Order>> held = plant.engine->order("q", "held");
  REQUIRE(held);
  CHECK((*held)->state == State::processing);
}

TEST_CASE("clock_steps: on a real engine, back by an hour while a claim waits", "[clock_steps]") {
  Plant plant;
  plant.schedule("x", plant.now() + 1h);
  std::promise<Time> delivered;
  plant.engine->claim(wait_for_one(60s), [&](const Result<std::vector<Claimed>>& claimed) {
    if (claimed && claimed->size() == 1) delivered.set_value(plant.now());
  });
  std::future<Time> at = delivered.get_future();
  plant.clock->step(-1h);
  const std::uint64_t reads = plant.clock->reads();
  CHECK(at.wait_for(2500ms) == std::future_status::timeout);
  CHECK(plant.clock->reads() - reads <= 10);  // It looks once a second.
  CHECK(plant.log.holds("the wall clock was set back by 3"));
  plant.clock->step(2h);
  REQUIRE(at.wait_for(10s) == std::future_status::ready);
}
