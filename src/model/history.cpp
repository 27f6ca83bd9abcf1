#include "model/history.h"

#include "base/limits.h"

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

// Not in the middle of a character: cut so, UTF-8 is none any more.
void cut(std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return;
  std::size_t end = bytes_max;
  while (end + 3 > bytes_max && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
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
  entry.reason = reason_of(record, event);
  cut(entry.reason, limits::history_reason_bytes_max);
  entry.sequence = record.sequence;
  return entry;
}

bool is_kept(Time at, bool is_generation, Duration keep_history, Time now) {
  return keep_history == Duration{0} ? is_generation : now < at + keep_history;
}

}  // namespace duelease::model
