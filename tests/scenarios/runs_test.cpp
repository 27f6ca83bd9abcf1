// Scenarios about runs: 14 (the part of a dead run), 16-like races are in uniqueness_test.cpp; here 22-25.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "base/limits.h"
#include "engine/reads.h"
#include "store/keys.h"
#include "store/records.h"
#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using test::Disk;
using test::the_queue;
using test::World;

namespace {

RunState told(World& world, engine::Body body) {
  const Result<engine::Reply> reply = world.ask(std::move(body));
  if (!reply) FAIL(reply.error().message);
  return std::get<RunState>(*reply);
}

RunState open_run(World& world, const std::string& run, std::optional<Duration> ttl = std::nullopt) {
  return told(world, RunOpenRequest{the_queue, run, ttl});
}
RunState start_run(World& world, const std::string& run) {
  return told(world, RunStartRequest{the_queue, run});
}
RunState end_in_error(World& world, const std::string& run) {
  return told(world, RunErrorRequest{the_queue, run, "the machine died"});
}

ScheduleRequest order_of(const std::string& run, const std::string& id, Time due,
                         std::optional<std::string> key = std::nullopt) {
  ScheduleRequest request;
  request.queue = the_queue;
  request.id = id;
  request.due = due;
  request.key = std::move(key);
  request.run = run;
  return request;
}

Run read_run(World& world, const std::string& run) {
  const Result<Run> read = engine::read_run(*world.store().snapshot(), the_queue, run);
  if (!read) FAIL(read.error().message);
  return *read;
}

bool is_key_free(World& world, const std::string& key) {
  return !world.row(store::Family::dedup, store::dedup_key(the_queue, key)).has_value();
}

}  // namespace

TEST_CASE("empty_run: a run without orders is DONE at once", "[runs]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  CHECK(open_run(world, "r") == RunState::creating);
  if (GENERATE(false, true)) CHECK(start_run(world, "r") == RunState::running);
  CHECK(told(world, RunDoneRequest{the_queue, "r"}) == RunState::done);
  CHECK(read_run(world, "r").state == RunState::done);
  CHECK(told(world, RunDoneRequest{the_queue, "r"}) == RunState::done);  // Safe to repeat.
}

TEST_CASE("producer_dies_while_creating: its orders are void and their keys free", "[runs]") {
  engine::CoreOptions options;
  World world(Disk::memory, options);
  world.check_always(false);
  open_run(world, "batch", 30s);
  for (int i = 0; i < 500; ++i) {
    const std::string name = std::to_string(i);
    world.schedule(order_of("batch", name, world.now() + 1h, "key" + name));
    if (i % 100 == 0) told(world, RunBeatRequest{the_queue, "batch"});
  }
  world.run_for(29s);
  CHECK(read_run(world, "batch").state == RunState::creating);
  world.run_for(2s);
  const Run run = read_run(world, "batch");
  CHECK(run.state == RunState::error);
  CHECK(run.reason == "no heartbeat within 30000 ms");
  CHECK(run.counts == Counts{0, 0, 0, 0, 500});
  for (int i = 0; i < 500; ++i) {
    REQUIRE(world.state(std::to_string(i)) == State::aborted);
    REQUIRE(is_key_free(world, "key" + std::to_string(i)));
  }
  CHECK(world.refusal(RunStartRequest{the_queue, "batch"}).code == Code::not_alive);
  world.check_sound();
}

TEST_CASE("retry_in_a_finished_run: refused, and the counts stay", "[runs]") {
  World world(Disk::memory);
  open_run(world, "r");
  world.schedule(order_of("r", "a", world.now()));
  const Claimed claimed = world.claim_one("w");
  world.tell(FailRequest{.queue = the_queue, .id = "a", .token = claimed.token, .final = true});
  const bool in_error = GENERATE(false, true);
  if (in_error) {
    end_in_error(world, "r");
  } else {
    told(world, RunDoneRequest{the_queue, "r"});
  }
  const Run before = read_run(world, "r");
  CHECK(before.counts == Counts{0, 0, 0, 1, 0});
  CHECK(world.refusal(RetryRequest{the_queue, "a"}).code == Code::not_alive);
  CHECK(world.state("a") == State::failed);
  CHECK(read_run(world, "r").counts == before.counts);
  // A later run may schedule it again: that is a new generation, and the old one stays counted.
  open_run(world, "r2");
  CHECK(world.schedule(order_of("r2", "a", world.now())).outcome == Outcome::scheduled);
  CHECK(read_run(world, "r").counts == before.counts);
  CHECK(read_run(world, "r2").counts == Counts{1, 0, 0, 0, 0});
}

TEST_CASE("orphans_only: WAIT of a dead run is replaced, WAIT of a live one is untouched", "[runs]") {
  const bool by_key = GENERATE(false, true);
  World world(Disk::memory);
  open_run(world, "dead");
  open_run(world, "alive");
  world.schedule(order_of("dead", "a", world.now() + 1h, "ka"));
  world.schedule(order_of("alive", "b", world.now() + 1h, "kb"));
  open_run(world, "new");
  world.open_group();  // The sweep has not had its turn.
  end_in_error(world, "dead");
  const auto again = [&](const std::string& id, const std::string& key) {
    return by_key ? order_of("new", id + "2", world.now(), key) : order_of("new", id, world.now(), key);
  };
  CHECK(world.schedule(again("a", "ka")).outcome == Outcome::scheduled);
  const Answer blocked = world.schedule(again("b", "kb"));
  CHECK(blocked.outcome == Outcome::duplicate);
  CHECK(blocked.state == State::wait);
  CHECK(blocked.blocker == "b");
  REQUIRE(world.close_group());
  CHECK(world.order("b").run == "alive");
  CHECK(read_run(world, "dead").counts == Counts{0, 0, 0, 0, 1});
  CHECK(read_run(world, "alive").counts == Counts{1, 0, 0, 0, 0});
  CHECK(read_run(world, "new").counts == Counts{1, 0, 0, 0, 0});
}

TEST_CASE("failed_schedule_leaves_nothing: refused for its run, it leaves key and counts as they are",
          "[runs]") {
  World world(Disk::memory);
  world.schedule("other", world.now());
  CHECK(world.refusal(order_of("r", "a", world.now(), "k")).code == Code::not_found);
  open_run(world, "r");
  told(world, RunDoneRequest{the_queue, "r"});
  const World::Rows before = world.rows();
  CHECK(world.refusal(order_of("r", "a", world.now(), "k")).code == Code::not_alive);
  CHECK(world.rows() == before);
  CHECK(is_key_free(world, "k"));
}

// ---- Ends ---------------------------------------------------------------------------------------

TEST_CASE("from its end on no order of a run is handed out, before the sweep and after a restart", "[runs]") {
  const Disk disk = GENERATE(Disk::memory, Disk::rocks);
  World world(disk);
  world.check_always(false);
  constexpr int count = 1000;  // Several passes of the sweep.
  open_run(world, "r");
  for (int i = 0; i < count; ++i) world.schedule(order_of("r", std::to_string(1000 + i), world.now()));
  world.schedule("alone", world.now() + 1s);
  world.pass(2s);
  world.open_group();
  end_in_error(world, "r");
  CHECK(world.claim("w", 10).empty());  // It met some of the dead; the live one is behind them.
  CHECK(world.pop(1).empty());
  REQUIRE(world.close_group());
  world.check_sound();  // A run that is being swept is no violation.
  if (GENERATE(false, true)) world.restart();
  std::vector<Claimed> claimed;
  for (int turn = 0; turn < 20 && claimed.empty(); ++turn) {
    claimed = world.claim("w", 10);
    for (const Claimed& order : claimed) CHECK(order.id == "alone");
  }
  CHECK(claimed.size() == 1);
  for (int pass = 0; pass < 10; ++pass) world.tick();
  CHECK(read_run(world, "r").counts == Counts{0, 0, 0, 0, count});
  CHECK(world.keys(store::Family::runs).size() == 1);  // The run itself.
  world.check_sound();
}

// Else the same commands would give other sequences when they share a commit group.
TEST_CASE("what becomes of orphans does not hang on what the store held before the group", "[runs]") {
  engine::CoreOptions options;
  World world(Disk::memory, options);
  world.check_always(false);
  world.set_queue({.queue = the_queue, .keep_success = std::optional<Duration>(10s)});
  world.schedule("z", world.now());
  world.complete(world.claim_one("w"));
  world.pass(1h);
  world.open_group();
  open_run(world, "r");
  world.schedule(order_of("r", "a", world.now()));
  world.schedule(order_of("r", "z", world.now()));  // The old one is kept no longer.
  end_in_error(world, "r");
  REQUIRE(world.close_group());
  world.tick();
  CHECK(world.state("z") == State::aborted);
  CHECK(world.order("a").sequence < world.order("z").sequence);
}

// A tick for each would be a sync for each.
TEST_CASE("one pass of the sweep takes many small runs", "[runs]") {
  World world(Disk::memory);
  world.check_always(false);
  constexpr int count = limits::orphan_pass_max;
  for (int i = 0; i < count + 1; ++i) {
    const std::string name = std::to_string(1000 + i);
    open_run(world, name);
    world.schedule(order_of(name, name, world.now()));
  }
  world.open_group();
  for (int i = 0; i < count + 1; ++i) end_in_error(world, std::to_string(1000 + i));
  REQUIRE(world.close_group());  // With a tick.
  CHECK(world.counts() == Counts{1, 0, 0, 0, count});
  world.tick();
  CHECK(world.counts() == Counts{0, 0, 0, 0, count + 1});
  CHECK(world.core().next_wake(world.clocks()) == std::nullopt);
}

TEST_CASE("a run whose orphans were all met is swept no more, and the next one is", "[runs]") {
  World world(Disk::memory);
  world.check_always(false);
  for (const char* run : {"r", "s"}) {
    open_run(world, run);
    world.schedule(order_of(run, std::string("of ") + run, world.now()));
  }
  world.open_group();
  for (const char* run : {"r", "s"}) end_in_error(world, run);
  world.cancel("of r");
  world.core().tick(world.clocks());  // One tick, in the same group.
  CHECK(world.core().next_wake(world.clocks()) == std::nullopt);
  REQUIRE(world.close_group());
  CHECK(world.state("of s") == State::aborted);
}

TEST_CASE("a claim that waits gets the live order behind a dead run's", "[runs]") {
  World world(Disk::memory);
  world.check_always(false);
  open_run(world, "r");
  for (int i = 0; i < 1000; ++i) world.schedule(order_of("r", std::to_string(1000 + i), world.now() + 1s));
  world.schedule("alone", world.now() + 2s);
  ClaimRequest request;
  request.queues = {the_queue};
  request.worker = "w";
  request.wait = 1min;
  const std::uint64_t ticket = world.claim_and_wait(request);
  end_in_error(world, "r");
  world.run_for(3s);
  const auto served = world.served(ticket);
  REQUIRE(served);
  REQUIRE(*served);
  REQUIRE((*served)->size() == 1);
  CHECK((*served)->front().id == "alone");
}

TEST_CASE("orders under a lease outlive their run, and do not wait again", "[runs]") {
  World world(Disk::memory);
  open_run(world, "r");
  for (const char* id : {"a", "b", "c", "d", "e"}) world.schedule(order_of("r", id, world.now()));
  const std::vector<Claimed> held = world.claim("w", 4);
  REQUIRE(held.size() == 4);
  const bool forced = GENERATE(false, true);
  if (forced) {
    CHECK(told(world, RunDoneRequest{the_queue, "r", true}) == RunState::done);
  } else {
    end_in_error(world, "r");
  }
  CHECK(world.state("e") == State::aborted);
  if (GENERATE(false, true)) world.restart();
  CHECK(world.complete(held[0]).outcome == Outcome::completed);
  CHECK(world.fail(held[1]).outcome == Outcome::aborted);
  CHECK(world.release(held[2]).outcome == Outcome::aborted);
  world.pass(1h);
  CHECK(world.reap() == 1);
  CHECK(world.state("d") == State::aborted);
  CHECK(read_run(world, "r").counts == Counts{0, 0, 1, 0, 4});
  CHECK(world.keys(store::Family::runs).size() == 1);
  CHECK(world.complete(held[3]).outcome == Outcome::stale);
}

TEST_CASE("DONE is refused while orders remain, and says how many", "[runs]") {
  World world(Disk::memory);
  open_run(world, "r");
  world.schedule(order_of("r", "a", world.now()));
  world.schedule(order_of("r", "b", world.now()));
  const Claimed held = world.claim_one("w");
  const Error busy = world.refusal(RunDoneRequest{the_queue, "r"});
  CHECK(busy.code == Code::busy);
  CHECK(busy.message == "run r of queue q still has 1 orders in WAIT and 1 in PROCESSING");
  world.complete(held);
  world.cancel("b");
  CHECK(told(world, RunDoneRequest{the_queue, "r"}) == RunState::done);
  CHECK(world.refusal(RunErrorRequest{the_queue, "r", ""}).code == Code::not_alive);
  CHECK(world.refusal(RunOpenRequest{the_queue, "r", {}}).code == Code::not_alive);
}

// ---- Heartbeats ---------------------------------------------------------------------------------

TEST_CASE("a run lives as long as its heart beats, whatever the wall clock does", "[runs]") {
  engine::CoreOptions options;
  options.restart_grace = 5s;
  World world(Disk::memory, options);
  open_run(world, "r", 10s);
  for (int i = 0; i < 5; ++i) {
    world.run_for(9s);
    world.step_wall_clock(i % 2 == 0 ? 24h : -24h);
    CHECK(told(world, RunBeatRequest{the_queue, "r"}) == RunState::creating);
  }
  world.restart(1h);  // Down for longer than it may live: it gets the grace.
  CHECK(read_run(world, "r").state == RunState::creating);
  world.run_for(4s);
  CHECK(read_run(world, "r").state == RunState::creating);
  world.run_for(2s);
  CHECK(read_run(world, "r").state == RunState::error);
}

// ---- The invariants can be broken ---------------------------------------------------------------

TEST_CASE("check finds a run whose counts are wrong, and one that lists what is not alive", "[runs]") {
  World world(Disk::memory);
  open_run(world, "r");
  world.schedule(order_of("r", "a", world.now()));
  world.check_always(false);
  using Names = std::vector<std::string>;
  SECTION("counts") {
    model::RunRecord record =
        *store::decode_run(*world.row(store::Family::runs, store::run_key(the_queue, "r")));
    ++record.counts.failed;
    world.put(store::Family::runs, store::run_key(the_queue, "r"), store::encode_run(record));
    CHECK(world.broken() == Names{"run_counts_equal_a_recount"});
  }
  SECTION("a listed order that is not there") {
    world.put(store::Family::runs, store::run_order_key(the_queue, "r", "ghost"), "");
    CHECK(world.broken() == Names{"run_lists_its_live_orders"});
  }
  SECTION("an order that is not listed") {
    world.erase(store::Family::runs, store::run_order_key(the_queue, "r", "a"));
    CHECK(world.broken() == Names{"run_lists_its_live_orders"});
  }
  SECTION("WAIT under a dead run that nobody sweeps") {
    model::RunRecord record =
        *store::decode_run(*world.row(store::Family::runs, store::run_key(the_queue, "r")));
    record.state = RunState::error;
    world.put(store::Family::runs, store::run_key(the_queue, "r"), store::encode_run(record));
    world.erase(store::Family::runs, store::active_run_key(the_queue, "r"));
    // Nor is it listed as active, for else it would be swept.
    CHECK(world.broken() == Names{"no_waiting_order_under_a_dead_run", "run_lists_its_live_orders"});
  }
  SECTION("a run that does not decode") {
    world.put(store::Family::runs, store::run_key(the_queue, "r"), "\xff");
    const Names broken = world.broken();
    CHECK(std::find(broken.begin(), broken.end(), "every_record_decodes") != broken.end());
  }
}

TEST_CASE("purged orders stay counted in their run", "[runs]") {
  World world(Disk::memory);
  open_run(world, "r");
  world.schedule(order_of("r", "a", world.now()));
  world.schedule(order_of("r", "b", world.now()));
  for (const Claimed& claimed : world.claim("w", 2)) world.complete(claimed);
  told(world, RunDoneRequest{the_queue, "r"});
  CHECK(world.purge(State::success, {"a"}) == 1);
  CHECK(read_run(world, "r").counts == Counts{0, 0, 2, 0, 0});
  CHECK(read_run(world, "r").purged == Counts{0, 0, 1, 0, 0});
}

TEST_CASE("an upsert keeps the run", "[runs]") {
  World world(Disk::memory);
  open_run(world, "r");
  open_run(world, "s");
  world.schedule(order_of("r", "a", world.now()));
  ScheduleRequest again = order_of("s", "a", world.now() + 1s);
  again.upsert = true;
  CHECK(world.refusal(again).code == Code::invalid);
  again.run.reset();
  CHECK(world.schedule(again).outcome == Outcome::rescheduled);
  CHECK(world.order("a").run == "r");
}
