// The history of an order: an entry for each transition, for as long as the queue keeps it.
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
using store::Family;
using test::Disk;
using test::World;

namespace {

using Entries = std::vector<HistoryEntry>;
using Words = std::vector<std::string>;

Entries history(World& world, const std::string& id, std::uint32_t limit = 10'000) {
  const Result<Entries> entries = engine::read_history(world.store(), "q", id, limit, world.now());
  REQUIRE(entries);
  return *entries;
}

// "claimed PROCESSING", ...
Words words(World& world, const std::string& id) {
  Words out;
  for (const HistoryEntry& entry : history(world, id)) {
    out.push_back(std::string(history_event_name(entry.event)) + " " + std::string(state_name(entry.state)));
  }
  return out;
}

void keep(World& world, Duration duration) { world.set_queue({.keep_history = duration}); }

void fail_for_good(World& world, const Claimed& order, const std::string& error) {
  auto report = World::report_of<FailRequest>(order);
  report.final = true;
  report.error = error;
  world.tell(report);
}

bool may_have_history(World& world) {
  return store::decode_settings(*world.row(Family::meta, store::settings_key("q")))->may_have_history;
}

engine::CoreOptions with_upkeep() { return {}; }

}  // namespace

TEST_CASE("history: an entry for each transition, with time, worker, token and reason", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  keep(world, 30 * 24h);
  const Time start = world.now();
  world.schedule({.queue = "q", .id = "x", .due = start + 1h, .payload = "p", .tries = 3});
  world.pass(1s);
  world.reschedule("x", start + 1s);
  const Claimed first = world.claim_one("w1", 30s);
  world.extend(first, 60s);  // No transition.
  world.pass(1s);
  world.release(first);
  const Claimed second = world.claim_one("w2", 30s);
  world.set_queue({.backoff_base = 10s, .backoff_jitter_percent = 0});
  world.fail(second, "no paper");
  world.pass(10s);
  const Claimed third = world.claim_one("w3", 1s);
  world.pass(1s);
  CHECK(world.reap() == 1);
  world.restart();
  world.pass(10s);
  const Claimed fourth = world.claim_one("w4", 1s);
  CHECK(world.complete(fourth).outcome == Outcome::completed);
  CHECK(world.complete(fourth).outcome == Outcome::already);  // Nothing happened.
  CHECK(world.complete(third).outcome == Outcome::stale);

  const Entries entries = history(world, "x");
  CHECK(words(world, "x") == Words{"scheduled WAIT", "rescheduled WAIT", "claimed PROCESSING",
                                   "released WAIT", "claimed PROCESSING", "failed WAIT", "claimed PROCESSING",
                                   "reaped WAIT", "claimed PROCESSING", "completed SUCCESS"});
  REQUIRE(entries.size() == 10);
  HistoryEntry expected{.event = HistoryEvent::scheduled,
                        .state = State::wait,
                        .at = start,
                        .due = start + 1h,
                        .sequence = entries[0].sequence};
  CHECK(entries[0] == expected);
  expected = {.event = HistoryEvent::failed,
              .state = State::wait,
              .at = start + 2s,
              .due = start + 12s,
              .worker = "w2",
              .token = second.token,
              .attempt = 2,
              .reason = "no paper",
              .sequence = entries[5].sequence};
  CHECK(entries[5] == expected);
  expected = {.event = HistoryEvent::reaped,
              .state = State::wait,
              .at = start + 13s,
              .due = start + 12s,
              .worker = "w3",
              .token = third.token,
              .attempt = 3,
              .sequence = entries[7].sequence};
  CHECK(entries[7] == expected);  // The error of the failure before is not its reason.
  CHECK(entries[8].sequence == static_cast<std::uint64_t>(fourth.token));
  for (std::size_t i = 1; i < entries.size(); ++i) CHECK(entries[i - 1].sequence < entries[i].sequence);
  CHECK(entries.back().sequence == world.order("x").sequence);
}

TEST_CASE("history: ends of other kinds", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  keep(world, 1h);
  world.tell(ScheduleRequest{.queue = "q", .id = "upsert", .due = world.now() + 1h});
  world.tell(ScheduleRequest{.queue = "q", .id = "upsert", .due = world.now() + 2h, .upsert = true});
  world.cancel("upsert");
  CHECK(words(world, "upsert") == Words{"scheduled WAIT", "rescheduled WAIT", "cancelled ABORTED"});

  world.schedule("popped", world.now());
  world.pop(1);
  CHECK(words(world, "popped") == Words{"scheduled WAIT", "popped SUCCESS"});
  CHECK(history(world, "popped")[1].token != Token{0});

  world.schedule("revoked", world.now());
  const Claimed revoked = world.claim_one("w");
  world.cancel("revoked", true);
  CHECK(words(world, "revoked") == Words{"scheduled WAIT", "claimed PROCESSING", "revoked ABORTED"});
  CHECK(history(world, "revoked")[2].worker == "w");
  CHECK(history(world, "revoked")[2].token == revoked.token);

  world.schedule("retried", world.now());
  fail_for_good(world, world.claim_one("w"), "no stock");
  world.retry("retried");
  CHECK(words(world, "retried") ==
        Words{"scheduled WAIT", "claimed PROCESSING", "failed FAILED", "retried WAIT"});
  CHECK(history(world, "retried")[2].reason == "no stock");
  CHECK(history(world, "retried")[3].reason.empty());
  CHECK(history(world, "retried")[3].worker.empty());

  world.tell(ScheduleRequest{.queue = "q", .id = "used up", .due = world.now(), .priority = 0, .tries = 1});
  world.claim_one("w", 1s);
  world.pass(1s);
  world.reap();
  CHECK(words(world, "used up").back() == "reaped FAILED");
  CHECK(history(world, "used up").back().reason == "the lease ran out and no tries are left");
}

TEST_CASE("history: orders of a run that has ended", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  keep(world, 1h);
  REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = "r"}));
  for (const char* id : {"a", "b", "c", "d"})
    world.schedule({.queue = "q", .id = id, .due = world.now(), .run = "r"});
  const Claimed a = world.claim_one("w");
  const Claimed b = world.claim_one("w");
  const Claimed c = world.claim_one("w", 1s);
  REQUIRE(world.ask(RunErrorRequest{"q", "r", "the press is down"}));
  world.release(a);
  world.fail(b, "no lead");
  world.pass(1s);
  CHECK(world.reap() == 1);
  CHECK(words(world, "a").back() == "released ABORTED");
  CHECK(history(world, "a").back().reason == "run r has ended");
  CHECK(words(world, "b").back() == "failed ABORTED");
  CHECK(history(world, "b").back().reason == "no lead");
  CHECK(words(world, "c").back() == "reaped ABORTED");
  CHECK(history(world, "c").back().worker == "w");
  CHECK(words(world, "d") == Words{"scheduled WAIT", "orphaned ABORTED"});
  CHECK(history(world, "d").back().reason == "run r has ended");
}

TEST_CASE("history: none is kept unless the queue says so", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.schedule("x", world.now());
  world.complete(world.claim_one("w"));
  CHECK(world.keys(Family::history).empty());
  CHECK(history(world, "x").empty());

  keep(world, 1h);
  world.schedule("y", world.now());
  keep(world, 0ms);
  world.cancel("y");
  CHECK(history(world, "y").empty());  // Hidden at once, also what the sweep has not reached.
  keep(world, 1h);
  CHECK(words(world, "y") == Words{"scheduled WAIT"});
}

TEST_CASE("history: bad requests are told what is wrong", "[history]") {
  World world(Disk::memory);
  const auto error = [&](const std::string& queue, const std::string& id, std::uint32_t limit) {
    const Result<Entries> read = engine::read_history(world.store(), queue, id, limit, world.now());
    REQUIRE_FALSE(read);
    return read.error();
  };
  CHECK(error("q", "x", 1).code == Code::not_found);
  world.schedule("x", world.now());
  CHECK(history(world, "none").empty());
  CHECK(error("q", "", 1).code == Code::invalid);
  CHECK(error("q q", "x", 1).code == Code::invalid);
  CHECK(error("q", "x", 0).message.find("limit is 0, allowed are 1 to 10000") != std::string::npos);
  CHECK(error("q", "x", 10'001).code == Code::invalid);
}

TEST_CASE("history: of too many entries the newest, oldest first", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  keep(world, 1h);
  world.schedule("x", world.now());
  world.schedule("x\xff", world.now());
  for (int i = 1; i <= 5; ++i) world.reschedule("x", world.now() + i * 1h);
  const Entries entries = history(world, "x", 2);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].due == world.now() + 4h);
  CHECK(entries[1].due == world.now() + 5h);
}

TEST_CASE("history: a reason is cut, but not within a character", "[history]") {
  World world(Disk::memory);
  keep(world, 1h);
  const std::string euro = "\xe2\x82\xac";
  const std::string error = std::string(254, 'x') + euro + "rest";
  world.schedule("x", world.now());
  world.fail(world.claim_one("w"), error);
  CHECK(history(world, "x").back().reason == std::string(254, 'x'));
  world.schedule("y", world.now());
  world.fail(world.claim_one("w"), std::string(253, 'x') + euro + "rest");
  CHECK(history(world, "y").back().reason == std::string(253, 'x') + euro);
  world.schedule("z", world.now());
  world.fail(world.claim_one("w"), std::string(1000, '\x80'));  // No text at all.
  CHECK(history(world, "z").back().reason.size() >= 253);
  CHECK(world.order("x").error == error);
}

// ---- Kept for a time ----------------------------------------------------------------------------

TEST_CASE("history: what is older is hidden at once, and swept away later", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  keep(world, 1h);
  world.schedule("x", world.now() + 100h);
  world.pass(30min);
  world.reschedule("x", world.now() + 200h);
  world.pass(30min - 1ms);
  CHECK(words(world, "x").size() == 2);
  world.pass(1ms);
  CHECK(words(world, "x") == Words{"rescheduled WAIT"});
  world.run_for(5min);
  CHECK(world.keys(Family::history).size() == 1);
  CHECK(world.run_for(1h) < 3'700);  // It rests in between.
  CHECK(world.keys(Family::history).empty());
  CHECK(may_have_history(world));
  CHECK(world.state("x") == State::wait);
}

TEST_CASE("history: a sweep goes on where its last pass ended, and costs a bounded part each", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  world.check_always(false);
  keep(world, 1h);
  world.open_group();
  for (int i = 0; i < 4'500; ++i) world.schedule("o" + std::to_string(i), world.now() + 100h);
  REQUIRE(world.close_group());
  world.pass(2h);
  std::size_t left = 4'500;
  for (int pass = 0; left > 0; ++pass) {
    REQUIRE(pass < 6);
    world.tick();
    const std::size_t now_left = world.keys(Family::history).size();
    CHECK(left - now_left == std::min<std::size_t>(left, limits::purge_pass_max));
    left = now_left;
  }
  world.tick();
  CHECK(*world.core().next_wake(world.clocks()) >=
        world.clocks().monotonic + 225s);  // A sixteenth of the hour.
  world.check_sound();
}

TEST_CASE("history: turned off it goes with the next sweep, over restarts too", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  world.check_always(false);
  keep(world, 1h);
  world.open_group();
  for (int i = 0; i < 2'500; ++i) world.schedule("o" + std::to_string(i), world.now() + 100h);
  REQUIRE(world.close_group());
  world.run_for(1s);
  world.open_group();
  keep(world, 0ms);
  REQUIRE(world.close_group());
  CHECK(world.keys(Family::history).size() == 1'500);
  if (GENERATE(false, true)) world.restart();
  world.run_for(1s);
  CHECK(world.keys(Family::history).empty());
  CHECK_FALSE(may_have_history(world));
  CHECK_FALSE(world.core().next_wake(world.clocks()));
  world.check_sound();
}

TEST_CASE("history: without upkeep it is hidden, and stays", "[history]") {
  World world(Disk::memory);
  keep(world, 1h);
  world.schedule("x", world.now() + 100h);
  world.run_for(2h);
  CHECK(history(world, "x").empty());
  CHECK(world.keys(Family::history).size() == 1);
}

// ---- Generations --------------------------------------------------------------------------------

TEST_CASE("history: earlier generations belong to it", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool was_kept = GENERATE(false, true);
  if (was_kept) keep(world, 1h);
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .payload = "secret"});
  fail_for_good(world, world.claim_one("w"), "no stock");
  if (GENERATE(false, true)) world.restart();
  const bool is_kept = GENERATE(false, true);
  keep(world, is_kept ? 1h : 0ms);
  world.schedule("x", world.now());
  Words expected;
  if (was_kept && is_kept) expected = {"scheduled WAIT", "claimed PROCESSING"};
  expected.emplace_back(was_kept ? "failed FAILED" : "ended FAILED");
  if (is_kept) expected.emplace_back("scheduled WAIT");
  CHECK(words(world, "x") == expected);
  const Entries entries = history(world, "x");
  const HistoryEntry& end = entries[was_kept && is_kept ? 2 : 0];
  CHECK(end.reason == "no stock");
  CHECK(end.worker == "w");
  CHECK(end.attempt == 1);
  CHECK_FALSE(end.due);

  // The record of the generation is whole, whatever was noted.
  const std::string key = store::history_key("q", "x", end.sequence);
  const Result<store::HistoryRow> row = store::decode_history(*world.row(Family::history, key));
  REQUIRE(row);
  REQUIRE(row->ended);
  CHECK(row->ended->payload == "secret");
  CHECK(row->entry.has_value() == was_kept);
}

TEST_CASE("history: an earlier generation goes when it is older, and its run counts it as purged",
          "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = "r"}));
  for (int i = 0; i < 2; ++i) {
    world.schedule({.queue = "q", .id = "x", .due = world.now(), .run = "r"});
    world.cancel("x");
  }
  world.schedule("x", world.now() + 1000h);
  CHECK(world.keys(Family::history).size() == 2);
  world.run_for(2h);
  CHECK(world.keys(Family::history).size() == 2);  // With no history they stay.
  CHECK(words(world, "x") == Words{"ended ABORTED", "ended ABORTED"});
  keep(world, 1h);
  world.run_for(1s);
  CHECK(world.keys(Family::history).empty());
  const Result<Run> run = engine::read_run(world.store(), "q", "r");
  REQUIRE(run);
  CHECK(run->counts == Counts{.aborted = 2});
  CHECK(run->purged == Counts{.aborted = 2});
  world.cancel("x");
  CHECK(world.purge(State::aborted, {"x"}) == 1);
  world.check_sound();
}

TEST_CASE("history: a generation that is swept and purged in one group counts once", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  keep(world, 1h);
  REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = "r"}));
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .run = "r"});
  world.cancel("x");
  world.schedule("x", world.now());
  world.cancel("x");
  world.pass(2h);
  world.open_group();
  CHECK(world.purge(State::aborted, {"x"}) == 1);
  REQUIRE(world.close_group());  // The sweep runs in the tick before the commit.
  CHECK(engine::read_run(world.store(), "q", "r")->purged == Counts{.aborted = 1});
  CHECK(world.keys(Family::history).empty());
}

TEST_CASE("history: a purge takes all of it along, and nobody else's", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const std::string id = GENERATE(std::string("x"), std::string("x\0", 2), std::string("\0\xff", 2));
  keep(world, 1h);
  for (const std::string& each : {id, id + "y"}) {
    world.schedule(each, world.now());
    world.complete(world.claim_one("w"));
  }
  if (GENERATE(false, true)) keep(world, 2h);
  if (GENERATE(false, true)) world.restart();
  CHECK(world.purge(State::success, {id}) == 1);
  CHECK(history(world, id).empty());
  CHECK(words(world, id + "y").size() == 3);
  CHECK(world.keys(Family::history).size() == 3);
}

TEST_CASE("history: a purge takes along what a history that was turned off has left", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));  // No sweep comes by.
  keep(world, 1h);
  world.schedule("x", world.now());
  world.cancel("x");
  keep(world, 0ms);
  world.restart();
  CHECK(world.keys(Family::history).size() == 2);
  CHECK(world.purge(State::aborted, {"x"}) == 1);
  CHECK(world.keys(Family::history).empty());
}

// ---- Damage -------------------------------------------------------------------------------------

TEST_CASE("history: an entry that does not decode is named, and holds up nothing", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  keep(world, 1h);
  for (const char* id : {"a", "b"}) {
    world.schedule(id, world.now());
    world.cancel(id);
  }
  world.check_always(false);
  world.put(Family::history, store::history_key("q", "a", history(world, "a")[0].sequence), "garbage");
  CHECK(world.broken() == Words{"every_record_decodes"});
  CHECK(engine::read_history(world.store(), "q", "a", 10, world.now()).error().code == Code::corrupt);
  CHECK(words(world, "b").size() == 2);
  world.run_for(2h);
  CHECK(world.keys(Family::history).size() == 1);
  CHECK(world.schedule("a", world.now()).outcome == Outcome::scheduled);
  world.cancel("a");
  CHECK(world.purge(State::aborted, {"a", "b"}) == 2);
  CHECK(world.keys(Family::history).empty());
  world.check_sound();
}

TEST_CASE("history: settings that are lost leave no entry behind", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  keep(world, 1h);
  world.schedule("x", world.now() + 100h);
  world.shut();
  world.put(Family::meta, store::settings_key("q"), "garbage");
  world.open();
  world.run_for(1s);
  CHECK(world.keys(Family::history).empty());
  CHECK_FALSE(may_have_history(world));
}

TEST_CASE("history: an order whose record was lost says so", "[history]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  keep(world, 1h);
  world.schedule("x", world.now());
  world.check_always(false);
  world.shut();
  world.erase(Family::queue, store::queue_key("q", {128, world.now()}, "x"));
  world.open();
  world.cancel("x");
  CHECK(words(world, "x") == Words{"scheduled WAIT", "lost ABORTED"});
  CHECK(history(world, "x").back().reason.find("lost") != std::string::npos);
  world.check_sound();
}
