// tools/import_plan.h: what an import was asked to do, and the requests that its rows become.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "duelease/result.h"
#include "duelease/types.h"
#include "row_mapper.h"

namespace duelease::tools {

// What becomes of rows that have a key in common of which two or more block it (WAIT or SUCCESS).
enum class Duplicates : std::uint8_t {
  first_wins,   // The engine refuses the later ones, as it refuses any duplicate.
  refuse,       // Nothing is imported at all.
  keep_one,     // The SUCCESS stays, else the newest that waits; the others that wait become ABORTED.
  grandfather,  // All stay as they are, and only what comes later is held to the rule.
};

struct ImportPlan {
  ColumnPlan columns{};
  std::string queue{};
  std::optional<std::string> run{};
  std::optional<std::uint8_t> priority{};
  std::optional<std::uint32_t> tries{};
  bool upsert = false;
  Duplicates duplicates = Duplicates::first_wins;  // Where there is a status column, refuse by default.

  // Else they are scheduled, as orders that are new.
  bool takes_over() const {
    return columns.status || columns.created || columns.ended || duplicates != Duplicates::first_wins;
  }
};

ScheduleRequest schedule_request(const ImportPlan& plan, OrderRow row);
ImportRequest import_request(const ImportPlan& plan, OrderRow row);

// Whether the queue would take an order like that at all. An order that it would not take must not own a key.
Result<> check_row(const OrderRow& row, const std::string& queue, std::uint32_t payload_bytes_max, Time now);

}  // namespace duelease::tools
