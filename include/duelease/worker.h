// duelease/worker.h: a loop that claims due orders and runs a handler for each.
//
//     duelease::Worker worker(engine, {.queues = {"settle"}, .name = "w1", .concurrency = 4},
//                             [&](const duelease::Claimed& order, const duelease::LeaseWatch& lease) {
//                               charge(order.payload);
//                               if (lease.lost()) return duelease::Handled::abandon();
//                               return duelease::Handled::done();
//                             });
//     auto started = worker.start();
//     ...
//     worker.stop();   // No new orders; waits for the handlers that run.
//
// What it does for its handler:
//
//  - It never claims more orders than it has handlers free, so the lease of each starts when its handler
//    does. While nothing is due it waits with one waiting claim; it does not poll.
//  - It extends the lease every third of its length for as long as the handler runs, by itself: by
//    WorkerOptions::lease, else by the whole length of the queue's (a client asks its server for it, and knows it
//    for a minute; should it not learn it, by what was left at the hand-out, or by 30 s when that is unknown too).
//  - An order whose lease may be gone already is extended before its handler begins.
//  - It makes the report that the handler decided on, again while the engine is overloaded or cannot be reached
//    and the lease lasts. A report that
//    is refused as too large or malformed fails the order with the reason.
//  - When the lease is lost it says so (LeaseWatch). A late report changes nothing: the engine refuses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"
#include "duelease/work_source.h"

namespace duelease {

class Engine;

// Tells a handler whether the order is still its own. Safe from any thread while the handler runs.
class LeaseWatch {
 public:
  // True once the lease must be taken for lost: it was reaped, the order was cancelled by force, or it could
  // not be extended before it ran out. Another worker may have the order, and a report is refused if one
  // has. Never turns back to false.
  bool lost() const { return lost_->load(std::memory_order_relaxed); }

  explicit LeaseWatch(std::shared_ptr<const std::atomic<bool>> lost) : lost_(std::move(lost)) {}

 private:
  std::shared_ptr<const std::atomic<bool>> lost_;
};

// What a handler decided.
struct Handled {
  enum class Report : std::uint8_t { complete, fail, release, none };

  Report report = Report::complete;
  std::optional<std::string> result{};  // complete
  std::vector<AppWrite> app_writes{};   // complete
  std::string error{};                  // fail
  std::optional<Time> retry_at{};       // fail
  bool final = false;                   // fail

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
  // Gives the order back as it was; the try is not counted.
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
  std::vector<std::string> queues{};  // 1-64; the first named is served first.
  std::string name = "worker";        // 1-128 bytes, as ClaimRequest::worker.
  std::uint32_t concurrency = 1;      // Handlers at a time, each on a thread of its own. 1-1024.
  std::optional<Duration> lease{};    // Absent: the queue's.
  bool drain = false;                 // End by itself once nothing is due and no handler runs.
};

// claimed = completed + failed + released + lost + the handlers that run.
struct WorkerTotals {
  std::uint64_t claimed = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // Reported as failed, whether a try was left or not.
  std::uint64_t released = 0;
  std::uint64_t lost = 0;  // No report took effect: it was stale, abandoned, or not possible.
};

// Starts once. All methods are safe from any thread.
class Worker {
 public:
  // Called by `concurrency` threads at a time. An exception that leaves it, of whatever type, fails the order
  // with its text.
  using Handler = std::function<Handled(const Claimed&, const LeaseWatch&)>;

  // `engine` or `source` must outlive the worker, unless it is given away. Only that of an Engine needs the
  // engine's library.
  Worker(Engine& engine, WorkerOptions options, Handler handler);
  Worker(std::unique_ptr<WorkSource> source, WorkerOptions options, Handler handler);  // Not null.
  Worker(WorkSource& source, WorkerOptions options, Handler handler);
  ~Worker();  // stop()
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Errors: invalid (an option, a second start), overloaded (the system has no more threads).
  Result<> start();
  // Takes no new orders and answers when the handlers under way have reported; an order that was claimed but
  // not begun is released. Not from a handler, which would wait for itself: there, request_stop().
  void stop();
  void request_stop();  // The same without waiting.
  // Answers when the worker has ended: after a stop, a drain, or an error of the engine, and then with that
  // error. An engine that cannot be reached over its network is tried again; only a drain gives up. A worker that was not started has ended.
  Result<> wait();

  WorkerTotals totals() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duelease
