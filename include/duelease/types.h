// duelease/types.h: the nouns. Read this file first.
//
// An *order* is one piece of work, named by (queue, id). It waits in its queue until its *due time*,
// is then *claimed* by one worker under a *lease*, and ends as SUCCESS, FAILED or ABORTED:
//
//     schedule            claim                 complete
//        |      +------+ --------> +------------+ --------> +---------+
//        +----> | WAIT |           | PROCESSING |           | SUCCESS |
//               +------+ <-------- +------------+ ----+     +---------+
//                  |      fail, release,  |           |
//           cancel |      lease ran out   | cancel    | fail with no tries left
//                  v                      v (force)   v
//             +---------+            +---------+   +--------+
//             | ABORTED |            | ABORTED |   | FAILED | --retry--> WAIT
//             +---------+            +---------+   +--------+
//
// FAILED means that this try at scheduling is over and the id may be scheduled again. ABORTED means
// void. Both leave the id and the key free; WAIT, PROCESSING and SUCCESS block them.
//
// Everything here is a plain value: copy it, move it, share it between threads as you would a string.
// Ids, keys, payloads and results are bytes, never interpreted. Times are UTC milliseconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duelease {

// Milliseconds since the Unix epoch, UTC. Accepted from year 1 to the end of year 9999.
using Time = std::chrono::sys_time<std::chrono::milliseconds>;
using Duration = std::chrono::milliseconds;

// The fencing token of a lease: it only ever rises within a store, over restarts and restores too,
// and is never used again. Hand it on to whatever the worker changes outside, so that the outside can
// refuse a worker whose lease is long gone. Values stay below 2^63. After a crash they go on 2^32 higher: the
// end of the log may be lost, but a token of it may have been seen.
enum class Token : std::uint64_t {};

// The numbers are stored: never change one.
enum class State : std::uint8_t { wait = 1, processing = 2, success = 3, failed = 4, aborted = 5 };

inline constexpr State all_states[] = {State::wait, State::processing, State::success, State::failed,
                                       State::aborted};

// "WAIT", "PROCESSING", "SUCCESS", "FAILED", "ABORTED"; "UNKNOWN" for a state of a newer version.
std::string_view state_name(State state);
std::optional<State> state_named(std::string_view name);  // In any case.

// ---- What is asked ------------------------------------------------------------------------------

// One put (value given) or delete (no value) in the application's own column family. It is written in
// the same batch as the transition it is given with, and only when that transition takes effect: not on
// DUPLICATE, STALE or ALREADY. Read it back with Engine::app_get.
//
// One request has at most 1000 of them, with keys and values of 4 MiB together.
struct AppWrite {
  std::string key{};  // 1-4096 bytes.
  std::optional<std::string> value{};
};

struct ScheduleRequest {
  std::string queue{};  // 1-128 of A-Z a-z 0-9 . _ : -
  std::string id{};     // 1-255 bytes.
  Time due{};
  std::optional<std::string> payload{};  // At most QueueSettings::payload_bytes_max. Absent: empty, or for an
                                         // upsert: as it was.
  std::optional<std::string> key{};      // Dedup key, 1-255 bytes.
  std::optional<std::string> run{};      // Parent run, 1-128 bytes; it must be alive.
  std::optional<std::uint8_t> priority{};  // 0 is the most urgent. Absent: 128, or for an upsert: as it was.
  std::optional<std::uint32_t> tries{};  // 1-1000000; 0: unlimited. Absent: the queue's, or for an upsert: as
                                         // it was.
  // If the id is WAIT already: move it to `due` instead of answering DUPLICATE. Its key stays: another one is
  // invalid.
  bool upsert = false;
  std::vector<AppWrite> app_writes{};
};

struct ClaimRequest {
  std::vector<std::string> queues{};  // 1-64; the first named is served first.
  std::string worker{};               // 1-128 bytes; who will report.
  std::uint32_t count = 1;            // 1-10000; fewer are answered when fewer are due.
  // 1 ms - 30 days. Absent: the queue's. Counted in the whole milliseconds of the clock, so that by a finer clock it may
  // end up to one of them early.
  std::optional<Duration> lease{};
  Duration wait{0};       // 0 - 30 days: how long to wait for an order when none is due.
  std::string request{};  // 0-128 bytes. Repeating a claim with the same worker and request answers the same
                          // orders and tokens for as long as the worker still holds any of them.
};

// Claim and complete in one step: at most once, for callers who prefer a lost order to a repeated one.
struct PopRequest {
  std::string queue{};
  std::uint32_t count = 1;  // 1-10000.
};

struct CompleteRequest {
  std::string queue{};
  std::string id{};
  Token token{};
  std::optional<std::string> result{};  // Kept with the order. At most 1 MiB.
  std::vector<AppWrite> app_writes{};
};

struct FailRequest {
  std::string queue{};
  std::string id{};
  Token token{};
  std::string error{};             // Kept with the order; cut to 4096 bytes.
  std::optional<Time> retry_at{};  // Absent: by the queue's backoff.
  bool final = false;              // No more tries, whatever is left of them.
};

struct ReleaseRequest {
  std::string queue{};
  std::string id{};
  Token token{};
  std::optional<Time> due{};  // Absent: as it was.
};

struct ExtendRequest {
  std::string queue{};
  std::string id{};
  Token token{};
  Duration lease{};  // 1 ms - 30 days. The deadline becomes the later of the old one and now + lease.
};

struct RescheduleRequest {
  std::string queue{};
  std::string id{};
  Time due{};
};

struct CancelRequest {
  std::string queue{};
  std::string id{};
  bool force = false;  // Also when it is PROCESSING; its token is void at once. Not with `since`.
  // Only a WAIT order whose last change is not above this sequence; it is marked as vanished, see
  // ReconcileRequest.
  std::optional<std::uint64_t> since{};
};

struct RetryRequest {
  std::string queue{};
  std::string id{};
  std::optional<Time> due{};  // Absent: now.
};

struct ReapRequest {
  std::string queue{};
  std::uint32_t limit = 1000;  // 1-10000.
};

// A run is the parent of orders: one execution of a batch or of a manual trigger.
//
//     open           start           done
//      +--> CREATING -----> RUNNING ------> DONE        CREATING and RUNNING are alive: orders may join,
//              |               |                        wait and be retried. DONE and ERROR have ended:
//              +---------------+----------> ERROR       none of their orders waits any more.
//                     error, or no heartbeat within its time to live
//
// DONE is refused (Code::busy) while orders of the run wait or are PROCESSING. ERROR aborts those that wait,
// and so does a forced DONE: from its acknowledgement on none of them can be claimed and none blocks,
// though it may take a while until all of them read ABORTED. Those that are PROCESSING keep their leases
// and may still succeed; else they are ABORTED.
//
// The numbers are stored: never change one.
enum class RunState : std::uint8_t { creating = 1, running = 2, done = 3, error = 4 };

// "CREATING", "RUNNING", "DONE", "ERROR"; "UNKNOWN" for a state of a newer version.
std::string_view run_state_name(RunState state);

// A run that is there already is left as it is, but for its time to live where one is given.
struct RunOpenRequest {
  std::string queue{};
  std::string run{};              // 1-128 bytes.
  std::optional<Duration> ttl{};  // 1 ms - 30 days. Absent: it lives until it is ended.
};

struct RunStartRequest {
  std::string queue{};
  std::string run{};
};

// The heartbeat: the time to live begins again.
struct RunBeatRequest {
  std::string queue{};
  std::string run{};
};

struct RunDoneRequest {
  std::string queue{};
  std::string run{};
  bool force = false;  // Also while orders wait (they are ABORTED) or are PROCESSING.
};

struct RunErrorRequest {
  std::string queue{};
  std::string run{};
  std::string reason{};  // Kept with the run; cut to 4096 bytes.
};

// Removes orders that ended at least `older` ago, so that their ids and keys can be used again.
struct PurgeRequest {
  std::string queue{};
  State state = State::failed;  // success, failed or aborted.
  Duration older{0};            // 0 - 36500 days.
  std::uint32_t limit = 10000;  // 1-100000 removed in one call; call again until it answers 0.
};

// An order as it stands elsewhere, with its state: what is moved here from another system. It never replaces: an id
// that is in the queue, in any state, is a duplicate. So an import that broke off can be run again.
struct ImportRequest {
  std::string queue{};
  std::string id{};
  Time due{};  // Also of one that has ended: kept as it is given.
  std::optional<std::string> payload{};
  std::optional<std::string> key{};
  std::optional<std::uint8_t> priority{};
  std::optional<std::uint32_t> tries{};  // These four as in ScheduleRequest.
  State state = State::wait;             // wait, success, failed or aborted.
  // Neither is in the future. Absent: now, or for `created_at` of one that has ended: when it ended. Retention and
  // purges count from `ended_at`; a WAIT order has none.
  std::optional<Time> created_at{};
  std::optional<Time> ended_at{};
  std::string error{};  // Kept with the order; cut to 4096 bytes.
  // A key that another order owns is no duplicate: the order is taken beside it. It shows its key but does not own it
  // (Order::grandfathered): only what comes later is held to the rule, and only by the owner. A retry takes the key
  // properly, or is refused.
  bool grandfather = false;
};

// Where a reconcile begins, see ReconcileRequest. To be taken before the source is read.
struct ReadMark {
  std::uint64_t since = 0;  // The last sequence used.
  Time read_at{};           // By the wall clock of the store.
};

// One row of the truth about a queue: this order is to wait, due then. What has changed since the source was read is
// left alone: the row may be older than the change. See duelease/reconcile.h for a whole one.
//
//   the order is                                         answer
//   missing, or WAIT under a run that has ended          scheduled, or duplicate when its key blocks
//   ABORTED because a reconcile found it vanished        the same; newer when that was after `since`
//   WAIT with this due time, or for another try of it     unchanged
//   WAIT, changed after `since`                          newer
//   WAIT with another due time                           rescheduled: that alone changes
//   PROCESSING, SUCCESS, FAILED, ABORTED                 refused
//
// A missing one may have been completed after the source was read, and purged by its retention. Where that cannot be
// told any more (QueueSettings::keep_success is not longer than the time since `read_at`) the row is refused as
// invalid: read the source again. A purge by hand cannot be told: do none of successes while a reconcile goes on.
struct ReconcileRequest {
  std::string queue{};
  std::string id{};
  Time due{};
  std::optional<std::string> payload{};  // These four as in ScheduleRequest, for an order that is scheduled.
  std::optional<std::string> key{};
  std::optional<std::uint8_t> priority{};
  std::optional<std::uint32_t> tries{};
  std::uint64_t since = 0;  // These two as they were before the source was read: a ReadMark.
  Time read_at{};
  bool dry_run = false;  // Answers what it would, and changes nothing.
};

// ---- What is answered ---------------------------------------------------------------------------

// The expected outcomes of a change to one order. None of them is an error. Each method of Engine says
// which it can answer.
enum class Outcome : std::uint8_t {
  scheduled,  // WAIT now; it was not there, FAILED or ABORTED before. An import: `state` now; it was not there.
  rescheduled,  // WAIT at the new due time.
  duplicate,    // Nothing changed: `state` and `blocker` say which order blocks.
  completed,    // SUCCESS now.
  already,      // Nothing changed: this very token completed it before.
  stale,        // Nothing changed: the token is not the current one.
  requeued,     // WAIT again, due `at`.
  failed,       // FAILED now.
  aborted,      // ABORTED (now, or for a cancel: already).
  extended,     // Still PROCESSING; the lease ends `at`.
  refused,      // Nothing changed: `state` forbids it.
  unchanged,    // Nothing changed: WAIT, due `at` already.
  newer,        // Nothing changed: the last change of the order is above `since`.
  not_found,    // Nothing changed: no such order.
};

// "SCHEDULED", "RESCHEDULED", ...; requeued is "WAIT".
std::string_view outcome_name(Outcome outcome);

struct Answer {
  Outcome outcome = Outcome::not_found;
  State state =
      State::wait;        // duplicate: of the blocker. refused, newer: of the order. A change: the new state.
  std::string blocker{};  // duplicate: id of the order that blocks.
  Time at{};              // requeued, scheduled, rescheduled, unchanged: due. extended: end of the lease.
};

// One order handed out.
struct Claimed {
  std::string queue{};
  std::string id{};
  Token token{};
  std::uint32_t attempt = 0;  // How many times it has been handed out, from 1.
  Time lease_expires_at{};    // By the wall clock of now; the engine itself counts monotonic time.
  Time due{};
  std::string payload{};
  std::optional<std::string> key{};
  std::optional<std::string> run{};
  // How long the lease lasts from this answer on; to count down on a clock of one's own. Less than a whole lease
  // when the claim was repeated, or went over a network; 0: nothing is left, or a client could not learn it.
  Duration lease{};
  // Of the whole lease, as the claim or the queue set it: what to extend it by. 0: a client could not learn it.
  Duration lease_length{};
};

// One order as it stands.
struct Order {
  std::string queue{};
  std::string id{};
  State state = State::wait;
  Time due{};
  std::uint8_t priority = 0;
  std::uint32_t tries = 0;       // Limit; 0: unlimited.
  std::uint32_t attempt = 0;     // Times handed out.
  std::uint32_t tries_used = 0;  // Hand-outs that count against `tries`: released ones do not, and a
                                 // retry starts again at 0.
  std::uint32_t failures = 0;    // Reported failures; lost leases are not among them.
  std::optional<std::string> key{};
  std::optional<std::string> run{};
  Token token{};                           // Of the last hand-out; 0: never handed out.
  std::uint64_t sequence = 0;              // Of the last change.
  std::string worker{};                    // Of the last hand-out.
  std::optional<Time> lease_expires_at{};  // PROCESSING only. By the wall clock of now.
  Time created_at{};
  Time updated_at{};
  std::string error{};   // Of the last failure.
  std::string result{};  // SUCCESS only.
  std::string payload{};
  bool grandfathered = false;  // Does not own its key, see ImportRequest.
  bool vanished =
      false;  // ABORTED because it was not in the source of a reconcile, see CancelRequest::since.
};

// What happened to an order. The numbers are stored: never change one.
enum class HistoryEvent : std::uint8_t {
  unknown = 0,      // Of a newer version.
  scheduled = 1,    // To WAIT.
  rescheduled = 2,  // WAIT at another due time, also by an upsert.
  claimed = 3,      // To PROCESSING.
  popped = 4,       // To SUCCESS.
  completed = 5,    // To SUCCESS.
  failed = 6,       // A worker reported a failure: to WAIT or FAILED, or ABORTED as the run had ended.
  released = 7,     // A worker gave it back: to WAIT, or ABORTED as the run had ended.
  reaped = 8,       // The lease ran out: to WAIT or FAILED, or ABORTED as the run had ended.
  cancelled = 9,    // To ABORTED, from WAIT.
  revoked = 10,     // To ABORTED, from PROCESSING: a cancel by force.
  orphaned = 11,    // To ABORTED, from WAIT: its run had ended.
  retried = 12,     // To WAIT, from FAILED.
  lost = 13,        // To ABORTED: the store was damaged, and its record is gone.
  ended = 14,       // An earlier generation of the id ended so, while no history was kept.
  imported = 15,    // Taken over from elsewhere, in whatever state it had there.
  vanished = 16,    // To ABORTED, from WAIT: it was not in the source of a reconcile.
};

// "scheduled", "claimed", ...: in small letters, so that `failed` is not taken for the state FAILED.
std::string_view history_event_name(HistoryEvent event);
HistoryEvent history_event_named(std::string_view name);

// One transition of an order. An extend is none: the state stays.
struct HistoryEntry {
  HistoryEvent event = HistoryEvent::unknown;
  State state = State::wait;  // After it.
  Time at{};
  std::optional<Time> due{};  // WAIT only.
  std::string worker{};       // Of what happened to a lease: whose it was. Empty for a pop.
  Token token{};              // The same; 0: there was no lease.
  std::uint32_t attempt = 0;
  std::string reason{};        // Why it failed or became void; cut to 256 bytes.
  std::uint64_t sequence = 0;  // Of the change: entries stand in this order.

  bool operator==(const HistoryEntry&) const = default;
};

struct Counts {
  std::uint64_t wait = 0;
  std::uint64_t processing = 0;
  std::uint64_t success = 0;
  std::uint64_t failed = 0;
  std::uint64_t aborted = 0;

  bool operator==(const Counts&) const = default;
};

// One run as it stands.
struct Run {
  std::string queue{};
  std::string run{};
  RunState state = RunState::creating;
  std::optional<Duration> ttl{};
  std::optional<Time> expires_at{};  // While it is alive and has a time to live.
  Time opened_at{};
  std::optional<Time> started_at{};
  std::optional<Time> ended_at{};
  std::string reason{};  // Why it ended in ERROR.
  Counts counts{};       // Of all orders that ever joined, by where they stand or how they ended.
  Counts purged{};       // How many of those that ended are purged by now.
};

struct ListRequest {
  std::string queue{};
  std::optional<State> state{};
  std::uint32_t limit = 100;  // 1-10000.
  std::string after{};        // Cursor of the page before; empty: from the start.
};

struct Page {
  std::vector<std::string> ids{};  // In claim order for WAIT, else by id.
  std::string next{};              // Cursor for the next page; empty: this was the last.
};

struct Stats {
  Counts counts{};
  std::uint64_t due = 0;       // WAIT orders that can be claimed now.
  Duration oldest_overdue{0};  // How long the earliest of them has been due; 0: none is.
  std::uint64_t leases = 0;
};

// Settings of one queue. The defaults are those of a queue that nobody has set.
struct QueueSettings {
  Duration lease{30'000};    // 1 ms - 30 days.
  std::uint32_t tries = 25;  // 1-1000000; 0: unlimited.
  // A failure after the n-th try makes the order due again after base * 2^(n-1), at most the cap, give or
  // take the jitter. 0 - 365 days each; 0-100 percent.
  Duration backoff_base{1'000};
  Duration backoff_cap{3'600'000};
  std::uint32_t backoff_jitter_percent = 10;
  std::uint32_t payload_bytes_max = 1024 * 1024;  // 0 - 64 MiB.
  // SUCCESS is purged, and blocks no longer, after this. 0 - 36500 days. Absent: never.
  std::optional<Duration> keep_success{};
  // For how long the history of an order is kept, see Engine::history. It costs a write for each transition.
  // 0 - 36500 days. 0: none is kept.
  Duration keep_history{0};
  bool paused = false;  // Nothing is handed out; everything else goes on.

  bool operator==(const QueueSettings&) const = default;
};

// Changes to settings: what is absent stays as it is.
struct QueueSetRequest {
  std::string queue{};
  bool create = true;  // Off: a queue that does not exist answers not_found, as pause and resume do.
  std::optional<Duration> lease{};
  std::optional<std::uint32_t> tries{};
  std::optional<Duration> backoff_base{};
  std::optional<Duration> backoff_cap{};
  std::optional<std::uint32_t> backoff_jitter_percent{};
  std::optional<std::uint32_t> payload_bytes_max{};
  std::optional<std::optional<Duration>> keep_success{};  // Inner absent: for ever.
  std::optional<Duration> keep_history{};
  std::optional<bool> paused{};
};

// One line of a check: how often an invariant is broken. The right answer is always 0.
struct Violation {
  std::string invariant{};  // For instance "waiting_order_has_one_queue_entry".
  std::uint64_t count = 0;
  std::string example{};  // The first one found, in words; empty when count is 0.
};

struct CheckReport {
  std::vector<Violation> invariants{};  // All of them, also those with count 0, in a fixed order.
  std::uint64_t orders = 0;             // Orders looked at.

  std::uint64_t violations() const {
    std::uint64_t sum = 0;
    for (const Violation& v : invariants) sum += v.count;
    return sum;
  }
};

}  // namespace duelease
