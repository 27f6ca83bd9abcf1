// tools/row_mapper.h: what the columns of a CSV file mean, and the order that a row becomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csv_reader.h"
#include "duelease/types.h"
#include "time_text.h"

namespace duelease::tools {

// What the user asked for.
struct ImportPlan {
  std::string queue;
  std::string id_column;
  std::string due_column;
  std::vector<std::string> key_columns;  // As typed: each a column, or several with commas between.
  std::optional<std::string> run;
  EpochUnit due_unit = EpochUnit::automatic;
  std::optional<std::uint8_t> priority;
  std::optional<std::uint32_t> tries;
  bool upsert = false;
};

class RowMapper {
 public:
  // Error: a column that is not there, or one that is there twice (a row is a JSON object by column name).
  static Result<RowMapper> from_header(const ImportPlan& plan, std::vector<std::string> header);

  // The error says which value of the row is wrong. A row must have as many fields as the header.
  Result<ScheduleRequest> map(const CsvRow& row) const;

 private:
  RowMapper(const ImportPlan& plan, std::vector<std::string> header);
  Result<> find_columns(const ImportPlan& plan);
  Result<std::size_t> column(std::string_view name) const;
  std::string payload(const CsvRow& row) const;

  ImportPlan plan_;
  std::vector<std::string> header_;
  std::size_t id_ = 0;
  std::size_t due_ = 0;
  std::vector<std::size_t> key_;
};

// The dedup key of several values. One value is the key as it stands; several are joined with `|`, and `|`
// and `\` inside a value get a `\` in front, so that different values never make the same key. When all of
// them are empty the order has no key, as a row of NULLs conflicts with nothing in a database.
std::optional<std::string> join_key(const std::vector<std::string_view>& values);

}  // namespace duelease::tools
