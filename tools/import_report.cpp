#include "import_report.h"

#include "json.h"
#include "output.h"
#include "table.h"
#include "text.h"

namespace duelease::tools {

ImportReport::ImportReport(bool json, bool verbose, Progress& progress)
    : json_(json), verbose_(verbose), progress_(progress) {}

void ImportReport::bad(std::uint64_t line, std::string_view error) {
  ++totals_.bad;
  if (json_) {
    Json json;
    json["event"] = "bad";
    json["line"] = line;
    json["error"] = json_bytes(error);
    print_json(json);
  } else if (is_shown(totals_.bad)) {
    progress_.hide();
    complain("line {}: {}", line, printable(error));
  }
}

void ImportReport::answered(std::uint64_t line, std::string_view id, const Answer& answer) {
  switch (answer.outcome) {
    case Outcome::scheduled: ++totals_.scheduled; return;
    case Outcome::rescheduled: ++totals_.rescheduled; return;
    default: return refused(line, id, answer);
  }
}

void ImportReport::refused(std::uint64_t line, std::string_view id, const Answer& answer) {
  ++totals_.refused;
  ++refused_by_state_[static_cast<std::uint8_t>(answer.state)];
  if (json_) {
    Json json;
    json["event"] = "refused";
    json["line"] = line;
    json["id"] = json_bytes(id);
    json["state"] = state_name(answer.state);
    json["blocker"] = json_bytes(answer.blocker);
    print_json(json);
  } else if (is_shown(totals_.refused)) {
    progress_.hide();
    const std::string why =
        answer.blocker == id ? "already there" : "blocked by " + printable(answer.blocker);
    say("refused {} (line {}): {}, {}", printable(id), line, why, state_name(answer.state));
  }
}

void ImportReport::finish() {
  progress_.hide();
  if (json_) return print_summary_json(Clock::now() - start_);
  if (!is_shown(totals_.refused)) {
    say("... and {} more refused; --verbose names them all", totals_.refused - shown_max);
  }
  if (!is_shown(totals_.bad)) {
    complain("... and {}; --verbose names them all", counted(totals_.bad - shown_max, "more bad row"));
  }
  print_summary();
}

void ImportReport::print_summary() const {
  std::string by_state;
  for (std::size_t i = 0; i < refused_by_state_.size(); ++i) {
    if (refused_by_state_[i] == 0) continue;
    by_state += fmt::format("{}{} {}", by_state.empty() ? "" : ", ", state_name(static_cast<State>(i)),
                            refused_by_state_[i]);
  }
  Table table({{""}, {"", Table::Align::right}, {""}});
  const auto number = [](std::uint64_t n) { return fmt::format("{}", n); };
  table.add({"rows", number(totals_.rows)});
  table.add({"scheduled", number(totals_.scheduled)});
  table.add({"rescheduled", number(totals_.rescheduled)});
  table.add({"refused", number(totals_.refused), by_state});
  table.add({"bad", number(totals_.bad)});
  write_out(table.text());
}

void ImportReport::print_summary_json(std::chrono::duration<double> elapsed) const {
  Json json;
  json["event"] = "summary";
  json["rows"] = totals_.rows;
  json["scheduled"] = totals_.scheduled;
  json["rescheduled"] = totals_.rescheduled;
  json["refused"] = totals_.refused;
  json["bad"] = totals_.bad;
  Json by_state = Json::object();
  for (std::size_t i = 0; i < refused_by_state_.size(); ++i) {
    if (refused_by_state_[i] > 0)
      by_state[std::string(state_name(static_cast<State>(i)))] = refused_by_state_[i];
  }
  json["refused_by_state"] = std::move(by_state);
  json["seconds"] = elapsed.count();
  print_json(json);
}

}  // namespace duelease::tools
