// The core beyond single orders: retention, history, settings, limits, determinism.
#include "engine/core.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <random>
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

void fail_for_good(World& world, const Claimed& claimed) {
  auto report = World::report_of<FailRequest>(claimed);
  report.final = true;
  REQUIRE(world.tell(report).outcome == Outcome::failed);
}

void succeed_many(World& world, const std::string& name, std::uint32_t orders) {
  world.open_group();
  for (std::uint32_t i = 0; i < orders; ++i) world.schedule(name + std::to_string(i), world.now());
  REQUIRE(world.close_group());
  REQUIRE(world.pop(orders).size() == orders);
}

std::vector<model::Record> history_of(World& world, const std::string& id) {
  std::vector<model::Record> out;
  for (const std::string& key : world.keys(Family::history)) {
    if (key.starts_with(store::history_prefix("q", id))) {
      out.push_back(*store::decode_history(*world.row(Family::history, key))->ended);
    }
  }
  return out;
}

}  // namespace

// ---- Retention ----------------------------------------------------------------------------------

TEST_CASE("successes past their retention go by themselves, in bounded passes", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks), engine::CoreOptions{});
  world.check_always(false);
  world.set_queue({.keep_success = std::optional<Duration>(1h)});
  succeed_many(world, "old", 5'000);
  world.run_for(30min);
  succeed_many(world, "young", 10);
  world.schedule("waits", world.now() + 100h);
  world.schedule("failed", world.now());
  fail_for_good(world, world.claim_one("w"));
  if (GENERATE(false, true)) world.restart();

  world.run_for(30min - 1ms);
  CHECK(world.counts().success == 5'010);
  world.pass(7min);
  std::uint64_t left = 5'010;
  for (int pass = 0; left > 10; ++pass) {  // As the timer does, until it sleeps.
    REQUIRE(pass < 20);
    world.tick();
    const std::uint64_t now_left = world.counts().success;
    CHECK(left - now_left <= limits::purge_pass_max);
    left = now_left;
  }
  CHECK(world.counts() == Counts{.wait = 1, .success = 10, .failed = 1});
  world.check_sound();
  CHECK(world.run_for(10s) < 100);  // Then it rests.
  world.run_for(40min);
  CHECK(world.counts() == Counts{.wait = 1, .failed = 1});
  CHECK(world.keys(Family::orders).size() == 2);
  CHECK(world.run_for(1h) <= 3'610);
  world.check_sound();
}

TEST_CASE("a sweep takes the keys and the history along, and nobody else's", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks), engine::CoreOptions{});
  world.set_queue({.keep_success = std::optional<Duration>(1h)});
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "old key"});
  world.cancel("x");
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k"});
  world.complete(world.claim_one("w"));
  world.schedule("xx", world.now());
  world.cancel("xx");
  world.schedule("xx", world.now() + 100h);
  world.run_for(2h);
  CHECK(world.keys(Family::dedup).empty());
  CHECK(history_of(world, "x").empty());
  CHECK(history_of(world, "xx").size() == 1);
  CHECK(world.keys(Family::orders).size() == 1);
}

TEST_CASE("without upkeep nothing is reaped or swept but on demand", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.set_queue({.keep_success = std::optional<Duration>(0ms)});
  succeed_many(world, "s", 3);
  world.schedule("x", world.now());
  world.claim_one("w", 1s);
  world.run_for(1h);
  CHECK(world.counts() == Counts{.processing = 1, .success = 3});
  CHECK(world.reap() == 1);
}

TEST_CASE("a reap is limited, takes the longest over first, and keeps to its queue", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  for (const char* id : {"a", "b", "c"}) world.schedule(id, world.now());
  world.schedule({.queue = "r", .id = "other", .due = world.now()});
  world.claim_one("w", 3s);
  world.claim_one("w", 1s);
  world.claim_one("w", 2s);
  world.claim({.queues = {"r"}, .worker = "w", .lease = 1s});
  world.pass(10s);
  CHECK(world.reap(2) == 2);
  CHECK(world.state("a") == State::processing);
  CHECK(world.state("b") == State::wait);
  CHECK(world.state("c") == State::wait);
  CHECK(world.reap(2) == 1);
  CHECK(world.reap(2) == 0);
  CHECK(engine::read_stats(world.store(), "r", world.now())->counts == Counts{.processing = 1});
}

// ---- History ------------------------------------------------------------------------------------

TEST_CASE("each generation of an id stays in the history until the id is purged", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::string id = GENERATE(std::string("x"), std::string("x\0", 2), std::string("\0\xff", 2));
  world.schedule(id, world.now());
  fail_for_good(world, world.claim_one("first"));
  world.schedule({.queue = "q", .id = id, .due = world.now(), .payload = "second"});
  world.cancel(id);
  world.restart();
  world.schedule(id, world.now());
  const std::vector<model::Record> history = history_of(world, id);
  REQUIRE(history.size() == 2);
  CHECK(history[0].state == State::failed);
  CHECK(history[0].worker == "first");
  CHECK(history[0].generation == 1);
  CHECK(history[1].state == State::aborted);
  CHECK(history[1].payload == "second");
  CHECK(history[1].generation == 2);
  CHECK(history[0].sequence < history[1].sequence);

  // A retry is the same generation.
  fail_for_good(world, world.claim_one("third"));
  world.retry(id);
  CHECK(history_of(world, id).size() == 2);
  CHECK(world.order(id).attempt == 1);

  world.schedule(id + "y", world.now());
  world.cancel(id + "y");
  world.schedule(id + "y", world.now());
  world.cancel(id);
  CHECK(world.purge(State::aborted, {id}) == 1);
  CHECK(world.keys(Family::history).size() == 1);
  CHECK(history_of(world, id + "y").size() == 1);
}

TEST_CASE("a success past its retention leaves no history, whether it was swept or not", "[core]") {
  engine::CoreOptions options;
  options.upkeep = GENERATE(false, true);
  World world(GENERATE(Disk::memory, Disk::rocks), options);
  world.set_queue({.keep_success = std::optional<Duration>(1s)});
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k0"});
  world.cancel("x");
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k1"});
  world.complete(world.claim_one("w"));
  CHECK(history_of(world, "x").size() == 1);
  world.run_for(1h);
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k2"});
  CHECK(history_of(world, "x").empty());
  CHECK(world.schedule({.queue = "q", .id = "y", .due = world.now(), .key = "k1"}).outcome ==
        Outcome::scheduled);
  CHECK(world.counts() == Counts{.wait = 2});
}

TEST_CASE("a purge looks at each order again", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  for (const char* id : {"a", "b", "c"}) world.schedule(id, world.now());
  world.cancel("a");
  world.pass(10s);
  world.cancel("b");
  CHECK(world.purge(State::failed, {"a", "b", "c"}) == 0);
  CHECK(world.purge(State::aborted, {"a", "b", "c", "none"}, 10s) == 1);
  CHECK_FALSE(world.find("a"));
  CHECK(world.purge(State::aborted, {"b", "b"}) == 1);  // Twice in one group.
  CHECK(world.counts() == Counts{.wait = 1});
}

// ---- Settings and limits ------------------------------------------------------------------------

TEST_CASE("settings stay, and count from the next command on", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  QueueSetRequest request{.queue = "q"};
  request.lease = 7s;
  request.tries = 3;
  request.backoff_base = 2s;
  request.backoff_cap = 9s;
  request.backoff_jitter_percent = 0;
  request.payload_bytes_max = 77;
  request.keep_success = std::optional<Duration>(5min);
  QueueSettings expected = world.set_queue(request);
  CHECK(expected.tries == 3);
  world.restart();
  CHECK(*engine::read_settings(world.store(), "q") == expected);
  CHECK(world.set_queue({.queue = "q"}) == expected);

  world.schedule("x", world.now());
  CHECK(world.order("x").tries == 3);
  Claimed claimed = world.claim_one("w");
  CHECK(claimed.lease_expires_at == world.now() + 7s);
  CHECK(world.fail(claimed).at == world.now() + 2s);
  world.set_queue({.lease = 1s, .tries = 9});
  CHECK(world.order("x").tries == 3);  // Its own, since it was scheduled.
  world.pass(2s);
  claimed = world.claim_one("w");
  CHECK(claimed.lease_expires_at == world.now() + 1s);
  CHECK(world.fail(claimed).at == world.now() + 4s);
  CHECK(world
            .refusal(
                ScheduleRequest{.queue = "q", .id = "y", .due = world.now(), .payload = std::string(78, 'x')})
            .code == Code::too_large);
}

TEST_CASE("what a newer version stored with settings and orders survives a rewrite", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::string unknown = "\xa2\x06\x03new";  // Field 100, three bytes.
  world.schedule("x", world.now());
  world.set_queue({.tries = 5});
  const std::string entry = store::queue_key("q", {128, world.now()}, "x");
  world.shut();
  for (const auto& [family, key] :
       {std::pair(Family::meta, store::settings_key("q")), std::pair(Family::queue, entry)}) {
    world.open();
    const std::string value = *world.row(family, key);
    world.put(family, key, value + unknown);
    world.shut();
  }
  world.open();
  world.set_queue({.tries = 6});
  CHECK(store::decode_settings(*world.row(Family::meta, store::settings_key("q")))->unknown == unknown);
  const Claimed claimed = world.claim_one("w");
  CHECK(store::decode_lease(*world.row(Family::leases, store::order_key("q", "x")))->record.unknown ==
        unknown);
  world.extend(claimed, 1h);
  world.release(claimed);
  fail_for_good(world, world.claim_one("w"));
  world.retry("x");
  world.complete(world.claim_one("w"));
  const auto row = store::decode_order(*world.row(Family::orders, store::order_key("q", "x")));
  CHECK(std::get<model::Record>(*row).unknown == unknown);
}

TEST_CASE("a store has 100,000 queues at most", "[core]") {
  World world(Disk::memory);
  world.check_always(false);
  world.shut();
  store::MemoryStore::Table& meta = world.memory().table(Family::meta);
  for (std::size_t i = 1; i < limits::queues_max; ++i) {
    meta.emplace(store::counts_key("n" + std::to_string(i)), store::encode_counts({}));
  }
  world.open();
  CHECK(world.schedule({.queue = "the-last", .id = "x", .due = world.now()}).outcome == Outcome::scheduled);
  const Error error = world.refusal(ScheduleRequest{.queue = "one-more", .id = "x", .due = world.now()});
  CHECK(error.code == Code::invalid);
  CHECK(error.message.find("100000") != std::string::npos);
  CHECK(error.message.find("one-more") != std::string::npos);
  CHECK(world.refusal(QueueSetRequest{.queue = "one-more", .tries = 1}).code == Code::invalid);
  CHECK(world.schedule({.queue = "n7", .id = "x", .due = world.now()}).outcome == Outcome::scheduled);
  CHECK(world.claim({.queues = {"one-more"}, .worker = "w"}).empty());
  CHECK(engine::read_queues(world.store())->size() == limits::queues_max);
}

TEST_CASE("application rows change with their transition, or not at all", "[core]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.schedule(
      {.queue = "q", .id = "x", .due = world.now(), .app_writes = {{"a", "1"}, {"b", "1"}, {"a", "2"}}});
  CHECK(world.row(Family::app, "a") == "2");
  const Claimed claimed = world.claim_one("w");
  auto report = World::report_of<CompleteRequest>(claimed);
  report.app_writes = {{"a", std::nullopt}, {"c", std::string("\0", 1)}, {"none", std::nullopt}};
  world.tell(report);
  CHECK(world.keys(Family::app) == std::vector<std::string>{"b", "c"});
  report.app_writes = {{"c", "again"}};
  CHECK(world.tell(report).outcome == Outcome::already);
  CHECK(
      world.schedule({.queue = "q", .id = "x", .due = world.now(), .app_writes = {{"c", "again"}}}).outcome ==
      Outcome::duplicate);
  CHECK(world.row(Family::app, "c") == std::string("\0", 1));
}

// ---- Determinism --------------------------------------------------------------------------------

TEST_CASE("the same commands at the same times give the same store", "[core]") {
  const auto run = [](Disk disk, bool restarts, bool groups) {
    World world(disk);
    world.check_always(false);
    world.set_queue({});
    std::mt19937 random(11);
    for (int step = 0; step < 400; ++step) {
      if (groups && step % 4 == 0) world.open_group();
      const std::string id = std::to_string(random() % 20);
      const auto what = random() % 8;
      if (what < 3) world.schedule({.queue = "q", .id = id, .due = world.now() + Duration{random() % 50}});
      if (what == 3) world.reschedule(id, world.now());
      if (what == 4) world.cancel(id, true);
      if (what == 5) {
        for (const Claimed& claimed : world.claim("w", 3)) {
          if (claimed.id.size() == 1) world.fail(claimed);
        }
      }
      if (what == 6) world.retry(id);
      if (what == 7) world.reap();
      if (groups && step % 4 == 3) REQUIRE(world.close_group());
      if (step % 4 == 3) world.pass(7s);
      if (restarts && step % 100 == 99) world.restart();
    }
    world.check_sound();
    auto rows = world.rows();
    std::erase_if(rows, [](const auto& row) {  // RocksDB only.
      const auto& key = std::get<1>(row);
      return key == store::format_key || key == store::closed_key || key == store::log_secret_key;
    });
    return rows;
  };
  const World::Rows rows = run(Disk::memory, false, false);
  CHECK(rows.size() > 30);
  CHECK(run(Disk::memory, false, false) == rows);
  CHECK(run(Disk::rocks, false, false) == rows);
  CHECK(run(Disk::memory, false, true) == rows);
  CHECK(run(Disk::rocks, false, true) == rows);
}

TEST_CASE("a run that begins and ends in one group is not kept", "[core][runs]") {
  World world(Disk::memory);
  constexpr std::size_t part = limits::runs_active_max / 2 + 1;
  std::size_t refused = 0;
  for (const char* prefix : {"a", "b"}) {
    world.open_group();
    for (std::size_t i = 0; i < part; ++i) {
      const std::string run = prefix + std::to_string(i);
      const auto opened = world.apply(RunOpenRequest{.queue = "q", .run = run});
      if (!opened || !*opened) ++refused;
      world.apply(RunDoneRequest{.queue = "q", .run = run});
    }
    REQUIRE(world.close_group());
  }
  CHECK(refused == 0);
}
