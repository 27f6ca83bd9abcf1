#include "order_columns.h"

#include <fmt/format.h>

#include "redis_source.h"
#include "text.h"

namespace duelease::tools {
namespace {

std::string read_unit(const std::string& text, EpochUnit& unit) {
  if (text != "s" && text != "ms" && text != "auto") return "one of s, ms, auto";
  unit = text == "s" ? EpochUnit::seconds : text == "ms" ? EpochUnit::milliseconds : EpochUnit::automatic;
  return {};
}

}  // namespace

void declare_columns(Arguments& command, ColumnPlan& columns) {
  command.text("--id", columns.id, "COLUMN", "the column of the id");
  command.text("--due", columns.due, "COLUMN",
               "the column of the due time: a date, a date-time (UTC where it names no zone) or a number");
  command.texts("--key", columns.key, "COLUMN[,COLUMN...]",
                "the columns that make the dedup key; no key where all of them are empty");
  const auto unit = [&columns](const std::string& text) { return read_unit(text, columns.unit); };
  command.value("--due-unit", unit, "UNIT",
                "what a number counts since 1970: s, ms, or auto (the default: s up to 11 digits, then ms)");
}

Result<> check_columns(const SourceOptions& source, ColumnPlan& columns) {
  if (is_zset(source)) {
    if (columns.id.empty()) columns.id = RedisSource::member_column;
    if (columns.due.empty()) columns.due = RedisSource::score_column;
  }
  if (columns.id.empty()) return fail(Code::invalid, "--id must name a column");
  if (columns.due.empty()) return fail(Code::invalid, "--due must name a column");
  return {};
}

Result<> check_queue_name(std::string_view queue) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
  if (!queue.empty() && queue.size() <= 128 && queue.find_first_not_of(allowed) == std::string_view::npos) {
    return {};
  }
  return fail(Code::invalid, fmt::format("queue {}: a name is 1 - 128 of A-Z a-z 0-9 . _ : -", quote(queue)));
}

}  // namespace duelease::tools
