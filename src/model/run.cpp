#include "model/run.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "model/rules.h"

namespace duelease::model {

bool is_alive(RunState state) { return state != RunState::done && state != RunState::error; }

RunRecord open_run(std::optional<Duration> ttl, Time now) {
  RunRecord run;
  run.ttl = ttl;
  run.opened_at = now;
  beat_run(run, now);
  return run;
}

void start_run(RunRecord& run, Time now) {
  DUELEASE_CHECK(is_alive(run.state));
  run.state = RunState::running;
  if (!run.started_at) run.started_at = now;
}

void beat_run(RunRecord& run, Time now) {
  DUELEASE_CHECK(is_alive(run.state));
  if (run.ttl) run.expires_at = std::min(now + *run.ttl, Time{Duration{limits::time_ms_max}});
}

void end_run(RunRecord& run, RunState state, std::string_view reason, Time now) {
  DUELEASE_CHECK(is_alive(run.state) && !is_alive(state));
  run.state = state;
  run.reason = cut(reason, limits::error_bytes_max);
  run.ended_at = now;
}

void count_order(RunRecord& run, std::optional<State> from, std::optional<State> to) {
  if (!to) {
    if (from) ++count_of(run.purged, *from);
    return;
  }
  if (from && count_of(run.counts, *from) > 0) --count_of(run.counts, *from);  // At 0 the store was damaged.
  ++count_of(run.counts, *to);
}

Counts counts_with_purged(const RunRecord& run, const Counts& recount) {
  Counts out = recount;
  Counts purged = run.purged;
  for (const State state : all_states) count_of(out, state) += count_of(purged, state);
  return out;
}

}  // namespace duelease::model
