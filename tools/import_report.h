// tools/import_report.h: counts what became of the rows of an import, and says it.
//
// Everything is told as it happens and nothing is kept, so an import of any size takes the same memory.
// A person sees the first few of a kind (all with `verbose`) and a summary; a script gets JSON lines:
//   {"event": "refused", "line": 7, "id": ..., "state": "WAIT", "blocker": ...}
//   {"event": "bad", "line": 9, "error": ...}
//   {"event": "summary", "rows": ..., "scheduled": ..., "rescheduled": ..., "refused": ..., "bad": ...,
//    "refused_by_state": {"WAIT": ...}, "seconds": ...}     always the last line
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "duelease/types.h"
#include "progress.h"

namespace duelease::tools {

struct ImportTotals {
  std::uint64_t rows = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t rescheduled = 0;
  std::uint64_t refused = 0;
  std::uint64_t bad = 0;
};

class ImportReport {
 public:
  static constexpr std::uint64_t shown_max = 20;

  // `progress` is taken off the terminal before a line is written.
  ImportReport(bool json, bool verbose, Progress& progress);

  void row() { ++totals_.rows; }
  void bad(std::uint64_t line, std::string_view error);
  void answered(std::uint64_t line, std::string_view id, const Answer& answer);
  void finish();

  const ImportTotals& totals() const { return totals_; }

 private:
  using Clock = std::chrono::steady_clock;

  void refused(std::uint64_t line, std::string_view id, const Answer& answer);
  void print_summary() const;
  void print_summary_json(std::chrono::duration<double> elapsed) const;
  bool is_shown(std::uint64_t nth) const { return verbose_ || nth <= shown_max; }

  const bool json_;
  const bool verbose_;
  const Clock::time_point start_ = Clock::now();
  Progress& progress_;
  ImportTotals totals_;
  std::array<std::uint64_t, 256> refused_by_state_{};  // By the number of the state.
};

}  // namespace duelease::tools
