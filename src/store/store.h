// store/store.h: the narrow interface to the disk, and what lies in it.
//
//   family    key                     value                       holds
//   queue     queue_key               encode_waiting              each WAIT order, in claim order
//   leases    order_key               encode_lease                each PROCESSING order
//   orders    order_key               encode_live/encode_ended    each order: where it is, or how it ended
//   dedup     dedup_key               the id, as it is            owner of each key that blocks: model::owned_key()
//   history   history_key             encode_entry/_generation    what happened to an order, and earlier
//                                                                 generations of an id
//   meta      see keys.h              encode_format, _sequence, _settings, _counts;
//                                                                 log_secret: 8 bytes, see log_tail.h
//   app       the application's own   the application's own
//   runs      active_run_key              nothing                 runs that are alive or have live orders
//             run_key                     encode_run              each run
//             run_order_key               nothing                 orders of a run that are alive
//
// A life is six writes: schedule puts queue and orders; a claim moves the record from queue to leases
// (no read: the queue entry is the record) and leaves orders alone; complete deletes the lease and puts
// orders. An order with a run has two more: its row in runs comes and goes with it. Where the queue keeps a history
// each of the three puts one more.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "duelease/result.h"

namespace duelease::store {

// Raised when an older version must not open a store of this one.
inline constexpr std::uint32_t format_version = 1;

enum class Family : std::uint8_t { queue, leases, orders, dedup, runs, history, meta, app };
inline constexpr std::array family_names = {"queue", "leases",  "orders", "dedup",
                                            "runs",  "history", "meta",   "app"};
inline constexpr std::size_t family_count = family_names.size();

// A put (value) or a delete (no value).
struct Change {
  Family family{};
  std::string key;
  std::optional<std::string> value;
};

// Walks keys upwards. key() and value() need valid(), and are good until next().
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool valid() const = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual void next() = 0;
  // When it is no longer valid: whether that is the end, or an error.
  virtual Result<> status() const = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;
  // Keys from `from` on, below `to` (empty: no end).
  virtual std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const = 0;
};

// write() is called by one thread at a time; all else by any, also during a write.
class Store : public Reader {
 public:
  // All of them or none, also after a crash. On disk for sure only after a sync() that began later. Now and then it
  // syncs by itself, where a log file begins.
  virtual Result<> write(std::span<const Change> changes) = 0;
  virtual Result<> sync() = 0;
  // The store as it is now, for reading at leisure; must not outlive the store.
  virtual std::unique_ptr<Reader> snapshot() const = 0;
  // A copy of the store in `folder`, which must not exist.
  virtual Result<> backup(const std::filesystem::path& folder) const = 0;
};

}  // namespace duelease::store
