// tools/table.h: aligned columns for a person.
//
//     Table table({{"queue"}, {"due", Table::Align::right}});
//     table.add({"shipping", "12"});
//     write_out(table.text());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace duelease::tools {

class Table {
 public:
  enum class Align : std::uint8_t { left, right };

  struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t width_max = 60;  // Longer cells are cut, with "..." at the end.
  };

  explicit Table(std::vector<Column> columns);

  // Cells may hold any bytes: they are made printable here, so that no caller can forget it. Missing cells
  // are empty; there must not be more than columns.
  void add(std::vector<std::string> cells);

  bool empty() const { return rows_.empty(); }

  // Title line and rows, two blanks between columns, no blanks at the end of a line. Without titles in any
  // column there is no title line.
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace duelease::tools
