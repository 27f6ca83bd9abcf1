// tools/target.h: what a command works on: a store that it opens, or a server that it asks. One text of a
// command runs on both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "duelease/client.h"
#include "duelease/engine.h"
#include "duelease/worker.h"

namespace duelease::tools {

// The methods are those of Engine and of Client.
class Target {
 public:
  virtual ~Target() = default;
  // Then answers have in them what the wire tells, see duelease/client.h.
  virtual bool is_remote() const = 0;

  virtual Result<Answer> schedule(ScheduleRequest request) = 0;
  virtual std::vector<Result<Answer>> schedule(std::vector<ScheduleRequest> requests) = 0;
  virtual Result<Answer> reschedule(RescheduleRequest request) = 0;
  virtual Result<Answer> cancel(CancelRequest request) = 0;
  virtual std::vector<Result<Answer>> cancel(std::vector<CancelRequest> requests) = 0;
  virtual Result<Answer> retry(RetryRequest request) = 0;
  virtual std::vector<Result<Answer>> import_orders(std::vector<ImportRequest> requests) = 0;
  virtual std::vector<Result<Answer>> reconcile(std::vector<ReconcileRequest> requests) = 0;
  virtual Result<ReadMark> read_mark() = 0;

  virtual Result<std::vector<Claimed>> claim(ClaimRequest request) = 0;
  virtual Result<std::vector<Claimed>> pop(PopRequest request) = 0;
  virtual Result<Answer> complete(CompleteRequest request) = 0;
  virtual Result<Answer> fail(FailRequest request) = 0;
  virtual Result<Answer> release(ReleaseRequest request) = 0;
  virtual Result<Answer> extend(ExtendRequest request) = 0;
  virtual std::unique_ptr<Worker> make_worker(WorkerOptions options, Worker::Handler handler) = 0;

  virtual Result<RunState> run_open(RunOpenRequest request) = 0;
  virtual Result<RunState> run_start(RunStartRequest request) = 0;
  virtual Result<RunState> run_beat(RunBeatRequest request) = 0;
  virtual Result<RunState> run_done(RunDoneRequest request) = 0;
  virtual Result<RunState> run_error(RunErrorRequest request) = 0;

  virtual Result<std::uint64_t> reap(ReapRequest request) = 0;
  virtual Result<std::uint64_t> purge(PurgeRequest request) = 0;
  virtual Result<QueueSettings> set_queue(QueueSetRequest request) = 0;
  virtual Result<QueueSettings> pause(std::string queue) = 0;
  virtual Result<QueueSettings> resume(std::string queue) = 0;

  virtual Result<std::optional<Order>> order(std::string_view queue, std::string_view id) = 0;
  virtual Result<Page> list(const ListRequest& request) = 0;
  virtual Result<std::string> why(std::string_view queue, std::string_view id) = 0;
  virtual Result<std::vector<HistoryEntry>> history(std::string_view queue, std::string_view id,
                                                    std::uint32_t limit) = 0;
  virtual Result<std::vector<std::string>> queues() = 0;
  virtual Result<Stats> stats(std::string_view queue) = 0;
  virtual Result<QueueSettings> queue_settings(std::string_view queue) = 0;
  virtual Result<Run> run(std::string_view queue, std::string_view run) = 0;
  virtual Result<std::vector<std::string>> runs(std::string_view queue) = 0;
  virtual Result<CheckReport> check(std::string_view queue) = 0;
  virtual std::vector<Violation> mended() = 0;  // Of a store that was opened just now.
};

// On an Engine or a Client.
template <class Service>
class TargetOn final : public Target {
 public:
  explicit TargetOn(std::unique_ptr<Service> service) : service_(std::move(service)) {}

  bool is_remote() const override { return remote; }

  Result<Answer> schedule(ScheduleRequest r) override { return service_->schedule(std::move(r)); }
  std::vector<Result<Answer>> schedule(std::vector<ScheduleRequest> r) override {
    return service_->schedule(std::move(r));
  }
  Result<Answer> reschedule(RescheduleRequest r) override { return service_->reschedule(std::move(r)); }
  Result<Answer> cancel(CancelRequest r) override { return service_->cancel(std::move(r)); }
  std::vector<Result<Answer>> cancel(std::vector<CancelRequest> r) override {
    return service_->cancel(std::move(r));
  }
  std::vector<Result<Answer>> import_orders(std::vector<ImportRequest> r) override {
    return service_->import_orders(std::move(r));
  }
  std::vector<Result<Answer>> reconcile(std::vector<ReconcileRequest> r) override {
    return service_->reconcile(std::move(r));
  }
  Result<ReadMark> read_mark() override { return service_->read_mark(); }
  Result<Answer> retry(RetryRequest r) override { return service_->retry(std::move(r)); }

  Result<std::vector<Claimed>> claim(ClaimRequest r) override { return service_->claim(std::move(r)); }
  Result<std::vector<Claimed>> pop(PopRequest r) override { return service_->pop(std::move(r)); }
  Result<Answer> complete(CompleteRequest r) override { return service_->complete(std::move(r)); }
  Result<Answer> fail(FailRequest r) override { return service_->fail(std::move(r)); }
  Result<Answer> release(ReleaseRequest r) override { return service_->release(std::move(r)); }
  Result<Answer> extend(ExtendRequest r) override { return service_->extend(std::move(r)); }
  std::unique_ptr<Worker> make_worker(WorkerOptions options, Worker::Handler handler) override {
    return std::make_unique<Worker>(*service_, std::move(options), std::move(handler));
  }

  Result<RunState> run_open(RunOpenRequest r) override { return service_->run_open(std::move(r)); }
  Result<RunState> run_start(RunStartRequest r) override { return service_->run_start(std::move(r)); }
  Result<RunState> run_beat(RunBeatRequest r) override { return service_->run_beat(std::move(r)); }
  Result<RunState> run_done(RunDoneRequest r) override { return service_->run_done(std::move(r)); }
  Result<RunState> run_error(RunErrorRequest r) override { return service_->run_error(std::move(r)); }

  Result<std::uint64_t> reap(ReapRequest r) override { return service_->reap(std::move(r)); }
  Result<std::uint64_t> purge(PurgeRequest r) override { return service_->purge(std::move(r)); }
  Result<QueueSettings> set_queue(QueueSetRequest r) override { return service_->set_queue(std::move(r)); }
  Result<QueueSettings> pause(std::string queue) override { return service_->pause(std::move(queue)); }
  Result<QueueSettings> resume(std::string queue) override { return service_->resume(std::move(queue)); }

  Result<std::optional<Order>> order(std::string_view queue, std::string_view id) override {
    return service_->order(queue, id);
  }
  Result<Page> list(const ListRequest& request) override { return service_->list(request); }
  Result<std::string> why(std::string_view queue, std::string_view id) override {
    return service_->why(queue, id);
  }
  Result<std::vector<HistoryEntry>> history(std::string_view queue, std::string_view id,
                                            std::uint32_t limit) override {
    return service_->history(queue, id, limit);
  }
  Result<std::vector<std::string>> queues() override { return service_->queues(); }
  Result<Stats> stats(std::string_view queue) override { return service_->stats(queue); }
  Result<QueueSettings> queue_settings(std::string_view queue) override {
    return service_->queue_settings(queue);
  }
  Result<Run> run(std::string_view queue, std::string_view run) override { return service_->run(queue, run); }
  Result<std::vector<std::string>> runs(std::string_view queue) override { return service_->runs(queue); }
  Result<CheckReport> check(std::string_view queue) override { return service_->check(queue); }
  std::vector<Violation> mended() override {
    if constexpr (remote) {
      return {};
    } else {
      return service_->mended();
    }
  }

 private:
  static constexpr bool remote = std::is_same_v<Service, Client>;
  std::unique_ptr<Service> service_;
};

}  // namespace duelease::tools
