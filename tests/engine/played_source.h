// engine/played_source.h: a source of orders that a test plays, and what its handlers wait at.
#pragma once

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

namespace duelease::test {

using namespace std::chrono_literals;

using Steady = std::chrono::steady_clock;

inline WorkerOptions options_for(std::string queue, std::uint32_t concurrency = 1) {
  WorkerOptions options;
  options.queues = {std::move(queue)};
  options.concurrency = concurrency;
  return options;
}

inline WorkerOptions draining(std::string queue, std::uint32_t concurrency = 1) {
  WorkerOptions options = options_for(std::move(queue), concurrency);
  options.drain = true;
  return options;
}

// Runs a worker until its queue is empty.
inline WorkerTotals drain(Engine& engine, Worker::Handler handler, std::uint32_t concurrency = 1) {
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
inline bool await_loss(const LeaseWatch& lease) {
  const Steady::time_point end = Steady::now() + patience;
  while (!lease.lost()) {
    if (Steady::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

inline Handled done(const Claimed&, const LeaseWatch&) { return Handled::done(); }

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

inline std::vector<Claimed> orders(const std::vector<std::string>& ids, Duration lease = 1h) {
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

}  // namespace duelease::test
