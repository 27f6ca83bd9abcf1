#include "table.h"

#include <algorithm>
#include <utility>

#include "text.h"

namespace duelease::tools {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = printable(cells[i], columns_[i].width_max);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> titles;
  bool has_titles = false;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    has_titles = has_titles || !column.title.empty();
  }
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(titles[i]);
    for (const std::vector<std::string>& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  if (has_titles) out += line(titles, widths);
  for (const std::vector<std::string>& row : rows_) out += line(row, widths);
  return out;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += "  ";
    const std::string fill(widths[i] - display_width(cells[i]), ' ');
    out += columns_[i].align == Align::right ? fill + cells[i] : cells[i] + fill;
  }
  out.resize(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

}  // namespace duelease::tools
