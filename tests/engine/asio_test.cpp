// The asynchronous API: each kind of completion token, the executor that
// answers come to, and an engine whose changes run on the program's own
// executor.
#include "duelease/asio.h"

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "support/live_engine.h"
#include "support/manual_clock.h"
#include "support/printing.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::test;
namespace asio = boost::asio;
using asio::use_awaitable;
using asio::use_future;

namespace {

constexpr Duration long_wait{3'600'000};

template <class T>
Result<T> take(std::future<Result<T>> future) {
  if (future.wait_for(patience) != std::future_status::ready) throw std::runtime_error("no answer came");
  return future.get();
}

}  // namespace

TEST_CASE("every method has an asynchronous form", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  const auto outcome = [](std::future<Result<Answer>> future) {
    return well(take(std::move(future))).outcome;
  };

  QueueSetRequest settings;
  settings.queue = "q";
  settings.tries = 1;
  CHECK(well(take(async_set_queue(*engine, settings, use_future))).tries == 1);
  CHECK(outcome(async_schedule(*engine, order_of("q", "a"), use_future)) == Outcome::scheduled);
  CHECK(outcome(async_schedule(*engine, order_of("q", "a"), use_future)) == Outcome::duplicate);
  CHECK(outcome(async_reschedule(*engine, {"q", "a", Time{Duration{1}}}, use_future)) ==
        Outcome::rescheduled);

  std::vector<Claimed> claimed = well(take(async_claim(*engine, claim_of("q", "w"), use_future)));
  REQUIRE(claimed.size() == 1);
  auto extend = report_on<ExtendRequest>(claimed[0]);
  extend.lease = Duration{60'000};
  CHECK(outcome(async_extend(*engine, extend, use_future)) == Outcome::extended);
  CHECK(outcome(async_release(*engine, report_on<ReleaseRequest>(claimed[0]), use_future)) ==
        Outcome::requeued);

  claimed = well(take(async_claim(*engine, claim_of("q", "w"), use_future)));
  REQUIRE(claimed.size() == 1);
  CHECK(outcome(async_fail(*engine, report_on<FailRequest>(claimed[0]), use_future)) == Outcome::failed);
  CHECK(outcome(async_complete(*engine, report_on<CompleteRequest>(claimed[0]), use_future)) ==
        Outcome::stale);
  CHECK(outcome(async_retry(*engine, {"q", "a", Time{}}, use_future)) == Outcome::requeued);
  CHECK(well(take(async_pop(*engine, {"q", 5}, use_future))).size() == 1);
  CHECK(outcome(async_cancel(*engine, {"q", "a"}, use_future)) == Outcome::refused);
  CHECK(well(take(async_reap(*engine, {"q", 5}, use_future))) == 0);
  async_close(*engine, use_future).get();
  const Result<Answer> late = take(async_schedule(*engine, order_of("q", "b"), use_future));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::closing);
}

TEST_CASE("a callback that cannot be copied is called once, on its own executor", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  asio::io_context io;
  int calls = 0;
  std::thread::id called_on;
  auto callback = [&, only_here = std::make_unique<int>(7)](Result<Answer> answer) {
    calls += *only_here;
    called_on = std::this_thread::get_id();
    CHECK(well(std::move(answer)).outcome == Outcome::scheduled);
  };
  async_schedule(*engine, order_of("q", "a"), asio::bind_executor(io, std::move(callback)));
  io.run();  // Does not run out of work before the answer is there.
  CHECK(calls == 7);
  CHECK(called_on == std::this_thread::get_id());
}

TEST_CASE("a callback is not called before the call that it answers returns", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  engine->close();  // Now everything is refused at once.
  asio::io_context io;
  bool returned = false;
  bool called = false;
  asio::post(io, [&] {
    async_schedule(*engine, order_of("q", "a"), asio::bind_executor(io, [&](const Result<Answer>& answer) {
      called = true;
      CHECK(returned);
      REQUIRE_FALSE(answer);
      CHECK(answer.error().code == Code::closing);
    }));
    returned = true;
  });
  io.run();
  CHECK(called);
}

TEST_CASE("a callback without an executor is called all the same", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  Reply<Answer> reply;
  async_schedule(*engine, order_of("q", "a"), reply.callback());
  CHECK(well(reply.get()).outcome == Outcome::scheduled);
}

namespace {

// Schedules, claims and completes `count` orders, one at a time. Answers how
// many were completed.
asio::awaitable<int> lives(Engine& engine, std::string queue, int count) {
  int completed = 0;
  for (int i = 0; i < count; ++i) {
    ScheduleRequest order = order_of(queue, std::to_string(i));
    const Result<Answer> scheduled = co_await async_schedule(engine, std::move(order), use_awaitable);
    if (well(scheduled).outcome != Outcome::scheduled) co_return -1;
    ClaimRequest ask = claim_of(queue, "w", 1, long_wait);
    Result<std::vector<Claimed>> claimed = co_await async_claim(engine, std::move(ask), use_awaitable);
    for (const Claimed& held : well(std::move(claimed))) {
      auto report = report_on<CompleteRequest>(held);
      const Result<Answer> done = co_await async_complete(engine, std::move(report), use_awaitable);
      if (well(done).outcome == Outcome::completed) ++completed;
    }
  }
  co_return completed;
}

}  // namespace

TEST_CASE("coroutines share an engine", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  constexpr int coroutines = 32;
  constexpr int each = 20;
  asio::thread_pool pool(3);
  std::vector<std::future<int>> ends;
  for (int i = 0; i < coroutines; ++i) {
    ends.push_back(asio::co_spawn(pool, lives(*engine, "q" + std::to_string(i), each), use_future));
  }
  for (std::future<int>& end : ends) CHECK(end.get() == each);
  CHECK(well(engine->check()).violations() == 0);
}

TEST_CASE("a stop ends a claim that waits, and those that come after it", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  std::stop_source stop;
  const ClaimRequest ask = claim_of("q", "w", 1, long_wait);
  auto first = async_claim(*engine, ask, stop.get_token(), use_future);
  auto second = async_claim(*engine, ask, stop.get_token(), use_future);
  look_now(*engine);
  CHECK(first.wait_for(std::chrono::seconds{0}) == std::future_status::timeout);
  stop.request_stop();
  CHECK(well(take(std::move(first))).empty());
  CHECK(well(take(std::move(second))).empty());
  CHECK(well(take(async_claim(*engine, ask, stop.get_token(), use_future))).empty());
  well(engine->schedule(order_of("q", "a")));
  CHECK(well(take(async_claim(*engine, ask, stop.get_token(), use_future))).size() == 1);
}

TEST_CASE("a claim may be stopped while it is answered", "[asio]") {
  TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = open_live(folder / "store");
  for (int i = 0; i < 200; ++i) {
    std::stop_source stop;
    auto claim = async_claim(*engine, claim_of("q", "w", 1, long_wait), stop.get_token(), use_future);
    std::thread stopping([&stop] { stop.request_stop(); });
    well(engine->schedule(order_of("q", std::to_string(i))));
    const std::size_t claimed = well(take(std::move(claim))).size();
    stopping.join();
    CHECK(claimed + well(engine->pop({"q", 10})).size() == 1);
  }
}

TEST_CASE("an engine runs on the one thread of its program", "[asio]") {
  TemporaryFolder folder;
  asio::io_context io(1);
  const std::thread::id main_thread = std::this_thread::get_id();
  std::unique_ptr<Engine> engine = well(open_on(io.get_executor(), folder / "store", small_options()));
  int completed = 0;
  const auto story = [&]() -> asio::awaitable<void> {
    completed = co_await lives(*engine, "q", 20);
    CHECK(std::this_thread::get_id() == main_thread);
    co_await async_close(*engine, use_awaitable);
  };
  asio::co_spawn(io, story, asio::detached);
  io.run();  // Ends by itself: a closed engine leaves no work behind.
  CHECK(completed == 20);
  engine.reset();
  CHECK(well(open_live(folder / "store")->stats("q")).counts.success == 20);
}

TEST_CASE("an engine runs on a pool of its program's threads", "[asio]") {
  TemporaryFolder folder;
  asio::thread_pool pool(4);
  const std::unique_ptr<Engine> engine =
      well(open_on(pool.get_executor(), folder / "store", small_options()));
  std::vector<std::future<int>> ends;
  for (int i = 0; i < 16; ++i) {
    ends.push_back(asio::co_spawn(pool, lives(*engine, "q" + std::to_string(i), 10), use_future));
  }
  for (std::future<int>& end : ends) CHECK(end.get() == 10);
  schedule_many(*engine, "blocking",
                100);  // From another thread, blocking calls work too.
  CHECK(well(engine->pop({"blocking", 1000})).size() == 100);
  engine->close();
}

TEST_CASE("an engine on an executor delivers what falls due by its own timer", "[asio]") {
  TemporaryFolder folder;
  asio::io_context io(1);
  std::unique_ptr<Engine> engine = well(open_on(io.get_executor(), folder / "store", small_options()));
  Time due{};
  Time delivered{};
  const auto story = [&]() -> asio::awaitable<void> {
    due = system_clock()->now().wall + Duration{60};
    ScheduleRequest order = order_of("q", "soon", due);
    const Result<Answer> scheduled = co_await async_schedule(*engine, std::move(order), use_awaitable);
    CHECK(scheduled.has_value());
    ClaimRequest ask = claim_of("q", "w", 1, long_wait);
    const Result<std::vector<Claimed>> claimed = co_await async_claim(*engine, std::move(ask), use_awaitable);
    delivered = system_clock()->now().wall;
    CHECK(well(claimed).size() == 1);
    co_await async_close(*engine, use_awaitable);
  };
  asio::co_spawn(io, story, asio::detached);
  io.run();
  CHECK(delivered >= due);
}

TEST_CASE("opening on an executor fails as opening does", "[asio]") {
  TemporaryFolder folder;
  asio::io_context io;
  Options options = small_options();
  options.create_if_missing = false;
  const auto missing = open_on(io.get_executor(), folder / "store", options);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  io.run();  // Nothing is left on it.
}
