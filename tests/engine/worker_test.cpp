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
#include "store/rocks_store.h"
#include "support/live_engine.h"
#include "support/manual_clock.h"
#include "support/printing.h"
#include "support/temporary_folder.h"
#include "support/watched_store.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

using Steady = std::chrono::steady_clock;

WorkerOptions options_for(std::string queue, std::uint32_t concurrency = 1) {
  WorkerOptions options;
  options.queues = {std::move(queue)};
  options.concurrency = concurrency;
  return options;
}

WorkerOptions draining(std::string queue, std::uint32_t concurrency = 1) {
  WorkerOptions options = options_for(std::move(queue), concurrency);
  options.drain = true;
  return options;
}

// Runs a worker until its queue is empty.
WorkerTotals drain(Engine& engine, Worker::Handler handler, std::uint32_t concurrency = 1) {
  Worker worker(engine, draining("q", concurrency), std::move(handler));
  well(worker.start());
  well(worker.wait());
  return worker.totals();
}

// A door that handlers wait at until the test opens it.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // By a handler.
  void pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    if (!changed_.wait_for(lock, patience, [this] { return open_; }))
      throw std::runtime_error("never opened");
  }
  // By the test: until so many handlers have come.
  void await(int count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return came_ >= count; }))
      throw std::runtime_error("nobody came");
  }
  int came() const {
    const std::lock_guard lock(mutex_);
    return came_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int came_ = 0;
  bool open_ = false;
};

// A handler that works until its lease is lost.
bool await_loss(const LeaseWatch& lease) {
  const Steady::time_point end = Steady::now() + patience;
  while (!lease.lost()) {
    if (Steady::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

Handled done(const Claimed&, const LeaseWatch&) { return Handled::done(); }

// A source whose claims the test answers. All else it answers before the call
// returns, as told by `answer`.
class PlayedSource final : public WorkSource {
 public:
  struct Call {
    std::string what;
    std::string id;
    Steady::time_point at = Steady::now();
    std::string error{};  // fail
    Duration lease{};     // extend
  };
  // Asked with no lock held.
  std::function<Result<Answer>(const Call&)> answer = [](const Call& call) -> Result<Answer> {
    static const std::map<std::string, Outcome> outcomes = {{"complete", Outcome::completed},
                                                            {"fail", Outcome::requeued},
                                                            {"release", Outcome::requeued},
                                                            {"extend", Outcome::extended}};
    return Answer{.outcome = outcomes.at(call.what)};
  };
  std::vector<Claimed> orders_on_cancel;

  ClaimTicket claim(ClaimRequest request, Callback<std::vector<Claimed>> callback) override {
    const std::lock_guard lock(mutex_);
    claims_.push_back(std::move(request));
    waiting_ = std::move(callback);
    changed_.notify_all();
    return ClaimTicket{claims_.size()};
  }
  void cancel_claim(ClaimTicket ticket) override {
    {
      const std::lock_guard lock(mutex_);
      if (ticket != ClaimTicket{claims_.size()} || !waiting_) return;
    }
    give(orders_on_cancel);
  }
  void complete(CompleteRequest request, Callback<Answer> callback) override {
    note({"complete", request.id}, callback);
  }
  void fail(FailRequest request, Callback<Answer> callback) override {
    note({"fail", request.id, Steady::now(), request.error}, callback);
  }
  void release(ReleaseRequest request, Callback<Answer> callback) override {
    note({"release", request.id}, callback);
  }
  void extend(ExtendRequest request, Callback<Answer> callback) override {
    note({"extend", request.id, Steady::now(), {}, request.lease}, callback);
  }

  // Answers the claim that waits; waits for it first.
  void give(Result<std::vector<Claimed>> orders) {
    Callback<std::vector<Claimed>> callback;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, patience, [this] { return waiting_ != nullptr; })) {
        throw std::runtime_error("no claim came");
      }
      callback = std::exchange(waiting_, nullptr);
    }
    callback(std::move(orders));
  }
  // The claim that waits; waits for it first.
  ClaimRequest await_claim(std::size_t number) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return claims_.size() >= number; })) {
      throw std::runtime_error("no claim came");
    }
    return claims_.at(number - 1);
  }
  std::vector<Call> await_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return calls_.size() >= count; })) {
      throw std::runtime_error("no call came");
    }
    return calls_;
  }
  std::size_t claims() const {
    const std::lock_guard lock(mutex_);
    return claims_.size();
  }
  std::string calls() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const Call& call : calls_) out += call.what + " " + call.id + "; ";
    return out;
  }

 private:
  void note(const Call& call, const Callback<Answer>& callback) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(call);
      changed_.notify_all();
    }
    callback(answer(call));
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ClaimRequest> claims_;
  Callback<std::vector<Claimed>> waiting_;
  std::vector<Call> calls_;
};

std::vector<Claimed> orders(const std::vector<std::string>& ids, Duration lease = 1h) {
  std::vector<Claimed> out;
  for (const std::string& id : ids) {
    Claimed order;
    order.queue = "q";
    order.id = id;
    order.lease = lease;
    out.push_back(std::move(order));
  }
  return out;
}

}  // namespace

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

// ---- Leases
// -------------------------------------------------------------------------------------

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
