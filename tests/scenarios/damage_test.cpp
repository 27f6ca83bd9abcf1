// Scenarios of a damaged store: what belongs together has come apart. It is reported by the check, mended
// and counted when the store is opened or the order is met, and holds up nothing that stands behind it.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

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

using Names = std::vector<std::string>;
using Damage = std::map<std::string, std::uint64_t>;

// Orders "a" to "e", of which the first `claimed` are held for 30 s.
std::vector<Claimed> five_orders(World& world, std::uint32_t claimed) {
  for (const char* id : {"a", "b", "c", "d", "e"}) world.schedule(id, world.now());
  return claimed == 0 ? std::vector<Claimed>{} : world.claim("w", claimed);
}

// From here on the store is damaged.
void damage(World& world, const std::function<void()>& edit) {
  world.check_always(false);
  world.shut();
  edit();
}

std::string row_key(const std::string& id) { return store::order_key("q", id); }

std::string ended_row(World& world, State state, std::uint64_t sequence) {
  model::Record record;
  record.state = state;
  record.created_at = world.now();
  record.updated_at = world.now();
  record.sequence = sequence;
  return store::encode_ended(record);
}

engine::CoreOptions with_upkeep() {
  engine::CoreOptions options;
  options.restart_grace = 0ms;
  return options;
}

}  // namespace

TEST_CASE("lease_entry_without_order: a lease whose order row is gone is a lease still",
          "[lease_entry_without_order]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const std::vector<Claimed> held = five_orders(world, 2);
  damage(world, [&] { world.erase(Family::orders, row_key("a")); });
  CHECK(world.broken() == Names{"lease_is_a_processing_order"});

  world.open();
  CHECK(world.core().damage() == Damage{{"lease without its order", 1}});
  world.check_sound();
  CHECK(world.state("a") == State::processing);
  SECTION("its holder completes") { CHECK(world.complete(held[0]).outcome == Outcome::completed); }
  SECTION("or it is reaped, with the others") {
    world.run_for(30s);
    CHECK(world.counts() == Counts{.wait = 5});
    CHECK(world.claim("v", 10).size() == 5);
  }
  world.check_sound();
}

TEST_CASE("lease_entry_without_order: of a lease and an ended order the later change counts",
          "[lease_entry_without_order]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const std::vector<Claimed> held = five_orders(world, 2);
  const auto token = static_cast<std::uint64_t>(held[0].token);

  SECTION("the order ended after the claim: the lease goes") {
    damage(world, [&] {
      world.put(Family::orders, row_key("a"), ended_row(world, State::success, token + 1));
      world.put(Family::meta, store::counts_key("q"),
                store::encode_counts({.wait = 3, .processing = 1, .success = 1}));
    });
    CHECK(world.broken() == Names{"lease_is_a_processing_order", "counts_equal_a_recount"});
    world.open();
    CHECK(world.core().damage() == Damage{{"lease of an order that has ended", 1}});
    CHECK(world.complete(held[0]).outcome == Outcome::stale);
    CHECK(world.state("a") == State::success);
  }
  SECTION("the order ended before the claim: the lease stays") {
    damage(world,
           [&] { world.put(Family::orders, row_key("a"), ended_row(world, State::failed, token - 1)); });
    CHECK(world.broken() == Names{"lease_is_a_processing_order", "counts_equal_a_recount"});
    world.open();
    CHECK(world.core().damage() == Damage{{"lease without its order", 1}});
    CHECK(world.complete(held[0]).outcome == Outcome::completed);
  }
  world.check_sound();
}

TEST_CASE("processing_without_lease: the order is given up, and its id is free again",
          "[processing_without_lease]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const std::vector<Claimed> held = five_orders(world, 3);
  SECTION("the lease is gone") {
    damage(world, [&] { world.erase(Family::leases, row_key("b")); });
    CHECK(world.broken() == Names{"waiting_order_has_one_queue_entry", "counts_equal_a_recount"});
    world.open();
    CHECK(world.core().damage() == Damage{{"count of PROCESSING orders and leases differ", 1}});
  }
  SECTION("the lease does not decode") {
    damage(world, [&] { world.put(Family::leases, row_key("b"), "garbage"); });
    CHECK(world.broken() == Names{"counts_equal_a_recount", "every_record_decodes"});
    world.open();
    CHECK(world.core().damage() ==
          Damage{{"count of PROCESSING orders and leases differ", 1}, {"undecodable lease", 1}});
  }
  world.run_for(1s);
  CHECK(world.core().damage().at("order without its record") == 1);
  world.check_sound();
  CHECK(world.counts() == Counts{.wait = 2, .processing = 2, .aborted = 1});
  CHECK(world.order("b").error.find("lost") != std::string::npos);
  CHECK(world.complete(held[1]).outcome == Outcome::stale);
  CHECK(world.complete(held[0]).outcome == Outcome::completed);
  CHECK(world.schedule("b", world.now()).outcome == Outcome::scheduled);
  CHECK(world.claim("v", 10).size() == 3);
  world.check_sound();

  world.restart();
  CHECK(world.core().damage().empty());
}

TEST_CASE("processing_without_lease: a key that the lost order had is free", "[processing_without_lease]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.schedule({.queue = "q", .id = "a", .due = world.now(), .key = "k"});
  world.claim_one("w");
  damage(world, [&] { world.erase(Family::leases, row_key("a")); });
  world.open();
  world.run_for(1s);
  CHECK(world.state("a") == State::aborted);
  // Which key it was went with its record, so the entry is found out only when somebody wants the key.
  CHECK(world.broken() == Names{"key_is_owned_by_one_blocking_order"});
  CHECK(world.schedule({.queue = "q", .id = "b", .due = world.now(), .key = "k"}).outcome ==
        Outcome::scheduled);
  CHECK(world.core().damage().at("key of an order that does not block") == 1);
  world.check_sound();
}

TEST_CASE("processing_without_lease: found among many orders by bounded passes",
          "[processing_without_lease]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  world.check_always(false);
  world.open_group();
  for (int i = 0; i < 5000; ++i) world.schedule("o" + std::to_string(i), world.now());
  REQUIRE(world.close_group());
  REQUIRE(world.claim("w", 5000).size() == 5000);
  damage(world, [&] {
    for (int i = 0; i < 5000; i += 1000) world.erase(Family::leases, row_key("o" + std::to_string(i)));
  });
  world.open();
  const int wakes = world.run_for(1s);
  CHECK(wakes >= 3);
  CHECK(world.core().damage().at("order without its record") == 5);
  CHECK(world.counts() == Counts{.processing = 4995, .aborted = 5});
  world.check_sound();
}

TEST_CASE("processing_without_lease: met by a command before the search finds it",
          "[processing_without_lease]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  five_orders(world, 3);
  damage(world, [&] { world.erase(Family::leases, row_key("b")); });
  world.open();
  world.open_group();
  const Answer answer = world.schedule("b", world.now());
  REQUIRE(world.close_group());
  CHECK(answer.outcome == Outcome::scheduled);
  CHECK(world.counts() == Counts{.wait = 3, .processing = 2});
  world.run_for(2s);
  CHECK(world.core().damage().at("order without its record") == 1);
  world.check_sound();
}

TEST_CASE("waiting order without its queue entry: given up when it is met", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  five_orders(world, 0);
  damage(world, [&] { world.erase(Family::queue, store::queue_key("q", {128, world.now()}, "b")); });
  CHECK(world.broken() == Names{"waiting_order_has_one_queue_entry"});
  world.open();
  CHECK(world.claim("w", 10).size() == 4);
  CHECK(world.cancel("b").outcome == Outcome::aborted);
  CHECK(world.core().damage() == Damage{{"order without its record", 1}});
  CHECK(world.counts() == Counts{.processing = 4, .aborted = 1});
  world.check_sound();
}

TEST_CASE("an order whose record is lost is still counted by its run", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  for (const char* run : {"r", "other"}) REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = run}));
  world.schedule({.queue = "q", .id = "a", .due = world.now(), .run = "other"});
  world.cancel("a");
  for (const char* id : {"a", "b", "c", "d"})
    world.schedule({.queue = "q", .id = id, .due = world.now(), .run = "r"});
  world.claim("w", 2);
  damage(world, [&] {
    world.erase(Family::leases, row_key("a"));
    world.erase(Family::queue, store::queue_key("q", {128, world.now()}, "c"));
  });
  world.open();
  world.run_for(1s);
  CHECK(world.cancel("c").outcome == Outcome::aborted);
  const auto counts = [&](const char* run) { return engine::read_run(world.store(), "q", run)->counts; };
  CHECK(world.core().damage().at("order without its record") == 2);
  CHECK(counts("r") == Counts{.wait = 1, .processing = 1, .aborted = 2});
  CHECK(world.order("a").run == "r");
  world.check_sound();

  // A purge takes its earlier generation along.
  CHECK(world.purge(State::aborted, {"a", "c"}) == 2);
  CHECK(counts("other") == Counts{.aborted = 1});
  CHECK(engine::read_run(world.store(), "q", "other")->purged == Counts{.aborted = 1});
  CHECK(world.keys(Family::history).empty());
  world.check_sound();
}

TEST_CASE("a lost order is counted by what its run knows of it", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  for (const char* run : {"waiting", "held"}) REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = run}));
  world.schedule({.queue = "q", .id = "held", .due = world.now(), .run = "held"});
  world.claim_one("w");
  world.schedule({.queue = "q", .id = "a", .due = world.now(), .run = "waiting"});
  damage(world, [&] {
    world.erase(Family::leases, row_key("held"));
    world.erase(Family::queue, store::queue_key("q", {128, world.now()}, "a"));
  });
  world.open();  // The queue misses a lease, but not that of "a", which is met first.
  world.cancel("a");
  world.run_for(1s);
  CHECK(engine::read_run(world.store(), "q", "waiting")->counts == Counts{.aborted = 1});
  CHECK(engine::read_run(world.store(), "q", "held")->counts == Counts{.aborted = 1});
  CHECK(world.counts() == Counts{.aborted = 2});
  world.check_sound();
}

TEST_CASE("a broken entry holds up nothing behind it", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const bool restart = GENERATE(false, true);

  SECTION("in the queue") {
    five_orders(world, 0);
    world.schedule("later", world.now() + 1h);
    damage(world, [&] {
      world.put(Family::queue, store::queue_key("q", {128, world.now()}, "a"), "garbage");
      world.put(Family::queue, store::queue_key("q", {128, world.now()}, "c"), "\x08\x02");  // PROCESSING
      world.put(Family::queue, store::queue_prefix("q") + "short", "no key");
    });
    const Names broken = world.broken();
    CHECK(std::find(broken.begin(), broken.end(), "every_record_decodes") != broken.end());
    world.open();
    CHECK(world.claim("w", 1).front().id == "b");
    if (restart) world.restart();
    const std::vector<Claimed> rest = world.claim("w", 10);
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].id == "d");
    CHECK(rest[1].id == "e");
    CHECK(world.core().damage().at("undecodable queue entry") >= 1);
    world.pass(1h);
    CHECK(world.claim("w", 10).size() >= 1);  // And those whose lease has run out by now.
  }
  SECTION("among the leases") {
    five_orders(world, 5);
    damage(world, [&] {
      world.put(Family::leases, row_key("a"), "garbage");
      world.put(Family::leases, "no key", "garbage");
    });
    world.open();
    CHECK(world.core().damage().at("undecodable lease") == 1);
    CHECK(world.core().damage().at("lease under a key that does not parse") == 1);
    if (restart) world.restart();  // Before the search has begun.
    world.run_for(30s);
    CHECK(world.claim("v", 10).size() == 4);
    CHECK(world.state("a") == State::aborted);
  }
  SECTION("among the orders") {
    five_orders(world, 0);
    damage(world, [&] { world.put(Family::orders, row_key("a"), "garbage"); });
    CHECK(world.broken() ==
          Names{"queue_entry_is_a_waiting_order", "counts_equal_a_recount", "every_record_decodes"});
    world.open();
    if (restart) world.restart();
    CHECK(world.refusal(CancelRequest{"q", "a"}).code == Code::corrupt);
    const std::vector<Claimed> claimed =
        world.claim("w", 10);  // The record itself is sound: its queue entry.
    REQUIRE(claimed.size() == 5);
    for (const Claimed& order : claimed) CHECK(world.complete(order).outcome == Outcome::completed);
    world.check_sound();
  }
}

TEST_CASE("a lease that cannot be read holds up no reaping behind it", "[damage]") {
  World world(Disk::memory, with_upkeep());
  world.schedule({.queue = "q", .id = "big", .due = world.now(), .payload = std::string(5000, 'x')});
  REQUIRE(world.claim("w", 1).size() == 1);  // Its lease is the first to run out.
  five_orders(world, 5);
  world.check_always(false);
  const std::string kept = world.memory().table(Family::leases).at(row_key("big"));
  world.memory().table(Family::leases).at(row_key("big")) = "garbage";

  world.run_for(30s);
  CHECK(world.core().damage() == Damage{{"lease that cannot be read", 1}});
  CHECK(world.claim("v", 10).size() == 5);
  world.memory().table(Family::leases).at(row_key("big")) = kept;  // It was the disk's bad day.
  world.run_for(60s);
  const std::vector<Claimed> all = world.claim("u", 10);
  CHECK(std::any_of(all.begin(), all.end(), [](const Claimed& order) { return order.id == "big"; }));
}

TEST_CASE("a queue entry of an order under a lease is a ghost: nobody gets it", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::string key = store::queue_key("q", {128, world.now()}, "a");
  world.schedule("a", world.now());
  const std::string entry = *world.row(Family::queue, key);
  const Claimed held = world.claim_one("w");
  damage(world, [&] { world.put(Family::queue, key, entry); });
  CHECK(world.broken() == Names{"processing_order_has_one_lease"});
  world.open();
  CHECK(world.claim("v", 10).empty());
  CHECK(world.core().damage() == Damage{{"queue entry of an order under a lease", 1}});
  world.check_sound();
  CHECK(world.complete(held).outcome == Outcome::completed);
}

TEST_CASE("tokens above the last sequence raise it, so that none is given out twice", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const std::vector<Claimed> held = five_orders(world, 3);
  damage(world,
         [&] { world.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(1)); });
  CHECK(world.broken() == Names{"tokens_not_above_last_sequence"});
  world.open();
  CHECK(world.core().damage().at("token above the last sequence") >= 1);
  for (const Claimed& order : world.claim("w", 10)) CHECK(order.token > held.back().token);
  world.check_sound();
}

TEST_CASE("counts that do not decode are counted again", "[damage]") {
  World world(GENERATE(Disk::memory, Disk::rocks), with_upkeep());
  const std::vector<Claimed> held = five_orders(world, 3);
  world.complete(held[0]);
  world.cancel("e");
  auto report = World::report_of<FailRequest>(held[1]);
  report.final = true;
  world.tell(report);
  world.schedule({.queue = "r", .id = "x", .due = world.now()});
  const Counts right{.wait = 1, .processing = 1, .success = 1, .failed = 1, .aborted = 1};
  REQUIRE(world.counts() == right);
  damage(world, [&] {
    world.put(Family::meta, store::counts_key("q"), "garbage");
    // Its row is mended in the same open.
    if (GENERATE(false, true)) world.erase(Family::orders, row_key("c"));
  });
  world.open();
  CHECK(world.core().damage().at("undecodable counts, counted again") == 1);
  CHECK(world.counts() == right);
  world.check_sound();
  CHECK(world.complete(held[2]).outcome == Outcome::completed);
  CHECK(world.counts() == Counts{.wait = 1, .success = 2, .failed = 1, .aborted = 1});
  world.restart();
  CHECK(world.core().damage().empty());
}

TEST_CASE("settings that do not decode are the defaults, which is said aloud", "[damage]") {
  std::vector<std::string> log;
  engine::CoreOptions options = with_upkeep();
  options.log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::error) log.emplace_back(text);
  };
  World world(GENERATE(Disk::memory, Disk::rocks), options);
  five_orders(world, 0);
  world.set_queue({.tries = 7, .keep_success = 1h, .paused = true});
  world.set_queue({.queue = "r", .tries = 9});
  damage(world, [&] { world.put(Family::meta, store::settings_key("q"), "garbage"); });
  CHECK(world.broken() == Names{"every_record_decodes"});
  REQUIRE(log.empty());
  world.open();
  CHECK(world.core().damage() == Damage{{"undecodable settings, now the defaults", 1}});
  REQUIRE(log.size() == 1);
  CHECK(log[0].find("undecodable settings, now the defaults, queue q") != std::string::npos);
  CHECK(*engine::read_settings(world.store(), "q") == QueueSettings{});
  CHECK(engine::read_settings(world.store(), "r")->tries == 9);
  world.check_sound();
  CHECK(world.claim("w", 10).size() == 5);
  world.restart();
  CHECK(world.core().damage().empty());
}
