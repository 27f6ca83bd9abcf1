#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "duelease/engine.h"
#include "plan.h"

namespace duelease::bench {

namespace {

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "duelease-bench: engine: %s\n", what.c_str());
  std::exit(1);
}

void schedule_batch(Engine& engine, std::uint64_t first, std::uint64_t count, const std::string& payload,
                    Time due) {
  std::vector<ScheduleRequest> requests(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    requests[i].queue = "bench";
    requests[i].id = order_id(first + i);
    requests[i].due = due + Duration{static_cast<std::int64_t>((first + i) * 7919 % 1000)};
    requests[i].payload = payload;
  }
  for (const Result<Answer>& answer : engine.schedule(std::move(requests))) {
    if (!answer) give_up(answer.error().message);
    if (answer->outcome != Outcome::scheduled) give_up("an order was not scheduled");
  }
}

std::uint64_t claim_and_complete(Engine& engine, unsigned batch) {
  ClaimRequest ask;
  ask.queues = {"bench"};
  ask.worker = "bench";
  ask.count = batch;
  const Result<std::vector<Claimed>> orders = engine.claim(std::move(ask));
  if (!orders) give_up(orders.error().message);
  std::vector<CompleteRequest> reports(orders->size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i].queue = (*orders)[i].queue;
    reports[i].id = (*orders)[i].id;
    reports[i].token = (*orders)[i].token;
  }
  for (const Result<Answer>& answer : engine.complete(std::move(reports))) {
    if (!answer) give_up(answer.error().message);
    if (answer->outcome != Outcome::completed) give_up("an order was not completed once");
  }
  return orders->size();
}

}  // namespace

Round run_engine(const Plan& plan) {
  const std::filesystem::path path = plan.folder / "engine";
  std::filesystem::remove_all(path);
  Result<std::unique_ptr<Engine>> engine = Engine::open(path, {});
  if (!engine) give_up(engine.error().message);
  if (plan.keeps_history) {
    QueueSetRequest keep;
    keep.queue = "bench";
    keep.keep_history = std::chrono::hours(24);
    if (const Result<QueueSettings> set = (*engine)->set_queue(keep); !set) give_up(set.error().message);
  }
  const std::string payload(plan.payload_bytes, 'p');
  const Time due = system_clock()->now().wall - Duration{10'000};
  std::atomic<std::uint64_t> scheduled{0};
  std::atomic<std::uint64_t> completed{0};

  const Meter meter;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < plan.threads; ++t) {
    threads.emplace_back([&] {
      while (completed < plan.orders) {
        const std::uint64_t first = scheduled.fetch_add(plan.batch);
        if (first < plan.orders) {
          schedule_batch(**engine, first, std::min<std::uint64_t>(plan.batch, plan.orders - first), payload,
                         due);
        }
        completed += claim_and_complete(**engine, plan.batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Round round = meter.finish(completed);

  const Result<Stats> stats = (*engine)->stats("bench");
  if (!stats) give_up(stats.error().message);
  if (stats->counts != Counts{.success = plan.orders}) give_up("orders were lost, or counted twice");
  engine->reset();
  std::filesystem::remove_all(path);
  return round;
}

}  // namespace duelease::bench
