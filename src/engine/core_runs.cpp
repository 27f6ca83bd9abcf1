// Runs: their own transitions, and what becomes of the orders of a run that has ended.
//
// An ended run has its waiting orders swept to ABORTED a bounded part at a time. Those that the sweep has
// not reached yet are *orphans*: whoever meets one (locate(), take_due_of()) aborts it on the spot. So from the
// moment that the end is written none of them is handed out and none blocks, however many there are.
#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "engine/core.h"
#include "model/transitions.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

namespace {

std::string called(std::string_view queue, std::string_view run) {
  return "run " + std::string(run) + " of queue " + std::string(queue);
}

Unexpected no_run(std::string_view queue, std::string_view run) {
  return fail(Code::not_found, "no " + called(queue, run));
}

Unexpected has_ended(const HeldRun& run) {
  return fail(Code::not_alive,
              called(run.queue, run.run) + " has ended: " + std::string(run_state_name(run.record.state)));
}

}  // namespace

// ---- Finding and keeping ------------------------------------------------------------------------

// Nothing: there is no such run. The pointer is good until the group is committed: then those that are not
// active leave the memory.
Result<HeldRun*> Core::find_run(std::string_view queue, std::string_view run) {
  const std::string key = store::order_key(queue, run);
  const auto found = runs_.find(key);
  if (found != runs_.end()) return &found->second;
  const Result<std::optional<std::string>> bytes = group_.get(Family::runs, store::run_key(queue, run));
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return nullptr;
  Result<model::RunRecord> record = store::decode_run(**bytes);
  if (!record) {
    note_damage("undecodable run", queue, run);
    return fail(Code::corrupt, called(queue, run) + ": " + record.error().message);
  }
  HeldRun& held = runs_[key];
  held.queue = queue;
  held.run = run;
  held.record = std::move(*record);
  runs_visited_.push_back(key);
  return &held;
}

// The one that a request names, and that must be alive.
Result<HeldRun*> Core::live_run(std::string_view queue, std::string_view run) {
  Result<HeldRun*> found = find_run(queue, run);
  if (!found) return found;
  if (*found == nullptr) return no_run(queue, run);
  if (!(*found)->is_alive()) return has_ended(**found);
  return found;
}

void Core::run_changed(HeldRun& run) {
  if (run.is_changed) return;
  run.is_changed = true;
  runs_changed_.push_back(store::order_key(run.queue, run.run));
}

void Core::write_runs() {
  for (const std::string& key : std::exchange(runs_changed_, {})) {
    HeldRun& run = runs_.at(key);
    run.is_changed = false;
    group_.put(Family::runs, store::run_key(run.queue, run.run), store::encode_run(run.record));
    const bool listed = run.is_active();
    if (!listed) runs_visited_.push_back(key);  // Also one that began and ended in this group.
    if (listed == run.is_listed) continue;
    run.is_listed = listed;
    std::string row = store::active_run_key(run.queue, run.run);
    if (listed) {
      group_.put(Family::runs, std::move(row), "");
    } else {
      group_.erase(Family::runs, std::move(row));
    }
  }
  for (const std::string& key : std::exchange(runs_visited_, {})) {
    const auto found = runs_.find(key);
    if (found != runs_.end() && !found->second.is_listed) runs_.erase(found);
  }
}

void Core::set_run_deadline(HeldRun& run, std::optional<Monotonic> deadline) {
  const std::string key = store::order_key(run.queue, run.run);
  if (run.deadline) run_ends_.erase({*run.deadline, key});
  run.deadline = deadline;
  if (deadline) run_ends_.emplace(*deadline, key);
}

Result<> Core::load_runs(Now now) {
  for (const auto& [name, queue] : queues_) {
    const std::string prefix = store::active_run_prefix(name);
    const std::unique_ptr<store::Cursor> cursor =
        store_.scan(Family::runs, prefix, store::prefix_end(prefix));
    for (; cursor->valid(); cursor->next()) {
      const std::string run_name(cursor->key().substr(prefix.size()));
      const Result<HeldRun*> run = find_run(name, run_name);
      if (!run && run.error().code != Code::corrupt) return Unexpected{run.error()};
      if (!run || *run == nullptr) {
        if (run) note_damage("active run that is not there", name, run_name);
        continue;
      }
      (*run)->is_listed = true;
      take_up_run(**run, now);
    }
    if (Result<> read = cursor->status(); !read) return read;
  }
  return {};
}

// As with leases: the time it had left, at least the grace, at most the full length.
void Core::take_up_run(HeldRun& run, Now now) {
  if (!run.is_alive()) {
    if (run.record.counts.wait > 0) begin_sweep(run);
  } else if (run.record.ttl) {
    const Duration left =
        std::min(std::max(run.record.expires_at - now.wall, options_.restart_grace), *run.record.ttl);
    set_run_deadline(run, now.monotonic + left);
  }
}

// ---- Commands -----------------------------------------------------------------------------------

Core::Answered Core::on(const RunOpenRequest& request, const Command& command) {
  const Result<QueueState*> queue = find_or_add_queue(request.queue);
  if (!queue) return Unexpected{queue.error()};
  const Result<HeldRun*> found = find_run(request.queue, request.run);
  if (!found) return Unexpected{found.error()};
  if (*found != nullptr) {
    HeldRun& run = **found;
    if (!run.is_alive()) return has_ended(run);
    if (request.ttl) {
      run.record.ttl = request.ttl;
      beat(run, command.now);
    }
    return Reply{run.record.state};
  }
  if (runs_.size() >= limits::runs_active_max) {
    return fail(Code::overloaded, std::to_string(runs_.size()) + " runs are active, which is the limit");
  }
  HeldRun& run = runs_[store::order_key(request.queue, request.run)];
  run.queue = request.queue;
  run.run = request.run;
  run.record = model::open_run(request.ttl, command.now.wall);
  next_sequence();
  moved(**queue, std::nullopt, std::nullopt);  // Its counts are what says that a queue is there.
  beat(run, command.now);
  return Reply{run.record.state};
}

Core::Answered Core::on(const RunStartRequest& request, const Command& command) {
  const Result<HeldRun*> run = live_run(request.queue, request.run);
  if (!run) return Unexpected{run.error()};
  if ((*run)->record.state != RunState::running) {
    model::start_run((*run)->record, command.now.wall);
    next_sequence();
    run_changed(**run);
  }
  return Reply{(*run)->record.state};
}

void Core::beat(HeldRun& run, Now now) {
  model::beat_run(run.record, now.wall);
  run_changed(run);
  if (run.record.ttl) set_run_deadline(run, now.monotonic + *run.record.ttl);
}

Core::Answered Core::on(const RunBeatRequest& request, const Command& command) {
  const Result<HeldRun*> run = live_run(request.queue, request.run);
  if (!run) return Unexpected{run.error()};
  beat(**run, command.now);
  return Reply{(*run)->record.state};
}

Core::Answered Core::on(const RunDoneRequest& request, const Command& command) {
  const Result<HeldRun*> found = find_run(request.queue, request.run);
  if (!found) return Unexpected{found.error()};
  if (*found == nullptr) return no_run(request.queue, request.run);
  HeldRun& run = **found;
  if (run.record.state == RunState::done) return Reply{RunState::done};
  if (!run.is_alive()) return has_ended(run);
  const Counts& counts = run.record.counts;
  if (!request.force && (counts.wait > 0 || counts.processing > 0)) {
    return fail(Code::busy, called(run.queue, run.run) + " still has " + std::to_string(counts.wait) +
                                " orders in WAIT and " + std::to_string(counts.processing) +
                                " in PROCESSING");
  }
  end_run(run, RunState::done, "", command.now);
  return Reply{RunState::done};
}

Core::Answered Core::on(const RunErrorRequest& request, const Command& command) {
  const Result<HeldRun*> found = find_run(request.queue, request.run);
  if (!found) return Unexpected{found.error()};
  if (*found == nullptr) return no_run(request.queue, request.run);
  if ((*found)->record.state == RunState::error) return Reply{RunState::error};
  if (!(*found)->is_alive()) return has_ended(**found);
  end_run(**found, RunState::error, request.reason, command.now);
  return Reply{RunState::error};
}

void Core::end_run(HeldRun& run, RunState state, std::string_view reason, Now now) {
  model::end_run(run.record, state, reason, now.wall);
  next_sequence();
  run_changed(run);
  set_run_deadline(run, std::nullopt);
  if (run.record.counts.wait > 0) begin_sweep(run);
}

// ---- Orders of a run ----------------------------------------------------------------------------

// A run that cannot be read is left out of it; check() tells.
void Core::count_in_run(const QueueState& queue, const std::optional<std::string>& run,
                        std::optional<State> from, std::optional<State> to) {
  if (!run) return;
  const Result<HeldRun*> found = find_run(queue.name, *run);
  if (!found || *found == nullptr) {
    note_damage("order of a run that is not there", queue.name, *run);
    return;
  }
  model::count_order((*found)->record, from, to);
  run_changed(**found);
  if ((*found)->record.counts.wait == 0) end_sweep(**found);
}

// Runs with live orders are all in memory: a look for each of the queue's, which is fine for damage.
Result<HeldRun*> Core::run_that_lists(const QueueState& queue, std::string_view id) {
  const std::string prefix = store::queue_prefix(queue.name);
  for (auto next = runs_.lower_bound(prefix); next != runs_.end() && next->first.starts_with(prefix);
       ++next) {
    const Result<std::optional<std::string>> listed =
        group_.get(Family::runs, store::run_order_key(queue.name, next->second.run, id));
    if (!listed) return Unexpected{listed.error()};
    if (*listed) return &next->second;
  }
  return nullptr;
}

// A WAIT order whose run has ended. One whose run cannot be found is somebody's order, and left alone.
bool Core::is_orphan(const QueueState& queue, const model::Record& record) {
  if (!record.run) return false;
  const Result<HeldRun*> run = find_run(queue.name, *record.run);
  return run && *run != nullptr && !(*run)->is_alive();
}

// For an order that comes back from its lease: under a dead run it must not wait again.
void Core::abort_if_orphan(const QueueState& queue, model::Record& record, Time now) {
  if (record.state != State::wait || !is_orphan(queue, record)) return;
  model::abort(record, now);
  if (record.error.empty()) record.error = "run " + *record.run + " has ended";
}

// An order that waited, and has ended now.
void Core::leave_queue(QueueState& queue, std::string_view id, const store::Place& place,
                       model::Record& record, HistoryEvent event) {
  record.sequence = next_sequence();
  dequeue(queue, id, place);
  end(queue, id, record, event);
  moved(queue, State::wait, record.state);
  count_in_run(queue, record.run, State::wait, record.state);
}

void Core::abort_orphan(QueueState& queue, std::string_view id, const store::Place& place,
                        model::Record& record, Time now) {
  model::abort(record, now);
  record.error = "run " + *record.run + " has ended";
  leave_queue(queue, id, place, record, HistoryEvent::orphaned);
}

// ---- Upkeep -------------------------------------------------------------------------------------

void Core::begin_sweep(HeldRun& run) {
  run.sweep_from = store::run_orders_prefix(run.queue, run.run);
  runs_swept_.insert(store::order_key(run.queue, run.run));
}

// At once when no order waits any more, whoever aborted the last: which run is swept next must not hang on
// where a commit group ends.
void Core::end_sweep(HeldRun& run) {
  if (!run.sweep_from) return;
  run.sweep_from.reset();
  runs_swept_.erase(store::order_key(run.queue, run.run));
}

void Core::look_after_runs(Now now) {
  while (options_.upkeep && !run_ends_.empty() && run_ends_.begin()->first <= now.monotonic) {
    HeldRun& run = runs_.at(run_ends_.begin()->second);
    const std::string reason = "no heartbeat within " + std::to_string(run.record.ttl->count()) + " ms";
    log(LogLevel::warning, called(run.queue, run.run) + ": " + reason);
    end_run(run, RunState::error, reason, now);
  }
  for (std::size_t left = limits::orphan_pass_max; left > 0 && !runs_swept_.empty();) {
    left -= sweep_run(runs_.at(*runs_swept_.begin()), left, now);
  }
}

// Looks at no more than `limit` of its live orders, and answers at how many. At fewer only when it is through.
std::size_t Core::sweep_run(HeldRun& run, std::size_t limit, Now now) {
  QueueState& queue = *find_queue(run.queue);
  const std::string prefix = store::run_orders_prefix(run.queue, run.run);
  std::vector<std::string> ids;
  {
    // The open group is looked through too: orders may have joined in it.
    const std::unique_ptr<store::Cursor> cursor =
        group_.scan(Family::runs, *run.sweep_from, store::prefix_end(prefix));
    for (; cursor->valid() && ids.size() < limit; cursor->next()) {
      ids.emplace_back(cursor->key().substr(prefix.size()));
    }
    if (cursor->valid()) {
      run.sweep_from = std::string(cursor->key());
    } else {
      if (Result<> read = cursor->status(); !read) {  // The next open begins again.
        log(LogLevel::error, "sweeping " + called(run.queue, run.run) + ": " + read.error().message);
      }
      end_sweep(run);
    }
  }
  for (const std::string& id : ids) {
    // locate() aborts it if it waits, and notes what does not decode.
    if (const Result<Located> located = locate(queue, id, now.wall); !located) continue;
  }
  return ids.size();
}

}  // namespace duelease::engine
