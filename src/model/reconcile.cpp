#include "model/reconcile.h"

#include <string>
#include <utility>

#include "model/rules.h"

namespace duelease::model {

namespace {

Result<Outcome> schedule_missing(const ReconcileRequest& row, const QueueSettings& settings, Time now) {
  const std::optional<Duration>& keep = settings.keep_success;
  if (!keep || now < row.read_at + *keep) return Outcome::scheduled;
  return fail(Code::invalid, "the source was read " + std::to_string((now - row.read_at).count()) +
                                 " ms ago, but queue " + row.queue + " keeps a success for " +
                                 std::to_string(keep->count()) +
                                 " ms only: the order may have been completed since; read the source again");
}

}  // namespace

Result<Outcome> reconcile(const Standing& order, const ReconcileRequest& row, const QueueSettings& settings,
                          Time now) {
  if (order.is_orphan) return Outcome::scheduled;
  const Record* const record = order.record;
  if (record == nullptr) return schedule_missing(row, settings, now);
  const bool is_newer = record->sequence > row.since;
  switch (record->state) {
    case State::wait:
      if (record->asked_due.value_or(record->due) == row.due) return Outcome::unchanged;
      return is_newer ? Outcome::newer : Outcome::rescheduled;
    case State::aborted:
      if (!record->vanished) return Outcome::refused;
      return is_newer ? Outcome::newer : Outcome::scheduled;
    case State::success:  // Past its retention it is as if the sweep had come by already.
      return blocks(*record, settings.keep_success, now) ? Outcome::refused
                                                         : schedule_missing(row, settings, now);
    default: return Outcome::refused;
  }
}

Result<> validate_since(std::uint64_t since, std::uint64_t last) {
  if (since <= last) return {};
  return fail(Code::invalid, "since is " + std::to_string(since) + ", the last sequence of the store is " +
                                 std::to_string(last));
}

ScheduleRequest to_schedule(ReconcileRequest row) {
  ScheduleRequest out;
  out.queue = std::move(row.queue);
  out.id = std::move(row.id);
  out.due = row.due;
  out.payload = std::move(row.payload);
  out.key = std::move(row.key);
  out.priority = row.priority;
  out.tries = row.tries;
  return out;
}

}  // namespace duelease::model
