#include "row_mapper.h"

#include <algorithm>
#include <utility>

#include "json.h"
#include "output.h"
#include "text.h"

namespace duelease::tools {
namespace {

constexpr std::size_t name_bytes_max = 255;  // Ids and keys alike.

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<std::string> join_key(const std::vector<std::string_view>& values) {
  if (std::ranges::all_of(values, [](std::string_view value) { return value.empty(); })) return std::nullopt;
  if (values.size() == 1) return std::string(values[0]);
  std::string key;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) key += '|';
    for (const char c : values[i]) {
      if (c == '|' || c == '\\') key += '\\';
      key += c;
    }
  }
  return key;
}

RowMapper::RowMapper(const ImportPlan& plan, std::vector<std::string> header)
    : plan_(plan), header_(std::move(header)) {}

Result<RowMapper> RowMapper::from_header(const ImportPlan& plan, std::vector<std::string> header) {
  std::vector<std::string> sorted = header;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    return fail(Code::invalid, fmt::format("the header has the column {} twice", quote(*twice)));
  }
  for (const std::string& name : header) {
    if (!is_utf8(name)) return fail(Code::invalid, fmt::format("column {} is not UTF-8", quote(name)));
  }
  RowMapper mapper(plan, std::move(header));
  const Result<> found = mapper.find_columns(plan);
  if (!found) return Unexpected{found.error()};
  return mapper;
}

Result<> RowMapper::find_columns(const ImportPlan& plan) {
  const Result<std::size_t> id = column(plan.id_column);
  if (!id) return Unexpected{id.error()};
  id_ = *id;
  const Result<std::size_t> due = column(plan.due_column);
  if (!due) return Unexpected{due.error()};
  due_ = *due;
  for (const std::string& typed : plan.key_columns) {
    // A column whose name has a comma in it can be named whole.
    const std::vector<std::string> names = column(typed) ? std::vector{typed} : split_at_commas(typed);
    for (const std::string& name : names) {
      const Result<std::size_t> key = column(name);
      if (!key) return Unexpected{key.error()};
      key_.push_back(*key);
    }
  }
  return {};
}

Result<std::size_t> RowMapper::column(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
  std::string all;
  for (const std::string& there : header_) all += (all.empty() ? "" : ", ") + quote(there);
  return fail(Code::invalid, fmt::format("no column {}; there are: {}", quote(name), all));
}

Result<ScheduleRequest> RowMapper::map(const CsvRow& row) const {
  if (row.fields.size() != header_.size()) {
    return fail(Code::invalid, fmt::format("{} fields where the header has {}, from {} on", row.fields.size(),
                                           header_.size(), quote(row.fields.empty() ? "" : row.fields[0])));
  }
  const std::string& id = row.fields[id_];
  if (id.empty() || id.size() > name_bytes_max) {
    return fail(Code::invalid, fmt::format("{} {} is {} bytes long: ids have 1 - {}", header_[id_], quote(id),
                                           id.size(), name_bytes_max));
  }
  const Result<Time> due = parse_timestamp(row.fields[due_], plan_.due_unit);
  if (!due) return fail(Code::invalid, fmt::format("{}: {}", header_[due_], due.error().message));

  std::vector<std::string_view> key_values;
  for (const std::size_t i : key_) key_values.emplace_back(row.fields[i]);
  std::optional<std::string> key = join_key(key_values);
  if (key && key->size() > name_bytes_max) {
    return fail(Code::invalid, fmt::format("key {} is {} bytes long: keys have 1 - {}", quote(*key),
                                           key->size(), name_bytes_max));
  }
  ScheduleRequest request;
  request.queue = plan_.queue;
  request.id = id;
  request.due = *due;
  request.payload = payload(row);
  request.key = std::move(key);
  request.run = plan_.run;
  request.priority = plan_.priority;
  request.tries = plan_.tries;
  request.upsert = plan_.upsert;
  return request;
}

std::string RowMapper::payload(const CsvRow& row) const {
  Json json = Json::object();
  for (std::size_t i = 0; i < header_.size(); ++i) {
    json[header_[i]] = json_bytes(row.fields[i]);
  }
  return json_line(json);
}

}  // namespace duelease::tools
