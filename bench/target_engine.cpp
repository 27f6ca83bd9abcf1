// The engine in this process. A batch is one call with many requests; connections are threads.
#include <unistd.h>

#include "duelease/engine.h"
#include "process.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw Fault("engine: " + result.error().message);
  return std::move(*result);
}

void must_all(const std::vector<Result<Answer>>& answers, Outcome wanted) {
  for (const Result<Answer>& answer : answers) {
    if (!answer) throw Fault("engine: " + answer.error().message);
    if (answer->outcome != wanted) throw Fault("engine: " + std::string(outcome_name(answer->outcome)));
  }
}

class EngineConnection final : public Connection {
 public:
  explicit EngineConnection(Engine& engine) : engine_(engine) {}

  void schedule(std::span<const NewOrder> orders) override {
    std::vector<ScheduleRequest> requests(orders.size());
    for (std::size_t i = 0; i < orders.size(); ++i) {
      requests[i].queue = "bench";
      requests[i].id = orders[i].id;
      requests[i].due = orders[i].due;
      requests[i].payload = orders[i].payload;
    }
    must_all(engine_.schedule(std::move(requests)), Outcome::scheduled);
  }

  std::vector<Handed> claim(unsigned count) override { return claim(count, Duration{0}); }
  std::vector<Handed> claim_one(Duration wait) override { return claim(1, wait); }

  void complete(std::span<const Handed> orders) override {
    std::vector<CompleteRequest> requests(orders.size());
    for (std::size_t i = 0; i < orders.size(); ++i) {
      requests[i].queue = "bench";
      requests[i].id = orders[i].id;
      requests[i].token = Token{orders[i].token};
    }
    must_all(engine_.complete(std::move(requests)), Outcome::completed);
  }

  std::uint64_t not_completed() override {
    const Counts counts = must(engine_.stats("bench")).counts;
    return counts.wait + counts.processing;
  }

 private:
  std::vector<Handed> claim(unsigned count, Duration wait) {
    ClaimRequest ask;
    ask.queues = {"bench"};
    ask.worker = "bench";
    ask.count = count;
    ask.lease = lease_length;
    ask.wait = wait;
    std::vector<Claimed> claimed = must(engine_.claim(std::move(ask)));
    std::vector<Handed> orders(claimed.size());
    for (std::size_t i = 0; i < orders.size(); ++i) {
      orders[i].id = std::move(claimed[i].id);
      orders[i].payload = std::move(claimed[i].payload);
      orders[i].token = static_cast<std::uint64_t>(claimed[i].token);
    }
    return orders;
  }

  Engine& engine_;
};

class EngineTarget final : public Target {
 public:
  EngineTarget(const std::filesystem::path& folder, Durability durability, bool keeps_history)
      : Target(folder), durability_(durability), keeps_history_(keeps_history) {}

  void start() override {
    Options options;
    options.durability = durability_;
    engine_ = must(Engine::open(folder() / "store", options));
    if (!keeps_history_) return;
    QueueSetRequest keep;
    keep.queue = "bench";
    keep.keep_history = Duration{86'400'000};
    must(engine_->set_queue(keep));
  }
  std::unique_ptr<Connection> connect() override { return std::make_unique<EngineConnection>(*engine_); }
  void stop() override { engine_.reset(); }
  std::uint64_t resident_bytes() const override { return bench::resident_bytes(::getpid()); }

 private:
  const Durability durability_;
  const bool keeps_history_;
  std::unique_ptr<Engine> engine_;
};

Durability durability_of(const std::string& variant) {
  if (variant == "interval") return Durability::interval;
  return variant == "none" ? Durability::none : Durability::sync;
}

TargetInfo info(const TargetChoice&, const std::string& variant) {
  const char* const words[] = {"on disk when a call returns", "synced once a second",
                               "written when the system likes"};
  return {"DueLease " DUELEASE_VERSION ", in process",
          words[static_cast<std::size_t>(durability_of(variant))], ""};
}

std::unique_ptr<Target> make(const TargetChoice&, const std::string& variant,
                             const std::filesystem::path& folder) {
  return std::make_unique<EngineTarget>(folder, durability_of(variant), variant == "history");
}

}  // namespace

TargetKind engine_kind() {
  return {{{"engine", "ours, in process, level sync"},
           {"engine:interval", "the same, level interval"},
           {"engine:none", "the same, level none"},
           {"engine:history", "level sync, and the history of each order is kept"}},
          info,
          make};
}

}  // namespace duelease::bench
