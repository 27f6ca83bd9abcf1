#include "jsonl_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json_object.h"
#include "text.h"

namespace duelease::tools {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

JsonLinesSource::JsonLinesSource(FileReader file, std::vector<std::string> columns, std::size_t bytes_max)
    : file_(std::move(file)), columns_(std::move(columns)), bytes_max_(bytes_max) {}

Result<JsonLinesSource::Line> JsonLinesSource::read_line() {
  line_.clear();
  bool too_long = false;
  bool begun = false;
  while (true) {
    if (rest_.empty()) {
      const Result<std::string_view> bytes = file_.next();
      if (!bytes) return Unexpected{bytes.error()};
      if (bytes->empty() && !file_.at_end()) return Line::none;  // A stop: the line may not be whole.
      if (bytes->empty() && !begun) return Line::none;
      if (bytes->empty()) break;
      rest_ = *bytes;
    }
    if (!begun) ++number_;
    begun = true;
    const std::size_t end = rest_.find('\n');
    const std::string_view piece = rest_.substr(0, end);
    too_long = too_long || line_.size() + piece.size() > bytes_max_;
    if (!too_long) line_ += piece;
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (end != std::string_view::npos) break;
  }
  return too_long ? Line::too_long : Line::whole;
}

Result<bool> JsonLinesSource::next(SourceRow& row) {
  while (true) {
    const Result<Line> read = read_line();
    if (!read) return Unexpected{read.error()};
    if (*read == Line::none) return false;
    row = SourceRow{.number = number_};
    if (*read == Line::too_long) {
      row.fault = fmt::format("a line longer than {} bytes", bytes_max_);
      return true;
    }
    std::string_view object = line_;
    if (number_ == 1 && object.starts_with(byte_order_mark)) object.remove_prefix(byte_order_mark.size());
    object = without_blanks(object);
    if (object.empty()) continue;
    read_values(object, row);
    return true;
  }
}

void JsonLinesSource::read_values(std::string_view object, SourceRow& row) const {
  Result<std::vector<JsonMember>> members = read_json_object(object);
  if (!members) {
    row.fault = members.error().message;
    return;
  }
  std::vector<std::optional<std::string>> values(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto named = [&](const JsonMember& member) { return member.name == columns_[i]; };
    const auto found = std::ranges::find_if(*members, named);
    if (found == members->end()) continue;
    if (std::find_if(found + 1, members->end(), named) != members->end()) {
      row.fault = fmt::format("{} is there twice", quote(columns_[i]));
      return;
    }
    values[i] = found->value;
  }
  row.values = std::move(values);
  row.payload = object;
}

}  // namespace duelease::tools
