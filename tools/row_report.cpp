#include "row_report.h"

#include <utility>

#include "output.h"
#include "text.h"

namespace duelease::tools {

RowReport::RowReport(RowStyle style, Progress& progress) : style_(std::move(style)), progress_(progress) {}

void RowReport::bad(std::uint64_t number, std::string_view error) {
  ++bad_;
  if (style_.json) {
    Json json;
    json["event"] = "bad";
    json["line"] = number;
    json["error"] = json_bytes(error);
    print_json(json);
  } else if (is_shown(bad_)) {
    progress_.hide();
    complain("{} {}: {}", style_.unit, number, printable(error));
  }
}

void RowReport::more_bad() const {
  if (is_shown(bad_)) return;
  complain("... and {}; --verbose names them all", counted(bad_ - shown_max, "more bad row"));
}

std::string states_text(std::span<const std::uint64_t> by_state) {
  std::string text;
  for (std::size_t i = 0; i < by_state.size(); ++i) {
    if (by_state[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", state_name(static_cast<State>(i)), by_state[i]);
  }
  return text;
}

Json states_json(std::span<const std::uint64_t> by_state) {
  Json json = Json::object();
  for (std::size_t i = 0; i < by_state.size(); ++i) {
    if (by_state[i] > 0) json[std::string(state_name(static_cast<State>(i)))] = by_state[i];
  }
  return json;
}

}  // namespace duelease::tools
