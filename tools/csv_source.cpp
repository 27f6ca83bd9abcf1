#include "csv_source.h"

#include <utility>

namespace duelease::tools {

CsvSource::CsvSource(FileReader file, char delimiter)
    : file_(std::move(file)), reader_(delimiter, [this](CsvRow& row) {
        rows_.push_back(std::move(row));
        return true;
      }) {}

Result<> CsvSource::read() {
  while (rows_.empty() && !ended_ && !error_) {
    const Result<std::string_view> bytes = file_.next();
    if (!bytes) return Unexpected{bytes.error()};
    if (bytes->empty() && !file_.at_end()) return {};  // A stop.
    ended_ = bytes->empty();
    const Result<> fed = ended_ ? reader_.finish() : reader_.feed(*bytes);
    if (!fed) error_ = fed.error();
  }
  if (rows_.empty() && error_) return Unexpected{*error_};
  return {};
}

Result<std::vector<std::string>> CsvSource::columns() {
  const Result<> done = read();
  if (!done) return Unexpected{done.error()};
  if (rows_.empty() && ended_) return fail(Code::invalid, "there is no header");
  if (rows_.empty()) return std::vector<std::string>();
  std::vector<std::string> header = std::move(rows_.front().fields);
  rows_.pop_front();
  return header;
}

Result<bool> CsvSource::next(SourceRow& row) {
  const Result<> done = read();
  if (!done) return Unexpected{done.error()};
  if (rows_.empty()) return false;
  row = SourceRow{.number = rows_.front().line};
  for (std::string& field : rows_.front().fields) row.values.emplace_back(std::move(field));
  rows_.pop_front();
  return true;
}

}  // namespace duelease::tools
