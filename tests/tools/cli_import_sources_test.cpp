// duelease import from JSON lines and from SQLite, as a user sees it.
#include <sys/stat.h>

#include "databases.h"
#include "import_runs.h"

using namespace duelease::test;
using nlohmann::json;

namespace {

std::vector<std::string> import_of(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"import", "--queue", "q", "--id", "id", "--due", "due"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

struct Library {
  Shop shop;
  std::string file = shop.path("a \\library = 1.db").string();

  explicit Library(const std::string& sql) { run_sqlite(file, sql); }

  std::vector<std::string> query(const std::string& sql, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = import_of({"--from", "sqlite:" + file, "--query", sql});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

}  // namespace

TEST_CASE("lines of JSON become orders with the line as their payload", "[cli][import]") {
  const Shop shop;
  write_file(
      shop.path("rows.jsonl"),
      "{\"id\":1, "
      "\"due\":\"2036-12-01\",\"site\":\"S\"}\nnope\n{\"due\":1}\n{\"id\":\"2\",\"due\":2111702400.5}\n"
      "{\"id\":3,\"due\":null}\n");
  const Ran ran = shop.ask(import_of({shop.path("rows.jsonl").string(), "--key", "site,lot"}));
  CHECK(ran.exit == 3);
  check_counts(ran, 5, 2, 0, 0, 3);
  const std::vector<json> bad = events_of(ran, "bad");
  CHECK(bad[0]["line"] == 2);
  CHECK_THAT(bad[0]["error"].get<std::string>(), Catch::Contains("no JSON"));
  CHECK(bad[1] == json{{"event", "bad"}, {"line", 3}, {"error", "id is null"}});
  CHECK(bad[2] == json{{"event", "bad"}, {"line", 5}, {"error", "due is null"}});
  CHECK(shop.order("q", "1")["payload"] == "{\"id\":1, \"due\":\"2036-12-01\",\"site\":\"S\"}");
  CHECK(shop.order("q", "1")["key"] == "S|");
  CHECK(shop.order("q", "2")["key"].is_null());
  CHECK(shop.order("q", "2")["due"] == 2'111'702'400'500);
}

TEST_CASE("the format is what the name says, or what is asked for", "[cli][import]") {
  const Shop shop;
  const std::string line = "{\"id\":1,\"due\":0}\n";
  write_file(shop.path("a.ndjson"), line);
  write_file(shop.path("a.txt"), line);
  write_file(shop.path("b.jsonl"), "id,due\n2,0\n");
  CHECK(shop.run(import_of({shop.path("a.ndjson").string()})).exit == 0);
  CHECK(shop.run(import_of({shop.path("a.txt").string()})).exit == 3);
  CHECK(shop.run(import_of({shop.path("a.txt").string(), "--format", "jsonl"})).exit == 0);
  CHECK(shop.run(import_of({shop.path("b.jsonl").string(), "--format", "csv"})).exit == 0);
  CHECK(shop.run(import_of({"-", "--format", "jsonl"}), "{\"id\":3,\"due\":0}").exit == 0);
  CHECK(shop.stats("q")["WAIT"] == 3);
}

TEST_CASE("words that name no source, or two, are refused", "[cli][import]") {
  const Shop shop;
  const auto error = [&](std::vector<std::string> more) {
    const Ran ran = shop.run(import_of(std::move(more)));
    INFO(ran.err);
    CHECK(ran.exit == 2);
    return ran.err;
  };
  const std::vector<std::string> sqlite = {"--from", "sqlite:x", "--query", "SELECT 1"};
  CHECK_THAT(error({}), Catch::Contains("FILE"));
  CHECK_THAT(error({"x.csv", "--from", "sqlite:x"}), Catch::Contains("exclude each other"));
  CHECK_THAT(error({"x.csv", "--query", "SELECT 1"}), Catch::Contains("--from"));
  CHECK_THAT(error({"x.jsonl", "--delimiter", ";"}), Catch::Contains("CSV"));
  CHECK_THAT(error({"x.csv", "--format", "xml"}), Catch::Contains("csv, jsonl"));
  CHECK_THAT(error({"--from", "sqlite:x"}), Catch::Contains("--query"));
  CHECK_THAT(error({"--from", "sqlite:x", "--query", "SELECT 1", "--zset", "z"}), Catch::Contains("--zset"));
  CHECK_THAT(error({"--from", "sqlite:x", "--query", "SELECT 1", "--format", "csv"}),
             Catch::Contains("FILE"));
  CHECK_THAT(error({"--from", "redis://h", "--query", "SELECT 1"}), Catch::Contains("--zset"));
  CHECK_THAT(error({"--from", "ftp://me:secret@h", "--query", "x"}), Catch::Contains("sqlite:FILE"));
  CHECK(shop.run({"import", "--queue", "q", "--due", "due", "x.csv"}).exit == 2);
  CHECK(!std::filesystem::exists(shop.store()));
}

TEST_CASE("rows of SQLite come with the values that they have", "[cli][import]") {
  const Library library(
      "CREATE TABLE loans(id INTEGER, due INTEGER, price NUMERIC(30,10), note TEXT, at REAL, x BLOB, w FOO);"
      // A column declared INTEGER holds 64 bits, and whatever else is put into it.
      "INSERT INTO loans VALUES(9007199254740993, 2111702400250, 1.5, 'it''s', 2.5, x'00ff', 7);"
      "INSERT INTO loans VALUES('two', 2111702400.5, NULL, '', NULL, NULL, NULL);"
      "INSERT INTO loans VALUES(3, '2036-12-01T17:00:00+08:00', NULL, NULL, NULL, NULL, NULL);"
      "INSERT INTO loans VALUES(NULL, 0, NULL, NULL, NULL, NULL, NULL);"
      "INSERT INTO loans VALUES(5, NULL, NULL, NULL, NULL, NULL, NULL);");
  const Shop& shop = library.shop;
  const Ran ran = shop.ask(library.query("SELECT * FROM loans ORDER BY rowid;\n"));
  CHECK(ran.exit == 3);
  check_counts(ran, 5, 3, 0, 0, 2);
  CHECK(events_of(ran, "bad")[0] == json{{"event", "bad"}, {"line", 4}, {"error", "id is null"}});
  CHECK(events_of(ran, "bad")[1] == json{{"event", "bad"}, {"line", 5}, {"error", "due is null"}});
  const json first = shop.order("q", "9007199254740993");
  CHECK(first["due"] == 2'111'702'400'250);
  CHECK(first["payload"] ==
        R"({"id":"9007199254740993","due":"2111702400250","price":"1.5","note":"it's","at":"2.5",)"
        R"("x":{"base64":"AP8="},"w":"7"})");
  CHECK(shop.order("q", "two")["due"] == 2'111'702'400'500);
  CHECK(shop.order("q", "3")["due"] == 2'111'734'800'000);
  CHECK_THAT(shop.order("q", "3")["payload"].get<std::string>(), Catch::Contains("\"note\":null"));
  CHECK_THAT(shop.run(library.query("SELECT * FROM loans ORDER BY rowid")).err,
             Catch::Contains("duelease: row 4: id is null"));
}

TEST_CASE("a query that cannot be used ends with 3, and says why", "[cli][import]") {
  const Library library("CREATE TABLE t(id, due); INSERT INTO t VALUES(1, 0)");
  const auto error = [&](const std::string& sql) {
    const Ran ran = library.shop.run(library.query(sql));
    INFO(sql << ran.err);
    CHECK(ran.exit == 3);
    CHECK_THAT(ran.err, Catch::StartsWith("duelease: sqlite:"));
    return ran.err;
  };
  CHECK_THAT(error("SELECT nope FROM t"), Catch::Contains("no such column: nope"));
  CHECK_THAT(error("SELEC"), Catch::Contains("SELEC"));
  CHECK_THAT(error("INSERT INTO t VALUES(2, 0)"), Catch::Contains("syntax error"));
  CHECK_THAT(error("INSERT INTO t VALUES(2, 0) RETURNING id, due"), Catch::Contains("syntax error"));
  CHECK_THAT(error("SELECT * FROM t; DROP TABLE t"), Catch::Contains("syntax error"));
  CHECK_THAT(error("DROP TABLE t"), Catch::Contains("syntax error"));
  CHECK_THAT(error("SELECT id, due FROM t WHERE id = :which"), Catch::Contains("\"which\""));
  CHECK_THAT(error("SELECT id FROM t"), Catch::Contains("no column \"due\"; there are: \"id\""));
  CHECK_THAT(error("SELECT id, due, id FROM t"), Catch::Contains("\"id\" twice"));
  CHECK_THAT(error("SELECT id, due, x'ff' AS \"\xFF\" FROM t"), Catch::Contains("not UTF-8"));
  CHECK_THAT(library.shop.run(library.query(" ; ")).err, Catch::Contains("--query is empty"));
  check_counts(library.shop.ask(library.query("SELECT id, due FROM t WHERE id > 1 -- none")), 0, 0, 0, 0, 0);
  check_counts(library.shop.ask(library.query("WITH x AS (SELECT * FROM t) SELECT * FROM x")), 1, 1, 0, 0, 0);
}

TEST_CASE("a source that gives no rows for a fault of its own still has a summary", "[cli][import]") {
  const Shop shop;
  write_file(shop.path("rows.csv"), "no,columns\n1,2\n");
  for (const char* command : {"import", "reconcile"}) {
    const Ran ran = shop.ask({command, "--queue", "q", "--id", "id", "--due", "due", shop.path("rows.csv")});
    INFO(command << ran.err);
    CHECK(ran.exit == 3);
    REQUIRE(ran.lines().size() == 1);
    CHECK(summary_of(ran)["rows"] == 0);
    if (summary_of(ran).contains("finished")) CHECK(summary_of(ran)["finished"] == false);
  }
}

TEST_CASE("a file of SQLite that is not there is not made", "[cli][import]") {
  const Shop shop;
  const std::string none = shop.path("none.db").string();
  const auto import = [&](const std::string& path) {
    return shop.run(import_of({"--from", "sqlite:" + path, "--query", "SELECT 1 AS id, 0 AS due"}));
  };
  const Ran absent = import(none);
  CHECK(absent.exit == 3);
  CHECK_THAT(absent.err, Catch::Contains("No such file"));
  CHECK(!std::filesystem::exists(none));
  CHECK(!std::filesystem::exists(shop.store()));
  write_file(shop.path("text"), std::string(5'000, 'x'));
  CHECK_THAT(
      shop.run(import_of({"--from", "sqlite:" + shop.path("text").string(), "--query", "SELECT * FROM t"}))
          .err,
      Catch::Contains("file is not a database"));
  CHECK_THAT(import(shop.path("a\"b").string()).err, Catch::Contains("not supported"));
  CHECK(import(shop.path("").string()).exit != 0);
}

TEST_CASE("an import from a query that is interrupted can be run again", "[cli][import]") {
  const Library library("CREATE TABLE t(n)");
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, CASE WHEN i "
      "BETWEEN 2001 AND 3000 THEN 'bad' ELSE 0 END AS due FROM n";
  std::vector<std::string> arguments = library.query(endless, {"--durability", "none"});
  arguments.insert(arguments.begin(), "--json");
  const auto importing = library.shop.start(arguments);
  // Rows before the bad ones were taken then.
  REQUIRE(eventually([&] { return importing->out_so_far().find("\"bad\"") != std::string::npos; }));
  importing->signal(SIGTERM);
  const Ran ran = importing->wait();
  CHECK(ran.exit == 130);
  CHECK_THAT(ran.err, Catch::Contains("interrupted"));
  const int first = summary_of(ran)["scheduled"];
  CHECK(library.shop.stats("q")["WAIT"] == first);
  const Ran again =
      library.shop.ask(library.query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT " +
                                         std::to_string(first + 1'002) + ") SELECT i AS id, 0 AS due FROM n",
                                     {"--durability", "none"}));
  check_counts(again, first + 1'002, 1'002, 0, first, 0);
}
