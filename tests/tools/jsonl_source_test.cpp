// JSON Lines as rows.
#include "jsonl_source.h"

#include "program.h"

using namespace duelease;
using namespace duelease::tools;
using duelease::test::TemporaryFolder;
using duelease::test::write_file;

namespace {

std::vector<SourceRow> rows_of(std::string_view text,
                               std::size_t bytes_max = JsonLinesSource::line_bytes_max) {
  const TemporaryFolder folder;
  const StopSignal stop;
  write_file(folder / "rows", text);
  Result<FileReader> file = FileReader::open((folder / "rows").string(), stop);
  REQUIRE(file);
  JsonLinesSource source(std::move(*file), {"id", "due"}, bytes_max);
  CHECK(*source.columns() == std::vector<std::string>{"id", "due"});
  std::vector<SourceRow> rows;
  SourceRow row;
  while (true) {
    const Result<bool> more = source.next(row);
    REQUIRE(more);
    if (!*more) break;
    rows.push_back(row);
  }
  CHECK(source.progress().done == text.size());
  CHECK(source.progress().total == text.size());
  return rows;
}

}  // namespace

TEST_CASE("each line is a row, and its payload the line as it stands", "[jsonl]") {
  const std::vector<SourceRow> rows =
      rows_of("\xEF\xBB\xBF{\"due\": 2,  \"id\":1}\r\n\n \t\n{\"id\":null,\"x\":[1]}");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].number == 1);
  CHECK(rows[0].values == std::vector<std::optional<std::string>>{"1", "2"});
  CHECK(rows[0].payload == "{\"due\": 2,  \"id\":1}");
  CHECK(rows[1].number == 4);
  CHECK(rows[1].values == std::vector<std::optional<std::string>>{std::nullopt, std::nullopt});
}

TEST_CASE("a line that cannot be used has a fault, and the next one goes on", "[jsonl]") {
  const std::vector<SourceRow> rows =
      rows_of("{\"id\":1}\nnope\n[1]\n{\"id\":1,\"id\":2}\n{\"x\":1,\"x\":2}\n" + std::string(1, '\0') +
              "\n{\"id\":7}\n");
  REQUIRE(rows.size() == 7);
  const std::vector<bool> faults = {false, true, true, true, false, true, false};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(i << rows[i].fault);
    CHECK(rows[i].number == i + 1);
    CHECK(rows[i].fault.empty() != faults[i]);
  }
  CHECK_THAT(rows[3].fault, Catch::Contains("\"id\" is there twice"));
}

TEST_CASE("a line that is too long is passed over to its end", "[jsonl]") {
  const std::string longest = "{\"id\":\"" + std::string(1'000 - 9, 'x') + "\"}";
  for (const std::string& end : {std::string("\n{\"id\":3}"), std::string()}) {
    const std::vector<SourceRow> rows =
        rows_of(longest + "\n{\"id\":\"" + std::string(200'000, 'y') + "\"}" + end, longest.size());
    REQUIRE(rows.size() == (end.empty() ? 2 : 3));
    CHECK(rows[0].payload == longest);
    CHECK(rows[1].fault == "a line longer than 1000 bytes");
    if (!end.empty()) CHECK(rows[2].values[0] == "3");
  }
}

TEST_CASE("an empty file of JSON lines has no rows", "[jsonl]") {
  CHECK(rows_of("").empty());
  CHECK(rows_of("\n\r\n").empty());
}
