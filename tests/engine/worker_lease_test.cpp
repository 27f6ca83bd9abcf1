// A worker and the leases of its orders: extended while the handler runs, lost, run out.
#include "duelease/worker.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine_parts.h"
#include "engine/played_source.h"
#include "store/rocks_store.h"
#include "support/live_engine.h"
#include "support/manual_clock.h"
#include "support/printing.h"
#include "support/temporary_folder.h"
#include "support/watched_store.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

TEST_CASE("a lease is extended every third of its length while the handler runs", "[worker]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();  // Stands still: no lease runs out here.
  Options engine_options = small_options();
  engine_options.clock = clock;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", engine_options);
  schedule_many(*engine, "q", 1);
  const std::uint64_t before = well(engine->last_sequence());
  Door door;
  WorkerOptions options = draining("q");
  options.lease = 90ms;
  Worker worker(*engine, options, [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  door.await(1);
  clock->pass(80ms);  // An extend now moves the deadline, and so takes a
                      // sequence number.
  const Steady::time_point end = Steady::now() + patience;
  while (well(engine->last_sequence()) < before + 2 && Steady::now() < end) std::this_thread::yield();
  CHECK(well(engine->order("q", "0"))->lease_expires_at == clock->now().wall + 90ms);
  clock->pass(80ms);
  look_now(*engine);
  CHECK(well(engine->order("q", "0"))->state == State::processing);
  door.open();
  well(worker.wait());
  CHECK(worker.totals().completed == 1);
}

TEST_CASE("extends come each third of the lease that was given", "[worker]") {
  PlayedSource source;
  Door door;
  Worker worker(source, options_for("q"), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  const Steady::time_point start = Steady::now();
  source.give(orders({"a"}, 150ms));
  const std::vector<PlayedSource::Call> calls = source.await_calls(4);
  door.open();
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(calls[i].what == "extend");
    CHECK(calls[i].at - start >= 50ms * (i + 1));
  }
  worker.stop();
  const std::string all = source.calls();
  CHECK(all.substr(all.size() - 12) == "complete a; ");  // No extend after the report.
}

TEST_CASE("a lease of which little is left is extended by its whole length", "[worker]") {
  PlayedSource source;
  Door door;
  Worker worker(source, options_for("q"), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  std::vector<Claimed> rest = orders({"a"}, 600ms);
  rest[0].lease_length = 1h;
  source.give(rest);
  CHECK(source.await_calls(1).at(0).lease == 1h);
  door.await(1);
  door.open();
  worker.stop();
  CHECK(source.calls() == "extend a; complete a; ");  // The next one is a third of an hour away.
}

TEST_CASE("an order whose lease may be gone is begun when an extend has told that it is not", "[worker]") {
  PlayedSource source;
  const auto fine = source.answer;
  std::atomic<int> extends{0};
  std::atomic<bool> begun{false};
  source.answer = [&](const PlayedSource::Call& call) -> Result<Answer> {
    if (call.what == "extend" && ++extends == 1) {
      CHECK_FALSE(begun);
      return fail(Code::unreachable, "no answer in time");
    }
    return fine(call);
  };
  Worker worker(source, options_for("q"), [&](const Claimed&, const LeaseWatch& lease) {
    begun = true;
    CHECK(extends == 2);
    CHECK_FALSE(lease.lost());
    return Handled::done();
  });
  well(worker.start());
  source.give(orders({"a"}, 0ms));
  CHECK(source.await_calls(3).at(0).lease == QueueSettings{}.lease);
  worker.stop();
  CHECK(source.calls() == "extend a; extend a; complete a; ");
  CHECK(worker.totals().completed == 1);
}

TEST_CASE("an order whose lease is gone is not begun", "[worker]") {
  PlayedSource source;
  source.answer = [&](const PlayedSource::Call&) -> Result<Answer> {
    return Answer{.outcome = Outcome::stale};
  };
  std::atomic<bool> begun{false};
  Worker worker(source, options_for("q"), [&](const Claimed&, const LeaseWatch&) {
    begun = true;
    return Handled::done();
  });
  well(worker.start());
  source.give(orders({"a"}, 0ms));
  source.await_claim(2);
  worker.stop();
  CHECK_FALSE(begun);
  CHECK(source.calls() == "extend a; ");
  CHECK(worker.totals().lost == 1);
}

TEST_CASE("an order that waits to learn about its lease is released by a stop", "[worker]") {
  PlayedSource source;
  const auto fine = source.answer;
  source.answer = [&](const PlayedSource::Call& call) -> Result<Answer> {
    if (call.what == "extend") return fail(Code::unreachable, "no answer in time");
    return fine(call);
  };
  Worker worker(source, options_for("q"), done);
  well(worker.start());
  source.give(orders({"a"}, 0ms));
  source.await_calls(2);
  worker.stop();
  CHECK(worker.totals().released == 1);
}

TEST_CASE("a handler is told when its order was cancelled by force", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 1);
  Door door;
  std::atomic<bool> told = false;
  WorkerOptions options = options_for("q");
  options.lease = 300ms;
  Worker worker(*engine, options, [&](const Claimed&, const LeaseWatch& lease) {
    door.pass();
    told = await_loss(lease);
    return Handled::done("nobody wants it");
  });
  well(worker.start());
  door.await(1);
  CancelRequest cancel;
  cancel.queue = "q";
  cancel.id = "0";
  cancel.force = true;
  CHECK(well(engine->cancel(cancel)).outcome == Outcome::aborted);
  door.open();
  worker.stop();
  CHECK(told);
  CHECK(worker.totals().lost == 1);
  CHECK(well(engine->order("q", "0"))->state == State::aborted);
}

TEST_CASE("a lease is lost as soon as an extend is refused, and not extended again", "[worker]") {
  PlayedSource source;
  const auto fine = source.answer;
  source.answer = [&](const PlayedSource::Call& call) -> Result<Answer> {
    return call.what == "extend" ? Answer{.outcome = Outcome::stale} : fine(call);
  };
  constexpr auto lease_length = 6s;
  Steady::time_point lost_at;
  Worker worker(source, options_for("q"), [&](const Claimed&, const LeaseWatch& lease) {
    await_loss(lease);
    lost_at = Steady::now();
    return Handled::abandon();
  });
  well(worker.start());
  const Steady::time_point start = Steady::now();
  source.give(orders({"a"}, lease_length));
  source.await_claim(2);
  worker.stop();
  CHECK(lost_at - start < lease_length);  // After a third of it.
  CHECK(source.calls() == "extend a; ");
}

TEST_CASE("a lease is lost when it runs out and no extend was answered", "[worker]") {
  const Code code = GENERATE(Code::overloaded, Code::unreachable);
  PlayedSource source;
  source.answer = [code](const PlayedSource::Call&) -> Result<Answer> { return fail(code, "not now"); };
  std::atomic<bool> told = false;
  Steady::time_point lost_at;
  Worker worker(source, options_for("q"), [&](const Claimed&, const LeaseWatch& lease) {
    told = await_loss(lease);
    lost_at = Steady::now();
    return Handled::done();  // Its report meets the same, and is given up.
  });
  well(worker.start());
  const Steady::time_point start = Steady::now();
  source.give(orders({"a"}, 200ms));
  source.await_claim(2);
  worker.stop();
  CHECK(told);
  CHECK(lost_at - start >= 200ms);
  CHECK(worker.totals().lost == 1);
}

TEST_CASE("the report of a worker that lost its lease changes nothing", "[worker]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options engine_options = small_options();
  engine_options.clock = clock;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", engine_options);
  schedule_many(*engine, "q", 1);
  Door door;
  Worker slow(*engine, options_for("q"), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done("late");
  });
  well(slow.start());
  door.await(1);
  clock->pass(31s);  // As if this process had been asleep: no extend was made.
  look_now(*engine);
  const Claimed again = well(engine->claim(claim_of("q", "other"))).at(0);
  CHECK(again.attempt == 2);
  slow.request_stop();
  door.open();
  slow.stop();
  CHECK(slow.totals().lost == 1);
  CHECK(well(engine->order("q", "0"))->state == State::processing);
  CHECK(well(engine->order("q", "0"))->worker == "other");
  CHECK(well(engine->complete(report_on<CompleteRequest>(again))).outcome == Outcome::completed);
}
