// Orders that have a life elsewhere: those that are taken over from there, and those that are to be as it says there.
#include <utility>

#include "base/check.h"
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

// Unlike a schedule it never takes the place of an order that was there before.
Core::Answered Core::on(const ImportRequest& request, const Command& command) {
  const Time now = command.now.wall;
  if (Result<> past = model::validate_past(request, now); !past) return Unexpected{past.error()};
  const QueueState* known = find_queue(request.queue);
  if (Result<> fits = model::validate_payload(request, known ? known->settings() : QueueSettings{}); !fits) {
    return Unexpected{fits.error()};
  }
  const Result<QueueState*> added = find_or_add_queue(request.queue);
  if (!added) return Unexpected{added.error()};
  QueueState& queue = **added;
  const Result<Located> located = locate(queue, request.id, now);
  if (!located) return Unexpected{located.error()};
  if (located->where != Located::Where::nowhere) return Reply{duplicate(located->state(), request.id)};

  model::Record record = model::adopt(request, queue.settings(), now);
  if (const std::optional<std::string_view> key = model::owned_key(record)) {
    const Result<std::optional<Answer>> blocker = claim_key(queue, *key, request.id, now);
    if (!blocker) return Unexpected{blocker.error()};
    if (*blocker && !request.grandfather) return Reply{**blocker};
    record.grandfathered = blocker->has_value();
  }
  record.sequence = next_sequence();
  if (const std::optional<std::string_view> owned = model::owned_key(record)) {
    group_.put(Family::dedup, store::dedup_key(queue.name, *owned), request.id);
  }
  if (record.state == State::wait) {
    enqueue(queue, request.id, record, HistoryEvent::imported, false);
  } else {
    note(queue, request.id, record, HistoryEvent::imported, now);  // The record says when it ended.
    group_.put(Family::orders, store::order_key(queue.name, request.id), store::encode_ended(record));
  }
  moved(queue, std::nullopt, record.state);
  return Reply{Answer{.outcome = Outcome::scheduled, .state = record.state, .at = record.due}};
}

// Rows that change nothing seldom come here: see Foresight. Since that looked, the order may have changed.
Core::Answered Core::on(ReconcileRequest request, const Command& command) {
  DUELEASE_CHECK(!request.dry_run);
  const Time now = command.now.wall;
  if (Result<> known = model::validate_since(request.since, sequence_); !known)
    return Unexpected{known.error()};
  QueueState* queue = find_queue(request.queue);
  const QueueSettings settings = queue ? queue->settings() : QueueSettings{};
  if (Result<> fits = model::validate_payload(request, settings); !fits) return Unexpected{fits.error()};
  Result<Located> located = queue ? locate(*queue, request.id, now) : Located{};
  if (!located) return Unexpected{located.error()};

  model::Standing standing{nullptr, located->was_orphan};
  if (located->where == Located::Where::processing) {
    standing.record = &located->held->lease.record;
  } else if (located->where != Located::Where::nowhere) {
    standing.record = &located->record;
  }
  const Result<Outcome> outcome = model::reconcile(standing, request, settings, now);
  if (!outcome) return Unexpected{outcome.error()};
  switch (*outcome) {
    case Outcome::scheduled: {
      const Result<QueueState*> added = find_or_add_queue(request.queue);
      if (!added) return Unexpected{added.error()};
      return schedule_free(**added, model::to_schedule(std::move(request)), std::move(*located), now);
    }
    case Outcome::rescheduled: return move(*queue, request.id, std::move(*located), request.due, now);
    case Outcome::unchanged: return Reply{waiting(Outcome::unchanged, request.due)};
    default: return Reply{Answer{.outcome = *outcome, .state = located->state()}};
  }
}

}  // namespace duelease::engine
