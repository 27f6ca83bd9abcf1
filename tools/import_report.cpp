#include "import_report.h"

#include <utility>

#include "output.h"
#include "text.h"

namespace duelease::tools {
namespace {

std::string_view fate_name(Fate fate) {
  switch (fate) {
    case Fate::kept: return "kept";
    case Fate::voided: return "voided";
    case Fate::grandfathered: return "grandfathered";
  }
  return "";
}

Table conflict_table(std::string_view unit) {
  return Table({{"key", Table::Align::left, 30},
                {"states"},
                {"owner", Table::Align::left, 30},
                {"state"},
                {std::string(unit), Table::Align::right},
                {"others"}});
}

}  // namespace

ImportReport::ImportReport(Style style, Progress& progress)
    : RowReport(style.rows, progress), style_(std::move(style)) {}

void ImportReport::answered(const Sent& sent, Fate fate, const Answer& answer) {
  switch (answer.outcome) {
    case Outcome::scheduled:
      ++totals_.scheduled;
      ++scheduled_by_state_[static_cast<std::uint8_t>(answer.state)];
      if (fate == Fate::voided) ++totals_.voided;
      if (fate == Fate::grandfathered) ++totals_.grandfathered;
      return;
    case Outcome::rescheduled: ++totals_.rescheduled; return;
    default: break;
  }
  if (style_.may_be_present && answer.blocker == sent.id) {
    ++totals_.present;
    return;
  }
  const bool is_done_there = answer.blocker == sent.id || answer.state == State::success;
  if (sent.state == State::success && !is_done_there) ++totals_.refused_done;
  refused(sent.number, sent.id, answer);
}

void ImportReport::left(std::uint64_t number, std::string_view id, std::string_view owner) {
  ++totals_.left;
  if (style_.rows.json) {
    Json json;
    json["event"] = "left";
    json["line"] = number;
    json["id"] = json_bytes(id);
    json["owner"] = json_bytes(owner);
    print_json(json);
  } else if (is_shown(totals_.left)) {
    progress().hide();
    say("left {} ({} {}): {}, the owner of its key, was not taken", printable(id), style_.rows.unit, number,
        printable(owner));
  }
}

void ImportReport::refused(std::uint64_t number, std::string_view id, const Answer& answer) {
  ++totals_.refused;
  ++refused_by_state_[static_cast<std::uint8_t>(answer.state)];
  if (style_.rows.json) {
    Json json;
    json["event"] = "refused";
    json["line"] = number;
    json["id"] = json_bytes(id);
    json["state"] = state_name(answer.state);
    json["blocker"] = json_bytes(answer.blocker);
    print_json(json);
  } else if (is_shown(totals_.refused)) {
    progress().hide();
    const std::string why =
        answer.blocker == id ? "already there" : "blocked by " + printable(answer.blocker);
    say("refused {} ({} {}): {}, {}", printable(id), style_.rows.unit, number, why, state_name(answer.state));
  }
}

void ImportReport::repeated(std::string_view id, std::uint64_t rows, std::uint64_t first,
                            std::uint64_t second) {
  ++totals_.repeated;
  if (style_.rows.json) {
    Json json;
    json["event"] = "repeated";
    json["id"] = json_bytes(id);
    json["rows"] = rows;
    json["lines"] = {first, second};
    print_json(json);
  } else if (is_shown(totals_.repeated)) {
    progress().hide();
    complain("{} is the id of {}, first of {} {} and {}", printable(id), counted(rows, "row"),
             style_.rows.unit, first, second);
  }
}

void ImportReport::conflict(const Conflict& conflict) {
  ++totals_.conflicts;
  if (style_.rows.json) return print_conflict_json(conflict);
  if (!is_shown(totals_.conflicts)) return;
  std::string others;
  if (conflict.voided > 0) others = fmt::format("{} become ABORTED", conflict.voided);
  if (conflict.grandfathered > 0) {
    others += fmt::format("{}{} grandfathered", others.empty() ? "" : ", ", conflict.grandfathered);
  }
  if (!conflicts_) conflicts_.emplace(conflict_table(style_.rows.unit));
  conflicts_->add({conflict.key, states_text(conflict.by_state), conflict.owner.id,
                   std::string(state_name(conflict.owner.state)), fmt::format("{}", conflict.owner.number),
                   others});
  if (totals_.conflicts % shown_max == 0) print_conflicts();
}

void ImportReport::print_conflict_json(const Conflict& conflict) const {
  Json json;
  json["event"] = "conflict";
  json["key"] = json_bytes(conflict.key);
  json["rows"] = conflict.rows;
  json["states"] = states_json(conflict.by_state);
  json["owner"] = json_bytes(conflict.owner.id);
  json["voided"] = conflict.voided;
  json["grandfathered"] = conflict.grandfathered;
  Json members = Json::array();
  for (const ConflictMember& member : conflict.members) {
    Json one;
    one["line"] = member.number;
    one["id"] = json_bytes(member.id);
    one["state"] = state_name(member.state);
    one["fate"] = style_.conflicts_are_fatal ? "refused" : fate_name(member.fate);
    members.push_back(std::move(one));
  }
  json["members"] = std::move(members);
  print_json(json);
}

void ImportReport::print_conflicts() {
  if (!conflicts_) return;
  progress().hide();
  write_out(conflicts_->text());
  conflicts_.reset();
}

void ImportReport::conflicts_end() {
  print_conflicts();
  if (style_.rows.json || totals_.conflicts == 0) return;
  progress().hide();
  if (!is_shown(totals_.conflicts)) {
    say("... and {} more; --verbose names them all", totals_.conflicts - shown_max);
  }
  say("{} that two or more rows block", counted(totals_.conflicts, "key"));
}

void ImportReport::finish() {
  progress().hide();
  if (style_.rows.json) return print_summary_json(Clock::now() - start_);
  if (!is_shown(totals_.refused)) {
    say("... and {} more refused; --verbose names them all", totals_.refused - shown_max);
  }
  if (!is_shown(totals_.left)) {
    say("... and {} more left; --verbose names them all", totals_.left - shown_max);
  }
  more_bad();
  if (!is_shown(totals_.repeated)) {
    complain("... and {}; --verbose names them all", counted(totals_.repeated - shown_max, "more such id"));
  }
  print_summary();
}

void ImportReport::print_summary() const {
  Table table({{""}, {"", Table::Align::right}, {""}});
  const auto number = [](std::uint64_t n) { return fmt::format("{}", n); };
  table.add({"rows", number(rows())});
  table.add({"scheduled", number(totals_.scheduled),
             style_.takes_over ? states_text(scheduled_by_state_) : std::string()});
  if (style_.takes_over) {
    table.add({"voided", number(totals_.voided)});
    table.add({"grandfathered", number(totals_.grandfathered)});
    table.add({"left", number(totals_.left)});
  } else {
    table.add({"rescheduled", number(totals_.rescheduled)});
  }
  table.add({"refused", number(totals_.refused), states_text(refused_by_state_)});
  if (style_.may_be_present) table.add({"present", number(totals_.present)});
  table.add({"bad", number(bad_rows())});
  write_out(table.text());
}

void ImportReport::print_summary_json(std::chrono::duration<double> elapsed) const {
  Json json;
  json["event"] = "summary";
  json["rows"] = rows();
  json["scheduled"] = totals_.scheduled;
  json["rescheduled"] = totals_.rescheduled;
  json["refused"] = totals_.refused;
  json["present"] = totals_.present;
  json["bad"] = bad_rows();
  json["refused_by_state"] = states_json(refused_by_state_);
  if (style_.takes_over) {
    json["scheduled_by_state"] = states_json(scheduled_by_state_);
    json["conflicts"] = totals_.conflicts;
    json["voided"] = totals_.voided;
    json["grandfathered"] = totals_.grandfathered;
    json["left"] = totals_.left;
    json["refused_done"] = totals_.refused_done;
  }
  json["seconds"] = elapsed.count();
  print_json(json);
}

}  // namespace duelease::tools
