// tools/row_report.h: what every report on the rows of a source counts and says.
//
// A person sees the first few of a kind (all with `verbose`), a script gets JSON lines:
//   {"event": "bad", "line": 9, "error": ...}
// "line" is the number of the row, whatever its source counts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "duelease/types.h"
#include "json.h"
#include "progress.h"

namespace duelease::tools {

struct RowStyle {
  bool json = false;
  bool verbose = false;
  std::string unit = "line";  // What the number of a row counts.
};

class RowReport {
 public:
  static constexpr std::uint64_t shown_max = 20;

  // `progress` is taken off the terminal before a line is written.
  RowReport(RowStyle style, Progress& progress);

  void row() { ++rows_; }
  void bad(std::uint64_t number, std::string_view error);

  std::uint64_t rows() const { return rows_; }
  std::uint64_t bad_rows() const { return bad_; }

 protected:
  ~RowReport() = default;

  const RowStyle& rows_style() const { return style_; }
  Progress& progress() { return progress_; }
  bool is_shown(std::uint64_t nth) const { return style_.verbose || nth <= shown_max; }
  // To a person, how many bad rows were not named.
  void more_bad() const;

 private:
  const RowStyle style_;
  Progress& progress_;
  std::uint64_t rows_ = 0;
  std::uint64_t bad_ = 0;
};

// How many orders there are of each state, by its number.
using ByState = std::array<std::uint64_t, 256>;
// "WAIT 3, SUCCESS 1".
std::string states_text(std::span<const std::uint64_t> by_state);
// {"WAIT": 3, "SUCCESS": 1}
Json states_json(std::span<const std::uint64_t> by_state);

}  // namespace duelease::tools
