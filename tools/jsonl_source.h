// tools/jsonl_source.h: a file of JSON objects, one a line (JSON Lines, NDJSON).
//
// A line is the payload as it stands, but for the blanks around it; the columns that are asked for are members of
// its object, absent ones being null. A line that is no object, has one of them twice or is too long is a row with a
// fault, and the next one goes on. Blank lines are no rows.
#pragma once

#include <string>
#include <vector>

#include "file_reader.h"
#include "source.h"

namespace duelease::tools {

class JsonLinesSource final : public RowSource {
 public:
  // As the largest row of a CSV file.
  static constexpr std::size_t line_bytes_max = 64 * 1024 * 1024;

  JsonLinesSource(FileReader file, std::vector<std::string> columns, std::size_t bytes_max = line_bytes_max);

  const std::string& name() const override { return file_.name(); }
  std::string_view unit() const override { return "line"; }
  Result<std::vector<std::string>> columns() override { return columns_; }
  Result<bool> next(SourceRow& row) override;
  SourceProgress progress() const override { return file_.progress(); }

 private:
  enum class Line : std::uint8_t { whole, too_long, none };

  // The next line, without its end, into line_.
  Result<Line> read_line();
  void read_values(std::string_view object, SourceRow& row) const;

  FileReader file_;
  const std::vector<std::string> columns_;
  const std::size_t bytes_max_;
  std::string_view rest_;  // Of what was read from the file.
  std::string line_;
  std::uint64_t number_ = 0;  // Of line_.
};

}  // namespace duelease::tools
