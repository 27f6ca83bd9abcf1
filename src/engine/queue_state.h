// engine/queue_state.h: what the core keeps in memory of each queue. Its orders are not among it.
//
// Low-water marks. A queue's head fills with tombstones as orders are claimed, and a seek from its start
// would step over every one of them. So for each priority in use there is a mark: no order of that
// priority stands before it. A scan starts at the mark and moves it to what it finds; whatever is put in
// earlier moves it back. A mark may be too early (its order was cancelled), never too late.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "duelease/clock.h"
#include "duelease/types.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

struct Mark {
  Time due{};
  std::string id;
  auto operator<=>(const Mark&) const = default;
};

struct QueueState {
  std::string name;
  store::SettingsRow row;
  Counts counts;
  bool counts_changed = false;  // In the open group.
  std::map<std::uint8_t, Mark> marks;
  // Damage: the store counted so many more PROCESSING orders than it had leases when it was opened. They
  // are looked for from `scrub_from` on.
  std::uint64_t leases_missing = 0;
  std::optional<std::string> scrub_from;

  // Retention of successes: the sweep under way goes on from `sweep_from`; else the next begins then.
  std::optional<std::string> sweep_from;
  std::uint64_t sweep_rows = 0;
  Monotonic sweep_next{};

  const QueueSettings& settings() const { return row.settings; }

  void note_entry(const store::Place& place, std::string_view id) {
    Mark mark{place.due, std::string(id)};
    const auto [found, added] = marks.try_emplace(place.priority, mark);
    if (!added && mark < found->second) found->second = std::move(mark);
  }

  // No order can be due before this.
  std::optional<Time> earliest_due() const {
    std::optional<Time> earliest;
    for (const auto& [priority, mark] : marks) {
      if (!earliest || mark.due < *earliest) earliest = mark.due;
    }
    return earliest;
  }

  // Of a state that this version knows.
  std::uint64_t& count(State state) {
    switch (state) {
      case State::processing: return counts.processing;
      case State::success: return counts.success;
      case State::failed: return counts.failed;
      case State::aborted: return counts.aborted;
      default: return counts.wait;
    }
  }
};

}  // namespace duelease::engine
