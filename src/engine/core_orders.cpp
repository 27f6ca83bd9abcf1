// Commands that change an order outside a lease: schedule, reschedule, cancel, retry, purge, settings.
#include <utility>

#include "engine/answers.h"
#include "engine/core.h"
#include "model/reconcile.h"
#include "model/rules.h"
#include "model/transitions.h"
#include "model/validate.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

Core::Answered Core::on(ScheduleRequest request, const Command& command) {
  const Time now = command.now.wall;
  if (request.run) {
    if (const Result<HeldRun*> run = live_run(request.queue, *request.run); !run)
      return Unexpected{run.error()};
  }
  QueueState* queue = find_queue(request.queue);
  if (Result<> fits = model::validate_payload(request, queue ? queue->settings() : QueueSettings{}); !fits) {
    return Unexpected{fits.error()};
  }
  if (queue == nullptr) {
    const Result<QueueState*> added = find_or_add_queue(request.queue);
    if (!added) return Unexpected{added.error()};
    queue = *added;
  }
  Result<Located> located = locate(*queue, request.id, now);
  if (!located) return Unexpected{located.error()};
  switch (located->where) {
    case Located::Where::waiting:
      if (request.upsert) return upsert(*queue, std::move(request), std::move(*located), now);
      [[fallthrough]];
    case Located::Where::processing: return Reply{duplicate(located->state(), request.id)};
    case Located::Where::ended:
      if (model::blocks(located->record, queue->settings().keep_success, now)) {
        return Reply{duplicate(located->state(), request.id)};
      }
      break;
    case Located::Where::nowhere: break;
  }
  return schedule_free(*queue, std::move(request), std::move(*located), now);
}

// The id is free; whether the key is, is found out here.
Core::Answered Core::schedule_free(QueueState& queue, ScheduleRequest request, Located located, Time now) {
  if (request.key) {
    const Result<std::optional<Answer>> blocker = claim_key(queue, *request.key, request.id, now);
    if (!blocker) return Unexpected{blocker.error()};
    if (*blocker) return Reply{**blocker};
  }
  if (located.where == Located::Where::ended && model::state_blocks(located.state())) {
    // A SUCCESS past its retention: as if the sweep had come by already, which leaves no history.
    if (Result<> purged = purge_order(queue, request.id, located.record); !purged)
      return Unexpected{purged.error()};
    located = Located{};
  }
  return start_generation(queue, std::move(request), located, now);
}

// FAILED, ABORTED or nothing was there before.
Core::Answered Core::start_generation(QueueState& queue, ScheduleRequest request, const Located& before,
                                      Time now) {
  const bool again = before.where == Located::Where::ended;
  std::string old_key;
  std::optional<std::string> noted;  // How the generation before came to its end.
  if (again) old_key = store::history_key(queue.name, request.id, before.record.sequence);
  if (again && queue.row.may_have_history) {
    Result<std::optional<std::string>> row = group_.get(Family::history, old_key);
    if (!row) return Unexpected{row.error()};
    noted = std::move(*row);
  }
  model::Record record = model::schedule(request, queue.settings(), now);
  record.sequence = next_sequence();
  if (again) {
    record.generation = before.record.generation + 1;
    // Tokens of the generations before are below this one's: the sequence only rises.
    group_.put(Family::history, std::move(old_key),
               store::encode_generation(noted.value_or(""), before.record));
  }
  if (const std::optional<std::string_view> owned = model::owned_key(record)) {
    group_.put(Family::dedup, store::dedup_key(queue.name, *owned), request.id);
  }
  if (record.run) group_.put(Family::runs, store::run_order_key(queue.name, *record.run, request.id), "");
  enqueue(queue, request.id, record, HistoryEvent::scheduled, false);
  count_in_run(queue, record.run, std::nullopt, State::wait);
  moved(queue, again ? std::optional<State>(before.record.state) : std::nullopt, State::wait);
  write_app(std::move(request.app_writes));
  return Reply{waiting(Outcome::scheduled, record.due)};
}

Core::Answered Core::upsert(QueueState& queue, ScheduleRequest request, Located located, Time now) {
  model::Record& record = located.record;
  if (request.key && request.key != record.key) {
    return fail(Code::invalid,
                "upsert of order " + request.id + " with another key; an order keeps its key while it waits");
  }
  if (request.run && request.run != record.run) {
    return fail(Code::invalid, "upsert of order " + request.id + " with another run; an order keeps its run");
  }
  model::upsert(record, request, now);
  record.sequence = next_sequence();
  const bool same_place = store::Place{record.priority, record.due} == located.place;
  if (!same_place) dequeue(queue, request.id, located.place);
  enqueue(queue, request.id, record, HistoryEvent::rescheduled, same_place);
  write_app(std::move(request.app_writes));
  return Reply{waiting(Outcome::rescheduled, record.due)};
}

Result<std::optional<Answer>> Core::claim_key(QueueState& queue, std::string_view key, std::string_view id,
                                              Time now) {
  const Result<std::optional<std::string>> owner =
      group_.get(Family::dedup, store::dedup_key(queue.name, key));
  if (!owner) return Unexpected{owner.error()};
  // An owner never conflicts with itself: that `id` may be scheduled, the caller has found out.
  if (!*owner || **owner == id) return std::optional<Answer>{};
  const Result<Located> located = locate(queue, **owner, now);
  if (!located) return Unexpected{located.error()};
  switch (located->where) {
    case Located::Where::waiting:
    case Located::Where::processing: return std::optional<Answer>{duplicate(located->state(), **owner)};
    case Located::Where::ended:
      if (model::blocks(located->record, queue.settings().keep_success, now)) {
        return std::optional<Answer>{duplicate(located->state(), **owner)};
      }
      if (model::state_blocks(located->state())) {  // A SUCCESS that is kept no longer.
        if (Result<> purged = purge_order(queue, **owner, located->record); !purged)
          return Unexpected{purged.error()};
        return std::optional<Answer>{};
      }
      break;
    case Located::Where::nowhere: break;
  }
  // An orphan gave its key back just now.
  const Result<std::optional<std::string>> still =
      group_.get(Family::dedup, store::dedup_key(queue.name, key));
  if (!still) return Unexpected{still.error()};
  if (*still) note_damage("key of an order that does not block", queue.name, **owner);
  return std::optional<Answer>{};
}

Core::Answered Core::on(const RescheduleRequest& request, const Command& command) {
  QueueState* queue = find_queue(request.queue);
  if (queue == nullptr) return Reply{not_found()};
  Result<Located> located = locate(*queue, request.id, command.now.wall);
  if (!located) return Unexpected{located.error()};
  if (located->where == Located::Where::nowhere) return Reply{not_found()};
  if (located->where != Located::Where::waiting) return Reply{refused(located->state())};
  return move(*queue, request.id, std::move(*located), request.due, command.now.wall);
}

// An order that waits.
Core::Answered Core::move(QueueState& queue, std::string_view id, Located located, Time due, Time now) {
  model::Record& record = located.record;
  model::reschedule(record, due, now);
  record.sequence = next_sequence();
  const bool same_place = record.due == located.place.due;
  if (!same_place) dequeue(queue, id, located.place);
  enqueue(queue, id, record, HistoryEvent::rescheduled, same_place);
  return Reply{waiting(Outcome::rescheduled, record.due)};
}

namespace {

// Twice is as good as once: but what somebody else has aborted, a reconcile has not. That is newer where it can be, for
// on the wire a refusal that names ABORTED reads as done.
Answer cancel_ended(const model::Record& record, std::optional<std::uint64_t> since) {
  if (record.state != State::aborted) return refused(record.state);
  if (!since || record.vanished) return aborted();
  if (record.sequence > *since) return Answer{.outcome = Outcome::newer, .state = State::aborted};
  return refused(State::aborted);
}

}  // namespace

Core::Answered Core::on(CancelRequest request, const Command& command) {
  if (request.since) {
    if (Result<> known = model::validate_since(*request.since, sequence_); !known)
      return Unexpected{known.error()};
  }
  QueueState* queue = find_queue(request.queue);
  if (queue == nullptr) return Reply{not_found()};
  Result<Located> located = locate(*queue, request.id, command.now.wall);
  if (!located) return Unexpected{located.error()};
  switch (located->where) {
    case Located::Where::nowhere: return Reply{not_found()};
    case Located::Where::ended: return Reply{cancel_ended(located->record, request.since)};
    case Located::Where::processing: {
      if (!request.force) return Reply{refused(State::processing)};
      Result<model::Record> record = whole_record(*located->held);
      if (!record) return Unexpected{record.error()};
      model::abort(*record, command.now.wall);
      leave_lease(*queue, *located->held, std::move(*record), HistoryEvent::revoked);
      return Reply{aborted()};
    }
    case Located::Where::waiting: break;
  }
  model::Record& record = located->record;
  if (request.since && record.sequence > *request.since) return Reply{Answer{.outcome = Outcome::newer}};
  if (request.since) {
    model::vanish(record, command.now.wall);
  } else {
    model::abort(record, command.now.wall);
  }
  leave_queue(*queue, request.id, located->place, record,
              request.since ? HistoryEvent::vanished : HistoryEvent::cancelled);
  return Reply{aborted()};
}

Core::Answered Core::on(const RetryRequest& request, const Command& command) {
  const Time now = command.now.wall;
  QueueState* queue = find_queue(request.queue);
  if (queue == nullptr) return Reply{not_found()};
  Result<Located> located = locate(*queue, request.id, now);
  if (!located) return Unexpected{located.error()};
  if (located->where == Located::Where::nowhere) return Reply{not_found()};
  if (located->state() != State::failed) return Reply{refused(located->state())};
  model::Record& record = located->record;
  if (record.run) {
    if (const Result<HeldRun*> run = live_run(queue->name, *record.run); !run) return Unexpected{run.error()};
  }
  if (record.key) {
    const Result<std::optional<Answer>> blocker = claim_key(*queue, *record.key, request.id, now);
    if (!blocker) return Unexpected{blocker.error()};
    if (*blocker) return Reply{**blocker};
  }
  model::revive(record, request.due.value_or(now), now);
  if (const std::optional<std::string_view> owned = model::owned_key(record)) {
    group_.put(Family::dedup, store::dedup_key(queue->name, *owned), request.id);
  }
  record.sequence = next_sequence();
  if (record.run) group_.put(Family::runs, store::run_order_key(queue->name, *record.run, request.id), "");
  enqueue(*queue, request.id, record, HistoryEvent::retried, false);
  moved(*queue, State::failed, State::wait);
  count_in_run(*queue, record.run, State::failed, State::wait);
  return Reply{waiting(Outcome::requeued, record.due)};
}

Core::Answered Core::on(const QueueSetRequest& request, const Command& command) {
  if (!request.create && find_queue(request.queue) == nullptr) return no_queue(request.queue);
  const Result<QueueState*> queue = find_or_add_queue(request.queue);
  if (!queue) return Unexpected{queue.error()};
  (*queue)->row.settings = model::apply(request, (*queue)->settings());
  if ((*queue)->settings().keep_success) (*queue)->success_sweep.next = command.now.monotonic;
  if ((*queue)->settings().keep_history > Duration{0}) (*queue)->row.may_have_history = true;
  if (request.keep_history) (*queue)->history_sweep = Sweep{.next = command.now.monotonic};
  touch(**queue);
  group_.put(Family::meta, store::settings_key(request.queue), store::encode_settings((*queue)->row));
  return Reply{(*queue)->settings()};
}

// The reads come first here too: a history that cannot be read keeps its order.
Result<> Core::purge_order(QueueState& queue, std::string_view id, const model::Record& record) {
  std::vector<std::string> rows;
  std::vector<std::pair<std::string, State>> runs;  // Whose orders the earlier generations were.
  if (record.generation > 1 || queue.row.may_have_history) {
    const std::string prefix = store::history_prefix(queue.name, id);
    const std::unique_ptr<store::Cursor> cursor =
        group_.scan(Family::history, prefix, store::prefix_end(prefix));
    for (; cursor->valid(); cursor->next()) {
      rows.emplace_back(cursor->key());
      const Result<store::HistoryRow> row = store::decode_history(cursor->value());
      if (row && row->ended && row->ended->run) runs.emplace_back(*row->ended->run, row->ended->state);
    }
    if (Result<> read = cursor->status(); !read) return read;
  }
  for (std::string& key : rows) group_.erase(Family::history, std::move(key));
  group_.erase(Family::orders, store::order_key(queue.name, id));
  if (const std::optional<std::string_view> owned = model::owned_key(record)) {
    group_.erase(Family::dedup, store::dedup_key(queue.name, *owned));
  }
  moved(queue, record.state, std::nullopt);
  count_in_run(queue, record.run, record.state, std::nullopt);
  for (const auto& [run, state] : runs) count_in_run(queue, run, state, std::nullopt);
  return {};
}

Core::Answered Core::on(const PurgeBatch& request, const Command& command) {
  QueueState* queue = find_queue(request.queue);
  if (queue == nullptr) return no_queue(request.queue);
  std::uint64_t purged = 0;
  for (const std::string& id : request.ids) {
    const Result<Located> located = locate(*queue, id, command.now.wall);
    if (!located) continue;  // It cannot be read; the next purge meets it again.
    if (located->where != Located::Where::ended || located->state() != request.state) continue;
    if (located->record.updated_at + request.older > command.now.wall) continue;
    if (purge_order(*queue, id, located->record)) ++purged;  // Else as above.
  }
  return Reply{purged};
}

}  // namespace duelease::engine
