// engine/queue_state.h: what the core keeps in memory of each queue.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "duelease/clock.h"
#include "duelease/types.h"
#include "engine/queue_head.h"
#include "store/records.h"

namespace duelease::engine {

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

  // Retention of successes: the sweep under way goes on from `sweep_from`; else the next begins then.
  std::optional<std::string> sweep_from;
  std::uint64_t sweep_rows = 0;
  Monotonic sweep_next = Monotonic::min();

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

  // Nothing: there is nothing to sweep.
  std::optional<Monotonic> next_sweep() const {
    if (!settings().keep_success || counts.success == 0) return std::nullopt;
    return sweep_from ? Monotonic::min() : sweep_next;
  }
};

}  // namespace duelease::engine
