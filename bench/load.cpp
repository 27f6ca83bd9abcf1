#include "load.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

#include "order_id.h"

namespace duelease::bench {

namespace {

using Steady = std::chrono::steady_clock;

// What the lanes of one load have in common.
struct Shared {
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr first_fault;
  Loaded loaded;

  void keep_fault() {
    const std::lock_guard lock(mutex);
    if (!first_fault) first_fault = std::current_exception();
    failed = true;
  }
};

}  // namespace

const char* call_name(Call call) {
  switch (call) {
    case Call::schedule: return "schedule";
    case Call::claim: return "claim";
    case Call::complete: return "complete";
    case Call::delay: return "delay";
  }
  return "";
}

void Lane::schedule(const std::vector<NewOrder>& orders) {
  const auto began = Steady::now();
  connection.schedule(orders);
  add(Call::schedule, Steady::now() - began);
}

std::vector<Handed> Lane::claim() {
  const auto began = Steady::now();
  std::vector<Handed> orders = connection.claim(batch);
  if (!orders.empty()) add(Call::claim, Steady::now() - began);
  return orders;
}

void Lane::complete(const std::vector<Handed>& orders) {
  const auto began = Steady::now();
  connection.complete(orders);
  add(Call::complete, Steady::now() - began);
}

Loaded run_lanes(Target& target, unsigned connections, unsigned batch,
                 const std::function<void(Lane&)>& work) {
  const unsigned lanes = target.is_limit() ? 1 : connections;
  const unsigned lane_batch = target.is_limit() ? batch * connections : batch;
  std::vector<std::unique_ptr<Connection>> opened;
  for (unsigned i = 0; i < lanes; ++i) opened.push_back(target.connect());

  Shared shared;
  Steady::time_point began;
  std::barrier start(lanes, [&began]() noexcept { began = Steady::now(); });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < lanes; ++i) {
    threads.emplace_back([&, i] {
      Latencies latencies;
      start.arrive_and_wait();
      Lane lane{*opened[i], latencies, shared.failed, lane_batch};
      try {
        work(lane);
        lane.connection.flush();
      } catch (...) {
        shared.keep_fault();
      }
      const std::chrono::duration<double> time = lane.measured_until.value_or(Steady::now()) - began;
      const std::lock_guard lock(shared.mutex);
      shared.loaded.seconds = std::max(shared.loaded.seconds, time.count());
      for (std::size_t c = 0; c < latencies.size(); ++c) shared.loaded.latencies[c] += latencies[c];
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (shared.first_fault) std::rethrow_exception(shared.first_fault);
  // The calls of a limit return before the disk has what they wrote.
  if (target.is_limit()) shared.loaded.latencies = {};
  return std::move(shared.loaded);
}

Time due_of(std::uint64_t number, Time earliest, Duration spread) {
  std::uint64_t mixed = number + 1;  // The finish of MurmurHash3.
  mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccdU;
  mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53U;
  mixed ^= mixed >> 33;
  return earliest + Duration{static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(spread.count()))};
}

std::vector<NewOrder> new_orders(std::uint64_t first, std::uint64_t count, Time earliest, Duration spread,
                                 const Payloads& payloads) {
  std::vector<NewOrder> orders(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    orders[i] = {order_id(first + i), due_of(first + i, earliest, spread), payloads.of(first + i)};
  }
  return orders;
}

void fill(Target& target, std::uint64_t first, std::uint64_t count, Time earliest, Duration spread,
          const Payloads& payloads) {
  constexpr unsigned connections = 4;
  constexpr unsigned batch = 1000;
  std::atomic<std::uint64_t> next{0};
  run_lanes(target, connections, batch, [&](Lane& lane) {
    for (std::uint64_t i = 0; (i = next.fetch_add(batch)) < count && !lane.failed;) {
      lane.connection.schedule(
          new_orders(first + i, std::min<std::uint64_t>(batch, count - i), earliest, spread, payloads));
    }
  });
}

Time now() { return system_clock()->now().wall; }

}  // namespace duelease::bench
