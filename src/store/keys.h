// store/keys.h: the layout of every key.
//
//   family    key                                                 sorted by
//   queue     queue 00 priority:u8 due_ms:i64be id                queue, priority, due, id
//   orders    queue 00 id                                         queue, id
//   leases    queue 00 id                                         queue, id
//   dedup     queue 00 key                                        queue, key
//   history   queue 00 escaped(id) 00 00 sequence:u64be           queue, id, sequence
//   meta      "format" | "sequence" | "closed" | "log_secret" | "settings:" queue | "counts:" queue
//   app       whatever the application likes
//   runs      queue 00 'a' run                                    queue, run: runs with live orders, or alive
//             queue 00 'r' run                                    queue, run: each run
//             queue 00 'o' escaped(run) 00 00 id                  queue, run, id: the run's live orders
//
// A queue name holds no 00 byte, so `queue 00` ends it without ambiguity. i64be is big-endian with the
// sign bit flipped: byte order is time order. escaped() writes 00 as 00 FF, so that ids of any bytes sort
// as ids and never run into the sequence. tests/store/keys_test.cpp holds the golden bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "duelease/types.h"

namespace duelease::store {

// Where an order stands in its queue.
struct Place {
  std::uint8_t priority = 0;
  Time due{};

  auto operator<=>(const Place&) const = default;
};

std::string queue_prefix(std::string_view queue);  // `queue 00`: starts every key but those of meta and app.
std::string queue_key(std::string_view queue, const Place& place, std::string_view id);
std::string order_key(std::string_view queue, std::string_view id);  // Families orders and leases.
std::string dedup_key(std::string_view queue, std::string_view key);
std::string history_prefix(std::string_view queue, std::string_view id);
std::string history_key(std::string_view queue, std::string_view id, std::uint64_t sequence);

std::string active_run_prefix(std::string_view queue);
std::string active_run_key(std::string_view queue, std::string_view run);
std::string run_prefix(std::string_view queue);
std::string run_key(std::string_view queue, std::string_view run);
std::string run_orders_prefix(std::string_view queue, std::string_view run);
std::string run_order_key(std::string_view queue, std::string_view run, std::string_view id);

inline constexpr std::string_view format_key = "format";
inline constexpr std::string_view sequence_key = "sequence";
inline constexpr std::string_view closed_key = "closed";  // The last sequence, once the store is closed.
inline constexpr std::string_view log_secret_key = "log_secret";  // See log_tail.h.
inline constexpr std::string_view settings_prefix = "settings:";
inline constexpr std::string_view counts_prefix = "counts:";
std::string settings_key(std::string_view queue);
std::string counts_key(std::string_view queue);

// The smallest string above every string that starts with `prefix`; empty: there is none.
std::string prefix_end(std::string_view prefix);

// Views into the key that was taken apart. Nothing: the bytes are not such a key.
struct QueueEntry {
  std::string_view queue;
  Place place;
  std::string_view id;
};
std::optional<QueueEntry> parse_queue_key(std::string_view bytes);

struct OrderName {
  std::string_view queue;
  std::string_view id;  // Family dedup: the dedup key.
};
std::optional<OrderName> parse_order_key(std::string_view bytes);

struct HistoryName {
  std::string_view queue;
  std::string id;
  std::uint64_t sequence = 0;
};
std::optional<HistoryName> parse_history_key(std::string_view bytes);

struct RunEntry {
  enum class Kind : std::uint8_t { active, run, order };
  Kind kind{};
  std::string_view queue;
  std::string run;
  std::string_view id;  // order
};
std::optional<RunEntry> parse_run_key(std::string_view bytes);

}  // namespace duelease::store
