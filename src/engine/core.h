// engine/core.h: the state machine of a whole store, on one thread, without clock, disk thread or timer.
//
//     Command --> apply() --> Reply        changes collect in the open group
//         Now --> tick()                   what has fallen due: waiting claims, lost leases
//                 begin_commit()           the group closes, to become one write to the store
//                 end_commit()             it was written
//
// Between the last two another thread writes while this one goes on: reads find the changes of the closed group in
// memory. commit() is all three steps on one thread, for the opening and for tests.
//
// The writer (engine/writer.h) feeds it commands from many threads, syncs, and lets replies go when the
// sync is through. A test feeds it commands and times of its own, and simulates years in seconds.
//
// Every transition of an order does all its reads before its first change: it takes effect whole or not
// at all. When
// commit() fails, memory is ahead of the store: the core is of no further use, only the store is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/clock.h"
#include "duelease/options.h"
#include "duelease/result.h"
#include "duelease/types.h"
#include "engine/command.h"
#include "engine/lease_table.h"
#include "engine/queue_state.h"
#include "engine/run_state.h"
#include "model/record.h"
#include "store/group.h"
#include "store/store.h"

namespace duelease::engine {

struct CoreOptions {
  bool upkeep = true;  // tick() reaps leases and sweeps out successes past their retention.
  Duration restart_grace{5000};
  std::size_t claims_waiting_max = 100'000;
  std::size_t claim_reply_bytes_max = 16 * 1024 * 1024;
  std::size_t heads_known_max = 65'536;  // Orders known in the heads of all queues together, about.
  std::function<void(LogLevel, std::string_view)> log;
};

// The reply to a claim that had to wait.
struct Served {
  std::uint64_t ticket = 0;
  Result<Reply> reply;
};

class Core {
 public:
  // Reads settings, counts and leases, not the waiting orders. May write: damage is mended, see damage().
  static Result<std::unique_ptr<Core>> open(store::Store& store, CoreOptions options, Now now);

  // Nothing: a claim that waits; its reply comes from take_served(), once.
  std::optional<Result<Reply>> apply(Command command);

  // A claim that still waits is answered empty.
  void cancel_claim(std::uint64_t ticket);
  // All of them, for a shutdown.
  void cancel_claims(const Error& error);

  void tick(Now now);
  // Whether tick() will walk over the store itself: then no group may be closed and not yet written.
  bool tick_walks_store(Now now);
  std::vector<Served> take_served();

  // When tick() has something to do next: `now` when it has now. Nothing: only after another command.
  std::optional<Monotonic> next_wake(Now now);

  // Whether commit() has nothing to write.
  bool group_empty() const {
    return group_.empty() && counts_changed_.empty() && runs_changed_.empty() && !sequence_changed_;
  }
  std::size_t group_bytes() const { return group_.bytes(); }
  Result<> commit();
  // Closes the open group. Its changes stay as they are until end_commit(), which says that they were written, and
  // needs to come before the next of either.
  std::span<const store::Change> begin_commit();
  void end_commit();

  std::uint64_t sequence() const { return sequence_; }
  std::size_t leases() const { return leases_.size(); }
  // By any thread: when the lease ends that `token` stands for. Nothing: it is not held now.
  std::optional<Monotonic> lease_deadline(std::string_view queue, std::string_view id, Token token) const;
  std::size_t claims_waiting() const { return waiters_.size(); }
  // How often a queue was looked at to learn when its time comes: what a group costs besides its commands.
  std::uint64_t looks() const { return looks_; }
  // Damage that was met and mended, or passed over: what and how often.
  const std::map<std::string, std::uint64_t>& damage() const { return damage_; }

 private:
  using Answered = Result<Reply>;

  // Where an order is.
  struct Located {
    enum class Where : std::uint8_t { nowhere, waiting, processing, ended };
    Where where = Where::nowhere;
    store::Place place;         // waiting
    model::Record record;       // waiting, ended
    HeldLease* held = nullptr;  // processing
    bool was_orphan = false;    // ended: it waited, and was found to be an orphan just now.

    State state() const { return where == Where::processing ? State::processing : record.state; }
  };

  struct DueEntry {
    std::string key;
    std::string id;
    model::Record record;
  };

  // The bytes that a reply may still have. The first order always fits, so that a claim makes progress;
  // after one that does not fit, none does.
  class ReplyBudget {
   public:
    static constexpr std::size_t order_overhead_bytes = 512;  // What an order takes besides its payload.

    explicit ReplyBudget(std::size_t bytes) : left_(bytes) {}
    bool spend(std::size_t payload_bytes);
    bool is_used_up() const { return is_used_up_; }

   private:
    std::size_t left_;
    bool is_first_ = true;
    bool is_used_up_ = false;
  };

  struct Waiter {
    std::uint64_t ticket = 0;
    ClaimRequest request;
    Monotonic deadline{};
  };

  Core(store::Store& store, CoreOptions options);

  // core_open.cpp
  Result<> load_meta();
  Result<> load_leases(Now now);
  Result<> load_lease(std::string_view key, std::string_view value, Now now);
  Result<> load_heads();
  Result<> recount_lost_counts();
  void compare_lease_counts();
  void scrub(QueueState& queue, Now now);

  // core_sweep.cpp
  void sweep_all(Now now);
  void sweep_successes(QueueState& queue, Now now);
  void sweep_history(QueueState& queue, Now now);

  // core_orders.cpp: one function a command
  Answered on(ScheduleRequest request, const Command& command);
  Answered on(const RescheduleRequest& request, const Command& command);
  Answered on(CancelRequest request, const Command& command);
  Answered on(const RetryRequest& request, const Command& command);
  Answered on(const QueueSetRequest& request, const Command& command);
  Answered on(const PurgeBatch& request, const Command& command);
  Answered schedule_free(QueueState& queue, ScheduleRequest request, Located located, Time now);
  Answered move(QueueState& queue, std::string_view id, Located located, Time due, Time now);
  Answered upsert(QueueState& queue, ScheduleRequest request, Located located, Time now);
  Answered start_generation(QueueState& queue, ScheduleRequest request, const Located& before, Time now);
  // The answer that names who holds the key. Nothing: `id` may have it. A SUCCESS past its retention that
  // holds it is purged on the way.
  Result<std::optional<Answer>> claim_key(QueueState& queue, std::string_view key, std::string_view id,
                                          Time now);
  Result<> purge_order(QueueState& queue, std::string_view id, const model::Record& record);

  // core_adopt.cpp: orders that have a life elsewhere
  Answered on(const ImportRequest& request, const Command& command);
  Answered on(ReconcileRequest request, const Command& command);

  // core_runs.cpp
  Answered on(const RunOpenRequest& request, const Command& command);
  Answered on(const RunStartRequest& request, const Command& command);
  Answered on(const RunBeatRequest& request, const Command& command);
  Answered on(const RunDoneRequest& request, const Command& command);
  Answered on(const RunErrorRequest& request, const Command& command);
  Result<> load_runs(Now now);
  void take_up_run(HeldRun& run, Now now);
  Result<HeldRun*> find_run(std::string_view queue, std::string_view run);
  Result<HeldRun*> live_run(std::string_view queue, std::string_view run);
  void run_changed(HeldRun& run);
  void write_runs();
  void set_run_deadline(HeldRun& run, std::optional<Monotonic> deadline);
  void beat(HeldRun& run, Now now);
  void end_run(HeldRun& run, RunState state, std::string_view reason, Now now);
  // The run whose live order it is, by the rows of family runs: for an order whose record is lost.
  Result<HeldRun*> run_that_lists(const QueueState& queue, std::string_view id);
  void count_in_run(const QueueState& queue, const std::optional<std::string>& run, std::optional<State> from,
                    std::optional<State> to);
  bool is_orphan(const QueueState& queue, const model::Record& record);
  void abort_if_orphan(const QueueState& queue, model::Record& record, Time now);
  void leave_queue(QueueState& queue, std::string_view id, const store::Place& place, model::Record& record,
                   HistoryEvent event);
  void abort_orphan(QueueState& queue, std::string_view id, const store::Place& place, model::Record& record,
                    Time now);
  void begin_sweep(HeldRun& run);
  void end_sweep(HeldRun& run);
  void look_after_runs(Now now);
  std::size_t sweep_run(HeldRun& run, std::size_t limit, Now now);

  // core_claims.cpp
  std::optional<Answered> on(ClaimRequest request, const Command& command);
  Answered on(const PopRequest& request, const Command& command);
  Result<std::vector<Claimed>> hand_out(const ClaimRequest& request, Now now);
  Result<std::optional<std::vector<Claimed>>> repeat_claim(const ClaimRequest& request, Now now);
  Result<std::vector<DueEntry>> take_due(QueueState& queue, Time now, std::size_t count, ReplyBudget& budget);
  Result<> take_due_of(QueueState& queue, std::uint8_t priority, Time now, std::size_t count,
                       ReplyBudget& budget, std::vector<DueEntry>& out);
  Result<bool> has_due(QueueState& queue, Time now);
  Result<> refill(QueueState& queue, std::uint8_t priority, Time now, std::size_t count);
  Claimed lease_out(QueueState& queue, DueEntry entry, const ClaimRequest& request, Now now);
  void serve_all(Now now);
  void serve(const std::vector<std::string>& queues, Now now);
  bool serve_waiter(std::uint64_t number, Now now);
  void answer_repeats(const ClaimRequest& request, const std::vector<Claimed>& orders);
  void answer_waiter(std::uint64_t number, Answered reply);
  void end_waits(Now now);

  // core_reports.cpp
  Answered on(CompleteRequest request, const Command& command);
  Answered on(const FailRequest& request, const Command& command);
  Answered on(const ReleaseRequest& request, const Command& command);
  Answered on(const ExtendRequest& request, const Command& command);
  Answered on(const ReapRequest& request, const Command& command);
  std::uint64_t reap(const std::vector<std::string>& keys, Now now);
  HeldLease* current(std::string_view queue, std::string_view id, Token token);
  Result<model::Record> whole_record(const HeldLease& held) const;

  // core.cpp
  Answered on(Barrier request, const Command& command);

  // core.cpp: shared steps
  void touch(QueueState& queue);
  void look_at_touched();
  QueueState* find_queue(std::string_view name);
  Result<QueueState*> find_or_add_queue(std::string_view name);
  Result<Located> locate(QueueState& queue, std::string_view id, Time now);
  Result<Located> give_up_lost_order(QueueState& queue, std::string_view id, const store::Place& place,
                                     Time now);
  std::uint64_t next_sequence();
  void keep_above(const model::Record& record);
  std::size_t head_limit(const QueueState& queue) const;
  void moved(QueueState& queue, std::optional<State> from, std::optional<State> to);
  // Every transition comes by one of enqueue(), lease_out() and end(), with its record as it is now and what it was:
  // these note it in the history.
  // `at`: when, where the record does not say it.
  void note(const QueueState& queue, std::string_view id, const model::Record& record, HistoryEvent event,
            std::optional<Time> at = {});
  // `place_known`: the orders row says already where the queue entry is.
  void enqueue(QueueState& queue, std::string_view id, const model::Record& record, HistoryEvent event,
               bool place_known);
  void dequeue(QueueState& queue, std::string_view id, const store::Place& place);
  void end(QueueState& queue, std::string_view id, const model::Record& record, HistoryEvent event);
  void leave_lease(QueueState& queue, HeldLease& held, model::Record record, HistoryEvent event);
  void write_app(std::vector<AppWrite> writes);
  void note_damage(const std::string& what, std::string_view queue, std::string_view id);
  void log(LogLevel level, const std::string& text) const;
  Now tame(Now now);

  const CoreOptions options_;
  store::Store& store_;
  store::Group closed_group_;  // Under way to the store. Empty: none is.
  store::Group group_;         // The open one, on top of it.
  std::uint64_t sequence_ = 0;
  bool sequence_changed_ = false;  // In the open group.
  Monotonic last_monotonic_ = Monotonic::min();
  std::map<std::string, QueueState, std::less<>> queues_;
  std::vector<QueueState*> counts_changed_;  // In the open group.
  std::size_t scrubs_ = 0;                   // Queues with a scrub_from.
  // Where the time of a queue comes: the due time of each that a claim waits for, and the next sweep of each
  // that has successes to sweep. So a group costs what it touched, and not a walk over all queues.
  std::set<std::pair<Time, std::string_view>> awaited_;
  std::set<std::pair<Monotonic, std::string_view>> sweeps_;
  std::vector<QueueState*> touched_;  // Their times above may be out of date: see look_at_touched().
  std::uint64_t looks_ = 0;
  LeaseTable leases_;
  // By queue 00 run. Those that change in the open group; that end when no heartbeat comes; whose waiting
  // orders are being aborted.
  std::map<std::string, HeldRun, std::less<>> runs_;
  std::vector<std::string> runs_changed_;
  std::vector<std::string> runs_visited_;  // To leave the memory with the commit, unless they are active.
  std::set<std::pair<Monotonic, std::string>> run_ends_;
  std::set<std::string, std::less<>> runs_swept_;
  // Waiting claims by arrival number, oldest first; and which of them wait for a queue.
  std::uint64_t last_waiter_ = 0;
  std::map<std::uint64_t, Waiter> waiters_;
  std::map<std::string, std::set<std::uint64_t>, std::less<>> waiting_for_;
  // Those that named a request, by worker and request: the same claim may wait twice.
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> waiting_as_;
  std::map<std::uint64_t, std::uint64_t> waiter_of_ticket_;
  std::set<std::pair<Monotonic, std::uint64_t>> wait_ends_;
  std::vector<Served> served_;
  std::map<std::string, std::uint64_t> damage_;
};

}  // namespace duelease::engine
