// tools/import_report.h: counts what became of the rows of an import, and says it.
//
// Everything is told as it happens and nothing is kept, so an import of any size takes the same memory.
// A person sees the first few of a kind (all with `verbose`) and a summary; a script gets JSON lines:
//   {"event": "refused", "line": 7, "id": ..., "state": "WAIT", "blocker": ...}
//   {"event": "bad", "line": 9, "error": ...}
//   {"event": "conflict", "key": ..., "rows": ..., "states": {"WAIT": ...}, "owner": ..., "voided": ...,
//    "grandfathered": ..., "members": [{"line": ..., "id": ..., "state": ..., "fate": ...}]}
//   {"event": "repeated", "id": ..., "rows": ..., "lines": [7, 9]}
//   {"event": "left", "line": 7, "id": ..., "owner": ...}
//   {"event": "summary", "rows": ..., "scheduled": ..., "rescheduled": ..., "refused": ..., "present": ...,
//    "bad": ..., "refused_by_state": {"WAIT": ...}, "seconds": ...}     always the last line, once the source is
//    open; where orders were taken over also "scheduled_by_state", "conflicts", "voided", "grandfathered",
//    "left", "refused_done"
// "line" is the number of the row, whatever its source counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "batch_sender.h"
#include "row_report.h"
#include "staged_rows.h"
#include "table.h"

namespace duelease::tools {

struct ImportTotals {
  std::uint64_t scheduled = 0;
  std::uint64_t rescheduled = 0;
  std::uint64_t refused = 0;
  std::uint64_t present = 0;        // The order was there already, of which that is no wonder.
  std::uint64_t repeated = 0;       // Ids that several rows have.
  std::uint64_t conflicts = 0;      // Keys that several rows block.
  std::uint64_t voided = 0;         // Of those that were scheduled.
  std::uint64_t grandfathered = 0;  // The same.
  std::uint64_t left = 0;           // Not sent, for the owner of its key was not taken.
  std::uint64_t refused_done =
      0;  // Of those that were refused: a SUCCESS whose key an order has that is not done.
};

class ImportReport final : public RowReport {
 public:
  struct Style {
    RowStyle rows{};
    bool takes_over = false;           // Orders come with states.
    bool may_be_present = false;       // A row whose id is there already is no refusal.
    bool conflicts_are_fatal = false;  // They are why nothing is imported.
  };

  ImportReport(Style style, Progress& progress);

  void answered(const Sent& sent, Fate fate, const Answer& answer);
  void present() { ++totals_.present; }
  void left(std::uint64_t number, std::string_view id, std::string_view owner);
  void repeated(std::string_view id, std::uint64_t rows, std::uint64_t first, std::uint64_t second);
  void conflict(const Conflict& conflict);
  // No more of them come.
  void conflicts_end();
  void finish();

  const ImportTotals& totals() const { return totals_; }

 private:
  using Clock = std::chrono::steady_clock;

  void refused(std::uint64_t number, std::string_view id, const Answer& answer);
  void print_conflict_json(const Conflict& conflict) const;
  void print_conflicts();
  void print_summary() const;
  void print_summary_json(std::chrono::duration<double> elapsed) const;

  const Style style_;
  const Clock::time_point start_ = Clock::now();
  ImportTotals totals_;
  ByState scheduled_by_state_{};
  ByState refused_by_state_{};
  std::optional<Table> conflicts_;  // Those that wait to be printed, shown_max at most.
};

}  // namespace duelease::tools
