// tools/progress.h: how far a long command is, on one line of a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace duelease::tools {

struct ProgressState {
  std::uint64_t rows = 0;
  std::uint64_t done = 0;                // Of `total`: bytes, or rows.
  std::optional<std::uint64_t> total{};  // Absent: the end is not known.
  std::chrono::milliseconds elapsed{0};
};

// " 45 % [#########           ] 123456 rows, 98000/s, 12 s left"; at most 79 columns.
std::string progress_line(const ProgressState& state);

// Draws on standard error while that is a terminal, ten times a second at most; else does nothing.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t rows, std::uint64_t done, std::optional<std::uint64_t> total);
  // What comes now is counted anew.
  void restart() { start_ = Clock::now(); }
  // Takes the line off, so that other lines can be written; the next show() draws it again.
  void hide();

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_terminal_;
  Clock::time_point start_;
  std::optional<Clock::time_point> drawn_;  // Empty: nothing is on the terminal.
};

}  // namespace duelease::tools
