// The words of the public enums.
#include <algorithm>
#include <cctype>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::invalid: return "invalid";
    case Code::too_large: return "too_large";
    case Code::not_found: return "not_found";
    case Code::not_alive: return "not_alive";
    case Code::busy: return "busy";
    case Code::locked: return "locked";
    case Code::newer_format: return "newer_format";
    case Code::corrupt: return "corrupt";
    case Code::overloaded: return "overloaded";
    case Code::storage: return "storage";
    case Code::closing: return "closing";
    case Code::denied: return "denied";
    case Code::unreachable: return "unreachable";
  }
  return "unknown";
}

std::string_view state_name(State state) {
  switch (state) {
    case State::wait: return "WAIT";
    case State::processing: return "PROCESSING";
    case State::success: return "SUCCESS";
    case State::failed: return "FAILED";
    case State::aborted: return "ABORTED";
  }
  return "UNKNOWN";
}

std::optional<State> state_named(std::string_view name) {
  const auto same = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; };
  for (const State state : all_states) {
    const std::string_view candidate = state_name(state);
    if (std::equal(name.begin(), name.end(), candidate.begin(), candidate.end(), same)) return state;
  }
  return std::nullopt;
}

std::string_view run_state_name(RunState state) {
  switch (state) {
    case RunState::creating: return "CREATING";
    case RunState::running: return "RUNNING";
    case RunState::done: return "DONE";
    case RunState::error: return "ERROR";
  }
  return "UNKNOWN";
}

std::string_view history_event_name(HistoryEvent event) {
  switch (event) {
    case HistoryEvent::unknown: break;
    case HistoryEvent::scheduled: return "scheduled";
    case HistoryEvent::rescheduled: return "rescheduled";
    case HistoryEvent::claimed: return "claimed";
    case HistoryEvent::popped: return "popped";
    case HistoryEvent::completed: return "completed";
    case HistoryEvent::failed: return "failed";
    case HistoryEvent::released: return "released";
    case HistoryEvent::reaped: return "reaped";
    case HistoryEvent::cancelled: return "cancelled";
    case HistoryEvent::revoked: return "revoked";
    case HistoryEvent::orphaned: return "orphaned";
    case HistoryEvent::retried: return "retried";
    case HistoryEvent::lost: return "lost";
    case HistoryEvent::ended: return "ended";
    case HistoryEvent::imported: return "imported";
    case HistoryEvent::vanished: return "vanished";
  }
  return "unknown";
}

HistoryEvent history_event_named(std::string_view name) {
  for (int number = 1; number <= static_cast<int>(HistoryEvent::vanished); ++number) {
    const auto event = static_cast<HistoryEvent>(number);
    if (name == history_event_name(event)) return event;
  }
  return HistoryEvent::unknown;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::scheduled: return "SCHEDULED";
    case Outcome::rescheduled: return "RESCHEDULED";
    case Outcome::duplicate: return "DUPLICATE";
    case Outcome::completed: return "COMPLETED";
    case Outcome::already: return "ALREADY";
    case Outcome::stale: return "STALE";
    case Outcome::requeued: return "WAIT";
    case Outcome::failed: return "FAILED";
    case Outcome::aborted: return "ABORTED";
    case Outcome::extended: return "EXTENDED";
    case Outcome::refused: return "REFUSED";
    case Outcome::unchanged: return "UNCHANGED";
    case Outcome::newer: return "NEWER";
    case Outcome::not_found: return "NOTFOUND";
  }
  return "UNKNOWN";
}

}  // namespace duelease
