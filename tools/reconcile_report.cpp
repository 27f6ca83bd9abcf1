#include "reconcile_report.h"

#include <utility>

#include "output.h"
#include "text.h"
#include "time_text.h"

namespace duelease::tools {
namespace {

constexpr std::size_t table_lines_max = 1000;

std::string_view name_of(Difference what) {
  switch (what) {
    case Difference::schedule: return "schedule";
    case Difference::move: return "move";
    case Difference::cancel: return "cancel";
    case Difference::leave: return "leave";
    case Difference::blocked: return "blocked";
  }
  return "";
}

Json optional_time(const std::optional<Time>& time) {
  return time ? Json(time->time_since_epoch().count()) : Json();
}

std::string time_cell(const std::optional<Time>& time) { return time ? print_time(*time) : std::string(); }

std::string why_cell(Difference what, std::optional<State> state, std::string_view blocker) {
  if (what == Difference::blocked) {
    return fmt::format("its key is that of {}, {}", printable(blocker), state_name(*state));
  }
  if (what != Difference::leave) return {};
  return !state || *state == State::wait ? "changed meanwhile" : std::string(state_name(*state));
}

}  // namespace

ReconcileTold::ReconcileTold(Style style, Progress& progress, DueOf due_of)
    : RowReport(style.rows, progress), style_(std::move(style)), due_of_(std::move(due_of)) {}

void ReconcileTold::answered(const Sent& sent, const Answer& answer) {
  Line line{.number = sent.number, .id = sent.id, .due = sent.due};
  switch (answer.outcome) {
    case Outcome::unchanged: ++unchanged_; return;
    case Outcome::scheduled: line.what = Difference::schedule; break;
    case Outcome::rescheduled: line.what = Difference::move; break;
    case Outcome::duplicate:
      line.what = Difference::blocked;
      line.state = answer.state;
      line.blocker = answer.blocker;
      if (style_.cancels_missing) ++blocked_by_[answer.blocker];
      break;
    case Outcome::newer:
      ++newer_;
      line.what = Difference::leave;
      if (!style_.is_remote) line.state = answer.state;
      break;
    default:
      ++refused_by_state_[static_cast<std::uint8_t>(answer.state)];
      line.what = Difference::leave;
      line.state = answer.state;
      break;
  }
  if (!note(line.what)) return;
  const bool still_due_as_before =
      line.what == Difference::move ? style_.dry_run : answer.outcome == Outcome::newer;
  if (still_due_as_before) line.was = due_of_(sent.id);
  show(line);
}

void ReconcileTold::vanished(std::string_view id) {
  if (const auto found = blocked_by_.find(id); found != blocked_by_.end()) unblocked_ += found->second;
  if (note(Difference::cancel)) show({.what = Difference::cancel, .id = id, .was = due_of_(id)});
}

// A row that was not taken because of another order is told of in any case, as by an import.
bool ReconcileTold::is_told(Difference what) const {
  return style_.rows.json || style_.dry_run || style_.rows.verbose || what == Difference::blocked;
}

bool ReconcileTold::note(Difference what) {
  const std::uint64_t nth = ++counts_[static_cast<std::size_t>(what)];
  return is_told(what) && (style_.rows.json || is_shown(nth));
}

void ReconcileTold::show(const Line& line) {
  if (style_.rows.json) return print_json_line(line);
  if (!lines_) {
    lines_.emplace(
        std::vector<Table::Column>{{"id", Table::Align::left, 40}, {"what"}, {"was due"}, {"due"}, {"why"}});
  }
  lines_->add({std::string(line.id), std::string(name_of(line.what)), time_cell(line.was),
               time_cell(line.due), why_cell(line.what, line.state, line.blocker)});
  if (++lines_count_ % table_lines_max == 0) print_lines();
}

void ReconcileTold::print_json_line(const Line& line) const {
  Json json;
  json["event"] = "difference";
  json["what"] = name_of(line.what);
  json["line"] = line.number ? Json(*line.number) : Json();
  json["id"] = json_bytes(line.id);
  json["state"] = line.state ? Json(state_name(*line.state)) : Json();
  json["was"] = optional_time(line.was);
  json["due"] = optional_time(line.due);
  json["blocker"] = line.blocker.empty() ? Json() : json_bytes(line.blocker);
  print_json(json);
}

void ReconcileTold::print_lines() {
  if (!lines_) return;
  progress().hide();
  write_out(lines_->text());
  lines_.reset();
}

void ReconcileTold::finish(bool finished) {
  progress().hide();
  if (style_.rows.json) return print_summary_json(finished);
  print_lines();
  std::uint64_t more = 0;
  for (std::size_t i = 0; i < kinds; ++i) {
    if (is_told(static_cast<Difference>(i)) && !is_shown(counts_[i])) more += counts_[i] - shown_max;
  }
  if (more > 0) say("... and {} more; --verbose names them all", more);
  more_bad();
  print_totals(finished);
  if (style_.dry_run) say("dry run: nothing was changed");
}

void ReconcileTold::print_totals(bool finished) const {
  Table table({{""}, {"", Table::Align::right}, {""}});
  const auto add = [&table](const char* what, std::uint64_t n, std::string note = {}) {
    table.add({what, fmt::format("{}", n), std::move(note)});
  };
  add("rows", rows());
  add("scheduled", count(Difference::schedule));
  add("rescheduled", count(Difference::move));
  add("unchanged", unchanged_);
  add("newer", newer_, newer_ > 0 ? "changed meanwhile, left alone" : "");
  add("refused", count(Difference::leave) - newer_, states_text(refused_by_state_));
  add("duplicate", count(Difference::blocked));
  if (style_.cancels_missing) {
    add("cancelled", count(Difference::cancel), finished ? "" : "not finished");
  }
  add("bad", bad_rows());
  write_out(table.text());
}

void ReconcileTold::print_summary_json(bool finished) const {
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  Json json;
  json["event"] = "summary";
  json["dry_run"] = style_.dry_run;
  json["finished"] = finished;
  json["rows"] = rows();
  json["scheduled"] = count(Difference::schedule);
  json["rescheduled"] = count(Difference::move);
  json["unchanged"] = unchanged_;
  json["newer"] = newer_;
  json["refused"] = count(Difference::leave) - newer_;
  json["duplicate"] = count(Difference::blocked);
  json["vanished"] = style_.cancels_missing ? Json(count(Difference::cancel)) : Json();
  json["bad"] = bad_rows();
  json["refused_by_state"] = states_json(refused_by_state_);
  json["seconds"] = elapsed.count();
  print_json(json);
}

}  // namespace duelease::tools
