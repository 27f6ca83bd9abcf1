// The words of the public enums: they are on the wire, in logs and in scripts.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "duelease/result.h"
#include "duelease/types.h"
#include "support/printing.h"

using namespace duelease;

TEST_CASE("states have their names, and are found by them in any case", "[names]") {
  const std::map<State, std::string> names = {{State::wait, "WAIT"},
                                              {State::processing, "PROCESSING"},
                                              {State::success, "SUCCESS"},
                                              {State::failed, "FAILED"},
                                              {State::aborted, "ABORTED"}};
  CHECK(names.size() == std::size(all_states));
  for (const State state : all_states) {
    CHECK(state_name(state) == names.at(state));
    std::string lower = names.at(state);
    for (char& c : lower) c = static_cast<char>(c - 'A' + 'a');
    CHECK(state_named(names.at(state)) == state);
    CHECK(state_named(lower) == state);
    CHECK_FALSE(state_named(lower + "x"));
    CHECK_FALSE(state_named(lower.substr(1)));
  }
  for (const std::string_view no_name : {"", " WAIT", "WAIT ", "UNKNOWN", "W"})
    CHECK_FALSE(state_named(no_name));
  CHECK_FALSE(state_named(std::string("WAIT\0", 5)));
}

TEST_CASE("states are stored by these numbers", "[names]") {
  CHECK(static_cast<int>(State::wait) == 1);
  CHECK(static_cast<int>(State::processing) == 2);
  CHECK(static_cast<int>(State::success) == 3);
  CHECK(static_cast<int>(State::failed) == 4);
  CHECK(static_cast<int>(State::aborted) == 5);
}

TEST_CASE("events of a history have names of their own, and are found by them", "[names]") {
  std::set<std::string_view> names;
  for (int i = 1; i <= static_cast<int>(HistoryEvent::vanished); ++i) {
    const auto event = static_cast<HistoryEvent>(i);
    CHECK(history_event_name(event) != "unknown");
    CHECK(names.insert(history_event_name(event)).second);
    CHECK(history_event_named(history_event_name(event)) == event);
  }
  CHECK(history_event_name(HistoryEvent::claimed) == "claimed");
  for (const std::string_view no_name : {"", "unknown", "CLAIMED", "claimed "})
    CHECK(history_event_named(no_name) == HistoryEvent::unknown);
}

TEST_CASE("events of a history are stored by these numbers", "[names]") {
  const HistoryEvent events[] = {HistoryEvent::unknown,   HistoryEvent::scheduled, HistoryEvent::rescheduled,
                                 HistoryEvent::claimed,   HistoryEvent::popped,    HistoryEvent::completed,
                                 HistoryEvent::failed,    HistoryEvent::released,  HistoryEvent::reaped,
                                 HistoryEvent::cancelled, HistoryEvent::revoked,   HistoryEvent::orphaned,
                                 HistoryEvent::retried,   HistoryEvent::lost,      HistoryEvent::ended,
                                 HistoryEvent::imported,  HistoryEvent::vanished};
  for (std::size_t i = 0; i < std::size(events); ++i) CHECK(static_cast<std::size_t>(events[i]) == i);
}

TEST_CASE("a state, code, outcome or event of another version is UNKNOWN", "[names]") {
  CHECK(history_event_name(HistoryEvent{200}) == "unknown");
  CHECK(state_name(State{0}) == "UNKNOWN");
  CHECK(state_name(State{17}) == "UNKNOWN");
  CHECK(outcome_name(Outcome{200}) == "UNKNOWN");
  CHECK(code_name(Code{200}) == "unknown");
}

TEST_CASE("outcomes and codes have names of their own", "[names]") {
  std::set<std::string_view> outcomes;
  for (int i = 0; outcome_name(Outcome{static_cast<std::uint8_t>(i)}) != "UNKNOWN"; ++i) {
    CHECK(outcomes.insert(outcome_name(Outcome{static_cast<std::uint8_t>(i)})).second);
  }
  CHECK(outcomes.size() == static_cast<std::size_t>(Outcome::not_found) + 1);
  CHECK(outcome_name(Outcome::scheduled) == "SCHEDULED");
  CHECK(outcome_name(Outcome::requeued) == "WAIT");
  CHECK(outcome_name(Outcome::not_found) == "NOTFOUND");

  std::set<std::string_view> codes;
  for (int i = 0; code_name(Code{static_cast<std::uint8_t>(i)}) != "unknown"; ++i) {
    CHECK(codes.insert(code_name(Code{static_cast<std::uint8_t>(i)})).second);
  }
  CHECK(codes.size() == static_cast<std::size_t>(Code::unreachable) + 1);
  CHECK(code_name(Code::invalid) == "invalid");
  CHECK(code_name(Code::newer_format) == "newer_format");
  CHECK(code_name(Code::denied) == "denied");
  CHECK(code_name(Code::unreachable) == "unreachable");
}
