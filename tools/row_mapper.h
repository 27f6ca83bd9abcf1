// tools/row_mapper.h: what the columns of a source mean, and the order that a row describes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/types.h"
#include "source.h"
#include "time_text.h"

namespace duelease::tools {

// What the user asked for.
struct ColumnPlan {
  std::string id{};
  std::string due{};
  std::vector<std::string> key{};  // As typed: each a column, or several with commas between.
  EpochUnit unit = EpochUnit::automatic;
  std::optional<std::string> status{};
  std::map<std::string, State, std::less<>> states{};  // The words of the status column that are not ours.
  std::optional<std::string> created{};
  std::optional<std::string> ended{};

  // Of all that is named above, each once; a name with a comma in it is not told from several.
  std::vector<std::string> names() const;
};

// What a row says about an order.
struct OrderRow {
  std::string id{};
  Time due{};
  std::string payload{};
  std::optional<std::string> key{};
  State state = State::wait;
  std::optional<Time> created{};
  std::optional<Time> ended{};
  // Not of the row itself: what was decided about it.
  std::string error{};
  bool grandfather = false;
};

class RowMapper {
 public:
  // Error: a column that is not there, or one that is there twice (a row is a JSON object by column name).
  static Result<RowMapper> from_header(const ColumnPlan& plan, std::vector<std::string> header);

  // The error says which value of the row is wrong. A row must have as many values as the header.
  Result<OrderRow> map(SourceRow row) const;

 private:
  RowMapper(const ColumnPlan& plan, std::vector<std::string> header);
  Result<> find_columns();
  Result<> find_column(const std::optional<std::string>& name, std::optional<std::size_t>& into) const;
  Result<std::size_t> column(std::string_view name) const;

  Result<> check_shape(const SourceRow& row) const;
  Result<std::string> id(const SourceRow& row) const;
  Result<std::optional<std::string>> key(const SourceRow& row) const;
  Result<State> state(const SourceRow& row) const;
  Result<Time> time(const SourceRow& row, std::size_t column) const;
  // Absent where it is null or empty.
  Result<std::optional<Time>> time_if_any(const SourceRow& row, std::optional<std::size_t> column) const;
  std::string payload(const SourceRow& row) const;

  ColumnPlan plan_;
  std::vector<std::string> header_;
  std::size_t id_ = 0;
  std::size_t due_ = 0;
  std::vector<std::size_t> key_;
  std::optional<std::size_t> status_;
  std::optional<std::size_t> created_;
  std::optional<std::size_t> ended_;
};

// The dedup key of several values. One value is the key as it stands; several are joined with `|`, and `|`
// and `\` inside a value get a `\` in front, so that different values never make the same key. When all of
// them are empty the order has no key, as a row of NULLs conflicts with nothing in a database.
std::optional<std::string> join_key(const std::vector<std::string_view>& values);

}  // namespace duelease::tools
