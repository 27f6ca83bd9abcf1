// engine/queue_state.h: what the core keeps in memory of each queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "duelease/clock.h"
#include "duelease/types.h"
#include "engine/queue_head.h"
#include "store/records.h"

namespace duelease::engine {

// A walk over rows of a queue, a bounded part at a time, that gives the space of what is kept no longer back: the one
// under way goes on at `from`; else the next begins at `next`.
struct Sweep {
  std::optional<std::string> from{};
  std::uint64_t rows = 0;
  Monotonic next = Monotonic::min();

  Monotonic due() const { return from ? Monotonic::min() : next; }
};

struct QueueState {
  std::string name;
  store::SettingsRow row;
  Counts counts;
  bool counts_changed = false;              // In the open group.
  bool counts_lost = false;                 // While opening: they did not decode.
  std::map<std::uint8_t, QueueHead> heads;  // Of each priority in use.
  // Damage: the store counted so many more PROCESSING orders than it had leases when it was opened. They
  // are looked for from `scrub_from` on.
  std::uint64_t leases_missing = 0;
  std::optional<std::string> scrub_from;

  Sweep success_sweep;
  Sweep history_sweep;

  // Since the core last looked. The times are those under which it finds the queue.
  bool touched = false;
  std::optional<Time> awaited_at;
  std::optional<Monotonic> sweep_at;

  const QueueSettings& settings() const { return row.settings; }

  // No order can be due before this.
  std::optional<Time> earliest_due() const {
    std::optional<Time> earliest;
    for (const auto& [priority, head] : heads) {
      if (!head.empty() && (!earliest || head.earliest_due() < *earliest)) earliest = head.earliest_due();
    }
    return earliest;
  }

  // Each, nothing: there is nothing to sweep.
  std::optional<Monotonic> next_success_sweep() const {
    if (!settings().keep_success || counts.success == 0) return std::nullopt;
    return success_sweep.due();
  }
  std::optional<Monotonic> next_history_sweep() const {
    if (!row.may_have_history) return std::nullopt;
    return history_sweep.due();
  }
  std::optional<Monotonic> next_sweep() const {
    const std::optional<Monotonic> success = next_success_sweep();
    const std::optional<Monotonic> history = next_history_sweep();
    return success && history ? std::min(*success, *history) : (success ? success : history);
  }
};

}  // namespace duelease::engine
