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
  // Reap leases and purge old successes by itself. Off: only by the methods. (Waiting claims are served all the
  // same, and the store is searched for orders that damage took the lease from.)
  bool timer = true;
  // After an open each lease has at least this long, at most its full length, whatever the clock says:
  // a long outage does not hand everything out again at once. 0 - 1 h.
  Duration restart_grace{5000};
  std::shared_ptr<const Clock> clock{};  // Empty: system_clock().
  // For jitter. Empty: seeded by the system. Called on the engine's strand, by one thread at a time.
  std::function<std::uint64_t()> random{};
  // Empty: silent. Called from the threads of the engine and from those that open or close it, by several at
  // once; must not block, nor call the engine.
  std::function<void(LogLevel, std::string_view)> log{};

  // Limits. Crossing one of the first three answers Code::overloaded; nothing is lost and nothing grows.
  std::size_t commands_waiting_max = 100'000;  // Changes submitted and not yet in a commit group; from 1.
  // Their bytes, payloads and all; from 1. One call alone always fits, whatever its size.
  std::size_t command_bytes_waiting_max = 256 * 1024 * 1024;
  std::size_t claims_waiting_max = 100'000;              // Claims that wait for an order; 0: none may.
  std::size_t claim_reply_bytes_max = 16 * 1024 * 1024;  // A claim answers fewer orders rather than more
                                                         // bytes (of each its payload and 512), but always
                                                         // at least one.

  // Tuning
  std::size_t group_commands_max = 4096;  // Changes in one commit group, about; from 1.
  // Memory for writes, for the whole store; 64 KiB to 64 GiB. What finds rows in it (some 20 bytes a row) comes on top. The
  // log takes up to three times as much on disk, and an open after a crash reads all of it.
  std::size_t memtable_bytes = 128 * 1024 * 1024;
  std::size_t block_cache_bytes = 64 * 1024 * 1024;  // For the whole store.
};

}  // namespace duelease
