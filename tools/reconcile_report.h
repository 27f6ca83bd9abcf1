// tools/reconcile_report.h: counts what a reconcile finds, and says it.
//
// Everything is told as it happens and nothing is kept but some lines of a table and the ids of orders
// that block rows. A person sees a table of the
// difference when it is asked for, else of the rows alone whose key another order has; a script gets JSON lines:
//   {"event": "difference", "what": "move", "line": 7, "id": ..., "state": ..., "was": ..., "due": ...,
//    "blocker": ...}
//   {"event": "bad", "line": 9, "error": ...}
//   {"event": "summary", "dry_run": false, "finished": true, "rows": ..., "scheduled": ..., "rescheduled": ...,
//    "unchanged": ..., "newer": ..., "refused": ..., "duplicate": ..., "vanished": ..., "bad": ...,
//    "refused_by_state": {"SUCCESS": ...}, "seconds": ...}     always the last line, once the source is open
// What is absent is null. "line" is the number of the row, whatever its source counts.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "batch_sender.h"
#include "row_report.h"
#include "table.h"

namespace duelease::tools {

// Of the source and the queue, and what is done about it.
enum class Difference : std::uint8_t {
  schedule,
  move,
  cancel,
  leave,    // It has changed since the source was read, or does not wait.
  blocked,  // Its key is another order's.
};

class ReconcileTold final : public RowReport {
 public:
  struct Style {
    RowStyle rows{};
    bool dry_run = false;  // Then also what an order to be moved was due at can be told.
    bool cancels_missing = false;
    bool is_remote = false;  // Then the state of what is newer is not told, see duelease/client.h.
  };
  // What the order is due at, as it stands; absent when that cannot be told. Asked only of what is shown.
  using DueOf = std::function<std::optional<Time>(std::string_view id)>;

  ReconcileTold(Style style, Progress& progress, DueOf due_of);

  void answered(const Sent& sent, const Answer& answer);
  void vanished(std::string_view id);
  // Rows that were blocked by an order that vanished: the next reconcile schedules them.
  std::uint64_t unblocked() const { return unblocked_; }
  // finished: all rows were taken, and what vanished was cancelled where that was asked for.
  void finish(bool finished);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kinds = 5;

  struct Line {
    Difference what{};
    std::optional<std::uint64_t> number{};
    std::string_view id{};
    std::optional<State> state{};
    std::optional<Time> was{};
    std::optional<Time> due{};
    std::string_view blocker{};
  };

  bool is_told(Difference what) const;
  // Counts it; true: it is to be shown.
  bool note(Difference what);
  void show(const Line& line);
  void print_json_line(const Line& line) const;
  void print_lines();
  void print_totals(bool finished) const;
  void print_summary_json(bool finished) const;
  std::uint64_t count(Difference what) const { return counts_[static_cast<std::size_t>(what)]; }

  const Style style_;
  const DueOf due_of_;
  const Clock::time_point start_ = Clock::now();
  std::array<std::uint64_t, kinds> counts_{};
  std::uint64_t unchanged_ = 0;
  std::uint64_t newer_ = 0;  // Of those that are left.
  ByState refused_by_state_{};
  std::optional<Table> lines_;  // Those that wait to be printed.
  std::size_t lines_count_ = 0;
  std::map<std::string, std::uint64_t, std::less<>>
      blocked_by_;  // Of cancels_missing: how many rows, by blocker.
  std::uint64_t unblocked_ = 0;
};

}  // namespace duelease::tools
