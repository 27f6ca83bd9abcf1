// The engine with its threads: calls from many of them, commit groups, waiting
// claims, closing.
#include "duelease/engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine_parts.h"
#include "engine/held_engine.h"
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

constexpr Duration long_wait{3'600'000};

// Runs `work(i)` on `count` threads. What one of them throws is thrown here.
template <class Work>
void on_threads(int count, const Work& work) {
  std::vector<std::future<void>> threads;
  for (int i = 0; i < count; ++i) threads.push_back(std::async(std::launch::async, [&work, i] { work(i); }));
  for (std::future<void>& thread : threads) thread.get();
}

std::vector<std::string> ids(const std::vector<Claimed>& orders) {
  std::vector<std::string> out;
  for (const Claimed& order : orders) out.push_back(order.id);
  return out;
}

AppWrite put(std::string key, std::string value) { return AppWrite{std::move(key), std::move(value)}; }

}  // namespace

// ---- Many threads
// -------------------------------------------------------------------------------

TEST_CASE("braces with two texts are one request", "[engine]") {
  const TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  CHECK(well(engine->schedule({.queue = "q", .id = "a"})).outcome == Outcome::scheduled);
  CHECK(well(engine->complete({.queue = "q", .id = "a"})).outcome == Outcome::stale);
  std::promise<Result<Answer>> promise;
  engine->schedule({.queue = "q", .id = "b"}, [&](auto answer) { promise.set_value(std::move(answer)); });
  CHECK(well(promise.get_future().get()).outcome == Outcome::scheduled);
}

TEST_CASE("a batch with a callback is answered in its order, by one call", "[engine]") {
  const TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const auto answered = [](auto&& ask) {
    std::promise<std::vector<Result<Answer>>> promise;
    ask([&promise](std::vector<Result<Answer>> answers) { promise.set_value(std::move(answers)); });
    return promise.get_future().get();
  };
  const auto scheduled = answered([&](AnswersCallback done) {
    engine->schedule(std::vector{order_of("q", "1"), order_of("q", "1"), order_of("no name", "2")},
                     std::move(done));
  });
  REQUIRE(scheduled.size() == 3);
  CHECK(well(scheduled[0]).outcome == Outcome::scheduled);
  CHECK(well(scheduled[1]).outcome == Outcome::duplicate);
  CHECK(scheduled[2].error().code == Code::invalid);
  const std::vector<Claimed> orders = well(engine->claim(claim_of("q", "w")));
  const auto report = report_on<CompleteRequest>(orders.at(0));
  const auto completed = answered([&](AnswersCallback done) {
    engine->complete(std::vector{report, report}, std::move(done));
  });
  REQUIRE(completed.size() == 2);
  CHECK(well(completed[0]).outcome == Outcome::completed);
  CHECK(well(completed[1]).outcome == Outcome::already);
  CHECK(answered([&](AnswersCallback done) {
          engine->schedule(std::vector<ScheduleRequest>{}, std::move(done));
        }).empty());
}

TEST_CASE("blocking calls work from many threads at once", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  constexpr int threads = 8;
  constexpr int each = 50;
  on_threads(threads, [&](int thread) {
    const std::string queue = "q" + std::to_string(thread);
    for (int i = 0; i < each; ++i) {
      const std::string id = std::to_string(i);
      if (well(engine->schedule(order_of(queue, id))).outcome != Outcome::scheduled)
        throw std::runtime_error(id);
      const std::vector<Claimed> claimed = well(engine->claim(claim_of(queue, "w")));
      if (ids(claimed) != std::vector{id}) throw std::runtime_error("claimed not " + id);
      const auto report = report_on<CompleteRequest>(claimed[0]);
      if (well(engine->complete(report)).outcome != Outcome::completed) throw std::runtime_error(id);
      if (well(engine->complete(report)).outcome != Outcome::already) throw std::runtime_error(id);
      if (well(engine->order(queue, id))->state != State::success) throw std::runtime_error("not read back");
    }
  });
  for (int thread = 0; thread < threads; ++thread) {
    CHECK(well(engine->stats("q" + std::to_string(thread))).counts.success == each);
  }
  CHECK(well(engine->check()).violations() == 0);
}

TEST_CASE(
    "of many threads that schedule one order, one does and all others "
    "are told so",
    "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  std::map<std::string, std::set<int>> winners;
  std::mutex mutex;
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 50; ++i) {
      ScheduleRequest request = order_of("q", "from-" + std::to_string(thread) + "-" + std::to_string(i));
      request.key = "key-" + std::to_string(i);
      const Answer answer = well(engine->schedule(request));
      const std::lock_guard lock(mutex);
      if (answer.outcome == Outcome::scheduled) winners[*request.key].insert(thread);
      if (answer.outcome == Outcome::duplicate && answer.blocker.empty())
        throw std::runtime_error("no blocker");
    }
  });
  CHECK(winners.size() == 50);
  for (const auto& [key, threads] : winners) CHECK(threads.size() == 1);
  CHECK(well(engine->stats("q")).counts.wait == 50);
}

TEST_CASE("every callback runs exactly once, whatever becomes of the engine", "[engine]") {
  TemporaryFolder folder;
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 2000;
  std::vector<std::atomic<int>> calls(threads * each);
  std::atomic<std::size_t> fine = 0;
  std::unique_ptr<Engine> engine = open_live(folder / "store");
  std::promise<void> under_way;
  std::vector<std::thread> callers;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    callers.emplace_back([&, thread] {
      for (std::size_t i = 0; i < each; ++i) {
        const std::size_t number = thread * each + i;
        if (number == each / 2) under_way.set_value();
        engine->schedule(order_of("q", std::to_string(number)), [&, number](const Result<Answer>& answer) {
          ++calls[number];
          if (answer) ++fine;
        });
      }
    });
  }
  under_way.get_future().wait();
  engine->close();
  for (std::thread& caller : callers) caller.join();
  engine.reset();
  CHECK(std::all_of(calls.begin(), calls.end(), [](const std::atomic<int>& n) { return n == 1; }));
  // What was acknowledged is there, and nothing else.
  CHECK(well(open_live(folder / "store")->stats("q")).counts.wait == fine);
}

TEST_CASE("a callback may call the engine", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  Reply<std::vector<Claimed>> last;
  engine->schedule(order_of("q", "a"), [&](const Result<Answer>&) {
    engine->claim(claim_of("q", "w"), [&](const Result<std::vector<Claimed>>& claimed) {
      engine->release(report_on<ReleaseRequest>(claimed->at(0)),
                      [&](const Result<Answer>&) { engine->claim(claim_of("q", "w"), last.callback()); });
    });
  });
  CHECK(well(last.get()).at(0).attempt == 2);
}

namespace {

// Eight threads claim, a different number each time, until nothing is left.
// Answers how often each of the orders was handed out.
std::vector<int> hand_out_all(Engine& engine, std::size_t count) {
  std::vector<std::atomic<int>> handed_out(count);
  on_threads(8, [&](int thread) {
    const std::string worker = "w" + std::to_string(thread);
    for (std::uint32_t round = 1;; ++round) {
      const std::vector<Claimed> claimed = well(engine.claim(claim_of("q", worker, 1 + round * 37 % 200)));
      if (claimed.empty()) return;
      std::vector<CompleteRequest> reports;
      for (const Claimed& order : claimed) {
        ++handed_out.at(std::stoul(order.id));
        reports.push_back(report_on<CompleteRequest>(order));
      }
      for (Result<Answer>& answer : engine.complete(std::move(reports))) {
        if (well(std::move(answer)).outcome != Outcome::completed) throw std::runtime_error("not completed");
      }
    }
  });
  return {handed_out.begin(), handed_out.end()};
}

void check_each_handed_out_once(std::size_t count) {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  schedule_many(*engine, "q", count);
  const std::vector<int> handed_out = hand_out_all(*engine, count);
  CHECK(std::count(handed_out.begin(), handed_out.end(), 1) == static_cast<std::ptrdiff_t>(count));
  CHECK(well(engine->stats("q")).counts == Counts{.success = count});
  CHECK(well(engine->check()).violations() == 0);
}

}  // namespace

TEST_CASE("eight threads claim 20,000 due orders: each is handed out once", "[engine]") {
  check_each_handed_out_once(20'000);
}

// Not in the normal run; in the build folder: tests/duelease_test_engine
// '[must_show]'
TEST_CASE("eight threads claim 200,000 due orders: each is handed out once", "[.must_show]") {
  check_each_handed_out_once(200'000);
}

// ---- Queues that do not exist
// -------------------------------------------------------------------

TEST_CASE("what needs a queue answers not_found when there is none, and makes none", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const auto absent = [](const auto& result) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::not_found);
    CHECK(result.error().message == "no queue q");
  };
  absent(engine->pause("q"));
  absent(engine->resume("q"));
  absent(engine->set_queue({.queue = "q", .create = false, .tries = 7}));
  absent(engine->list({.queue = "q"}));
  absent(engine->purge({.queue = "q"}));
  absent(engine->reap({.queue = "q"}));
  absent(engine->stats("q"));
  absent(engine->check("q"));
  absent(engine->queue_settings("q"));
  CHECK_FALSE(well(engine->order("q", "x")));
  CHECK(well(engine->why("q", "x")) == "no such order");
  CHECK(well(engine->reschedule({"q", "x", Time{}})).outcome == Outcome::not_found);
  CHECK(well(engine->cancel({"q", "x"})).outcome == Outcome::not_found);
  CHECK(well(engine->retry({"q", "x", {}})).outcome == Outcome::not_found);
  CHECK(well(engine->claim(claim_of("q", "w"))).empty());
  CHECK(well(engine->pop({"q", 1})).empty());
  CHECK(well(engine->queues()).empty());

  if (GENERATE(false, true)) {
    well(engine->set_queue({.queue = "q"}));
  } else {
    well(engine->schedule(order_of("q", "x")));
  }
  CHECK(well(engine->pause("q")).paused);
  CHECK_FALSE(well(engine->resume("q")).paused);
  CHECK(well(engine->list({.queue = "q", .state = State::failed})).ids.empty());
  CHECK(well(engine->purge({.queue = "q"})) == 0);
  CHECK(well(engine->reap({.queue = "q"})) == 0);
  CHECK(well(engine->check("q")).violations() == 0);
  CHECK(well(engine->queues()) == std::vector<std::string>{"q"});
}

// ---- Reads under a clock that is set
// -------------------------------------------------------------------

TEST_CASE("a lease is shown with the time it has, whatever is done to the wall clock", "[engine]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options options = small_options();
  options.clock = clock;
  std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  well(engine->schedule(order_of("q", "x")));
  ClaimRequest ask = claim_of("q", "w");
  ask.lease = 60s;
  const Claimed claimed = well(engine->claim(ask)).at(0);
  const auto expires_in = [&] {
    return *well(engine->order("q", "x"))->lease_expires_at - clock->now().wall;
  };
  clock->pass(10s);
  CHECK(expires_in() == 50s);
  clock->step_wall_clock(2h);
  CHECK(expires_in() == 50s);
  CHECK(well(engine->why("q", "x")) == "leased by w, attempt 1, for another 50 s");
  clock->step_wall_clock(-3h);
  CHECK(expires_in() == 50s);
  CHECK(well(engine->why("q", "x")) == "leased by w, attempt 1, for another 50 s");

  // After a restart it has at least the grace: that, too, is known only in memory.
  clock->step_wall_clock(3h);
  engine.reset();
  engine = open_live(folder / "store", options);
  CHECK(expires_in() == options.restart_grace);
  auto extend = report_on<ExtendRequest>(claimed);
  extend.lease = 30s;
  well(engine->extend(extend));
  CHECK(expires_in() == 30s);
}

TEST_CASE("reads bear a clock beyond the calendar", "[engine]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options options = small_options();
  options.clock = clock;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  constexpr Time first{Duration{-62'135'596'800'000}};
  constexpr Time last{Duration{253'402'300'799'999}};
  well(engine->schedule(order_of("q", "x", first)));
  const Duration to_end = Time::max() - clock->now().wall;
  clock->step_wall_clock(to_end);
  CHECK(well(engine->stats("q")).oldest_overdue == last - first);
  CHECK(well(engine->why("q", "x")).starts_with("due since 3652058 d"));
  look_now(*engine);
  clock->step_wall_clock(-to_end);
  clock->step_wall_clock(Duration::min() / 2);
  CHECK(well(engine->stats("q")).oldest_overdue == 0s);
  CHECK(well(engine->purge({.queue = "q", .older = Duration{1'000'000}})) == 0);
  look_now(*engine);
}

// ---- Waiting claims
// -----------------------------------------------------------------------------

TEST_CASE(
    "waiting claims are served when an order falls due, not before, the "
    "oldest first",
    "[engine]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options options = small_options();
  options.clock = clock;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  const Time start = clock->now().wall;
  std::vector<Reply<std::vector<Claimed>>> claims(3);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    engine->claim(claim_of("q", "w" + std::to_string(i), 1, long_wait), claims[i].callback());
  }
  well(engine->schedule(order_of("q", "second", start + 4s)));
  well(engine->schedule(order_of("q", "first", start + 3s)));

  clock->pass(2999ms);
  look_now(*engine);
  CHECK_FALSE(claims[0].arrived());
  clock->pass(1ms);
  look_now(*engine);
  CHECK(ids(well(claims[0].get())) == std::vector<std::string>{"first"});
  CHECK_FALSE(claims[1].arrived());
  clock->pass(1s);
  look_now(*engine);
  CHECK(ids(well(claims[1].get())) == std::vector<std::string>{"second"});
  CHECK_FALSE(claims[2].arrived());
}

TEST_CASE("a claim that has waited long enough is answered empty", "[engine]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options options = small_options();
  options.clock = clock;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  Reply<std::vector<Claimed>> claim;
  engine->claim(claim_of("q", "w", 1, 10s), claim.callback());
  look_now(*engine);  // It waits from now on.
  clock->pass(9'999ms);
  look_now(*engine);
  CHECK_FALSE(claim.arrived());
  clock->pass(1ms);
  look_now(*engine);
  CHECK(well(claim.get()).empty());
}

TEST_CASE("the due timer goes off by itself, in time, again and again", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const auto clock = system_clock();
  const Time start = clock->now().wall;
  constexpr int orders = 20;
  for (int i = 0; i < orders; ++i) {
    const Time due = clock->now().wall + 10ms;
    Reply<std::vector<Claimed>> claim;
    if (i % 2 == 0) engine->claim(claim_of("q", "w", 1, long_wait), claim.callback());
    well(engine->schedule(order_of("q", std::to_string(i), due)));
    if (i % 2 == 1) engine->claim(claim_of("q", "w", 1, long_wait), claim.callback());
    CHECK(well(claim.get()).size() == 1);
    CHECK(clock->now().wall >= due);
  }
  // The engine looks at its clock once a second anyway; that alone would have
  // taken 20 s.
  CHECK(clock->now().wall - start < orders * 500ms);
}

TEST_CASE("whatever makes an order due earlier wakes the claim that waits", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const Time later = system_clock()->now().wall + 1h;
  const auto wait_for_one = [&](const auto& what_wakes_it) {
    Reply<std::vector<Claimed>> claim;
    engine->claim(claim_of("q", "w", 1, long_wait), claim.callback());
    look_now(*engine);
    CHECK_FALSE(claim.arrived());
    what_wakes_it();
    const std::vector<Claimed> claimed = well(claim.get());
    REQUIRE(claimed.size() == 1);
    return claimed[0];
  };
  well(engine->schedule(order_of("q", "a", later)));
  CHECK(wait_for_one([&] { well(engine->reschedule({"q", "a", Time{}})); }).id == "a");
  well(engine->schedule(order_of("q", "b", later)));
  const Claimed b = wait_for_one([&] {
    ScheduleRequest upsert = order_of("q", "b");
    upsert.upsert = true;
    well(engine->schedule(upsert));
  });
  CHECK(b.id == "b");
  CHECK(wait_for_one([&] { well(engine->release(report_on<ReleaseRequest>(b))); }).id == "b");
  const Claimed c = wait_for_one([&] { well(engine->schedule(order_of("q", "c"))); });
  auto failure = report_on<FailRequest>(c);
  failure.retry_at = Time{};
  CHECK(wait_for_one([&] { well(engine->fail(failure)); }).id == "c");
}

TEST_CASE("a paused queue keeps its orders from a waiting claim until it is resumed", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  well(engine->set_queue({.queue = "q"}));
  CHECK(well(engine->pause("q")).paused);
  Reply<std::vector<Claimed>> claim;
  engine->claim(claim_of("q", "w", 5, long_wait), claim.callback());
  well(engine->schedule(order_of("q", "a")));
  look_now(*engine);
  CHECK_FALSE(claim.arrived());
  CHECK(well(engine->claim(claim_of("q", "w"))).empty());
  CHECK(well(engine->pop({"q", 1})).empty());
  CHECK_FALSE(well(engine->resume("q")).paused);
  CHECK(ids(well(claim.get())) == std::vector<std::string>{"a"});
}

TEST_CASE("a waiting claim is cancelled, an answered one is left alone", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  Reply<std::vector<Claimed>> waiting;
  const ClaimTicket ticket = engine->claim(claim_of("q", "w", 1, long_wait), waiting.callback());
  Reply<std::vector<Claimed>> other;
  engine->claim(claim_of("q", "w", 1, long_wait), other.callback());
  engine->cancel_claim(ticket);
  CHECK(well(waiting.get()).empty());
  engine->cancel_claim(ticket);
  engine->cancel_claim(ClaimTicket{1'000'000});
  well(engine->schedule(order_of("q", "a")));  // For the claim that nobody cancelled.
  CHECK(ids(well(other.get())) == std::vector<std::string>{"a"});
  engine->cancel_claim(ticket);
  look_now(*engine);
}

TEST_CASE("a claim is cancelled that is still behind a full group", "[engine]") {
  TemporaryFolder folder;
  Options options = small_options();
  options.group_commands_max = 10;
  HeldEngine engine(folder / "store", options);
  std::vector<Reply<Answer>> before(50);
  for (std::size_t i = 0; i < before.size(); ++i) {
    engine->schedule(order_of("other", std::to_string(i)), before[i].callback());
  }
  Reply<std::vector<Claimed>> claim;
  const ClaimTicket ticket = engine->claim(claim_of("q", "w", 1, long_wait), claim.callback());
  engine->cancel_claim(ticket);
  engine.run();
  CHECK(well(claim.get()).empty());
}

TEST_CASE("more claims than may wait are refused", "[engine]") {
  TemporaryFolder folder;
  Options options = small_options();
  options.claims_waiting_max = 2;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  std::vector<Reply<std::vector<Claimed>>> claims(3);
  for (auto& claim : claims) engine->claim(claim_of("q", "w", 1, long_wait), claim.callback());
  const Result<std::vector<Claimed>> refused = claims[2].get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::overloaded);
  engine->close();
  for (std::size_t i = 0; i < 2; ++i) CHECK(claims[i].get().error().code == Code::closing);
}

// ---- Leases
// -------------------------------------------------------------------------------------

TEST_CASE(
    "a lease that runs out is reaped by itself, and the order goes to "
    "the claim that waits",
    "[engine]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options options = small_options();
  options.clock = clock;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  well(engine->schedule(order_of("q", "a")));
  const Claimed first = well(engine->claim(claim_of("q", "dies"))).at(0);
  CHECK(first.lease == 30s);
  Reply<std::vector<Claimed>> waiting;
  engine->claim(claim_of("q", "lives", 1, long_wait), waiting.callback());
  clock->pass(29'999ms);
  look_now(*engine);
  CHECK_FALSE(waiting.arrived());
  clock->pass(1ms);
  look_now(*engine);
  const Claimed second = well(waiting.get()).at(0);
  CHECK(second.attempt == 2);
  CHECK(second.token > first.token);
  CHECK(well(engine->complete(report_on<CompleteRequest>(first))).outcome == Outcome::stale);
  CHECK(well(engine->complete(report_on<CompleteRequest>(second))).outcome == Outcome::completed);
}

TEST_CASE("the lease timer goes off by itself", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  well(engine->schedule(order_of("q", "a")));
  ClaimRequest brief = claim_of("q", "dies", 1, long_wait);
  brief.lease = 20ms;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t attempt = 1; attempt <= 10; ++attempt) {
    CHECK(well(engine->claim(brief)).at(0).attempt == attempt);
  }
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= 9 * 20ms - 1ms);  // The engine counts whole milliseconds.
  CHECK(took < 10 * 500ms);       // By the look once a second alone: 9 s.
}

TEST_CASE("without its timer an engine reaps when it is told to", "[engine]") {
  TemporaryFolder folder;
  const auto clock = std::make_shared<ManualClock>();
  Options options = small_options();
  options.clock = clock;
  options.timer = false;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  well(engine->schedule(order_of("q", "a")));
  const Claimed first = well(engine->claim(claim_of("q", "slow"))).at(0);
  clock->pass(1h);
  look_now(*engine);
  CHECK(well(engine->order("q", "a"))->state == State::processing);
  CHECK(well(engine->reap({"q", 10})) == 1);
  CHECK(well(engine->order("q", "a"))->state == State::wait);
  CHECK(well(engine->complete(report_on<CompleteRequest>(first))).outcome == Outcome::stale);
}

// ---- The application's own writes
// ---------------------------------------------------------------

TEST_CASE(
    "the application's writes take effect with the change that they are "
    "given with, or not at all",
    "[engine]") {
  TemporaryFolder folder;
  std::unique_ptr<Engine> engine = open_live(folder / "store");
  const auto value = [&](std::string_view key) { return well(engine->app_get(key)); };
  ScheduleRequest order = order_of("q", "a");
  order.app_writes = {put("row:a", "created"), put("row:b", "created too")};
  CHECK(well(engine->schedule(order)).outcome == Outcome::scheduled);
  CHECK(value("row:a") == "created");
  order.app_writes = {put("row:a", "created again")};
  CHECK(well(engine->schedule(order)).outcome == Outcome::duplicate);
  CHECK(value("row:a") == "created");

  const Claimed claimed = well(engine->claim(claim_of("q", "w"))).at(0);
  auto stale = report_on<CompleteRequest>(claimed);
  stale.token = Token{static_cast<std::uint64_t>(claimed.token) + 1};
  stale.app_writes = {put("row:a", "by a stranger")};
  CHECK(well(engine->complete(stale)).outcome == Outcome::stale);
  auto report = report_on<CompleteRequest>(claimed);
  report.app_writes = {put("row:a", "charged"), AppWrite{"row:b", std::nullopt}};
  CHECK(well(engine->complete(report)).outcome == Outcome::completed);
  report.app_writes = {put("row:a", "charged twice")};
  CHECK(well(engine->complete(report)).outcome == Outcome::already);
  CHECK(value("row:a") == "charged");
  CHECK_FALSE(value("row:b"));

  engine.reset();
  engine = open_live(folder / "store");
  CHECK(value("row:a") == "charged");
  CHECK_FALSE(value("row:b"));
}

TEST_CASE("the application's rows are listed by the order of their keys", "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  ScheduleRequest order = order_of("q", "a");
  for (const char* key : {"c", "a", "d", "b"})
    order.app_writes.push_back(put(key, std::string("value of ") + key));
  well(engine->schedule(order));
  const auto keys = [&](std::string_view from, std::string_view to, std::size_t limit) {
    std::string out;
    for (const AppEntry& entry : well(engine->app_list(from, to, limit))) {
      CHECK(entry.value == "value of " + entry.key);
      out += entry.key;
    }
    return out;
  };
  CHECK(keys("", "", 10) == "abcd");
  CHECK(keys("b", "d", 10) == "bc");
  CHECK(keys("", "", 2) == "ab");
}

// ---- Backup
// -------------------------------------------------------------------------------------

TEST_CASE(
    "a backup made while others write holds all that was acknowledged "
    "before it",
    "[engine]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  std::atomic<bool> enough = false;
  std::atomic<std::uint64_t> acknowledged = 0;
  std::promise<void> under_way;
  std::thread writing([&] {
    for (std::uint64_t i = 0; !enough; ++i) {
      well(engine->schedule(order_of("q", std::to_string(i))));
      const std::vector<Claimed> claimed = well(engine->claim(claim_of("q", "w")));
      if (i % 2 == 0) well(engine->complete(report_on<CompleteRequest>(claimed.at(0))));
      acknowledged = i + 1;
      if (i == 100) under_way.set_value();
    }
  });
  under_way.get_future().wait();
  for (int round = 0; round < 3; ++round) {
    const std::filesystem::path copy = folder / ("backup-" + std::to_string(round));
    const std::uint64_t before = acknowledged;
    well(engine->backup(copy));
    const std::uint64_t after = acknowledged;
    well(restore(copy, folder / ("restored-" + std::to_string(round))));
    const std::unique_ptr<Engine> restored = open_live(folder / ("restored-" + std::to_string(round)));
    CHECK(well(restored->check()).violations() == 0);
    const Counts counts = well(restored->stats("q")).counts;
    const std::uint64_t orders = counts.wait + counts.processing + counts.success;
    CHECK(orders >= before);
    CHECK(orders <= after + 1);
    CHECK(counts.success >= before / 2);
  }
  enough = true;
  writing.join();
}

// ---- Closing
// ------------------------------------------------------------------------------------

TEST_CASE("closing answers every call under way, and hangs none", "[engine]") {
  TemporaryFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::unique_ptr<Engine> engine = open_live(folder / "store");
    std::atomic<int> calls = 0;
    std::promise<void> under_way;
    std::vector<std::future<Code>> threads;
    for (int thread = 0; thread < 6; ++thread) {
      threads.push_back(std::async(std::launch::async, [&, thread] {
        for (int i = 0;; ++i) {
          const std::string id =
              std::to_string(round) + "-" + std::to_string(thread) + "-" + std::to_string(i);
          if (++calls == 30 + round) under_way.set_value();
          if (thread % 2 == 0) {
            const Result<Answer> answer = engine->schedule(order_of("q", id));
            if (!answer) return answer.error().code;
          } else {
            const auto claimed = engine->claim(claim_of("q" + std::to_string(thread % 4), "w", 5, long_wait));
            if (!claimed) return claimed.error().code;
          }
        }
      }));
    }
    under_way.get_future().wait();
    std::thread also([&] { engine->close(); });
    engine->close();
    for (std::future<Code>& thread : threads) CHECK(thread.get() == Code::closing);
    also.join();
    CHECK(engine->schedule(order_of("q", "late")).error().code == Code::closing);
    CHECK(engine->queues().has_value());  // Reads go on until the end.
  }
}

TEST_CASE("leases go on after the engine was closed and opened", "[engine]") {
  TemporaryFolder folder;
  std::unique_ptr<Engine> engine = open_live(folder / "store");
  well(engine->schedule(order_of("q", "a")));
  const Claimed claimed = well(engine->claim(claim_of("q", "w"))).at(0);
  engine.reset();
  engine = open_live(folder / "store");
  CHECK(well(engine->claim(claim_of("q", "other"))).empty());
  CHECK(well(engine->complete(report_on<CompleteRequest>(claimed))).outcome == Outcome::completed);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // They need room of their own.
TEST_CASE("an engine is closed also when the system has no more threads", "[engine]") {
  TemporaryFolder folder;
  std::unique_ptr<Engine> engine = open_live(folder / "store");
  std::promise<void> closed;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit little = before;
  little.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + 1024 * 1024;
  REQUIRE(::setrlimit(RLIMIT_AS, &little) == 0);  // No room for the stack of a thread.
  bool threw = false;
  try {
    engine->close([&] { closed.set_value(); });
  } catch (const std::exception&) {
    threw = true;
  }
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE_FALSE(threw);
  closed.get_future().wait();
  CHECK(engine->schedule(order_of("q", "late")).error().code == Code::closing);
}
#endif

TEST_CASE("closing without waiting tells when it is done", "[engine]") {
  TemporaryFolder folder;
  std::unique_ptr<Engine> engine = open_live(folder / "store");
  Reply<std::vector<Claimed>> waiting;
  engine->claim(claim_of("q", "w", 1, long_wait), waiting.callback());
  std::promise<void> closed;
  std::promise<void> closed_again;
  engine->close([&] { closed.set_value(); });
  engine->close([&] { closed_again.set_value(); });
  CHECK(closed.get_future().wait_for(patience) == std::future_status::ready);
  CHECK(closed_again.get_future().wait_for(patience) == std::future_status::ready);
  CHECK(waiting.get().error().code == Code::closing);
  engine.reset();
  CHECK(open_live(folder / "store") != nullptr);  // The store is let go of.
}

TEST_CASE("options out of range are refused before anything is made", "[engine]") {
  TemporaryFolder folder;
  const auto refusal = [&](const auto& spoil) {
    Options options;
    spoil(options);
    const Result<std::unique_ptr<Engine>> engine = Engine::open(folder / "store", options);
    REQUIRE_FALSE(engine);
    CHECK(engine.error().code == Code::invalid);
    CHECK_FALSE(std::filesystem::exists(folder / "store"));
  };
  refusal([](Options& o) { o.sync_interval = 0ms; });
  refusal([](Options& o) { o.restart_grace = 2h; });
  refusal([](Options& o) { o.group_commands_max = 0; });
  refusal([](Options& o) { o.commands_waiting_max = 0; });
  refusal([](Options& o) { o.command_bytes_waiting_max = 0; });
  refusal([](Options& o) { o.memtable_bytes = 1; });
}
