// Imports with their states, rows of a reconcile, and cancels of what has vanished, under clocks moved by hand.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/foresight.h"
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

ImportRequest imported(std::string id, State state = State::wait, std::optional<std::string> key = {},
                       bool grandfather = false) {
  ImportRequest out;
  out.queue = "q";
  out.id = std::move(id);
  out.due = test::start_of_2026 - 24h;
  out.state = state;
  out.key = std::move(key);
  out.grandfather = grandfather;
  return out;
}

ReconcileRequest row(const World& world, std::string id, Time due, std::uint64_t since) {
  ReconcileRequest out;
  out.queue = "q";
  out.id = std::move(id);
  out.due = due;
  out.since = since;
  out.read_at = world.now();
  return out;
}

// As the engine does it: a look first, which must tell what is done then.
Answer reconcile(World& world, ReconcileRequest request) {
  const Result<Answer> foreseen = engine::Foresight(world.store(), world.now()).answer(request);
  Answer done = world.tell(std::move(request));
  REQUIRE(foreseen);
  CHECK(foreseen->outcome == done.outcome);
  CHECK(foreseen->state == done.state);
  CHECK(foreseen->blocker == done.blocker);
  return done;
}

std::optional<std::string> owner(const World& world, const std::string& key) {
  return world.row(Family::dedup, store::dedup_key("q", key));
}

Answer cancel_since(World& world, std::string id, std::uint64_t since) {
  CancelRequest request{.queue = "q", .id = std::move(id)};
  request.since = since;
  return world.tell(request);
}

}  // namespace

TEST_CASE("an order is imported in the state that it has elsewhere", "[import]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const State state = GENERATE(State::wait, State::success, State::failed, State::aborted);
  ImportRequest request = imported("x", state, "k");
  request.payload = "p";
  request.priority = std::uint8_t{5};
  request.tries = 3;
  request.error = "why";
  request.created_at = world.now() - 48h;
  if (state != State::wait) request.ended_at = world.now() - 1h;
  const Answer answer = world.tell(request);
  CHECK(answer.outcome == Outcome::scheduled);
  CHECK(answer.state == state);
  world.restart();
  const Order order = world.order("x");
  CHECK(order.state == state);
  CHECK(order.due == test::start_of_2026 - 24h);
  CHECK(order.created_at == world.now() - 48h);
  CHECK(order.updated_at == (state == State::wait ? world.now() : world.now() - 1h));
  CHECK(order.error == "why");
  CHECK(order.payload == "p");
  CHECK(order.priority == 5);
  CHECK(order.tries == 3);
  CHECK(order.key == "k");
  CHECK_FALSE(order.grandfathered);
  const bool blocks = state == State::wait || state == State::success;
  CHECK(owner(world, "k") == (blocks ? std::optional<std::string>("x") : std::nullopt));
  CHECK(world.schedule({.queue = "q", .id = "y", .due = world.now(), .key = "k"}).outcome ==
        (blocks ? Outcome::duplicate : Outcome::scheduled));
}

TEST_CASE("an import that is run again changes nothing", "[import]") {
  World world(Disk::memory);
  for (const State state : {State::wait, State::success, State::failed, State::aborted}) {
    world.tell(imported(std::string(state_name(state)), state, "key of " + std::string(state_name(state))));
  }
  const World::Rows before = world.rows();
  for (const State state : all_states) {
    if (state == State::processing) continue;
    const Answer again =
        world.tell(imported(std::string(state_name(state)), State::success, "another", true));
    CHECK(again.outcome == Outcome::duplicate);
    CHECK(again.state == state);
    CHECK(again.blocker == state_name(state));
  }
  const Claimed held = world.claim_one("w", 1h);
  CHECK(world.tell(imported(held.id)).state == State::processing);
  world.release(held);
  CHECK(world.counts() == Counts{1, 0, 1, 1, 1});
  CHECK(before.size() == world.rows().size());
}

TEST_CASE("an import is refused whole", "[import]") {
  World world(Disk::memory);
  world.set_queue({.queue = "q", .payload_bytes_max = 4});
  const World::Rows before = world.rows();
  ImportRequest request = imported("x", State::success);
  request.ended_at = world.now() + 1ms;
  CHECK_THAT(world.refusal(request).message, Catch::Contains("1 ms in the future"));
  request.ended_at = world.now();
  request.payload = "12345";
  CHECK(world.refusal(request).code == Code::too_large);
  CHECK(world.refusal(imported("x", State::processing)).code == Code::invalid);
  CHECK(world.rows() == before);
}

TEST_CASE("an imported success is kept from its end on", "[import]") {
  World world(Disk::memory);
  world.set_queue({.queue = "q", .keep_success = std::optional<Duration>(1h)});
  ImportRequest request = imported("x", State::success, "k");
  request.ended_at = world.now() - 59min;
  world.tell(request);
  CHECK(world.schedule("x", world.now()).outcome == Outcome::duplicate);
  world.pass(1min);
  CHECK(world.schedule({.queue = "q", .id = "y", .due = world.now(), .key = "k"}).outcome ==
        Outcome::scheduled);
  CHECK_FALSE(world.find("x"));
}

TEST_CASE("a key that is owned is a duplicate, or the order is taken beside its owner", "[import]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  world.tell(imported("owner", State::success, "k"));
  const Answer refused = world.tell(imported("x", State::wait, "k"));
  CHECK(refused.outcome == Outcome::duplicate);
  CHECK(refused.blocker == "owner");
  CHECK(refused.state == State::success);
  CHECK_FALSE(world.find("x"));

  CHECK(world.tell(imported("x", State::wait, "k", true)).outcome == Outcome::scheduled);
  CHECK(world.tell(imported("y", State::success, "k", true)).outcome == Outcome::scheduled);
  CHECK(world.tell(imported("z", State::failed, "k", true)).outcome == Outcome::scheduled);
  CHECK(world.order("x").grandfathered);
  CHECK(world.order("x").key == "k");
  CHECK(world.order("y").grandfathered);
  CHECK_FALSE(world.order("z").grandfathered);  // It would own none anyway.
  world.restart();
  world.check_sound();

  // Whatever becomes of them, the key stays with its owner.
  const Claimed claimed = world.claim_one("w");
  CHECK(claimed.id == "x");
  CHECK(claimed.key == "k");
  CHECK(world.complete(claimed).outcome == Outcome::completed);
  CHECK(world.purge(State::success, {"x", "y"}) == 2);
  CHECK(owner(world, "k") == "owner");
  CHECK(world.schedule({.queue = "q", .id = "w", .due = world.now(), .key = "k"}).blocker == "owner");
  CHECK(world.purge(State::success, {"owner"}) == 1);
  CHECK_FALSE(owner(world, "k"));
}

TEST_CASE("with grandfather a free key is taken as always", "[import]") {
  World world(Disk::memory);
  world.tell(imported("x", State::wait, "k", true));
  CHECK_FALSE(world.order("x").grandfathered);
  CHECK(owner(world, "k") == "x");
}

TEST_CASE("a grandfathered order that fails gives no key back, and is retried only when it can have it",
          "[import]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const bool cancels = GENERATE(false, true);
  world.tell(imported("owner", State::success, "k"));
  world.tell(imported("x", State::wait, "k", true));
  auto report = World::report_of<FailRequest>(world.claim_one("w"));
  report.final = true;
  CHECK(world.tell(report).outcome == Outcome::failed);
  CHECK(owner(world, "k") == "owner");
  const Answer refused = world.retry("x");
  CHECK(refused.outcome == Outcome::duplicate);
  CHECK(refused.blocker == "owner");
  CHECK(world.state("x") == State::failed);

  world.purge(State::success, {"owner"});
  CHECK(world.retry("x").outcome == Outcome::requeued);
  CHECK_FALSE(world.order("x").grandfathered);
  CHECK(owner(world, "k") == "x");
  if (cancels) {
    world.cancel("x");
  } else {
    report = World::report_of<FailRequest>(world.claim_one("w"));
    report.final = true;
    world.tell(report);
  }
  CHECK_FALSE(owner(world, "k"));
}

TEST_CASE("a cancelled grandfathered order gives no key back, and starts anew as any other", "[import]") {
  World world(Disk::memory);
  world.tell(imported("owner", State::wait, "k"));
  world.tell(imported("x", State::wait, "k", true));
  CHECK(world.cancel("x").outcome == Outcome::aborted);
  CHECK(owner(world, "k") == "owner");
  CHECK(world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k"}).blocker == "owner");
  world.cancel("owner");
  CHECK(world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k"}).outcome ==
        Outcome::scheduled);
  CHECK_FALSE(world.order("x").grandfathered);
  CHECK(owner(world, "k") == "x");
}

TEST_CASE("check: a key that belongs to a grandfathered order", "[import][check]") {
  World world(Disk::memory);
  world.tell(imported("owner", State::wait, "k"));
  world.tell(imported("x", State::wait, "k", true));
  CHECK(world.broken().empty());
  world.check_always(false);
  world.put(Family::dedup, store::dedup_key("q", "k"), "x");
  CHECK(world.broken() == std::vector<std::string>{"key_is_owned_by_one_blocking_order"});
}

TEST_CASE("rows of a reconcile, and what they find", "[reconcile]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  const Time due = world.now() + 1h;
  for (const char* id : {"aborted", "wait", "moved", "touched"}) world.schedule(id, due);
  for (const char* id : {"failed", "held", "success"}) world.schedule(id, world.now() - 1s);
  world.cancel("aborted");
  auto failed = World::report_of<FailRequest>(world.claim_one("w", 2h));
  failed.final = true;
  world.tell(failed);
  world.claim_one("w", 2h);
  world.complete(world.claim_one("w", 2h));
  const std::uint64_t since = world.last_sequence();
  world.reschedule("touched", due + 1h);
  const World::Rows before = world.rows();

  CHECK(reconcile(world, row(world, "wait", due, since)).outcome == Outcome::unchanged);
  CHECK(reconcile(world, row(world, "touched", due, since)).outcome == Outcome::newer);
  for (const auto& [id, state] : std::vector<std::pair<std::string, State>>{{"held", State::processing},
                                                                            {"success", State::success},
                                                                            {"failed", State::failed},
                                                                            {"aborted", State::aborted}}) {
    const Answer refused = reconcile(world, row(world, id, due, since));
    CHECK(refused.outcome == Outcome::refused);
    CHECK(refused.state == state);
  }
  CHECK(world.rows() == before);

  ReconcileRequest moved = row(world, "moved", due - 5min, since);
  moved.payload = "another";
  moved.priority = std::uint8_t{1};
  CHECK(reconcile(world, moved).at == due - 5min);
  CHECK(world.order("moved").due == due - 5min);
  CHECK(world.order("moved").payload.empty());  // The due time alone.
  CHECK(world.order("moved").priority == 128);

  ReconcileRequest missing = row(world, "missing", due, since);
  missing.payload = "p";
  missing.key = "k";
  missing.priority = std::uint8_t{1};
  missing.tries = 2;
  CHECK(reconcile(world, missing).outcome == Outcome::scheduled);
  const Order order = world.order("missing");
  CHECK(order.payload == "p");
  CHECK(order.key == "k");
  CHECK(order.priority == 1);
  CHECK(order.tries == 2);
  missing.id = "other";
  CHECK(reconcile(world, missing).blocker == "missing");
}

TEST_CASE("a row of another store, and one that is too old to tell", "[reconcile]") {
  World world(Disk::memory);
  world.set_queue({.queue = "q", .keep_success = std::optional<Duration>(1min)});
  CHECK_THAT(world.refusal(row(world, "x", world.now(), world.last_sequence() + 1)).message,
             Catch::Contains("the last sequence of the store is 0"));
  world.schedule("x", world.now());
  const std::uint64_t since = world.last_sequence();
  const ReconcileRequest old = row(world, "x", world.now(), since);
  world.complete(world.claim_one("w"));
  world.pass(1min - 1ms);
  CHECK(reconcile(world, old).outcome == Outcome::refused);
  world.pass(1ms);
  CHECK(world.refusal(old).code == Code::invalid);
  CHECK(engine::Foresight(world.store(), world.now()).answer(old).error().code == Code::invalid);
  world.purge(State::success, {"x"});
  CHECK(world.refusal(old).code == Code::invalid);
  CHECK_FALSE(world.find("x"));
}

TEST_CASE("a row that names an orphan replaces it, a row of a live run leaves it", "[reconcile]") {
  World world(Disk::memory);
  for (const char* run : {"dead", "alive"}) REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = run}));
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .key = "k", .run = "dead"});
  world.schedule({.queue = "q", .id = "y", .due = world.now(), .key = "l", .run = "alive"});
  const std::uint64_t since = world.last_sequence();
  world.open_group();  // Before its sweep.
  REQUIRE(world.ask(RunErrorRequest{.queue = "q", .run = "dead"}));
  ReconcileRequest heir = row(world, "z", world.now(), since);
  heir.key = "k";
  CHECK(world.tell(heir).outcome == Outcome::scheduled);
  CHECK(world.tell(row(world, "x", world.now() + 1h, since)).outcome ==
        Outcome::refused);  // Aborted by that.
  REQUIRE(world.close_group());
  heir.id = "w";
  heir.key = "l";
  CHECK(reconcile(world, heir).blocker == "y");
}

TEST_CASE("an orphan itself is aborted and scheduled anew", "[reconcile]") {
  World world(Disk::memory);
  REQUIRE(world.ask(RunOpenRequest{.queue = "q", .run = "r"}));
  world.schedule({.queue = "q", .id = "x", .due = world.now(), .run = "r"});
  const std::uint64_t since = world.last_sequence();
  world.open_group();
  REQUIRE(world.ask(RunErrorRequest{.queue = "q", .run = "r"}));
  CHECK(world.tell(row(world, "x", world.now() + 1h, since)).outcome == Outcome::scheduled);
  REQUIRE(world.close_group());
  CHECK(world.state("x") == State::wait);
  CHECK_FALSE(world.order("x").run);
}

TEST_CASE("of an order that is leased and waits the lease counts", "[reconcile]") {
  World world(Disk::memory);
  world.schedule("a", world.now());
  const Claimed held = world.claim_one("w", 2h);
  world.check_always(false);
  model::Record waiting;
  waiting.due = held.due;
  world.put(Family::queue, store::queue_key("q", store::Place{waiting.priority, held.due}, "a"),
            store::encode_waiting(waiting));
  CHECK(reconcile(world, row(world, "a", world.now() + 1h, world.last_sequence())).state ==
        State::processing);
}

TEST_CASE("a cancel of what has vanished takes only what has not changed since", "[reconcile]") {
  World world(GENERATE(Disk::memory, Disk::rocks));
  for (const char* id : {"a", "b", "c", "d"}) world.schedule(id, world.now());
  const std::uint64_t since = world.last_sequence();
  world.reschedule("b", world.now() + 1h);
  const Claimed held = world.claim_one("w", 2h);
  CHECK(held.id == "a");
  world.cancel("d");
  world.schedule("e", world.now());

  CHECK(cancel_since(world, "a", since).state == State::processing);
  CHECK(cancel_since(world, "b", since).outcome == Outcome::newer);
  CHECK(cancel_since(world, "c", since).outcome == Outcome::aborted);
  CHECK(cancel_since(world, "c", since).outcome == Outcome::aborted);  // Twice is as good as once.
  CHECK(cancel_since(world, "d", since).outcome == Outcome::newer);    // Somebody else has cancelled it.
  CHECK(cancel_since(world, "d", since).state == State::aborted);
  CHECK(cancel_since(world, "d", world.last_sequence()).outcome == Outcome::refused);
  CHECK(cancel_since(world, "e", since).outcome == Outcome::newer);
  CHECK(cancel_since(world, "f", since).outcome == Outcome::not_found);
  CHECK(world.counts() == Counts{2, 1, 0, 0, 2});
  CHECK(world.order("c").vanished);
  CHECK(world.order("c").error == "it was not in the source of a reconcile");
  CHECK_FALSE(world.order("d").vanished);  // It was cancelled by somebody.
  CancelRequest far{.queue = "q", .id = "b"};
  far.since = world.last_sequence() + 1;
  CHECK(world.refusal(far).code == Code::invalid);

  // It comes back only by a source that was read later.
  world.restart();
  CHECK(reconcile(world, row(world, "c", world.now(), since)).outcome == Outcome::newer);
  CHECK(reconcile(world, row(world, "c", world.now(), world.last_sequence())).outcome == Outcome::scheduled);
  CHECK_FALSE(world.order("c").vanished);
  CHECK(reconcile(world, row(world, "d", world.now(), world.last_sequence())).outcome == Outcome::refused);
}
