#include "model/history.h"

#include "base/limits.h"
#include "model/rules.h"

namespace duelease::model {

namespace {

// The record goes on naming its last worker and token; that is no news of what happens without them.
bool is_of_lease(HistoryEvent event) {
  switch (event) {
    case HistoryEvent::claimed:
    case HistoryEvent::popped:
    case HistoryEvent::completed:
    case HistoryEvent::failed:
    case HistoryEvent::released:
    case HistoryEvent::reaped:
    case HistoryEvent::revoked:
    case HistoryEvent::ended: return true;
    default: return false;
  }
}

// The record goes on naming its last error, too.
std::string reason_of(const Record& record, HistoryEvent event) {
  switch (event) {
    case HistoryEvent::failed:
    case HistoryEvent::orphaned:
    case HistoryEvent::lost:
    case HistoryEvent::imported:
    case HistoryEvent::vanished:
    case HistoryEvent::ended: return record.error;
    case HistoryEvent::released:
    case HistoryEvent::reaped:
      if (record.state == State::failed) return record.error;
      return record.state == State::aborted ? "run " + record.run.value_or("") + " has ended" : "";
    default: return "";
  }
}

}  // namespace

HistoryEntry entry_of(const Record& record, HistoryEvent event) {
  HistoryEntry entry;
  entry.event = event;
  entry.state = record.state;
  entry.at = record.updated_at;
  if (record.state == State::wait) entry.due = record.due;
  if (is_of_lease(event)) {
    entry.worker = record.worker;
    entry.token = record.token;
  }
  entry.attempt = record.attempt;
  entry.reason = cut(reason_of(record, event), limits::history_reason_bytes_max);
  entry.sequence = record.sequence;
  return entry;
}

bool is_kept(Time at, bool is_generation, Duration keep_history, Time now) {
  return keep_history == Duration{0} ? is_generation : now < at + keep_history;
}

}  // namespace duelease::model
