// Scenarios of uniqueness: one order blocks an id and a key until its own transition frees them.
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "duelease/engine.h"
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

constexpr State unknown_state{17};

ScheduleRequest keyed(const World& world, std::string id, std::string key) {
  ScheduleRequest request;
  request.queue = "q";
  request.id = std::move(id);
  request.due = world.now();
  request.key = std::move(key);
  return request;
}

CompleteRequest done(const Claimed& order) { return World::report_of<CompleteRequest>(order); }

FailRequest failed_for_good(const Claimed& order) {
  auto request = World::report_of<FailRequest>(order);
  request.final = true;
  return request;
}

// An order of a newer version: written straight into the store.
void put_unknown(World& world, const std::string& id, const std::string& key) {
  model::Record record;
  record.state = unknown_state;
  record.key = key;
  record.due = record.created_at = record.updated_at = world.now();
  world.put(Family::orders, store::order_key("q", id), store::encode_ended(record));
  world.put(Family::dedup, store::dedup_key("q", key), id);
}

// Order `id` with `key`, alone in the queue, in `state`.
void bring_into(World& world, State state, const std::string& id, const std::string& key) {
  if (state == unknown_state) {
    world.schedule("other", world.now() + 1h);  // The queue is known.
    return put_unknown(world, id, key);
  }
  REQUIRE(world.schedule(keyed(world, id, key)).outcome == Outcome::scheduled);
  if (state == State::aborted) REQUIRE(world.cancel(id).outcome == Outcome::aborted);
  if (state == State::wait || state == State::aborted) return;
  const Claimed claimed = world.claim_one("w", 1h);
  if (state == State::success) REQUIRE(world.tell(done(claimed)).outcome == Outcome::completed);
  if (state == State::failed) REQUIRE(world.tell(failed_for_good(claimed)).outcome == Outcome::failed);
}

}  // namespace

TEST_CASE("state_matrix: which state blocks the id, and which the key", "[state_matrix]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  const State state =
      GENERATE(State::wait, State::processing, State::success, State::failed, State::aborted, unknown_state);
  const bool free = state == State::failed || state == State::aborted;
  CAPTURE(restart, state);
  bring_into(world, state, "x", "k");
  if (restart) world.restart();
  const World::Rows before = world.rows();

  Answer answer;
  SECTION("the same id, with another key") { answer = world.schedule(keyed(world, "x", "other key")); }
  SECTION("the same id, without a key") { answer = world.schedule("x", world.now()); }
  SECTION("the same key, with another id") { answer = world.schedule(keyed(world, "y", "k")); }
  SECTION("both") { answer = world.schedule(keyed(world, "x", "k")); }
  SECTION("both, after a retry of a worker that does not know") {
    answer = world.schedule(keyed(world, "x", "k"));
    if (free) answer = world.schedule(keyed(world, "x", "k"));
    CHECK(answer.outcome == Outcome::duplicate);
    CHECK(answer.blocker == "x");
    CHECK(answer.state == (free ? State::wait : state));
    return;
  }

  if (free) {
    CHECK(answer.outcome == Outcome::scheduled);
    CHECK(answer.state == State::wait);
    CHECK(world.claim("w", 10).size() == 1);
  } else {
    CHECK(answer.outcome == Outcome::duplicate);
    CHECK(answer.blocker == "x");
    CHECK(answer.state == state);
    CHECK(world.rows() == before);
  }
}

TEST_CASE("state_matrix: nothing touches an order in a state that is not known", "[state_matrix]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.schedule("other", world.now() + 1h);
  put_unknown(world, "x", "k");
  world.restart();
  const World::Rows before = world.rows();
  ScheduleRequest upsert = keyed(world, "x", "k");
  upsert.upsert = true;
  CHECK(world.schedule(upsert).outcome == Outcome::duplicate);
  for (const engine::Body& command :
       std::vector<engine::Body>{RescheduleRequest{"q", "x", world.now()}, CancelRequest{"q", "x", true},
                                 RetryRequest{"q", "x", {}}}) {
    const Answer answer = world.tell(command);
    CHECK(answer.outcome == Outcome::refused);
    CHECK(answer.state == unknown_state);
  }
  CHECK(world.tell(CompleteRequest{.queue = "q", .id = "x", .token = Token{1}}).outcome == Outcome::stale);
  for (const State state : {State::success, State::failed, State::aborted})
    CHECK(world.purge(state, {"x"}) == 0);
  CHECK(world.claim("w", 10).empty());
  CHECK(world.rows() == before);
}

TEST_CASE("revive_after_takeover: a retry is refused while its key is taken", "[revive_after_takeover]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  bring_into(world, State::failed, "k1", "k");
  REQUIRE(world.schedule(keyed(world, "k2", "k")).outcome == Outcome::scheduled);
  const State owner = GENERATE(State::wait, State::processing, State::success);
  CAPTURE(restart, owner);
  if (owner != State::wait) {
    const Claimed claimed = world.claim_one("w", 1h);
    if (owner == State::success) world.complete(claimed);
  }
  if (restart) world.restart();
  const World::Rows before = world.rows();

  const Answer answer = world.retry("k1");
  CHECK(answer.outcome == Outcome::duplicate);
  CHECK(answer.blocker == "k2");
  CHECK(answer.state == owner);
  CHECK(world.state("k1") == State::failed);
  CHECK(world.rows() == before);
}

TEST_CASE("revive_after_takeover: a bulk retry goes on with the others", "[revive_after_takeover]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool one_group = GENERATE(false, true);
  for (const char* id : {"a", "b", "c"}) bring_into(world, State::failed, id, std::string("key of ") + id);
  world.schedule(keyed(world, "thief", "key of b"));

  if (one_group) world.open_group();
  CHECK(world.retry("a").outcome == Outcome::requeued);
  CHECK(world.retry("b").blocker == "thief");
  CHECK(world.retry("c").outcome == Outcome::requeued);
  if (one_group) REQUIRE(world.close_group());
  CHECK(world.counts() == Counts{.wait = 3, .failed = 1});

  // When the thief has failed in turn, the key is free, and the retry takes it.
  CHECK(world.cancel("thief").outcome == Outcome::aborted);
  CHECK(world.retry("b").outcome == Outcome::requeued);
  CHECK(world.schedule(keyed(world, "late", "key of b")).blocker == "b");
  const Order order = world.order("b");
  CHECK(order.tries_used == 0);
  CHECK(order.failures == 1);
}

TEST_CASE("no_self_conflict: an owner never blocks itself", "[no_self_conflict]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  const auto between = [&] {
    if (restart) world.restart();
    CHECK(world.schedule(keyed(world, "other", "k")).blocker == "x");
  };
  REQUIRE(world.schedule(keyed(world, "x", "k")).outcome == Outcome::scheduled);
  between();
  world.claim_one("w", 30s);
  between();
  world.pass(30s);
  CHECK(world.reap() == 1);
  between();
  CHECK(world.reschedule("x", world.now()).outcome == Outcome::rescheduled);
  between();
  ScheduleRequest upsert = keyed(world, "x", "k");
  upsert.upsert = true;
  CHECK(world.schedule(upsert).outcome == Outcome::rescheduled);
  between();
  CHECK(world.release(world.claim_one("w", 30s)).outcome == Outcome::requeued);
  between();
  CHECK(world.tell(failed_for_good(world.claim_one("w", 30s))).outcome == Outcome::failed);
  CHECK(world.retry("x").outcome == Outcome::requeued);
  between();
  CHECK(world.cancel("x").outcome == Outcome::aborted);
  CHECK(world.schedule(keyed(world, "x", "k")).outcome == Outcome::scheduled);
  between();
  CHECK(world.complete(world.claim_one("w", 30s)).outcome == Outcome::completed);
  between();
}

TEST_CASE("failed_schedule_leaves_nothing: neither of an id nor of a key",
          "[failed_schedule_leaves_nothing]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.set_queue({.payload_bytes_max = 100});
  world.schedule(keyed(world, "taken", "taken key"));
  world.schedule("without key", world.now());
  const World::Rows before = world.rows();

  ScheduleRequest request = keyed(world, "x", "k");
  std::optional<Outcome> expected;
  SECTION("a run that is not there") { request.run = "r"; }
  SECTION("a payload above the limit") { request.payload = std::string(101, 'x'); }
  SECTION("an id above the limit") { request.id = std::string(256, 'x'); }
  SECTION("no id") { request.id = ""; }
  SECTION("too many application writes") { request.app_writes.resize(1001, {"app", "row"}); }
  SECTION("a due time out of range") { request.due = Time{Duration{253'402'300'800'000}}; }
  SECTION("an id that is taken") {
    request.id = "taken";
    expected = Outcome::duplicate;
  }
  SECTION("an upsert that would change the key") {
    request.id = "taken";
    request.upsert = true;
  }
  SECTION("an upsert that would add a key") {
    request.id = "without key";
    request.upsert = true;
  }
  if (expected) {
    CHECK(world.schedule(request).outcome == *expected);
  } else {
    world.refusal(request);
  }
  CHECK(world.rows() == before);
  CHECK(world.schedule(keyed(world, "y", "k")).outcome == Outcome::scheduled);
}

TEST_CASE("failed_schedule_leaves_nothing: a write that fails at any step leaves the step before",
          "[failed_schedule_leaves_nothing]") {
  for (int fail_at = 1;; ++fail_at) {
    CAPTURE(fail_at);
    World world(Disk::memory);
    int writes = 0;
    bool failed = false;
    World::Rows last_good = world.rows();
    world.memory().before_write = [&](std::span<const store::Change>) -> Result<> {
      if (++writes < fail_at) return {};
      failed = true;
      return fail(Code::storage, "the disk is full");
    };
    Claimed claimed;
    const std::vector<std::function<void()>> steps = {
        [&] { world.schedule(keyed(world, "x", "k")); },
        [&] { world.schedule(keyed(world, "y", "k")); },  // A duplicate: writes nothing.
        [&] { claimed = world.claim("w", 1).front(); },
        [&] { world.tell(failed_for_good(claimed)); },
        [&] { world.schedule(keyed(world, "y", "k")); },
        [&] { world.cancel("y"); },
        [&] { world.retry("x"); },
        [&] { world.schedule(keyed(world, "y", "other")); },
    };
    for (const auto& step : steps) {
      world.open_group();
      step();
      const Result<> written = world.close_group();
      if (!written) break;
      last_good = world.rows();
    }
    CHECK(world.rows() == last_good);
    world.memory().before_write = nullptr;
    world.restart();
    world.check_sound();
    // The key is taken exactly if its owner is there.
    const bool owned = world.row(Family::dedup, store::dedup_key("q", "k")).has_value();
    CHECK(world.schedule(keyed(world, "z", "k")).outcome ==
          (owned ? Outcome::duplicate : Outcome::scheduled));
    if (!failed) break;
    REQUIRE(fail_at < 100);
  }
}

TEST_CASE("racing_schedules: in one commit group the first wins, and all others are told",
          "[racing_schedules]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.open_group();
  CHECK(world.schedule(keyed(world, "id0", "k")).outcome == Outcome::scheduled);
  for (int i = 1; i < 50; ++i) {
    const Answer answer = world.schedule(keyed(world, "id" + std::to_string(i), "k"));
    CHECK(answer.outcome == Outcome::duplicate);
    CHECK(answer.blocker == "id0");
  }
  REQUIRE(world.close_group());
  CHECK(world.counts() == Counts{.wait = 1});
}

TEST_CASE("racing_schedules: when the write of the winner fails, another wins", "[racing_schedules]") {
  World world(Disk::memory);
  world.memory().before_write = [](std::span<const store::Change>) -> Result<> {
    return fail(Code::storage, "the disk is full");
  };
  world.open_group();
  for (const char* id : {"a", "b", "c"}) world.schedule(keyed(world, id, "k"));
  CHECK_FALSE(world.close_group());
  world.memory().before_write = nullptr;
  world.restart();
  CHECK(world.schedule(keyed(world, "c", "k")).outcome == Outcome::scheduled);
  CHECK(world.schedule(keyed(world, "a", "k")).blocker == "c");
}

TEST_CASE("racing_schedules: many threads, one key", "[racing_schedules]") {
  const test::TemporaryFolder folder;
  Options options;
  options.durability = GENERATE(Durability::sync, Durability::none);
  auto engine = Engine::open(folder / "store", options);
  REQUIRE(engine);
  constexpr int threads_count = 8;
  constexpr int rounds = 100;
  // What thread t was told about key r.
  std::vector<std::vector<Answer>> told(threads_count, std::vector<Answer>(rounds));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < threads_count; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t r = 0; r < rounds; ++r) {
        ScheduleRequest request;
        request.queue = "q";
        request.id = std::to_string(r) + "/" + std::to_string(t);
        request.key = "k" + std::to_string(r);
        Result<Answer> answer = (*engine)->schedule(std::move(request));
        if (answer) told[t][r] = std::move(*answer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (std::size_t r = 0; r < rounds; ++r) {
    std::string winner;
    for (std::size_t t = 0; t < threads_count; ++t) {
      if (told[t][r].outcome != Outcome::scheduled) continue;
      CHECK(winner.empty());
      winner = std::to_string(r) + "/" + std::to_string(t);
    }
    for (std::size_t t = 0; t < threads_count; ++t) {
      if (told[t][r].outcome == Outcome::scheduled) continue;
      CHECK(told[t][r].outcome == Outcome::duplicate);
      CHECK(told[t][r].blocker == winner);
    }
  }
  CHECK((*engine)->stats("q")->counts == Counts{.wait = rounds});
  CHECK((*engine)->check()->violations() == 0);
}

TEST_CASE("schedule_while_processing: refused, never two at once, never dropped in silence",
          "[schedule_while_processing]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool restart = GENERATE(false, true);
  const bool upsert = GENERATE(false, true);
  bring_into(world, State::processing, "x", "k");
  if (restart) world.restart();
  const World::Rows before = world.rows();
  for (const char* id : {"x", "y"}) {
    ScheduleRequest request = keyed(world, id, "k");
    request.upsert = upsert;
    request.app_writes = {{"shop/x", "told"}};
    const Answer answer = world.schedule(request);
    CHECK(answer.outcome == Outcome::duplicate);
    CHECK(answer.blocker == "x");
    CHECK(answer.state == State::processing);
  }
  CHECK(world.rows() == before);
  CHECK(world.claim("other", 10).empty());
}

TEST_CASE("success_blocks_until_its_retention: free again exactly then",
          "[success_blocks_until_its_retention]") {
  engine::CoreOptions options;
  options.upkeep = GENERATE(false, true);  // Whether its space was given back by then makes no difference.
  World world(GENERATE(Disk::memory, Disk::rocks), options);
  const bool restart = GENERATE(false, true);
  const std::string id = GENERATE("x", "y");
  CAPTURE(options.upkeep, restart, id);
  world.set_queue({.keep_success = std::optional<Duration>(1h)});
  bring_into(world, State::success, "x", "k");

  world.run_for(1h - 1ms);
  if (restart) world.restart();
  const Answer blocked = world.schedule(keyed(world, id, "k"));
  CHECK(blocked.outcome == Outcome::duplicate);
  CHECK(blocked.blocker == "x");
  CHECK(blocked.state == State::success);

  world.pass(1ms);
  CHECK(world.schedule(keyed(world, id, "k")).outcome == Outcome::scheduled);
  CHECK(world.counts() == Counts{.wait = 1});
  CHECK(world.schedule(keyed(world, "z", "k")).blocker == id);
  CHECK(world.find(id));
  if (id == "y") CHECK(world.schedule("x", world.now()).outcome == Outcome::scheduled);
}

TEST_CASE("success_blocks_until_its_retention: the setting counts as it stands",
          "[success_blocks_until_its_retention]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  bring_into(world, State::success, "x", "k");
  world.pass(10h);
  CHECK(world.schedule(keyed(world, "y", "k")).outcome ==
        Outcome::duplicate);  // For ever, if nobody says else.
  world.set_queue({.keep_success = std::optional<Duration>(11h)});
  CHECK(world.schedule(keyed(world, "y", "k")).outcome == Outcome::duplicate);
  world.set_queue({.keep_success = std::optional<Duration>()});
  world.pass(1h);
  CHECK(world.schedule(keyed(world, "y", "k")).outcome == Outcome::duplicate);
  world.set_queue({.keep_success = std::optional<Duration>(0ms)});
  CHECK(world.schedule(keyed(world, "y", "k")).outcome == Outcome::scheduled);
  CHECK_FALSE(world.find("x"));  // It lost its key, so it is gone.
}

TEST_CASE("success_blocks_until_its_retention: a purge by hand frees it sooner",
          "[success_blocks_until_its_retention]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  bring_into(world, State::success, "x", "k");
  world.pass(10s);
  CHECK(world.purge(State::success, {"x"}, 10s + 1ms) == 0);
  CHECK(world.schedule(keyed(world, "y", "k")).outcome == Outcome::duplicate);
  CHECK(world.purge(State::success, {"x"}, 10s) == 1);
  CHECK(world.schedule(keyed(world, "y", "k")).outcome == Outcome::scheduled);
}
