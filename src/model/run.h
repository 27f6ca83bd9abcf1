// model/run.h: a run as the rules see it, and its transitions: one function an arrow of the picture in
// duelease/types.h. Which queue and run it is, is in its key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "duelease/types.h"

namespace duelease::model {

// See duelease::Run for the meaning of each field.
struct RunRecord {
  RunState state = RunState::creating;
  std::optional<Duration> ttl;
  Time expires_at{};  // With a ttl. Wall time, as it stood at the last heartbeat.
  Time opened_at{};
  std::optional<Time> started_at;
  std::optional<Time> ended_at;
  std::string reason;
  Counts counts;
  Counts purged;
  std::string unknown;  // Fields of a newer version, carried along untouched.

  bool operator==(const RunRecord&) const = default;
};

// Written as the list of states that have ended: the orders of a run in a state of a newer version are
// left alone.
bool is_alive(RunState state);

RunRecord open_run(std::optional<Duration> ttl, Time now);

// Each of these needs a run that is alive.
void start_run(RunRecord& run, Time now);
void beat_run(RunRecord& run, Time now);
void end_run(RunRecord& run, RunState state, std::string_view reason, Time now);

// One order more in `to`, one less in `from`. Without `from` it joins; without `to` it is purged.
void count_order(RunRecord& run, std::optional<State> from, std::optional<State> to);

// What its counts must be, when `recount` of its orders are left.
Counts counts_with_purged(const RunRecord& run, const Counts& recount);

}  // namespace duelease::model
