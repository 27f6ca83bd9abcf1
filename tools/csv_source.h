// tools/csv_source.h: the rows of a CSV file with a header.
#pragma once

#include <deque>

#include "csv_reader.h"
#include "file_reader.h"
#include "source.h"

namespace duelease::tools {

class CsvSource final : public RowSource {
 public:
  CsvSource(FileReader file, char delimiter);

  const std::string& name() const override { return file_.name(); }
  std::string_view unit() const override { return "line"; }
  Result<std::vector<std::string>> columns() override;
  Result<bool> next(SourceRow& row) override;
  SourceProgress progress() const override { return file_.progress(); }

 private:
  // Until there is a row, or no more will come.
  Result<> read();

  FileReader file_;
  std::deque<CsvRow> rows_;  // Of one buffer of the file at most.
  CsvReader reader_;
  bool ended_ = false;
  std::optional<Error> error_;  // Told behind the rows that came before it.
};

}  // namespace duelease::tools
