// engine/answers.h: the answers to changes of one order, as values.
#pragma once

#include <string>
#include <string_view>

#include "duelease/types.h"

namespace duelease::engine {

inline Answer duplicate(State state, std::string_view blocker) {
  return Answer{.outcome = Outcome::duplicate, .state = state, .blocker = std::string(blocker)};
}

inline Answer refused(State state) { return Answer{.outcome = Outcome::refused, .state = state}; }

inline Answer waiting(Outcome outcome, Time due) {
  return Answer{.outcome = outcome, .state = State::wait, .at = due};
}

inline Answer not_found() { return Answer{.outcome = Outcome::not_found}; }

inline Answer aborted() { return Answer{.outcome = Outcome::aborted, .state = State::aborted}; }

}  // namespace duelease::engine
