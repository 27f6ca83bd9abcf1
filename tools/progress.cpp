#include "progress.h"

#include <unistd.h>

#include <cmath>

#include "output.h"
#include "text.h"
#include "time_text.h"

namespace duelease::tools {
namespace {

constexpr std::chrono::milliseconds redraw_after{100};
constexpr std::size_t bar_width = 20;

}  // namespace

std::string progress_line(const ProgressState& state) {
  const double seconds = static_cast<double>(state.elapsed.count()) / 1000;
  const double rate = seconds > 0 ? static_cast<double>(state.rows) / seconds : 0;
  const std::string counts = fmt::format("{}, {:.0f}/s", counted(state.rows, "row"), rate);
  // A file that grows while it is read has more bytes than it had: then there is no end to tell of.
  if (!state.total || *state.total == 0 || state.done > *state.total) return counts;

  const double share = static_cast<double>(state.done) / static_cast<double>(*state.total);
  const auto filled = static_cast<std::size_t>(share * bar_width);
  const std::string bar = std::string(filled, '#') + std::string(bar_width - filled, ' ');
  std::string line = fmt::format("{:3.0f} % [{}] {}", share * 100, bar, counts);
  if (state.done == 0) return line;
  const double left = seconds * (1 - share) / share;
  line += fmt::format(", {} left", print_duration(std::chrono::seconds{std::llround(left)}));
  return line;
}

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) == 1), start_(Clock::now()) {}

Progress::~Progress() { hide(); }

void Progress::show(std::uint64_t rows, std::uint64_t done, std::optional<std::uint64_t> total) {
  if (!is_terminal_) return;
  const Clock::time_point now = Clock::now();
  if (drawn_ && now - *drawn_ < redraw_after) return;
  drawn_ = now;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_);
  write_err("\r\x1b[K" + progress_line({rows, done, total, elapsed}));
}

void Progress::hide() {
  if (drawn_) write_err("\r\x1b[K");
  drawn_.reset();
}

}  // namespace duelease::tools
