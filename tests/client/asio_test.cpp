// duelease/asio.h on a client.
#include "duelease/asio.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch.hpp>
#include <stop_token>

#include "client/served.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::use_awaitable;
using asio::use_future;

namespace {

asio::awaitable<int> live(Client& client, int count) {
  int completed = 0;
  for (int i = 0; i < count; ++i) {
    ScheduleRequest order = order_of("q", std::to_string(i));
    const Result<Answer> scheduled = co_await async_schedule(client, std::move(order), use_awaitable);
    if (well(scheduled).outcome != Outcome::scheduled) co_return -1;
    ClaimRequest ask = claim_of("q", "w", 1, 1h);
    const Result<std::vector<Claimed>> claimed = co_await async_claim(client, std::move(ask), use_awaitable);
    CompleteRequest report = report_on<CompleteRequest>(well(claimed).at(0));
    const Result<Answer> done = co_await async_complete(client, std::move(report), use_awaitable);
    if (well(done).outcome == Outcome::completed) ++completed;
  }
  co_return completed;
}

}  // namespace

TEST_CASE("coroutines call a client as they call an engine", "[client]") {
  Served served;
  const auto client = served.client();
  asio::io_context io;
  std::future<int> completed = asio::co_spawn(io, live(*client, 10), use_future);
  io.run();
  CHECK(completed.get() == 10);
}

TEST_CASE("a run over duelease/asio.h", "[client]") {
  Served served;
  const auto client = served.client();
  const auto in_both = [](auto& service, const std::string& queue) {
    const auto state = [](std::future<Result<RunState>> answer) { return well(answer.get()); };
    CHECK(state(async_run_open(service, {queue, "r", std::nullopt}, use_future)) == RunState::creating);
    CHECK(state(async_run_start(service, {queue, "r"}, use_future)) == RunState::running);
    CHECK(state(async_run_beat(service, {queue, "r"}, use_future)) == RunState::running);
    CHECK(state(async_run_done(service, {queue, "r", false}, use_future)) == RunState::done);
    CHECK(state(async_run_open(service, {queue, "s", std::nullopt}, use_future)) == RunState::creating);
    CHECK(state(async_run_error(service, {queue, "s", "no paper"}, use_future)) == RunState::error);
  };
  in_both(*client, "remote");
  in_both(served.engine(), "here");
}

TEST_CASE("a stop cancels a claim that waits on a server", "[client]") {
  Served served;
  const auto client = served.client();
  std::stop_source stop;
  std::future<Result<std::vector<Claimed>>> claimed =
      async_claim(*client, claim_of("q", "w", 1, 1h), stop.get_token(), use_future);
  stop.request_stop();
  REQUIRE(claimed.wait_for(patience) == std::future_status::ready);
  CHECK(well(claimed.get()).empty());
}
