#include "csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace duelease::tools {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t block_bytes_min = 4096;

}  // namespace

CsvReader::CsvReader(char delimiter, OnRow on_row) : on_row_(std::move(on_row)) {
  if (csv_init(&parser_, 0) != 0) throw std::bad_alloc();
  csv_set_delim(&parser_, static_cast<unsigned char>(delimiter));
}

CsvReader::~CsvReader() { csv_free(&parser_); }

void CsvReader::on_field(void* bytes, std::size_t size, void* self) {
  static_cast<CsvReader*>(self)->row_.fields.emplace_back(static_cast<const char*>(bytes), size);
}

void CsvReader::on_row_end(int /*terminator*/, void* self) {
  static_cast<CsvReader*>(self)->row_ended_ = true;
}

Result<> CsvReader::feed(std::string_view bytes) {
  if (head_done_) return feed_lines(bytes);
  head_ += bytes;
  if (head_.size() < byte_order_mark.size() && byte_order_mark.starts_with(head_)) return {};
  head_done_ = true;
  const std::string head = std::exchange(head_, {});
  std::string_view rest = head;
  if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
  return feed_lines(rest);
}

Result<> CsvReader::finish() {
  if (!head_done_) {
    head_done_ = true;
    const Result<> fed = feed_lines(std::exchange(head_, {}));
    if (!fed) return fed;
  }
  // A line end closes the last row, unless that is inside a quote.
  if (row_open_ && !stopped_) {
    const Result<> fed = feed_piece("\n");
    if (!fed) return fed;
  }
  if (row_open_ && !stopped_) {
    return fail(Code::invalid, fmt::format("line {}: a quote that is never closed", row_.line));
  }
  return {};
}

Result<> CsvReader::feed_lines(std::string_view bytes) {
  while (!bytes.empty() && !stopped_) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
    const Result<> fed = feed_piece(bytes.substr(0, size));
    if (!fed) return fed;
    bytes.remove_prefix(size);
  }
  return {};
}

Result<> CsvReader::feed_piece(std::string_view piece) {
  const bool second_half = after_cr_ && piece == "\n";
  if (!row_open_) row_.line = second_half ? line_ - 1 : line_;
  row_ended_ = false;
  // libcsv grows its buffer by this much at a time; growing with the row keeps a large one linear.
  csv_set_blk_size(&parser_, std::max(block_bytes_min, row_bytes_));
  if (csv_parse(&parser_, piece.data(), piece.size(), on_field, on_row_end, this) != piece.size()) {
    return fail(Code::invalid, fmt::format("line {}: {}", line_, csv_strerror(csv_error(&parser_))));
  }
  const bool ends_line = piece.back() == '\r' || piece.back() == '\n';
  if (ends_line && !second_half) ++line_;
  after_cr_ = piece.back() == '\r';

  if (row_ended_) {
    row_open_ = false;
    row_bytes_ = 0;
    stopped_ = !on_row_(row_);
    row_.fields.clear();
    return {};
  }
  row_open_ = row_open_ || piece.find_first_not_of(" \t\r\n") != std::string_view::npos;
  row_bytes_ = row_open_ ? row_bytes_ + piece.size() : 0;
  if (row_bytes_ > row_bytes_max) {
    return fail(Code::invalid, fmt::format("line {}: a row larger than {} bytes; is a quote never closed?",
                                           row_.line, row_bytes_max));
  }
  return {};
}

}  // namespace duelease::tools
