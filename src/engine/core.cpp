#include "engine/core.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/limits.h"
#include "engine/reads.h"
#include "model/history.h"
#include "model/rules.h"
#include "model/transitions.h"
#include "model/validate.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

Core::Core(store::Store& store, CoreOptions options)
    : options_(std::move(options)),
      store_(store),
      closed_group_(store),
      group_(static_cast<const store::Reader&>(closed_group_)) {}

std::optional<Result<Reply>> Core::apply(Command command) {
  command.now = tame(command.now);
  // A claim uses one number for each order; nothing uses more.
  if (sequence_ > limits::sequence_max - 2 * limits::claim_count_max) {
    return fail(Code::storage, "the store has used up its sequence numbers");
  }
  return std::visit(
      [&](auto&& request) -> std::optional<Result<Reply>> {
        using Request = std::decay_t<decltype(request)>;
        if constexpr (!std::is_same_v<Request, PurgeBatch> && !std::is_same_v<Request, Barrier>) {
          if (Result<> valid = model::validate(request); !valid) return Unexpected{valid.error()};
        }
        return on(std::forward<decltype(request)>(request), command);
      },
      std::move(command.body));
}

Core::Answered Core::on(Barrier, const Command&) { return Reply{std::uint64_t{0}}; }

void Core::tick(Now now) {
  now = tame(now);
  DUELEASE_CHECK(closed_group_.empty() || !tick_walks_store(now));
  if (options_.upkeep) {
    reap(leases_.expired(now.monotonic, limits::reap_pass_max), now);
    sweep_all(now);
  }
  look_after_runs(now);
  for (auto queue = queues_.begin(); scrubs_ > 0 && queue != queues_.end(); ++queue) {
    if (queue->second.scrub_from) scrub(queue->second, now);
  }
  serve_all(now);
  end_waits(now);
}

bool Core::tick_walks_store(Now now) {
  look_at_touched();
  const Monotonic at = std::max(now.monotonic, last_monotonic_);
  const bool sweeps = options_.upkeep && !sweeps_.empty() && sweeps_.begin()->first <= at;
  return sweeps || scrubs_ > 0;
}

std::optional<Monotonic> Core::next_wake(Now now) {
  look_at_touched();
  std::optional<Monotonic> wake;
  const auto at = [&](Monotonic when) {
    if (!wake || when < *wake) wake = std::max(when, now.monotonic);
  };
  if (options_.upkeep && leases_.first_deadline()) at(*leases_.first_deadline());
  if (!wait_ends_.empty()) at(wait_ends_.begin()->first);
  if (!awaited_.empty()) at(now.monotonic + (awaited_.begin()->first - now.wall));
  if (scrubs_ > 0 || !runs_swept_.empty()) at(now.monotonic);
  if (options_.upkeep && !run_ends_.empty()) at(run_ends_.begin()->first);
  if (options_.upkeep && !sweeps_.empty()) at(sweeps_.begin()->first);
  return wake;
}

// Whatever changes what look_at_touched() looks at, calls this.
void Core::touch(QueueState& queue) {
  if (queue.touched) return;
  queue.touched = true;
  touched_.push_back(&queue);
}

void Core::look_at_touched() {
  const auto place = [](auto& times, auto& from, auto to, std::string_view name) {
    if (from == to) return;
    if (from) times.erase({*from, name});
    if (to) times.emplace(*to, name);
    from = to;
  };
  for (QueueState* queue : std::exchange(touched_, {})) {
    queue->touched = false;
    ++looks_;
    const bool awaited = waiting_for_.contains(queue->name) && !queue->settings().paused;
    place(awaited_, queue->awaited_at, awaited ? queue->earliest_due() : std::nullopt, queue->name);
    place(sweeps_, queue->sweep_at, queue->next_sweep(), queue->name);
  }
}

Result<> Core::commit() {
  const std::span<const store::Change> changes = begin_commit();
  Result<> written;
  if (!changes.empty()) written = store_.write(changes);
  end_commit();
  return written;
}

std::span<const store::Change> Core::begin_commit() {
  if (sequence_changed_) {
    group_.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(sequence_));
  }
  for (QueueState* queue : counts_changed_) {
    group_.put(Family::meta, store::counts_key(queue->name), store::encode_counts(queue->counts));
    queue->counts_changed = false;
  }
  counts_changed_.clear();
  write_runs();
  sequence_changed_ = false;
  closed_group_.take(group_);
  return closed_group_.changes();
}

void Core::end_commit() { closed_group_.clear(); }

QueueState* Core::find_queue(std::string_view name) {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second;
}

Result<QueueState*> Core::find_or_add_queue(std::string_view name) {
  if (QueueState* queue = find_queue(name)) return queue;
  if (queues_.size() >= limits::queues_max) {
    return fail(Code::invalid, "queue " + std::string(name) + " would be one more than the " +
                                   std::to_string(limits::queues_max) + " that a store may have");
  }
  QueueState& queue = queues_[std::string(name)];
  queue.name = name;
  return &queue;
}

// The one place that finds out where an order is, and so the one where a lost record is noticed.
Result<Core::Located> Core::locate(QueueState& queue, std::string_view id, Time now) {
  Located out;
  const std::string key = store::order_key(queue.name, id);
  if (HeldLease* held = leases_.find(key)) {
    out.where = Located::Where::processing;
    out.held = held;
    return out;
  }
  Result<std::optional<std::string>> bytes = group_.get(Family::orders, key);
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return out;
  Result<store::OrderRow> row = store::decode_order(**bytes);
  if (!row) {
    note_damage("undecodable order", queue.name, id);
    return fail(Code::corrupt,
                "order " + std::string(id) + " of queue " + queue.name + ": " + row.error().message);
  }
  if (auto* ended = std::get_if<model::Record>(&*row)) {
    out.where = Located::Where::ended;
    out.record = std::move(*ended);
    keep_above(out.record);
    return out;
  }
  out.place = std::get<store::Place>(*row);
  bytes = group_.get(Family::queue, store::queue_key(queue.name, out.place, id));
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return give_up_lost_order(queue, id, out.place, now);
  Result<model::Record> record = store::decode_waiting(**bytes);
  if (!record) {
    note_damage("undecodable queue entry", queue.name, id);
    return fail(Code::corrupt,
                "order " + std::string(id) + " of queue " + queue.name + ": " + record.error().message);
  }
  out.record = std::move(*record);
  keep_above(out.record);
  if (is_orphan(queue, out.record)) {
    abort_orphan(queue, id, out.place, out.record, now);
    out.where = Located::Where::ended;
    out.was_orphan = true;
  } else {
    out.where = Located::Where::waiting;
  }
  return out;
}

// The orders row says that the order is alive, but its record is in neither family. It is void, and its id free to be
// scheduled again.
Result<Core::Located> Core::give_up_lost_order(QueueState& queue, std::string_view id,
                                               const store::Place& place, Time now) {
  const Result<HeldRun*> run = run_that_lists(queue, id);
  if (!run) return Unexpected{run.error()};
  const Result<std::uint32_t> generations = count_generations(group_, queue.name, id);
  if (!generations) return Unexpected{generations.error()};
  note_damage("order without its record", queue.name, id);
  Located out;
  out.where = Located::Where::ended;
  model::Record& record = out.record;
  record = model::give_up_lost(place.due, place.priority, 1 + *generations,
                               *run == nullptr ? std::nullopt : std::optional((*run)->run), now);
  record.sequence = next_sequence();
  group_.erase(Family::leases, store::order_key(queue.name, id));  // One that does not decode may lie there.
  end(queue, id, record, HistoryEvent::lost);
  // Its run may know better than the queue, which knows only how many leases it misses.
  const bool was_leased =
      queue.leases_missing > 0 && (*run == nullptr || (*run)->record.counts.processing > 0);
  if (was_leased) --queue.leases_missing;
  const State before = was_leased ? State::processing : State::wait;
  moved(queue, before, State::aborted);
  count_in_run(queue, record.run, before, State::aborted);
  return out;
}

std::uint64_t Core::next_sequence() {
  sequence_changed_ = true;
  return ++sequence_;
}

// A no-op in a sound store. In a damaged one the last sequence may be too low, and tokens would come again.
void Core::keep_above(const model::Record& record) {
  const std::uint64_t seen = std::max(static_cast<std::uint64_t>(record.token), record.sequence);
  if (seen <= sequence_) return;
  ++damage_["token above the last sequence"];
  log(LogLevel::error, "damage in the store: token " + std::to_string(seen) + " is above the last sequence");
  sequence_ = seen;
  sequence_changed_ = true;
}

// One order more in `to`, one less in `from`.
void Core::moved(QueueState& queue, std::optional<State> from, std::optional<State> to) {
  // At 0 the store was damaged; check() tells.
  if (from && model::count_of(queue.counts, *from) > 0) --model::count_of(queue.counts, *from);
  if (to) ++model::count_of(queue.counts, *to);
  touch(queue);
  if (queue.counts_changed) return;
  queue.counts_changed = true;
  counts_changed_.push_back(&queue);
}

void Core::note(const QueueState& queue, std::string_view id, const model::Record& record, HistoryEvent event,
                std::optional<Time> at) {
  if (queue.settings().keep_history == Duration{0}) return;
  HistoryEntry entry = model::entry_of(record, event);
  if (at) entry.at = *at;
  group_.put(Family::history, store::history_key(queue.name, id, record.sequence),
             store::encode_entry(entry));
}

void Core::enqueue(QueueState& queue, std::string_view id, const model::Record& record, HistoryEvent event,
                   bool place_known) {
  DUELEASE_CHECK(record.state == State::wait);
  note(queue, id, record, event);
  const store::Place place{record.priority, record.due};
  group_.put(Family::queue, store::queue_key(queue.name, place, id), store::encode_waiting(record));
  if (!place_known) group_.put(Family::orders, store::order_key(queue.name, id), store::encode_live(place));
  queue.heads[record.priority].add(Spot{record.due, std::string(id)}, record, head_limit(queue));
  touch(queue);
}

// Heads share their memory: the more of them there are, the less each may know.
std::size_t Core::head_limit(const QueueState& queue) const {
  const std::size_t heads = queues_.size() * std::max<std::size_t>(queue.heads.size(), 1);
  return std::clamp<std::size_t>(options_.heads_known_max / heads, 1, QueueHead::known_max);
}

void Core::dequeue(QueueState& queue, std::string_view id, const store::Place& place) {
  group_.erase(Family::queue, store::queue_key(queue.name, place, id));
  const auto head = queue.heads.find(place.priority);
  if (head != queue.heads.end()) head->second.remove(Spot{place.due, std::string(id)});
  touch(queue);
}

// An order that was alive.
void Core::end(QueueState& queue, std::string_view id, const model::Record& record, HistoryEvent event) {
  DUELEASE_CHECK(record.state != State::wait && record.state != State::processing);
  note(queue, id, record, event);
  group_.put(Family::orders, store::order_key(queue.name, id), store::encode_ended(record));
  const std::optional<std::string_view> owned_before = model::owned_key(record, State::wait);
  if (owned_before && !model::owned_key(record)) {
    group_.erase(Family::dedup, store::dedup_key(queue.name, *owned_before));
  }
  if (record.run) group_.erase(Family::runs, store::run_order_key(queue.name, *record.run, id));
}

void Core::leave_lease(QueueState& queue, HeldLease& held, model::Record record, HistoryEvent event) {
  const std::string key = held.key;
  const std::string_view id = std::string_view(key).substr(queue.name.size() + 1);
  const bool same_place = record.due == held.lease.record.due;
  record.sequence = next_sequence();
  leases_.remove(held);
  group_.erase(Family::leases, key);
  moved(queue, State::processing, record.state);
  count_in_run(queue, record.run, State::processing, record.state);
  if (record.state == State::wait) {
    enqueue(queue, id, record, event, same_place);
  } else {
    end(queue, id, record, event);
  }
}

void Core::write_app(std::vector<AppWrite> writes) {
  for (AppWrite& write : writes) {
    if (write.value) {
      group_.put(Family::app, std::move(write.key), std::move(*write.value));
    } else {
      group_.erase(Family::app, std::move(write.key));
    }
  }
}

void Core::note_damage(const std::string& what, std::string_view queue, std::string_view id) {
  ++damage_[what];
  log(LogLevel::error,
      "damage in the store: " + what + ", queue " + std::string(queue) + ", order " + std::string(id));
}

void Core::log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

// Monotonic time never goes back inside, and wall time stays within what a record can hold.
Now Core::tame(Now now) {
  now.monotonic = std::max(now.monotonic, last_monotonic_);
  last_monotonic_ = now.monotonic;
  now.wall = model::in_calendar(now.wall);
  return now;
}

}  // namespace duelease::engine
