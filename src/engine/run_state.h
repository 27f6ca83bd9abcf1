// engine/run_state.h: what the core keeps in memory of a run: all that are alive or still have live orders,
// and others while a group changes them.
#pragma once

#include <optional>
#include <string>

#include "duelease/clock.h"
#include "duelease/types.h"
#include "model/run.h"

namespace duelease::engine {

struct HeldRun {
  std::string queue;
  std::string run;
  model::RunRecord record;
  bool is_listed = false;                 // Has its row among the active ones.
  bool is_changed = false;                // In the open group.
  std::optional<Monotonic> deadline;      // While it is alive and has a time to live.
  std::optional<std::string> sweep_from;  // It has ended, and its waiting orders are being aborted.

  bool is_alive() const { return model::is_alive(record.state); }
  bool is_active() const { return is_alive() || record.counts.wait > 0 || record.counts.processing > 0; }
};

}  // namespace duelease::engine
