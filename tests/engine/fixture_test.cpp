// A store as the first version with this format has written it, see tests/fixtures/README.md. What is
// checked in must open for ever.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
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
namespace fs = std::filesystem;

namespace {

constexpr Time start = test::start_of_2026;
const std::string odd_id("\0\xff id", 5);

fs::path fixture(std::uint32_t version) {
  return fs::path(DUELEASE_SOURCE_FOLDER) / "tests/fixtures" / ("store_v" + std::to_string(version));
}

void fail_for_good(World& world, const Claimed& claimed, std::string error) {
  auto report = World::report_of<FailRequest>(claimed);
  report.final = true;
  report.error = std::move(error);
  world.tell(report);
}

// Ends at start + 10 s, with sequence 21.
void write_version_1(World& world) {
  world.set_queue({.lease = 2h,
                   .tries = 9,
                   .backoff_base = 3s,
                   .backoff_cap = 4h,
                   .backoff_jitter_percent = 0,
                   .payload_bytes_max = 12'345,
                   .keep_success = std::optional<Duration>(720h)});
  world.set_queue({.queue = "settings.only", .paused = true});

  world.schedule({.queue = "q", .id = "success", .due = start, .payload = "p1", .key = "k success"});
  auto done = World::report_of<CompleteRequest>(world.claim_one("w1"));
  done.result = "r1";
  done.app_writes = {{"app success", "effect"}, {std::string("\0", 1), std::string("\xff", 1)}};
  world.tell(done);
  world.pass(1s);
  world.schedule({.queue = "q", .id = "failed", .due = start, .key = "k failed"});
  fail_for_good(world, world.claim_one("w2"), "out of paper");
  world.pass(1s);
  world.schedule({.queue = "q", .id = "aborted", .due = start});
  world.cancel("aborted");
  world.pass(1s);
  world.schedule("again", start);
  fail_for_good(world, world.claim_one("w3"), "first");
  world.schedule("again", start);
  world.cancel("again");
  world.schedule({.queue = "q", .id = "again", .due = start + 100h, .payload = "third"});
  world.pass(1s);
  world.schedule(
      {.queue = "q", .id = "retried", .due = start, .payload = std::string(2'000, 'x'), .tries = 7});
  world.fail(world.claim_one("w4"), "jammed");
  world.schedule({.queue = "q", .id = "processing", .due = start + 1s, .key = "k processing", .priority = 0});
  world.claim({.queues = {"q"}, .worker = "w5", .lease = 1h, .request = "request 5"});
  world.pass(6s);
  world.schedule({.queue = "q",
                  .id = odd_id,
                  .due = start + 50h,
                  .payload = std::string("\0\xff", 2),
                  .key = std::string("\0key\xff", 5),
                  .priority = 255,
                  .tries = 0});
  world.schedule({.queue = "other:queue-1", .id = "old", .due = Time{-1ms}});
}

void check_ended_orders(World& world) {
  const Order success = world.order("success");
  CHECK(success.state == State::success);
  CHECK(success.payload == "p1");
  CHECK(success.result == "r1");
  CHECK(success.key == "k success");
  CHECK(success.worker == "w1");
  CHECK(success.attempt == 1);
  CHECK(success.tries == 9);
  CHECK(success.created_at == start);
  const Order failed = world.order("failed");
  CHECK(failed.state == State::failed);
  CHECK(failed.error == "out of paper");
  CHECK(failed.failures == 1);
  CHECK(failed.updated_at == start + 1s);
  CHECK(world.state("aborted") == State::aborted);
}

void check_living_orders(World& world) {
  const Order again = world.order("again");
  CHECK(again.state == State::wait);
  CHECK(again.payload == "third");
  CHECK(again.due == start + 100h);
  const Order retried = world.order("retried");
  CHECK(retried.state == State::wait);
  CHECK(retried.due == start + 7s);
  CHECK(retried.payload == std::string(2'000, 'x'));
  CHECK(retried.tries == 7);
  CHECK(retried.tries_used == 1);
  CHECK(retried.error == "jammed");
  const Order odd = world.order(odd_id);
  CHECK(odd.state == State::wait);
  CHECK(odd.priority == 255);
  CHECK(odd.tries == 0);
  CHECK(odd.key == std::string("\0key\xff", 5));
  CHECK(odd.payload == std::string("\0\xff", 2));
  const Order processing = world.order("processing");
  CHECK(processing.state == State::processing);
  CHECK(processing.priority == 0);
  CHECK(processing.worker == "w5");
  CHECK(processing.lease_expires_at == start + 4s + 1h);
}

void check_settings(World& world) {
  QueueSettings expected;
  expected.lease = 2h;
  expected.tries = 9;
  expected.backoff_base = 3s;
  expected.backoff_cap = 4h;
  expected.backoff_jitter_percent = 0;
  expected.payload_bytes_max = 12'345;
  expected.keep_success = 720h;
  CHECK(*engine::read_settings(world.store(), "q") == expected);
  expected = QueueSettings{};
  expected.paused = true;
  CHECK(*engine::read_settings(world.store(), "settings.only") == expected);
  CHECK(*engine::read_queues(world.store()) ==
        std::vector<std::string>{"other:queue-1", "q", "settings.only"});
}

}  // namespace

TEST_CASE("write the fixture of this format", "[.write_fixture]") {
  World world(Disk::rocks);
  write_version_1(world);
  world.shut();
  const fs::path target = fixture(store::format_version);
  fs::remove_all(target);
  fs::create_directories(target);
  for (const fs::directory_entry& entry : fs::directory_iterator(world.store_folder())) {
    const std::string name = entry.path().filename().string();
    const bool needed = name == "CURRENT" || name == "IDENTITY" || name.starts_with("MANIFEST-") ||
                        name.ends_with(".sst") || name.ends_with(".log");
    if (needed) fs::copy_file(entry.path(), target / name);
  }
}

TEST_CASE("a store of version 1 opens, with all that was in it", "[fixture]") {
  World world(fixture(1));
  CHECK(world.core().damage().empty());
  world.check_sound();
  check_ended_orders(world);
  check_living_orders(world);
  check_settings(world);
  CHECK(world.counts() == Counts{.wait = 3, .processing = 1, .success = 1, .failed = 1, .aborted = 1});
  CHECK(world.last_sequence() == 21 + limits::crash_jump);  // It has no row "closed" yet.
  CHECK(world.row(Family::app, "app success") == "effect");
  CHECK(world.row(Family::app, std::string("\0", 1)) == "\xff");
  std::vector<State> history;
  for (const std::string& key : world.keys(Family::history)) {
    CHECK(key.starts_with(store::history_prefix("q", "again")));
    history.push_back(store::decode_history(*world.row(Family::history, key))->ended->state);
  }
  CHECK(history == std::vector<State>{State::failed, State::aborted});
}

TEST_CASE("a store of version 1 goes on: leases, keys, tokens, history", "[fixture]") {
  World world(fixture(1));
  const bool restart = GENERATE(false, true);
  world.pass(10s);
  if (restart) world.restart();
  for (const char* id : {"success", "processing"}) {
    CHECK(world.schedule({.queue = "q", .id = "new", .due = start, .key = std::string("k ") + id}).blocker ==
          id);
  }
  CHECK(world.schedule({.queue = "q", .id = "new", .due = start, .key = "k failed"}).outcome ==
        Outcome::scheduled);
  CHECK(world.retry("failed").blocker == "new");

  const std::vector<Claimed> held =
      world.claim({.queues = {"q"}, .worker = "w5", .count = 5, .request = "request 5"});
  REQUIRE(held.size() == 1);
  CHECK(held[0].id == "processing");
  CHECK(static_cast<std::uint64_t>(held[0].token) <= 21);
  CHECK(world.complete(held[0]).outcome == Outcome::completed);

  const Claimed next = world.claim_one("w");
  CHECK(next.id == "new");
  CHECK(static_cast<std::uint64_t>(next.token) > 21);
  const std::vector<Claimed> old = world.claim({.queues = {"other:queue-1"}, .worker = "w"});
  REQUIRE(old.size() == 1);
  CHECK(old[0].due == Time{-1ms});
  world.cancel("again");
  CHECK(world.purge(State::aborted, {"again"}) == 1);
  CHECK(world.keys(Family::history).empty());
  world.pass(720h);
  CHECK(world.schedule("success", world.now()).outcome == Outcome::scheduled);
}
