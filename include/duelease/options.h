// duelease/options.h: how a store is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "duelease/clock.h"
#include "duelease/types.h"

namespace duelease {

// What an acknowledged change has survived.
enum class Durability : std::uint8_t {
  sync,      // On disk: it survives a power cut.
  interval,  // In the operating system: it survives kill -9; a power cut may take the last
             // Options::sync_interval of changes.
  none,      // As interval, but only the operating system decides when it is written.
};

enum class LogLevel : std::uint8_t { info, warning, error };

struct Options {
  // Behaviour
  bool create_if_missing = true;
  Durability durability = Durability::sync;
  Duration sync_interval{1000};  // 1 ms - 1 h; for Durability::interval.
  bool timer = true;             // Reap leases and purge old successes by itself. Off: only by the methods.
  // After an open each lease has at least this long, at most its full length, whatever the clock says:
  // a long outage does not hand everything out again at once. 0 - 1 h.
  Duration restart_grace{5000};
  std::shared_ptr<const Clock> clock{};                   // Empty: system_clock().
  std::function<std::uint64_t()> random{};                // For jitter. Empty: seeded by the system.
  std::function<void(LogLevel, std::string_view)> log{};  // Empty: silent. Called from engine threads.

  // Limits. Crossing one of the first two answers Code::overloaded; nothing is lost and nothing grows.
  std::size_t commands_waiting_max = 100'000;            // Changes submitted and not yet in a commit group.
  std::size_t claims_waiting_max = 100'000;              // Claims that wait for an order.
  std::size_t claim_reply_bytes_max = 16 * 1024 * 1024;  // A claim answers fewer orders rather than more
                                                         // bytes (of each its payload and 512), but always
                                                         // at least one.

  // Tuning
  std::size_t group_commands_max = 4096;             // Changes in one commit group.
  std::size_t memtable_bytes = 128 * 1024 * 1024;    // Memory for writes, for the whole store.
  std::size_t block_cache_bytes = 64 * 1024 * 1024;  // For the whole store.
};

}  // namespace duelease
