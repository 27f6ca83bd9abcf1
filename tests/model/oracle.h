// model/oracle.h: what a store of DueLease must do, as the simplest code that does it: sorted maps, no
// disk, no groups, no caches, no marks. Written from the design and the public headers alone, so that it
// does not share a mistake with the engine.
//
// Where the design leaves a choice, the oracle follows the engine's documented one, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/command.h"
#include "engine/core.h"
#include "model/record.h"
#include "model/run.h"

namespace duelease::model_test {

struct OracleOrder {
  model::Record record;
  // PROCESSING only.
  Time expires_at{};
  Duration length{};
  std::string request;
  Monotonic deadline{};
  std::string unknown{};  // Of model::Lease.
};

// What the store holds of an order in processing.
model::Lease lease_of(const OracleOrder& order);

// A row of the history: what was noted of a transition, and the record where a generation ended with it.
struct OracleHistory {
  std::optional<HistoryEntry> entry;
  std::optional<model::Record> ended;
};

struct OracleQueue {
  QueueSettings settings;
  std::string unknown;  // Of store::SettingsRow.
  std::map<std::string, OracleOrder> orders;
  std::map<std::string, std::string> owners;  // Dedup key to the id of the order that blocks it.
  std::map<std::pair<std::string, std::uint64_t>, OracleHistory> history;  // By id and sequence.
  // WAIT orders as they are handed out, for each priority. Says nothing that `orders` does not.
  std::map<std::uint8_t, std::set<std::pair<Time, std::string>>> lines;
  std::map<std::string, model::RunRecord> runs;  // Without their counts, see run_counts().

  Counts counts() const;
  // Of each run that has or had orders: all generations of them, and those that were purged.
  std::map<std::string, Counts> run_counts() const;
  // Waits, though its run has ended.
  bool is_orphan(const model::Record& record) const;
};

// A run that has ended, and whose waiting orders are being aborted, a bounded part a tick.
struct RunSweep {
  std::string from;        // The id where it goes on.
  std::uint64_t left = 0;  // How many still wait. They are at `from` or behind it.
};

class Oracle {
 public:
  using Name = std::pair<std::string, std::string>;  // Queue and id.
  using Answered = Result<engine::Reply>;

  explicit Oracle(engine::CoreOptions options) : options_(std::move(options)) {}

  // As those of engine::Core.
  std::optional<Answered> apply(const engine::Command& command);
  void cancel_claim(std::uint64_t ticket);
  void cancel_claims(const Error& error);
  void tick(Now now);
  std::vector<engine::Served> take_served() { return std::exchange(served_, {}); }

  // The core was dropped and opened again: claims no longer wait, each lease gets what the design says.
  void reopen(Now now);

  // The store was made with this sequence; a row in it has fields that the engine does not know.
  void start_at(std::uint64_t sequence) { sequence_ = sequence; }
  void set_unknown(const Name& name, const std::string& unknown);
  void set_unknown(const std::string& queue, const std::string& unknown) {
    queues_.at(queue).unknown = unknown;
  }
  void set_run_unknown(const std::string& queue, const std::string& run, const std::string& unknown) {
    queues_.at(queue).runs.at(run).unknown = unknown;
  }

  // When tick() must have something to do: the core's next_wake() may not be later.
  std::optional<Monotonic> next_event(Now now) const;

  // When the engine sweeps out a success that is past its retention is its own choice: it may be there
  // or not. So the oracle is told, and answers whether it was allowed.
  bool sweep(const Name& name, Time now);
  bool has_lapsed(Time now) const;  // Whether there is such a success.
  // The same of a row of the history.
  bool sweep_history(const Name& name, std::uint64_t sequence, Time now);
  bool has_stale_history(Time now) const;
  Duration history_kept_longest() const;  // By any queue.
  // What is shown of the history of an order.
  std::vector<HistoryEntry> history(const Name& name, Time now) const;

  const std::map<std::string, OracleQueue>& queues() const { return queues_; }
  const std::map<std::string, std::string>& app() const { return app_; }
  const std::map<std::pair<Monotonic, Token>, Name>& leases() const { return leases_; }
  const std::map<Name, RunSweep>& run_sweeps() const { return run_sweeps_; }
  bool has_orphans() const;
  // What was met since the last time, for Seen.
  std::vector<std::string_view> take_marks() { return std::exchange(marks_, {}); }
  std::uint64_t sequence() const { return sequence_; }
  std::size_t claims_waiting() const { return waiters_.size(); }
  std::vector<std::uint64_t> waiting_tickets() const;
  const OracleOrder* find(const std::string& queue, const std::string& id) const;

 private:
  struct Waiter {
    std::uint64_t ticket = 0;
    ClaimRequest request;
    Monotonic deadline{};
  };

  // What a reply may still hold. The first order always fits; after one that does not, none does.
  struct Room {
    std::size_t bytes = 0;
    bool is_first = true;
    bool is_full = false;
  };

  Answered on(const ScheduleRequest& request);
  std::optional<Answered> on(const ClaimRequest& request);
  Answered on(const PopRequest& request);
  Answered on(const CompleteRequest& request);
  Answered on(const FailRequest& request);
  Answered on(const ReleaseRequest& request);
  Answered on(const ExtendRequest& request);
  Answered on(const RescheduleRequest& request);
  Answered on(const CancelRequest& request);
  Answered on(const RetryRequest& request);
  Answered on(const ImportRequest& request);
  Answered on(const ReconcileRequest& request);
  Answered on(const ReapRequest& request);
  Answered on(const QueueSetRequest& request);
  Answered on(const engine::PurgeBatch& request);
  Answered on(const engine::Barrier& request);
  Answered on(const RunOpenRequest& request);
  Answered on(const RunStartRequest& request);
  Answered on(const RunBeatRequest& request);
  Answered on(const RunDoneRequest& request);
  Answered on(const RunErrorRequest& request);

  // Puts the order there (nothing: takes it away) and brings all that follows from it along.
  void set(const Name& name, std::optional<OracleOrder> order);
  // The same, and notes in the history why.
  void set(const Name& name, OracleOrder order, HistoryEvent event, const std::string& reason = {});
  Now tamed(Now now) const;
  void stamp(model::Record& record);  // The next sequence, and the time.
  const OracleOrder* holder(const std::string& queue, const std::string& id, Token token) const;
  bool lapsed(const OracleQueue& queue, const model::Record& record, Time now) const;
  // The order that keeps `id` from having `key`.
  std::optional<std::string> key_blocker(const OracleQueue& queue, const std::optional<std::string>& key,
                                         const std::string& id) const;
  void purge(const Name& name);
  void write_app(const std::vector<AppWrite>& writes);

  model::RunRecord* find_run(const std::string& queue, const std::string& run);
  // Why orders may not join it; nothing: they may.
  std::optional<Code> dead_run(const std::string& queue, const std::string& run);
  void beat(const Name& name);
  void end_run(const Name& name, RunState state, const std::string& reason);
  void abort_orphan(const Name& name);
  // Whoever comes across an orphan aborts it.
  const OracleOrder* meet(const std::string& queue, const std::string& id);
  // An order that comes back from its lease does not wait again under a dead run.
  void keep_from_waiting(const std::string& queue, model::Record& record) const;
  void end_silent_runs();
  void sweep_runs();
  std::size_t sweep_first_run(std::size_t limit);

  bool is_due(const std::string& queue) const;
  // Aborts the orphans on the way, but no more than a claim may.
  std::vector<Name> take_due(const std::string& queue, std::size_t count, Room& room);
  std::vector<Claimed> hand_out(const ClaimRequest& request);
  std::vector<Claimed> still_held(const ClaimRequest& request) const;
  void lose_lease(const Name& name);
  std::uint64_t reap(std::size_t limit, const std::string* queue);
  void serve(const std::vector<std::string>& queues);
  void serve_all();
  bool serve_waiter(std::uint64_t number);
  void answer_same(const ClaimRequest& request, const std::vector<Claimed>& orders);
  void answer(std::uint64_t number, Answered reply);

  engine::CoreOptions options_;
  Now now_{};
  std::uint64_t seed_ = 0;
  std::uint64_t ticket_ = 0;

  std::map<std::string, OracleQueue> queues_;
  std::map<std::string, std::string> app_;
  std::map<std::pair<Monotonic, Token>, Name> leases_;  // Says nothing that the orders do not.
  std::uint64_t sequence_ = 0;
  std::map<Name, Monotonic> run_ends_;  // Of those that are alive: when, without a heartbeat.
  std::map<Name, RunSweep> run_sweeps_;
  std::vector<std::string_view> marks_;

  std::uint64_t last_waiter_ = 0;
  std::map<std::uint64_t, Waiter> waiters_;  // By arrival.
  std::vector<engine::Served> served_;
};

// What a request is refused for, before any rule is asked.
std::optional<Code> refusal(const engine::Body& body);

}  // namespace duelease::model_test
