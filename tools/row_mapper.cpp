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

std::vector<std::string> ColumnPlan::names() const {
  std::vector<std::string> names = {id, due};
  for (const std::string& typed : key) {
    for (std::string& name : split_at_commas(typed)) names.push_back(std::move(name));
  }
  for (const auto& name : {status, created, ended}) {
    if (name) names.push_back(*name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

RowMapper::RowMapper(const ColumnPlan& plan, std::vector<std::string> header)
    : plan_(plan), header_(std::move(header)) {}

Result<RowMapper> RowMapper::from_header(const ColumnPlan& plan, std::vector<std::string> header) {
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
  const Result<> found = mapper.find_columns();
  if (!found) return Unexpected{found.error()};
  return mapper;
}

Result<> RowMapper::find_columns() {
  const Result<std::size_t> id = column(plan_.id);
  if (!id) return Unexpected{id.error()};
  id_ = *id;
  const Result<std::size_t> due = column(plan_.due);
  if (!due) return Unexpected{due.error()};
  due_ = *due;
  for (const std::string& typed : plan_.key) {
    // A column whose name has a comma in it can be named whole.
    const std::vector<std::string> names = column(typed) ? std::vector{typed} : split_at_commas(typed);
    for (const std::string& name : names) {
      const Result<std::size_t> key = column(name);
      if (!key) return Unexpected{key.error()};
      key_.push_back(*key);
    }
  }
  Result<> found = find_column(plan_.status, status_);
  if (found) found = find_column(plan_.created, created_);
  if (found) found = find_column(plan_.ended, ended_);
  return found;
}

Result<> RowMapper::find_column(const std::optional<std::string>& name,
                                std::optional<std::size_t>& into) const {
  if (!name) return {};
  const Result<std::size_t> found = column(*name);
  if (!found) return Unexpected{found.error()};
  into = *found;
  return {};
}

Result<std::size_t> RowMapper::column(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
  std::string all;
  for (const std::string& there : header_) all += (all.empty() ? "" : ", ") + quote(there);
  return fail(Code::invalid, fmt::format("no column {}; there are: {}", quote(name), all));
}

Result<OrderRow> RowMapper::map(SourceRow row) const {
  const Result<> shape = check_shape(row);
  if (!shape) return Unexpected{shape.error()};
  OrderRow order;
  Result<std::string> id_text = id(row);
  if (!id_text) return Unexpected{id_text.error()};
  order.id = std::move(*id_text);
  const Result<Time> due = time(row, due_);
  if (!due) return Unexpected{due.error()};
  order.due = *due;
  Result<std::optional<std::string>> key_text = key(row);
  if (!key_text) return Unexpected{key_text.error()};
  order.key = std::move(*key_text);
  const Result<State> stands = state(row);
  if (!stands) return Unexpected{stands.error()};
  order.state = *stands;
  const Result<std::optional<Time>> created = time_if_any(row, created_);
  if (!created) return Unexpected{created.error()};
  order.created = *created;
  const Result<std::optional<Time>> ended = time_if_any(row, ended_);
  if (!ended) return Unexpected{ended.error()};
  order.ended = *ended;
  order.payload = row.payload ? std::move(*row.payload) : payload(row);
  return order;
}

Result<> RowMapper::check_shape(const SourceRow& row) const {
  if (!row.fault.empty()) return fail(Code::invalid, row.fault);
  if (row.values.size() == header_.size()) return {};
  const std::string first = row.values.empty() ? "" : row.values[0].value_or("");
  return fail(Code::invalid, fmt::format("{} fields where the header has {}, from {} on", row.values.size(),
                                         header_.size(), quote(first)));
}

Result<std::string> RowMapper::id(const SourceRow& row) const {
  const std::optional<std::string>& id = row.values[id_];
  if (!id) return fail(Code::invalid, fmt::format("{} is null", header_[id_]));
  if (id->empty() || id->size() > name_bytes_max) {
    return fail(Code::invalid, fmt::format("{} {} is {} bytes long: ids have 1 - {}", header_[id_],
                                           quote(*id), id->size(), name_bytes_max));
  }
  return *id;
}

Result<std::optional<std::string>> RowMapper::key(const SourceRow& row) const {
  std::vector<std::string_view> values;
  for (const std::size_t i : key_) values.push_back(row.values[i] ? std::string_view(*row.values[i]) : "");
  std::optional<std::string> key = join_key(values);
  if (key && key->size() > name_bytes_max) {
    return fail(Code::invalid, fmt::format("key {} is {} bytes long: keys have 1 - {}", quote(*key),
                                           key->size(), name_bytes_max));
  }
  return key;
}

Result<State> RowMapper::state(const SourceRow& row) const {
  if (!status_) return State::wait;
  const std::string word = row.values[*status_].value_or("");
  const auto mapped = plan_.states.find(word);
  if (mapped != plan_.states.end()) return mapped->second;
  const std::optional<State> state = state_named(word);
  if (state && *state != State::processing) return *state;
  return fail(
      Code::invalid,
      fmt::format("{} {} is none of WAIT, SUCCESS, FAILED, ABORTED: say with --status-map which it means",
                  header_[*status_], quote(word)));
}

Result<Time> RowMapper::time(const SourceRow& row, std::size_t column) const {
  if (!row.values[column]) return fail(Code::invalid, fmt::format("{} is null", header_[column]));
  const Result<Time> time = parse_timestamp(*row.values[column], plan_.unit);
  if (!time) return fail(Code::invalid, fmt::format("{}: {}", header_[column], time.error().message));
  return *time;
}

Result<std::optional<Time>> RowMapper::time_if_any(const SourceRow& row,
                                                   std::optional<std::size_t> column) const {
  if (!column || row.values[*column].value_or("").empty()) return std::optional<Time>();
  const Result<Time> there = time(row, *column);
  if (!there) return Unexpected{there.error()};
  return std::optional<Time>(*there);
}

std::string RowMapper::payload(const SourceRow& row) const {
  Json json = Json::object();
  for (std::size_t i = 0; i < header_.size(); ++i) {
    json[header_[i]] = row.values[i] ? json_bytes(*row.values[i]) : Json();
  }
  return json_line(json);
}

}  // namespace duelease::tools
