// duelease/worker.h: a loop that claims due orders and runs a handler for each.
//
//     duelease::Worker worker(engine, {.queues = {"settle"}, .name = "w1", .concurrency = 4},
//                             [&](const duelease::Claimed& order, const duelease::LeaseWatch& lease) {
//                               charge(order.payload);
//                               if (lease.lost()) return duelease::Handled::abandon();
//                               return duelease::Handled::done();
//                             });
//     worker.start();
//     ...
//     worker.stop();   // No new orders; waits for the handlers that run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "duelease/engine.h"

namespace duelease {

// Tells a handler whether the order is still its own. Safe from any thread while the handler runs.
class LeaseWatch {
 public:
  // True once the lease is known to be lost: it could not be extended, or the order was cancelled by
  // force. Another worker may have the order; a report would answer STALE. Never turns back to false.
  bool lost() const { return lost_->load(std::memory_order_relaxed); }

  explicit LeaseWatch(std::shared_ptr<const std::atomic<bool>> lost) : lost_(std::move(lost)) {}

 private:
  std::shared_ptr<const std::atomic<bool>> lost_;
};

// What a handler decided.
struct Handled {
  enum class Report : std::uint8_t { complete, fail, release, none };

  Report report = Report::complete;
  std::optional<std::string> result{};   // complete
  std::vector<AppWrite> app_writes{};    // complete
  std::string error{};                   // fail
  std::optional<Time> retry_at{};        // fail
  bool final = false;                  // fail

  static Handled done(std::optional<std::string> result = std::nullopt) {
    Handled h;
    h.result = std::move(result);
    return h;
  }
  static Handled failed(std::string error) {
    Handled h;
    h.report = Report::fail;
    h.error = std::move(error);
    return h;
  }
  static Handled release() {
    Handled h;
    h.report = Report::release;
    return h;
  }
  // Reports nothing: for a handler whose lease is lost.
  static Handled abandon() {
    Handled h;
    h.report = Report::none;
    return h;
  }
};

struct WorkerOptions {
  std::vector<std::string> queues{};
  std::string name = "worker";      // As in ClaimRequest::worker.
  std::uint32_t concurrency = 1;    // Handlers at a time, each on a thread of its own. 1-1024.
  std::optional<Duration> lease{};    // Absent: the queue's. Extended every third of it while a handler runs.
  bool drain = false;               // End by itself once nothing is due.
};

struct WorkerTotals {
  std::uint64_t claimed = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;     // Reported as failed, whether a try was left or not.
  std::uint64_t released = 0;
  std::uint64_t lost = 0;       // The lease was lost, or the report was stale.
};

// Not copyable; start once. An exception that leaves the handler fails the order with its text.
class Worker {
 public:
  using Handler = std::function<Handled(const Claimed&, const LeaseWatch&)>;

  // `engine` must outlive the worker.
  Worker(Engine& engine, WorkerOptions options, Handler handler);
  ~Worker();  // stop()
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Result<> start();
  // Takes no new orders, answers when the handlers under way have reported.
  void stop();
  // Answers when the worker has ended: after stop(), a drain, or an error of the engine.
  // The error is the one that ended it.
  Result<> wait();

  WorkerTotals totals() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duelease
