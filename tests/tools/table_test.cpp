// Tables for a person.
#include "table.h"

#include <catch2/catch.hpp>

using duelease::tools::Table;

TEST_CASE("columns are aligned and lines have no blanks at their end", "[table]") {
  Table table({{"queue"}, {"due", Table::Align::right}, {"key"}});
  table.add({"shipping", "7", "k"});
  table.add({"q", "1234", ""});
  CHECK(table.text() ==
        "queue      due  key\n"
        "shipping     7  k\n"
        "q         1234\n");
}

TEST_CASE("a table without titles has no title line", "[table]") {
  Table table({{""}, {""}});
  table.add({"rows", "3"});
  table.add({"scheduled"});
  CHECK(table.text() == "rows       3\nscheduled\n");
}

TEST_CASE("cells are made printable and cut", "[table]") {
  Table table({{"id", Table::Align::left, 8}, {"x"}});
  table.add({"a\n\x1B", "1"});
  table.add({"0123456789", "2"});
  table.add({"\xE8\xAE\xA2", "3"});
  CHECK(table.text() ==
        "id        x\n"
        "a\\n\\x1b   1\n"
        "01234...  2\n"
        "\xE8\xAE\xA2        3\n");
}

TEST_CASE("a table without rows is its titles", "[table]") {
  const Table table({{"a"}, {"b"}});
  CHECK(table.empty());
  CHECK(table.text() == "a  b\n");
}
