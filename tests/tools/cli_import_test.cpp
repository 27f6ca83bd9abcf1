// duelease import, as a user sees it.
#include <sys/stat.h>

#include "import_runs.h"
#include "support/shared_sample.h"

using duelease::test::check_counts;
using duelease::test::events_of;
using duelease::test::eventually;
using duelease::test::Ran;
using duelease::test::shared_sample;
using duelease::test::Shop;
using duelease::test::summary_of;
using duelease::test::write_file;
using nlohmann::json;

namespace {

// The arguments that every import here shares, and more.
std::vector<std::string> import_of(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"import", "--queue", "q", "--id", "id", "--due", "due"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("each row becomes an order with the row as its payload", "[cli][import]") {
  const Shop shop;
  write_file(shop.path("rows.csv"), "name,id,due\n\"a, \"\"b\"\"\",1,2036-12-01\nc,2,2111702400\n");
  const Ran ran = shop.ask(import_of({shop.path("rows.csv").string(), "--priority", "9", "--tries", "2"}));
  CHECK(ran.exit == 0);
  check_counts(ran, 2, 2, 0, 0, 0);
  const json order = shop.order("q", "1");
  CHECK(order["payload"] == R"({"name":"a, \"b\"","id":"1","due":"2036-12-01"})");
  CHECK(order["due"] == 2'111'702'400'000);
  CHECK(order["priority"] == 9);
  CHECK(order["tries"] == 2);
  CHECK(shop.order("q", "2")["due"] == 2'111'702'400'000);
}

TEST_CASE("duplicates are refused by name with the state of what blocks them", "[cli][import]") {
  const Shop shop;
  shop.schedule("q", "9");
  REQUIRE(shop.run({"work", "--queue", "q", "--exec", "true", "--drain"}).exit == 0);
  const std::string rows = "id,due\n1,2036-12-01\n2,2036-12-01\n1,2036-12-02\n9,2036-12-03\n";
  const Ran ran = shop.ask(import_of({"-"}), rows);
  CHECK(ran.exit == 0);
  check_counts(ran, 4, 2, 0, 2, 0);
  const std::vector<json> refused = events_of(ran, "refused");
  REQUIRE(refused.size() == 2);
  CHECK(refused[0] ==
        json{{"event", "refused"}, {"line", 4}, {"id", "1"}, {"state", "WAIT"}, {"blocker", "1"}});
  CHECK(refused[1] ==
        json{{"event", "refused"}, {"line", 5}, {"id", "9"}, {"state", "SUCCESS"}, {"blocker", "9"}});
  CHECK(summary_of(ran)["refused_by_state"] == json{{"WAIT", 1}, {"SUCCESS", 1}});
  CHECK(shop.order("q", "1")["due"] == 2'111'702'400'000);

  const Ran shown = shop.run(import_of({"-"}), rows);
  CHECK(shown.exit == 0);
  CHECK_THAT(shown.out, Catch::Contains("refused 1 (line 4): already there, WAIT\n") &&
                            Catch::Contains("refused 9 (line 5): already there, SUCCESS\n") &&
                            Catch::Contains("scheduled    0\n"));
}

TEST_CASE("a person sees the first 20 refused, or all of them when asked", "[cli][import]") {
  const Shop shop;
  std::string rows = "id,due\n";
  for (int i = 0; i < 31; ++i) rows += "same,2036-12-01\n";
  const auto lines_with = [](const std::string& text, const std::string& word) {
    int count = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
  };
  const Ran first = shop.run(import_of({"-"}), rows);
  CHECK(lines_with(first.out, "refused same") == 20);
  CHECK_THAT(first.out, Catch::Contains("and 10 more refused"));
  CHECK(lines_with(shop.run(import_of({"-", "--verbose"}), rows).out, "refused same") == 31);
  CHECK(events_of(shop.ask(import_of({"-"}), rows), "refused").size() == 31);
}

TEST_CASE("bad rows are named with line and value, and the others are scheduled", "[cli][import]") {
  const Shop shop;
  const std::string rows =
      "id,due,note\n1,soon,x\n2,2036-12-01\n3,2036-12-01,\"two\nlines\"\n,2036-12-01,x\n" +
      std::string(256, 'i') + ",2036-12-01,x\n6,2026-02-30,x\n7,2036-12-01,x\n";
  const Ran ran = shop.ask(import_of({"-"}), rows);
  CHECK(ran.exit == 3);
  check_counts(ran, 7, 2, 0, 0, 5);
  const std::vector<json> bad = events_of(ran, "bad");
  REQUIRE(bad.size() == 5);
  CHECK(bad[0]["line"] == 2);
  CHECK_THAT(bad[0]["error"].get<std::string>(), Catch::Contains("due: \"soon\""));
  CHECK(bad[1]["line"] == 3);
  CHECK(bad[2]["line"] == 6);
  CHECK(bad[3]["line"] == 7);
  CHECK(bad[4]["line"] == 8);
  CHECK(shop.stats("q")["WAIT"] == 2);

  const Ran shown = shop.run(import_of({"-"}), rows);
  CHECK(shown.exit == 3);
  CHECK_THAT(shown.err, Catch::Contains("duelease: line 2: due: \"soon\" is not a time"));
  std::string bad_rows = "id,due\n";
  for (int i = 0; i < 21; ++i) bad_rows += "1,soon\n";
  CHECK_THAT(shop.run(import_of({"-"}), bad_rows).err,
             Catch::EndsWith("duelease: ... and 1 more bad row; --verbose names them all\n"));
}

TEST_CASE("a strict import stops at the first bad row", "[cli][import]") {
  const Shop shop;
  const Ran ran = shop.ask(import_of({"-", "--strict"}), "id,due\n1,2036-12-01\n2,soon\n3,2036-12-01\n");
  CHECK(ran.exit == 3);
  check_counts(ran, 2, 1, 0, 0, 1);
  CHECK(shop.stats("q")["WAIT"] == 1);
}

TEST_CASE("a row that the queue refuses is a bad row", "[cli][import]") {
  const Shop shop;
  REQUIRE(shop.run({"queue", "set", "q", "--payload-max", "40"}).exit == 0);
  const Ran ran = shop.ask(import_of({"-"}),
                           "id,due\n1,2036-12-01\n22222222222222222222222222,2036-12-01\n3,2036-12-01\n");
  CHECK(ran.exit == 3);
  check_counts(ran, 3, 2, 0, 0, 1);
  CHECK(events_of(ran, "bad")[0]["line"] == 3);
}

TEST_CASE("several columns form the key", "[cli][import]") {
  const Shop shop;
  const std::string rows =
      "id,due,site,lot\n1,2036-12-01,S,a|b\n2,2036-12-01,S|a,b\n3,2036-12-01,S,a|b\n4,2036-12-01,,\n5,2036-"
      "12-01,,\n";
  const Ran ran = shop.ask(import_of({"-", "--key", "site,lot"}), rows);
  CHECK(ran.exit == 0);
  check_counts(ran, 5, 4, 0, 1, 0);
  CHECK(events_of(ran, "refused")[0]["id"] == "3");
  CHECK(events_of(ran, "refused")[0]["blocker"] == "1");
  CHECK_THAT(shop.run(import_of({"-", "--key", "site,lot"}), "id,due,site,lot\n9,2036-12-01,S,a|b\n").out,
             Catch::Contains("refused 9 (line 2): blocked by 1, WAIT\n"));
  CHECK(shop.order("q", "1")["key"] == "S|a\\|b");
  CHECK(shop.order("q", "4")["key"].is_null());
}

TEST_CASE("an upsert moves what waits", "[cli][import]") {
  const Shop shop;
  REQUIRE(shop.run(import_of({"-"}), "id,due\n1,2036-12-01\n").exit == 0);
  const Ran ran = shop.ask(import_of({"-", "--upsert"}), "id,due\n1,2036-12-02\n2,2036-12-01\n");
  check_counts(ran, 2, 1, 1, 0, 0);
  CHECK(shop.order("q", "1")["due"] == 2'111'702'400'000 + 86'400'000);
}

TEST_CASE("numbers are read in the unit that is asked for", "[cli][import]") {
  const Shop shop;
  const std::string rows = "id,due\n1,2111702400\n";
  REQUIRE(shop.run(import_of({"-", "--due-unit", "ms"}), rows).exit == 0);
  CHECK(shop.order("q", "1")["due"] == 2'111'702'400);
  REQUIRE(shop.run(import_of({"-", "--due-unit", "s", "--upsert"}), rows).exit == 0);
  CHECK(shop.order("q", "1")["due"] == 2'111'702'400'000);
  CHECK(shop.run(import_of({"-", "--due-unit", "h"}), rows).exit == 2);
}

TEST_CASE("files as spreadsheets write them", "[cli][import]") {
  const Shop shop;
  const Ran ran =
      shop.ask(import_of({"-", "--delimiter", ";"}),
               "\xEF\xBB\xBF\"id\";due;name\r\n1;2036-12-01 09:00;M\xFCller\r\n2;2036-12-01;\"a\r\nb\"\r\n");
  CHECK(ran.exit == 0);
  check_counts(ran, 2, 2, 0, 0, 0);
  CHECK(shop.order("q", "1")["due"] == 2'111'734'800'000);
  CHECK(json::parse(shop.order("q", "1")["payload"].get<std::string>())["name"]["base64"] == "TfxsbGVy");
}

TEST_CASE("a file that cannot be used ends with 3, wrong words with 2", "[cli][import]") {
  const Shop shop;
  CHECK(shop.run(import_of({"-"}), "").exit == 3);
  CHECK(shop.run(import_of({shop.path("none.csv").string()})).exit == 3);
  CHECK(shop.run(import_of({shop.path("").string()})).exit == 3);
  const Ran header = shop.run(import_of({"-"}), "ID,due\n1,2036-12-01\n");
  CHECK(header.exit == 3);
  CHECK_THAT(header.err, Catch::Contains("no column \"id\"") && Catch::Contains("\"ID\""));
  CHECK(shop.run({"import", "--queue", "no spaces", "--id", "id", "--due", "due", "-"}, "id,due\n").exit ==
        2);
  CHECK(shop.run({"import", "--queue", "q", "--id", "id", "-"}, "id,due\n").exit == 2);

  const Ran open = shop.ask(import_of({"-"}), "id,due\n1,2036-12-01\n2,\"2036-12-01\n3,2036-12-01\n");
  CHECK(open.exit == 3);
  CHECK_THAT(open.err, Catch::Contains("line 3: a quote that is never closed"));
  check_counts(open, 1, 1, 0, 0, 0);
}

TEST_CASE("many batches answer in the order of the file", "[cli][import]") {
  const Shop shop;
  std::string rows = "id,due\n";
  for (int i = 0; i < 2'500; ++i) rows += std::to_string(i % 1'700) + ",2036-12-01\n";
  const Ran ran = shop.ask(import_of({"-", "--durability", "none"}), rows);
  CHECK(ran.exit == 0);
  check_counts(ran, 2'500, 1'700, 0, 800, 0);
  const std::vector<json> refused = events_of(ran, "refused");
  REQUIRE(refused.size() == 800);
  for (int i = 0; i < 800; ++i) {
    CHECK(refused[static_cast<std::size_t>(i)]["id"] == std::to_string(i));
    CHECK(refused[static_cast<std::size_t>(i)]["line"] == 1'702 + i);
  }
  CHECK(shop.stats("q")["WAIT"] == 1'700);
}

TEST_CASE("an import that is interrupted tells what it did", "[cli][import]") {
  const Shop shop;
  // A pipe that stays open: the program waits for more.
  const std::string pipe = shop.path("pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto importing = shop.start({"--json", "import", "--queue", "q", "--id", "id", "--due", "due", pipe});
  const int rows = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(rows >= 0);
  std::string text = "id,due\n";
  for (int i = 0; i < 1'000; ++i) text += std::to_string(i) + ",2036-12-01\n0,bad\n";
  REQUIRE(::write(rows, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  // It is in the middle of the import once it has told of a bad row.
  REQUIRE(eventually([&] { return importing->out_so_far().find("\"line\":3,") != std::string::npos; }));
  importing->signal(SIGINT);
  const Ran ran = importing->wait();
  ::close(rows);
  CHECK(ran.exit == 130);
  const json summary = summary_of(ran);
  CHECK(summary["scheduled"] == shop.stats("q")["WAIT"]);
}

TEST_CASE("an import whose reports nobody reads goes on, and ends with 4", "[cli][import]") {
  const Shop shop;
  std::string rows = "id,due\n";
  for (int i = 0; i < 20'000; ++i) rows += std::to_string(i % 10'000) + ",2036-12-01\n";
  std::vector<std::string> arguments = import_of({"-", "--durability", "none", "--verbose"});
  const Ran ran = shop.run_in_shell("{ \"$@\"; echo $? >&2; } | :", arguments, rows);
  CHECK(ran.err == "duelease: cannot write to standard output: Broken pipe\n4\n");
  CHECK(shop.stats("q")["WAIT"] == 10'000);
}

TEST_CASE("the shared sample: 830 orders, 1,325 of 2,155 rows refused by name", "[cli][import]") {
  const std::string file = shared_sample();
  if (file.empty()) {
    std::puts("skipped: northwind_order_lines.csv is not here (DUELEASE_SHARED_DATA names its folder)");
    return;
  }
  const Shop shop;
  const std::vector<std::string> arguments = {"import",  "--queue", "shipping",     "--id",
                                              "OrderID", "--due",   "RequiredDate", file};
  const Ran first = shop.ask(arguments);
  CHECK(first.exit == 0);
  check_counts(first, 2'155, 830, 0, 1'325, 0);
  const std::vector<json> refused = events_of(first, "refused");
  REQUIRE(refused.size() == 1'325);
  CHECK(std::all_of(refused.begin(), refused.end(), [](const json& line) {
    return line["state"] == "WAIT" && line["blocker"] == line["id"];
  }));
  const json order = shop.order("shipping", "10248");
  CHECK(order["due"] == 838'857'600'000);
  CHECK(json::parse(order["payload"].get<std::string>())["ProductID"] == "11");

  const Ran again = shop.ask(arguments);
  CHECK(again.exit == 0);
  check_counts(again, 2'155, 0, 0, 2'155, 0);
  CHECK(shop.stats("shipping")["WAIT"] == 830);
  CHECK(shop.run({"check"}).exit == 0);
}
