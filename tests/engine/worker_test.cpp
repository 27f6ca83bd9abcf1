// The worker, on an engine and on a source that a test plays itself.
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

// ---- Handling
// -----------------------------------------------------------------------------------

TEST_CASE(
    "a worker completes each order with its result and the application's "
    "writes",
    "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 20);
  WorkerOptions options = draining("q");
  options.name = "till-1";
  Worker worker(*engine, options, [](const Claimed& order, const LeaseWatch&) {
    Handled handled = Handled::done("charged " + order.id);
    handled.app_writes = {AppWrite{"charge:" + order.id, "1"}};
    return handled;
  });
  well(worker.start());
  well(worker.wait());
  CHECK(worker.totals().claimed == 20);
  CHECK(worker.totals().completed == 20);
  const Order order = *well(engine->order("q", "7"));
  CHECK(order.state == State::success);
  CHECK(order.result == "charged 7");
  CHECK(order.worker == "till-1");
  CHECK(well(engine->app_get("charge:7")) == "1");
}

TEST_CASE("a worker reports what its handler decided", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const Time later = std::chrono::floor<Duration>(std::chrono::system_clock::now()) + 1h;
  for (const char* id :
       {"done", "fails", "fails-later", "fails-for-good", "throws", "throws-a-number", "abandoned"}) {
    well(engine->schedule(order_of("q", id)));
  }
  Worker worker(*engine, draining("q"), [&](const Claimed& order, const LeaseWatch&) -> Handled {
    if (order.attempt > 1) return Handled::done();
    if (order.id == "throws") throw std::runtime_error("no paper left");
    if (order.id == "throws-a-number") throw 42;
    if (order.id == "abandoned") return Handled::abandon();
    if (order.id == "done") return Handled::done();
    Handled handled = Handled::failed("refused by the bank");
    if (order.id == "fails-later") handled.retry_at = later;
    handled.final = order.id == "fails-for-good";
    return handled;
  });
  well(worker.start());
  well(worker.wait());
  const auto order = [&](const char* id) { return *well(engine->order("q", id)); };
  CHECK(order("done").state == State::success);
  CHECK(order("fails").state == State::wait);
  CHECK(order("fails").error == "refused by the bank");
  CHECK(order("fails-later").due == later);
  CHECK(order("fails-for-good").state == State::failed);
  CHECK(order("throws").error == "no paper left");
  CHECK(order("throws").failures == 1);
  CHECK(order("throws-a-number").error == "the handler threw something that is no std::exception");
  CHECK(order("abandoned").state == State::processing);  // Until its lease runs out.
  const WorkerTotals totals = worker.totals();
  CHECK(totals.claimed == 7);
  CHECK(totals.completed == 1);
  CHECK(totals.failed == 5);
  CHECK(totals.lost == 1);
}

TEST_CASE("a handler gives its order back, and the try is not counted", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 1);
  const WorkerTotals totals = drain(*engine, [](const Claimed& order, const LeaseWatch&) {
    return order.attempt < 3 ? Handled::release() : Handled::done();
  });
  CHECK(totals.released == 2);
  CHECK(totals.completed == 1);
  CHECK(well(engine->order("q", "0"))->tries_used == 1);
}

TEST_CASE("a report that is too large fails the order and says why", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 1);
  const WorkerTotals totals = drain(*engine, [](const Claimed&, const LeaseWatch&) {
    return Handled::done(std::string(3 * 1024 * 1024, 'x'));
  });
  CHECK(totals.failed == 1);
  const Order order = *well(engine->order("q", "0"));
  CHECK(order.state == State::wait);
  CHECK(order.error.find("the report was refused") == 0);
  CHECK(order.failures == 1);
}

TEST_CASE("several workers with several handlers handle each order once", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  constexpr std::size_t count = 3000;
  schedule_many(*engine, "q", count);
  std::vector<std::atomic<int>> handled(count);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(
        std::make_unique<Worker>(*engine, draining("q", 4), [&](const Claimed& order, const LeaseWatch&) {
          ++handled.at(std::stoul(order.id));
          return Handled::done();
        }));
    well(workers.back()->start());
  }
  std::uint64_t completed = 0;
  for (const std::unique_ptr<Worker>& worker : workers) {
    well(worker->wait());
    completed += worker->totals().completed;
  }
  CHECK(completed == count);
  CHECK(std::all_of(handled.begin(), handled.end(), [](const std::atomic<int>& n) { return n == 1; }));
  CHECK(well(engine->check()).violations() == 0);
}

// ---- Claiming
// -----------------------------------------------------------------------------------

TEST_CASE("a worker never holds more orders than it has handlers", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 10);
  Door door;
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  Worker worker(*engine, draining("q", 3), [&](const Claimed&, const LeaseWatch&) {
    const int now = ++at_once;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    door.pass();
    --at_once;
    return Handled::done();
  });
  well(worker.start());
  door.await(3);
  look_now(*engine);
  CHECK(well(engine->stats("q")).counts == Counts{.wait = 7, .processing = 3});
  CHECK(well(engine->order("q", "9"))->attempt == 0);
  door.open();
  well(worker.wait());
  CHECK(worker.totals().completed == 10);
  CHECK(most == 3);
}

TEST_CASE(
    "a worker asks for as many orders as it has handlers free, and waits "
    "without asking again",
    "[worker]") {
  PlayedSource source;
  Door door;
  Worker worker(source, options_for("q", 3), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  CHECK(source.await_claim(1).count == 3);
  CHECK(source.await_claim(1).wait >= 1min);
  source.give(orders({"a", "b"}));
  CHECK(source.await_claim(2).count == 1);
  door.await(2);
  source.give(orders({"c"}));
  door.await(3);
  CHECK(source.claims() == 2);  // Nobody is free.
  door.open();
  source.await_calls(3);
  source.give(orders({}));  // The wait was over: it asks again.
  source.await_claim(4);
  worker.stop();
  CHECK(source.claims() == 4);
}

TEST_CASE("an order that is scheduled later wakes a worker that waits", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  Door door;
  door.open();
  Worker worker(*engine, options_for("q"), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  for (int i = 1; i <= 5; ++i) {
    well(engine->schedule(order_of("q", std::to_string(i))));
    door.await(i);
  }
  worker.stop();
  CHECK(worker.totals().completed == 5);
}

TEST_CASE("a worker tries again when its source is overloaded or cannot be reached", "[worker]") {
  const Code code = GENERATE(Code::overloaded, Code::unreachable);
  PlayedSource source;
  std::atomic<int> refusals = 3;
  const auto fine = source.answer;
  source.answer = [&](const PlayedSource::Call& call) -> Result<Answer> {
    if (call.what == "complete" && refusals-- > 0) return fail(code, "not now");
    return fine(call);
  };
  Worker worker(source, options_for("q"), done);
  well(worker.start());
  source.give(fail(code, "not now"));
  source.give(fail(code, "not now"));
  source.give(orders({"a"}));
  source.await_claim(4);
  CHECK(source.calls() == "complete a; complete a; complete a; complete a; ");
  worker.stop();
  CHECK(worker.totals().completed == 1);
  CHECK(worker.wait());
}

TEST_CASE("a worker that drains ends when its source cannot be reached", "[worker]") {
  PlayedSource source;
  Worker worker(source, draining("q"), done);
  well(worker.start());
  source.give(fail(Code::unreachable, "no server"));
  const Result<> ended = worker.wait();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::unreachable);
}

// ---- Ending
// -------------------------------------------------------------------------------------

TEST_CASE("a stop lets the handler under way finish, and begins nothing new", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 5);
  Door door;
  Worker worker(*engine, options_for("q"), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  door.await(1);
  worker.request_stop();
  std::thread also_stopping([&] { worker.stop(); });
  door.open();
  worker.stop();
  also_stopping.join();
  CHECK(door.came() == 1);
  CHECK(worker.totals().completed == 1);
  CHECK(worker.totals().claimed == 1);
  CHECK(well(engine->stats("q")).counts == Counts{.wait = 4, .success = 1});
}

TEST_CASE("a stop ends the claim that waits", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  for (int i = 0; i < 50; ++i) {
    Worker worker(*engine, options_for("q", 2), done);
    well(worker.start());
    if (i % 2 == 0) look_now(*engine);  // Else the stop may come before the claim.
    worker.stop();
    CHECK(worker.totals().claimed == 0);
  }
  // None of those claims is left to take this order.
  schedule_many(*engine, "q", 1);
  CHECK(well(engine->claim(claim_of("q", "w"))).size() == 1);
}

TEST_CASE("orders that come in answer to a cancelled claim are given back unhandled", "[worker]") {
  for (int round = 0; round < 30; ++round) {  // Handlers and loop race for them.
    PlayedSource source;
    source.orders_on_cancel = orders({"a", "b", "c", "d", "e", "f", "g", "h"});
    std::atomic<int> handled = 0;
    Worker worker(source, options_for("q", 8), [&](const Claimed&, const LeaseWatch&) {
      ++handled;
      return Handled::done();
    });
    well(worker.start());
    source.await_claim(1);
    worker.stop();
    CHECK(handled == 0);
    CHECK(source.calls() ==
          "release a; release b; release c; release d; release e; release f; release g; release h; ");
    CHECK(worker.totals().claimed == 8);
    CHECK(worker.totals().released == 8);
  }
}

TEST_CASE("a worker stopped at any moment loses nothing", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  constexpr std::size_t count = 400;
  schedule_many(*engine, "q", count);
  std::uint64_t completed = 0;
  for (int round = 0; completed < count && round < 1000; ++round) {
    std::atomic<int> left = 1 + round % 17;
    Worker* self = nullptr;
    Worker worker(*engine, options_for("q", 3), [&](const Claimed&, const LeaseWatch&) {
      if (--left == 0) self->request_stop();
      return Handled::done();
    });
    self = &worker;
    well(worker.start());
    if (count - completed < 17) look_now(*engine), worker.request_stop();
    well(worker.wait());
    const WorkerTotals totals = worker.totals();
    CHECK(totals.claimed == totals.completed + totals.released);
    completed += totals.completed;
    CHECK(well(engine->stats("q")).counts == Counts{.wait = count - completed, .success = completed});
  }
  CHECK(completed == count);
}

TEST_CASE("a drain also does what its last handlers put in", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const std::uint32_t concurrency = GENERATE(1u, 3u);
  schedule_many(*engine, "q", 1);
  const auto handler = [&](const Claimed& order, const LeaseWatch&) {
    const int number = std::stoi(order.id);
    if (number < 50) well(engine->schedule(order_of("q", std::to_string(number + 1))));
    return Handled::done();
  };
  CHECK(drain(*engine, handler, concurrency).completed == 51);
}

TEST_CASE("a drain of nothing ends at once", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  CHECK(drain(*engine, done, 4).claimed == 0);
  well(engine->schedule(order_of("q", "not-yet", system_clock()->now().wall + 1h)));
  CHECK(drain(*engine, done, 4).claimed == 0);
}

TEST_CASE("the end of the engine ends the worker, and is its error", "[worker]") {
  TemporaryFolder folder;
  std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 3);
  Door door;
  Worker worker(*engine, options_for("q", 2), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  door.await(2);
  engine->close();
  door.open();
  const Result<> ended = worker.wait();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::closing);
  CHECK(worker.totals().lost == 2);  // Not reported: their leases go on.
}

TEST_CASE("an error in answer to a report ends the worker, and the claim that waits", "[worker]") {
  PlayedSource source;
  source.answer = [](const PlayedSource::Call&) -> Result<Answer> { return fail(Code::storage, "no disk"); };
  Worker worker(source, options_for("q", 2), done);
  well(worker.start());
  source.give(orders({"a"}));
  const Result<> ended = worker.wait();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().message == "no disk");
  CHECK(worker.totals().lost == 1);
}

TEST_CASE("a failed disk ends the worker, whether it waits or works", "[worker]") {
  const bool works = GENERATE(false, true);
  TemporaryFolder folder;
  const auto watch = std::make_shared<StoreWatch>();
  std::unique_ptr<store::Store> store = well(store::open_rocks_store(folder / "store", {}));
  store = std::make_unique<WatchedStore>(std::move(store), watch);
  const std::unique_ptr<Engine> engine = well(engine::open_engine(std::move(store), small_options()));
  if (works) schedule_many(*engine, "q", 1);
  Door door;
  Worker worker(*engine, options_for("q", 2), [&](const Claimed&, const LeaseWatch&) {
    door.pass();
    return Handled::done();
  });
  well(worker.start());
  if (works) door.await(1);
  look_now(*engine);
  watch->fail_syncs({Code::storage, "no disk"});
  if (!works) CHECK_FALSE(engine->schedule(order_of("other", "a")));
  door.open();
  const Result<> ended = worker.wait();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::storage);
}

TEST_CASE("a worker that cannot work does not start", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const auto refusal = [&](const auto& spoil) {
    WorkerOptions options = options_for("q");
    spoil(options);
    Worker worker(*engine, options, done);
    const Result<> started = worker.start();
    REQUIRE_FALSE(started);
    CHECK(started.error().code == Code::invalid);
    CHECK(worker.wait());
    worker.stop();
  };
  refusal([](WorkerOptions& o) { o.concurrency = 0; });
  refusal([](WorkerOptions& o) { o.concurrency = 1025; });
  refusal([](WorkerOptions& o) { o.queues.clear(); });
  refusal([](WorkerOptions& o) { o.queues = {"not a name"}; });
  refusal([](WorkerOptions& o) { o.name.clear(); });
  refusal([](WorkerOptions& o) { o.lease = 0ms; });
  Worker without(*engine, options_for("q"), nullptr);
  CHECK_FALSE(without.start());
  Worker once(*engine, draining("q"), done);
  CHECK(once.wait());  // It has not begun, so it has ended.
  well(once.start());
  CHECK_FALSE(once.start());
  well(once.wait());
}

TEST_CASE("a worker with many handlers starts and ends", "[worker]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", 500);
  CHECK(drain(*engine, done, 200).completed == 500);
}
