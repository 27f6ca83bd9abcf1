#include "engine/foresight.h"

#include <utility>
#include <variant>

#include "engine/answers.h"
#include "engine/reads.h"
#include "model/reconcile.h"
#include "model/rules.h"
#include "model/run.h"
#include "model/validate.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

namespace {

Unexpected unreadable(std::string_view queue, std::string_view id, const std::string& why) {
  return fail(Code::corrupt, "order " + std::string(id) + " of queue " + std::string(queue) + ": " + why);
}

}  // namespace

Result<Answer> Foresight::answer(const ReconcileRequest& row) {
  if (Result<> valid = model::validate(row); !valid) return Unexpected{valid.error()};
  const Result<std::uint64_t> last = last_sequence();
  if (!last) return Unexpected{last.error()};
  if (Result<> known = model::validate_since(row.since, *last); !known) return Unexpected{known.error()};
  const Result<QueueSettings> settings = settings_of(row.queue);
  if (!settings) return Unexpected{settings.error()};
  if (Result<> fits = model::validate_payload(row, *settings); !fits) return Unexpected{fits.error()};

  const Result<Seen> seen = look_at(row.queue, row.id);
  if (!seen) return Unexpected{seen.error()};
  const model::Standing standing{seen->record ? &*seen->record : nullptr, seen->is_orphan};
  const Result<Outcome> outcome = model::reconcile(standing, row, *settings, now_);
  if (!outcome) return Unexpected{outcome.error()};
  switch (*outcome) {
    case Outcome::scheduled: {
      const Result<std::optional<Answer>> blocker = key_blocker(row, *settings);
      if (!blocker) return Unexpected{blocker.error()};
      return *blocker ? **blocker : waiting(Outcome::scheduled, row.due);
    }
    case Outcome::rescheduled:
    case Outcome::unchanged: return waiting(*outcome, row.due);
    default: return Answer{.outcome = *outcome, .state = seen->record->state};
  }
}

// The lease first, as everywhere: should a damaged store have both, all say the same of it.
Result<Foresight::Seen> Foresight::look_at(std::string_view queue, std::string_view id) const {
  const std::string key = store::order_key(queue, id);
  Result<std::optional<std::string>> bytes = view_.get(Family::orders, key);
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return Seen{};
  Result<store::OrderRow> row = store::decode_order(**bytes);
  if (!row) return unreadable(queue, id, row.error().message);
  if (auto* ended = std::get_if<model::Record>(&*row)) return Seen{std::move(*ended), false};

  bytes = view_.get(Family::leases, key);
  if (!bytes) return Unexpected{bytes.error()};
  if (*bytes) {
    Result<model::Lease> lease = store::decode_lease(**bytes);
    if (!lease) return unreadable(queue, id, lease.error().message);
    return Seen{std::move(lease->record), false};
  }
  bytes = view_.get(Family::queue, store::queue_key(queue, std::get<store::Place>(*row), id));
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return unreadable(queue, id, "its record was lost: the store was damaged");
  Result<model::Record> record = store::decode_waiting(**bytes);
  if (!record) return unreadable(queue, id, record.error().message);
  const Result<bool> orphan = is_orphan(queue, *record);
  if (!orphan) return Unexpected{orphan.error()};
  return Seen{std::move(*record), *orphan};
}

// As Core: one whose run cannot be found is somebody's order.
Result<bool> Foresight::is_orphan(std::string_view queue, const model::Record& record) const {
  if (!record.run) return false;
  const Result<std::optional<std::string>> bytes =
      view_.get(Family::runs, store::run_key(queue, *record.run));
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return false;
  const Result<model::RunRecord> run = store::decode_run(**bytes);
  return run && !model::is_alive(run->state);
}

// The answer that names who has the key of a row to be scheduled.
Result<std::optional<Answer>> Foresight::key_blocker(const ReconcileRequest& row,
                                                     const QueueSettings& settings) const {
  if (!row.key) return std::optional<Answer>{};
  const Result<std::optional<std::string>> owner =
      view_.get(Family::dedup, store::dedup_key(row.queue, *row.key));
  if (!owner) return Unexpected{owner.error()};
  if (!*owner || **owner == row.id) return std::optional<Answer>{};
  const Result<Seen> seen = look_at(row.queue, **owner);
  if (!seen) return Unexpected{seen.error()};
  const bool is_free =
      !seen->record || seen->is_orphan || !model::blocks(*seen->record, settings.keep_success, now_);
  if (is_free) return std::optional<Answer>{};
  return std::optional<Answer>{duplicate(seen->record->state, **owner)};
}

// Of a queue that is not there: the defaults.
Result<QueueSettings> Foresight::settings_of(const std::string& queue) {
  if (settings_ && queue == queue_) return *settings_;
  Result<QueueSettings> settings = read_settings(view_, queue);
  if (!settings && settings.error().code != Code::not_found) return settings;
  queue_ = queue;
  settings_ = settings ? *settings : QueueSettings{};
  return *settings_;
}

Result<std::uint64_t> Foresight::last_sequence() {
  if (last_sequence_) return *last_sequence_;
  const Result<std::uint64_t> last = read_sequence(view_);
  if (last) last_sequence_ = *last;
  return last;
}

}  // namespace duelease::engine
