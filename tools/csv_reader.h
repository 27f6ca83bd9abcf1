// tools/csv_reader.h: rows of a CSV file, with the line that each begins on.
//
// libcsv does the reading: RFC 4180, and what it is lenient about: lines end with LF, CRLF or CR; blank lines
// are no rows; blanks and tabs around an unquoted value, or outside the quotes, are not part of it; a quote
// inside an unquoted value is a character. A byte order mark at the start is skipped. What a row means, and
// how many fields it should have, is the caller's matter.
//
// Memory is bounded by one row. A quote that is never closed would make the rest of the file one value: it
// is an error at the end of the file, or as soon as the row is larger than any payload can be.
#pragma once

#include <csv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"

namespace duelease::tools {

struct CsvRow {
  std::uint64_t line = 0;  // From 1; a value may hold line ends, so rows are not lines.
  std::vector<std::string> fields;
};

class CsvReader {
 public:
  // Called with each row; false: no more rows are wanted. It may take the fields out of the row.
  using OnRow = std::function<bool(CsvRow&)>;

  static constexpr std::size_t row_bytes_max = 64 * 1024 * 1024;

  CsvReader(char delimiter, OnRow on_row);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // The next bytes of the file, cut anywhere.
  Result<> feed(std::string_view bytes);
  // The file has ended.
  Result<> finish();

 private:
  // libcsv's callbacks.
  static void on_field(void* bytes, std::size_t size, void* self);
  static void on_row_end(int terminator, void* self);

  Result<> feed_lines(std::string_view bytes);
  // At most one line end, as its last byte.
  Result<> feed_piece(std::string_view piece);

  const OnRow on_row_;
  csv_parser parser_{};
  CsvRow row_;
  std::string head_;  // The first bytes, until it is clear whether they are a byte order mark.
  bool head_done_ = false;
  std::uint64_t line_ = 1;     // The line that the next byte is on.
  bool after_cr_ = false;      // An LF now ends no further line.
  bool row_open_ = false;      // The next byte may belong to a row that has begun.
  bool row_ended_ = false;     // By the piece being fed.
  std::size_t row_bytes_ = 0;  // Of the open row.
  bool stopped_ = false;
};

}  // namespace duelease::tools
