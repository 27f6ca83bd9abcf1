// The worker, on a client.
#include "duelease/worker.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "client/served.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

void set_lease(Engine& engine, const std::string& queue, Duration lease) {
  QueueSetRequest request;
  request.queue = queue;
  request.lease = lease;
  well(engine.set_queue(request));
}

WorkerOptions workers_of(std::string queue, std::uint32_t concurrency) {
  WorkerOptions options;
  options.queues = {std::move(queue)};
  options.concurrency = concurrency;
  return options;
}

}  // namespace

TEST_CASE("a worker settles a thousand orders, each once, while its connections are cut", "[client]") {
  Served served;
  set_lease(served.engine(), "q", 1h);  // No lease runs out here: what is handed out twice was lost.
  constexpr std::size_t count = 1000;
  schedule_many(served.engine(), "q", count);
  const auto client = served.client();
  std::mutex mutex;
  std::map<std::string, int> handled;
  std::atomic<std::size_t> total{0};
  Worker worker(*client, workers_of("q", 8), [&](const Claimed& order, const LeaseWatch&) {
    const std::lock_guard lock(mutex);
    ++handled[order.id];
    ++total;
    return Handled::done();
  });
  well(worker.start());
  int cuts = 0;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (well(served.engine().stats("q")).counts.success < count) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::sleep_for(3ms);
    ++cuts % 2 == 0 ? served.proxy().cut() : served.proxy().lose_next_reply();
  }
  served.proxy().cut();
  worker.stop();
  CHECK(cuts > 5);
  CHECK(total == count);
  CHECK(handled.size() == count);
  CHECK(worker.totals().completed == count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Order> order = well(served.engine().order("q", std::to_string(i)));
    REQUIRE(order);
    CHECK(order->attempt == 1);
  }
  CHECK(well(served.engine().check()).violations() == 0);
}

TEST_CASE("a worker goes on when its server is gone and back", "[client]") {
  Served served;
  const auto client = served.client();
  std::atomic<int> handled{0};
  Worker worker(*client, workers_of("q", 2), [&](const Claimed&, const LeaseWatch&) {
    ++handled;
    return Handled::done();
  });
  well(worker.start());
  for (int round = 0; round < 3; ++round) {
    well(served.engine().schedule(order_of("q", std::to_string(round))));
    const auto end = std::chrono::steady_clock::now() + patience;
    while (well(served.engine().stats("q")).counts.success <= static_cast<std::uint64_t>(round)) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      std::this_thread::sleep_for(1ms);
    }
    served.stop_server();
    served.start_server();
  }
  worker.stop();
  CHECK(worker.wait());
  CHECK(handled == 3);
  CHECK(worker.totals().completed == 3);
}

TEST_CASE("leases are extended over the network", "[client]") {
  Served served;
  set_lease(served.engine(), "q", 1500ms);
  schedule_many(served.engine(), "q", 1);
  const auto client = served.client();
  std::atomic<bool> lost{true};
  WorkerOptions options = workers_of("q", 1);
  options.drain = true;
  Worker worker(*client, options, [&](const Claimed&, const LeaseWatch& lease) {
    std::this_thread::sleep_for(3s);  // Two leases long.
    lost = lease.lost();
    return Handled::done();
  });
  well(worker.start());
  well(worker.wait());
  CHECK_FALSE(lost);
  CHECK(worker.totals().completed == 1);
}

TEST_CASE("a report with application writes fails its order with the reason", "[client]") {
  Served served;
  schedule_many(served.engine(), "q", 1);
  const auto client = served.client();
  Worker worker(*client, workers_of("q", 1), [](const Claimed&, const LeaseWatch&) {
    Handled handled = Handled::done();
    handled.app_writes.push_back({"key", "value"});
    return handled;
  });
  well(worker.start());
  const auto end = std::chrono::steady_clock::now() + patience;
  while (well(served.engine().order("q", "0"))->failures == 0) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::sleep_for(1ms);
  }
  worker.stop();
  CHECK_THAT(well(served.engine().order("q", "0"))->error, Catch::Contains("application writes"));
}
