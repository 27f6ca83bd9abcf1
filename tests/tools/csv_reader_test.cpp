// CSV as it is found in the wild.
#include "csv_reader.h"

#include <catch2/catch.hpp>
#include <memory>

using namespace duelease;
using namespace duelease::tools;

namespace {

using Fields = std::vector<std::string>;

struct Read {
  std::vector<Fields> rows;
  std::vector<std::uint64_t> lines;
  std::string error;
};

Read read_in_pieces(std::string_view text, std::size_t piece_size, char delimiter = ',') {
  Read read;
  CsvReader reader(delimiter, [&](CsvRow& row) {
    read.lines.push_back(row.line);
    read.rows.push_back(std::move(row.fields));
    return true;
  });
  Result<> fed;
  for (std::size_t i = 0; i < text.size() && fed; i += piece_size)
    fed = reader.feed(text.substr(i, piece_size));
  if (fed) fed = reader.finish();
  if (!fed) read.error = fed.error().message;
  return read;
}

// However the bytes come in, the rows are the same.
Read read_csv(std::string_view text, char delimiter = ',') {
  const Read whole = read_in_pieces(text, text.size() + 1, delimiter);
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
    const Read pieces = read_in_pieces(text, size, delimiter);
    INFO("in pieces of " << size);
    CHECK(pieces.rows == whole.rows);
    CHECK(pieces.lines == whole.lines);
    CHECK(pieces.error == whole.error);
  }
  return whole;
}

}  // namespace

TEST_CASE("rows are fields between commas, whatever ends the line", "[csv]") {
  const std::vector<Fields> expected = {{"a", "b"}, {"1", "2"}, {"3", "4"}};
  for (const char* text : {"a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r\n1,2\r\n3,4",
                           "a,b\r1,2\r3,4\r", "a,b\r1,2\r3,4"}) {
    const Read read = read_csv(text);
    INFO(text);
    CHECK(read.error.empty());
    CHECK(read.rows == expected);
    CHECK(read.lines == std::vector<std::uint64_t>{1, 2, 3});
  }
}

TEST_CASE("quoted values hold commas, quotes and line ends", "[csv]") {
  const Read read =
      read_csv("id,note\n1,\"a, b\"\n2,\"say \"\"hi\"\"\"\n3,\"two\nlines\"\n4,\"two\r\nlines\"\n5,x\n");
  CHECK(read.rows == std::vector<Fields>{{"id", "note"},
                                         {"1", "a, b"},
                                         {"2", "say \"hi\""},
                                         {"3", "two\nlines"},
                                         {"4", "two\r\nlines"},
                                         {"5", "x"}});
  CHECK(read.lines == std::vector<std::uint64_t>{1, 2, 3, 4, 6, 8});
}

TEST_CASE("a quoted value may begin a row and hold blank lines", "[csv]") {
  const Read read = read_csv("\"a\n\n\nb\",1\nc,2\n");
  CHECK(read.rows == std::vector<Fields>{{"a\n\n\nb", "1"}, {"c", "2"}});
  CHECK(read.lines == std::vector<std::uint64_t>{1, 5});
}

TEST_CASE("empty fields are fields", "[csv]") {
  const Read read = read_csv("a,b,c\n,,\n1,,\n,,3\n\"\",\"\",\"\"\n");
  CHECK(read.rows ==
        std::vector<Fields>{{"a", "b", "c"}, {"", "", ""}, {"1", "", ""}, {"", "", "3"}, {"", "", ""}});
}

TEST_CASE("blank lines are no rows but they are lines", "[csv]") {
  const Read read = read_csv("\n\na\n\n  \n\r\nb\n\n");
  CHECK(read.rows == std::vector<Fields>{{"a"}, {"b"}});
  CHECK(read.lines == std::vector<std::uint64_t>{3, 7});
}

TEST_CASE("ragged rows come as they are", "[csv]") {
  const Read read = read_csv("a,b,c\n1\n1,2\n1,2,3,4\n");
  CHECK(read.rows == std::vector<Fields>{{"a", "b", "c"}, {"1"}, {"1", "2"}, {"1", "2", "3", "4"}});
}

TEST_CASE("a byte order mark is skipped at the start only", "[csv]") {
  CHECK(read_csv("\xEF\xBB\xBF"
                 "a,b\n")
            .rows == std::vector<Fields>{{"a", "b"}});
  CHECK(read_csv("\xEF\xBB\xBF\"a\",b\n").rows == std::vector<Fields>{{"a", "b"}});
  CHECK(read_csv("a\n\xEF\xBB\xBF"
                 "b\n")
            .rows == std::vector<Fields>{{"a"},
                                         {"\xEF\xBB\xBF"
                                          "b"}});
  CHECK(read_csv("\xEF\xBB").rows == std::vector<Fields>{{"\xEF\xBB"}});
  CHECK(read_csv("\xEF\xBB\xBF").rows.empty());
}

TEST_CASE("an empty file has no rows", "[csv]") {
  CHECK(read_csv("").rows.empty());
  CHECK(read_csv("").error.empty());
  CHECK(read_csv("\n\r\n").rows.empty());
}

TEST_CASE("blanks around a value are not part of it, within quotes they are", "[csv]") {
  CHECK(read_csv(" a ,\tb\t, \" c \" \n").rows == std::vector<Fields>{{"a", "b", " c "}});
}

TEST_CASE("a quote inside an unquoted value is a character", "[csv]") {
  CHECK(read_csv("5\" disk,x\n").rows == std::vector<Fields>{{"5\" disk", "x"}});
}

TEST_CASE("other delimiters", "[csv]") {
  CHECK(read_csv("a;b,c\n1;2\n", ';').rows == std::vector<Fields>{{"a", "b,c"}, {"1", "2"}});
  CHECK(read_csv("a\tb\n\t2\n", '\t').rows == std::vector<Fields>{{"a", "b"}, {"", "2"}});
}

TEST_CASE("bytes that are no text pass through", "[csv]") {
  const std::string text("a,\xFF\x00\xFE,b\n", 8);
  CHECK(read_csv(text).rows == std::vector<Fields>{{"a", std::string("\xFF\x00\xFE", 3), "b"}});
}

TEST_CASE("a quote that is never closed is named with the line of its row", "[csv]") {
  const Read read = read_csv("a,b\n1,2\n3,\"open\nfour,5\n");
  CHECK(read.rows == std::vector<Fields>{{"a", "b"}, {"1", "2"}});
  CHECK(read.error == "line 3: a quote that is never closed");
  CHECK(read_csv("a\n\"x").error == "line 2: a quote that is never closed");
}

TEST_CASE("a row that swallows the file is given up before memory is", "[csv]") {
  const std::string piece(1024 * 1024, 'x');
  CsvReader reader(',', [](CsvRow&) { return true; });
  REQUIRE(reader.feed("a\n\"open"));
  Result<> fed;
  int pieces = 0;
  while (fed && pieces < 100) {
    fed = reader.feed(piece);
    ++pieces;
  }
  REQUIRE(!fed);
  CHECK(pieces == 64);
  CHECK_THAT(fed.error().message, Catch::StartsWith("line 2: "));
}

TEST_CASE("no more rows come once the reader was told to stop", "[csv]") {
  int rows = 0;
  CsvReader reader(',', [&](CsvRow&) { return ++rows < 2; });
  CHECK(reader.feed("a\nb\nc\nd\n"));
  CHECK(reader.feed("e\n"));
  CHECK(reader.finish());
  CHECK(rows == 2);
}
