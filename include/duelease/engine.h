// duelease/engine.h: the embedded engine.
//
//     auto engine = duelease::Engine::open("/var/lib/shop/orders", {});
//     if (!engine) return complain(engine.error());
//
//     duelease::ScheduleRequest order{.queue = "unpaid", .id = "4711", .due = in_30_minutes};
//     auto scheduled = (*engine)->schedule(order);          // On disk when it returns.
//
//     duelease::ClaimRequest ask{.queues = {"unpaid"}, .worker = "w1", .wait = 10s};
//     auto claimed = (*engine)->claim(ask);                 // Waits for the next order to fall due.
//     for (const duelease::Claimed& c : *claimed) {
//       cancel_in_shop(c.id);
//       auto done = (*engine)->complete({.queue = c.queue, .id = c.id, .token = c.token});
//     }
//
// Threads. Every method is safe from any thread. A call without a callback blocks its thread until the
// change is as durable as Options::durability says. A call with a callback returns at once; the callback
// runs exactly once, on a thread of the engine (or, when the request is refused at once, on the caller's),
// must not block and must not call a blocking method (duelease/asio.h brings the answer to an executor
// of yours instead). All changes run one after the
// other; those that arrive while the disk syncs share the next sync.
//
// Errors. Any change can answer Code::invalid (a value out of range; the message names value and limit),
// Code::overloaded, Code::closing, Code::corrupt (what the store has of this order does not decode or is gone; the
// others go on), and Code::storage: the disk failed, this change may or may not be found after a restart, and
// every later change is refused while reads go on. An error changes nothing else.
// What a user would expect to happen in good order (a duplicate, a late report) is an Outcome, no error.
//
// Queues. A queue exists once an order was scheduled in it or its settings were set, and for ever. Until then
// what is about the queue itself (pause, resume, list, reap, purge, stats, queue_settings, check) or its history answers
// Code::not_found, and names it; what is about one order answers that there is no such order; claim and pop
// find nothing, or wait.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/callback.h"
#include "duelease/options.h"
#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease {

struct AppEntry {
  std::string key{};
  std::string value{};
};

class Engine {
 public:
  // Opens the store in folder `path`. It is open at most once, in this process and all others. Errors: locked,
  // newer_format, corrupt (also a log that has lost changes which were on disk), not_found (create_if_missing is
  // off), invalid (an option; or the folder is a backup, or holds other files and no store), overloaded (a
  // thread does not start), storage; the store is then as it was.
  static Result<std::unique_ptr<Engine>> open(const std::filesystem::path& path, Options options);

  // Closes: changes under way are finished and synced, waiting claims and later changes answer
  // Code::closing. Leases stay; after the next open they go on. No other call may be in progress when
  // the destructor runs; close() may be called while they are.
  ~Engine();
  void close();
  // The same without waiting: `done` runs once all is closed, on a thread of the engine, and must not destroy
  // the engine there.
  void close(std::function<void()> done);

  // As it was opened with; what was empty there (clock, random) is filled in.
  const Options& options() const;

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- Producers ----

  // Answers scheduled; rescheduled (upsert); or duplicate with the blocker, and then nothing changed,
  // app_writes included. Errors: also too_large, not_found / not_alive (the run).
  Result<Answer> schedule(ScheduleRequest request);
  void schedule(ScheduleRequest request, Callback<Answer> done);
  // Many at once share one wait; each is a change of its own, answered in order. At most
  // Options::commands_waiting_max in one call, else each answers invalid. (A template, so that {"a", "b"}, braces
  // with two texts, is one request: a vector takes them for its begin and end.)
  template <std::same_as<ScheduleRequest> R>
  std::vector<Result<Answer>> schedule(std::vector<R> requests);
  template <std::same_as<ScheduleRequest> R>
  void schedule(std::vector<R> requests, AnswersCallback done);

  // Moves a WAIT order to another due time. Answers rescheduled, not_found, or refused with the state.
  Result<Answer> reschedule(RescheduleRequest request);
  void reschedule(RescheduleRequest request, Callback<Answer> done);

  // Answers aborted (also when it was ABORTED before), not_found, or refused with the state; with
  // CancelRequest::since also newer, and of those that were ABORTED before aborted only of one that vanished. Many at once as with schedule().
  Result<Answer> cancel(CancelRequest request);
  void cancel(CancelRequest request, Callback<Answer> done);
  template <std::same_as<CancelRequest> R>
  std::vector<Result<Answer>> cancel(std::vector<R> requests);
  template <std::same_as<CancelRequest> R>
  void cancel(std::vector<R> requests, AnswersCallback done);

  // FAILED to WAIT, with a fresh set of tries. Answers requeued, duplicate when the key is taken by
  // another order by now (it stays FAILED), not_found, or refused with the state.
  Result<Answer> retry(RetryRequest request);
  void retry(RetryRequest request, Callback<Answer> done);

  // ---- Orders that have a life elsewhere ----

  // Takes an order over as it stands, see ImportRequest. Answers scheduled, with the state that it has now; or
  // duplicate with the blocker. Errors: also too_large. Many at once as with schedule().
  Result<Answer> import_orders(ImportRequest request);
  void import_orders(ImportRequest request, Callback<Answer> done);
  template <std::same_as<ImportRequest> R>
  std::vector<Result<Answer>> import_orders(std::vector<R> requests);
  template <std::same_as<ImportRequest> R>
  void import_orders(std::vector<R> requests, AnswersCallback done);

  // Makes an order what a row of the truth says, see ReconcileRequest. Answers scheduled, rescheduled, unchanged,
  // newer, refused with the state, or duplicate with the blocker. Errors: also too_large. Each row is looked up first,
  // on the calling thread and as a read: only where that finds something to change is there a change, which looks
  // again. So rows that change nothing write nothing and wait for no disk; when all of a call are such, a callback runs
  // before the call returns. Many at once as with schedule(). A whole reconcile: duelease/reconcile.h.
  Result<Answer> reconcile(ReconcileRequest request);
  void reconcile(ReconcileRequest request, Callback<Answer> done);
  template <std::same_as<ReconcileRequest> R>
  std::vector<Result<Answer>> reconcile(std::vector<R> requests);
  template <std::same_as<ReconcileRequest> R>
  void reconcile(std::vector<R> requests, AnswersCallback done);

  // ---- Workers ----

  // Hands out due orders, most urgent first, then earliest due, then by id. Empty when none was due and
  // the wait is over. Queues need not exist yet.
  Result<std::vector<Claimed>> claim(ClaimRequest request);
  ClaimTicket claim(ClaimRequest request, Callback<std::vector<Claimed>> done);
  // A claim that still waits is answered empty at once; one that was answered already is left alone.
  void cancel_claim(ClaimTicket ticket);

  // Claim and complete in one step: the orders are SUCCESS when they are answered, so a caller that dies
  // loses them (at most once). Empty when none is due.
  Result<std::vector<Claimed>> pop(PopRequest request);
  void pop(PopRequest request, Callback<std::vector<Claimed>> done);

  // Answers completed, already, or stale. Errors: also too_large.
  Result<Answer> complete(CompleteRequest request);
  void complete(CompleteRequest request, Callback<Answer> done);
  template <std::same_as<CompleteRequest> R>
  std::vector<Result<Answer>> complete(std::vector<R> requests);
  template <std::same_as<CompleteRequest> R>
  void complete(std::vector<R> requests, AnswersCallback done);

  // Answers requeued (at the retry time), failed (no tries left, or final), aborted, or stale.
  Result<Answer> fail(FailRequest request);
  void fail(FailRequest request, Callback<Answer> done);

  // Gives the order back; the try is not counted. Answers requeued, aborted, or stale.
  Result<Answer> release(ReleaseRequest request);
  void release(ReleaseRequest request, Callback<Answer> done);

  // Answers extended with the end of the lease, or stale. Never shortens.
  Result<Answer> extend(ExtendRequest request);
  void extend(ExtendRequest request, Callback<Answer> done);

  // ---- Runs ----
  // Each answers the state of the run as it is now. Errors: also not_found (no such run), not_alive (it has
  // ended), busy (RunDoneRequest without force). Repeating any of them is safe.

  Result<RunState> run_open(RunOpenRequest request);
  void run_open(RunOpenRequest request, Callback<RunState> done);
  Result<RunState> run_start(RunStartRequest request);
  void run_start(RunStartRequest request, Callback<RunState> done);
  Result<RunState> run_beat(RunBeatRequest request);
  void run_beat(RunBeatRequest request, Callback<RunState> done);
  Result<RunState> run_done(RunDoneRequest request);
  void run_done(RunDoneRequest request, Callback<RunState> done);
  Result<RunState> run_error(RunErrorRequest request);
  void run_error(RunErrorRequest request, Callback<RunState> done);

  // ---- Upkeep ----

  // Puts orders whose lease has run out back into the queue; answers how many. With Options::timer
  // this happens by itself. Errors: also not_found (the queue).
  Result<std::uint64_t> reap(ReapRequest request);
  void reap(ReapRequest request, Callback<std::uint64_t> done);

  // Answers how many were removed. Each call goes on where the last one for that queue and state ended.
  // It looks for them on the calling thread, a thousand at a time, and blocks for the removal of each thousand;
  // an error after some of them leaves those removed. One purge runs at a time. Errors: also not_found (the
  // queue), corrupt.
  Result<std::uint64_t> purge(PurgeRequest request);

  // Creates the queue if need be, unless the request says not to. Answers the settings as they are now.
  Result<QueueSettings> set_queue(QueueSetRequest request);
  void set_queue(QueueSetRequest request, Callback<QueueSettings> done);
  // These create none: not_found.
  Result<QueueSettings> pause(std::string queue);
  Result<QueueSettings> resume(std::string queue);

  // ---- Reads ----
  // They run on the calling thread on one consistent view of the store, hold up no change, and see every
  // change that was acknowledged before the call; they may also see one that is not durable yet. They go on
  // after Code::storage. Errors: invalid, not_found (see "Queues"), corrupt, storage.

  Result<std::optional<Order>> order(std::string_view queue, std::string_view id) const;
  Result<Page> list(const ListRequest& request) const;
  // One line that says why the order is not being processed now, for a person.
  Result<std::string> why(std::string_view queue, std::string_view id) const;
  // What happened to an order, oldest first; the newest `limit` of it, 1-10000. It is kept while the queue has
  // QueueSettings::keep_history, for so long, and goes with the order when that is purged. Where none is kept, how
  // earlier generations of the id ended (HistoryEvent::ended). Empty: nothing is known.
  Result<std::vector<HistoryEntry>> history(std::string_view queue, std::string_view id,
                                            std::uint32_t limit = 1000) const;
  Result<std::vector<std::string>> queues() const;
  Result<Stats> stats(std::string_view queue) const;
  Result<QueueSettings> queue_settings(std::string_view queue) const;
  Result<Run> run(std::string_view queue, std::string_view run) const;  // not_found also for the run.
  Result<std::vector<std::string>> runs(std::string_view queue) const;  // Names, sorted.
  // Counts violations of each invariant; of one queue, or of the whole store when empty. Reads all of it. What
  // cannot be read is a violation of "every_record_decodes", and no error. Once `stop` is requested it answers
  // Code::closing within some rows.
  Result<CheckReport> check(std::string_view queue = {}, std::stop_token stop = {}) const;
  // Damage that was met since the open, and mended or passed over: what it was, and how often.
  std::vector<Violation> mended() const;
  // The last sequence used: no token is above it.
  Result<std::uint64_t> last_sequence() const;
  // That, and the time: where a reconcile begins.
  Result<ReadMark> read_mark() const;

  Result<std::optional<std::string>> app_get(std::string_view key) const;
  // Entries with keys from `from` on, below `to` (empty: no end), at most `limit`.
  Result<std::vector<AppEntry>> app_list(std::string_view from, std::string_view to, std::size_t limit) const;

  // ---- Backup ----

  // Writes a copy of the store, as of now, into `folder`, which must not exist. Hard links where the
  // file system allows it. Nothing is held up for longer than a flush. It is made as `folder`.unfinished,
  // and gets its name when it is whole; what lies there from before is removed. Errors: invalid (`folder`
  // exists), storage, corrupt.
  Result<> backup(const std::filesystem::path& folder) const;

  // For the library itself.
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// Makes the store `target` from a backup; `target` must not exist. Tokens go on rising: each restore of a
// backup folder starts 2^44 above every token that the backup, and every earlier restore of that same
// folder, can have given out, which takes a counter in the backup folder (so it must be writable).
// `tokens_above`: also start above this one, for when you know a token that was seen outside.
//
// The copy is made as `target`.restoring, and gets its name when it is whole and on disk; what lies there from
// before is removed. A restore that failed may be tried again. Errors: not_found (`backup` is no backup),
// invalid (`target` exists, or tokens would come to 2^63), newer_format, corrupt, storage.
Result<> restore(const std::filesystem::path& backup, const std::filesystem::path& target,
                 Token tokens_above = Token{0});

}  // namespace duelease
