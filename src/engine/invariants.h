// engine/invariants.h: the invariants of a store by name, and one breach of them as a value: told by the check,
// mended by the repair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "duelease/types.h"
#include "store/keys.h"
#include "store/store.h"

namespace duelease::engine {

enum class Invariant : std::uint8_t {
  waiting_has_entry,
  entry_is_waiting,
  processing_has_lease,
  lease_is_processing,
  no_dead_run,
  key_owner_blocks,
  counts_match,
  run_counts_match,
  run_orders_listed,
  tokens_in_range,
  records_decode,
};

inline constexpr std::array invariant_names = {
    "waiting_order_has_one_queue_entry",
    "queue_entry_is_a_waiting_order",
    "processing_order_has_one_lease",
    "lease_is_a_processing_order",
    "no_waiting_order_under_a_dead_run",
    "key_is_owned_by_one_blocking_order",
    "counts_equal_a_recount",
    "run_counts_equal_a_recount",
    "run_lists_its_live_orders",
    "tokens_not_above_last_sequence",
    "every_record_decodes",
};
// Parallel lists: whoever adds one at the end moves this.
static_assert(invariant_names.size() == static_cast<std::size_t>(Invariant::records_decode) + 1);

struct Breach {
  // What has to be looked at to mend it, and which fields below say where that is.
  enum class At : std::uint8_t {
    unread,     // A part of the store that cannot be read.
    row,        // family, name: the key of a row that does not decode.
    order,      // queue, id; entry: the place of a queue entry of it that is in doubt.
    orphan,     // queue, id: waits under a dead run.
    owned_key,  // queue, id: blocks, and does not own its key.
    key,        // queue, name: a key whose owner is none.
    run_order,  // queue, id: its run does not list it.
    run_list,   // queue, name: a run that lists too much.
    run,        // queue, name, recount: of its orders as they are now, and in the history.
    counts,     // queue, recount.
    sequence,   // seen: the highest token or change in the store.
  };

  Invariant invariant{};
  At at = At::unread;
  std::string queue{};
  std::string id{};    // Or, in brackets, what else the example names.
  std::string what{};  // In words.
  store::Family family{};
  std::string name{};
  std::optional<store::Place> entry{};
  Counts recount{};
  std::uint64_t seen = 0;

  std::string text() const { return "queue " + queue + ", order " + id + ": " + what; }
};

struct CheckOptions {
  std::stop_token stop{};  // The check then answers Code::closing, within some rows.
  // Told each breach, in the middle of the walk. It may write to the store: the check reads a snapshot of it.
  std::function<void(const Breach&)> on_breach{};
};

}  // namespace duelease::engine
