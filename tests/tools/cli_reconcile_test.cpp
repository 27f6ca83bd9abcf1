// duelease reconcile, as a user sees it; and the story of a library whose loans are in a database.
#include <sys/stat.h>

#include <functional>
#include <set>
#include <sstream>

#include "databases.h"
#include "duelease/engine.h"
#include "import_runs.h"
#include "served_shop.h"

using namespace duelease::test;
using nlohmann::json;

namespace {

constexpr std::int64_t december = 2'111'702'400'000;  // 2036-12-01, which must lie ahead.
constexpr std::int64_t day = 86'400'000;

std::vector<std::string> reconcile_of(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"reconcile", "--queue", "q", "--id", "id", "--due", "due"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json difference(const char* what, json line, const char* id, json state, json was, json due,
                json blocker = nullptr) {
  return {{"event", "difference"}, {"what", what}, {"line", line}, {"id", id},
          {"state", state},        {"was", was},   {"due", due},   {"blocker", blocker}};
}

// By words of the summary, those that are not 0.
void check_summary(const Ran& ran, json expected) {
  const json summary = summary_of(ran);
  for (const char* word :
       {"scheduled", "rescheduled", "unchanged", "newer", "refused", "duplicate", "vanished", "bad"}) {
    INFO(word);
    if (expected.contains(word)) {
      CHECK(summary[word] == expected[word]);
    } else {
      CHECK((summary[word] == 0 || summary[word].is_null()));
    }
  }
}

// Nobody has it open.
std::uint64_t last_sequence(const Shop& shop) {
  duelease::Options options;
  options.timer = false;
  const auto engine = duelease::Engine::open(shop.store(), options);
  REQUIRE(engine);
  return *(*engine)->last_sequence();
}

// Orders 1 to 5, due at the first days of December; 6 has the key "k".
void fill(const Shop& shop) {
  std::string rows = "id,due,key\n";
  for (int i = 1; i <= 6; ++i) {
    rows += std::to_string(i) + ",2036-12-0" + std::to_string(i) + (i == 6 ? ",k\n" : ",\n");
  }
  REQUIRE(shop.run(reconcile_of({"-", "--key", "key"}), rows).exit == 0);
}

// 1 is as it was, 2 is due elsewhen, 7 is missing, 8 has the key of 6, and 3 to 5 are not named.
constexpr const char* changed_rows =
    "id,due,key\n1,2036-12-01,\n2,2036-12-20,\n6,2036-12-06,k\n7,2036-12-07,\n8,2036-12-08,k\n";

// A pipe that its reader waits for. It opens it when it has begun.
class SlowSource {
 public:
  explicit SlowSource(const Shop& shop) : path(shop.path("pipe").string()) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  ~SlowSource() { close(); }
  SlowSource(const SlowSource&) = delete;
  SlowSource& operator=(const SlowSource&) = delete;

  // Returns when the reader is there.
  void open() {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
  }
  void write(std::string_view text) const {
    REQUIRE(::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  const std::string path;

 private:
  int fd_ = -1;
};

}  // namespace

TEST_CASE("on a store that is not there a reconcile is the rebuild", "[cli][reconcile]") {
  const Shop shop;
  const std::vector<std::string> arguments =
      reconcile_of({"-", "--cancel-missing", "--tries", "3", "--priority", "7"});
  const Ran ran = shop.ask(arguments, "id,due,name\n1,2036-12-01,a\n2,2111702400,b\n");
  CHECK(ran.exit == 0);
  CHECK(summary_of(ran)["rows"] == 2);
  CHECK(summary_of(ran)["finished"] == true);
  check_summary(ran, {{"scheduled", 2}});
  const json order = shop.order("q", "1");
  CHECK(order["state"] == "WAIT");
  CHECK(order["due"] == december);
  CHECK(order["tries"] == 3);
  CHECK(order["priority"] == 7);
  CHECK(order["payload"] == R"({"id":"1","due":"2036-12-01","name":"a"})");
}

TEST_CASE("a reconcile begins before it opens its source", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  // Both fail here: the beginning for want of a folder for temporary files.
  const Ran ran = shop.run_in_shell("TMPDIR=/no/such/folder exec \"$@\"",
                                    reconcile_of({shop.path("none.csv").string(), "--cancel-missing"}));
  CHECK(ran.exit == 4);
  CHECK_THAT(ran.err,
             Catch::Contains("temporary file in folder /no/such/folder") && !Catch::Contains("none.csv"));
}

TEST_CASE("rows that change nothing write nothing", "[cli][reconcile]") {
  const Shop shop;
  std::string rows = "id,due\n";
  for (int i = 0; i < 2'500; ++i) rows += std::to_string(i) + ",2036-12-01\n";
  REQUIRE(shop.run(reconcile_of({"-", "--durability", "none"}), rows).exit == 0);
  const std::uint64_t before = last_sequence(shop);
  const Ran ran = shop.ask(reconcile_of({"-", "--cancel-missing"}), rows);
  CHECK(ran.exit == 0);
  check_summary(ran, {{"unchanged", 2'500}});
  CHECK(ran.lines().size() == 1);
  CHECK(last_sequence(shop) == before);
}

TEST_CASE("a dry run tells the whole difference and changes nothing", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  shop.schedule("q", "done");
  REQUIRE(shop.run({"work", "--queue", "q", "--exec", "true", "--drain"}).exit == 0);
  const std::string rows = std::string(changed_rows) + "done,2036-12-01,\n";
  const std::uint64_t before = last_sequence(shop);
  const std::vector<std::string> dry = reconcile_of({"-", "--key", "key", "--cancel-missing", "--dry-run"});

  const Ran told = shop.ask(dry, rows);
  CHECK(told.exit == 0);
  const json expected = {{"scheduled", 1}, {"rescheduled", 1}, {"unchanged", 2},
                         {"refused", 1},   {"duplicate", 1},   {"vanished", 3}};
  check_summary(told, expected);
  CHECK(summary_of(told)["dry_run"] == true);
  CHECK(summary_of(told)["refused_by_state"] == json{{"SUCCESS", 1}});
  const std::vector<json> lines = events_of(told, "difference");
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == difference("move", 3, "2", nullptr, december + day, december + 19 * day));
  CHECK(lines[1] == difference("schedule", 5, "7", nullptr, nullptr, december + 6 * day));
  CHECK(lines[2] == difference("blocked", 6, "8", "WAIT", nullptr, december + 7 * day, "6"));
  CHECK(lines[3] == difference("leave", 7, "done", "SUCCESS", nullptr, december));
  for (int i = 3; i <= 5; ++i) {
    const std::string id = std::to_string(i);
    CHECK(lines[static_cast<std::size_t>(i) + 1] ==
          difference("cancel", nullptr, id.c_str(), nullptr, december + (i - 1) * day, nullptr));
  }

  const Ran shown = shop.run(dry, rows);
  CHECK(shown.exit == 0);
  CHECK_THAT(shown.out,
             Catch::StartsWith("id    what      was due               due                   why\n"
                               "2     move      2036-12-02T00:00:00Z  2036-12-20T00:00:00Z\n"
                               "7     schedule                        2036-12-07T00:00:00Z\n"
                               "8     blocked                         2036-12-08T00:00:00Z  its key is that "
                               "of 6, WAIT\n"
                               "done  leave                           2036-12-01T00:00:00Z  SUCCESS\n"
                               "3     cancel    2036-12-03T00:00:00Z\n") &&
                 Catch::Contains("cancelled    3\n") && Catch::EndsWith("dry run: nothing was changed\n"));
  CHECK(last_sequence(shop) == before);

  const Ran done = shop.ask(reconcile_of({"-", "--key", "key", "--cancel-missing"}), rows);
  CHECK(done.exit == 0);
  check_summary(done, expected);
  CHECK(shop.order("q", "2")["due"] == december + 19 * day);
  CHECK(shop.order("q", "7")["state"] == "WAIT");
  CHECK(shop.order("q", "4")["state"] == "ABORTED");
  CHECK(shop.run({"order", "q", "8"}).exit == 1);
  check_summary(shop.ask(dry, rows), {{"unchanged", 4}, {"refused", 1}, {"duplicate", 1}});
  CHECK(shop.run({"check"}).exit == 0);
}

TEST_CASE("a dry run makes no store", "[cli][reconcile]") {
  const Shop shop;
  std::filesystem::create_directory(shop.path("tmp"));
  std::vector<std::string> arguments = reconcile_of({"-", "--dry-run", "--cancel-missing"});
  const Ran ran = shop.run_in_shell("TMPDIR='" + shop.path("tmp").string() + "' exec \"$@\"", arguments,
                                    "id,due\n1,2036-12-01\n2,2036-12-02\n");
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::Contains("1   schedule") && Catch::Contains("scheduled    2\n"));
  CHECK(!std::filesystem::exists(shop.store()));
  CHECK(std::filesystem::is_empty(shop.path("tmp")));

  // Nor a queue.
  REQUIRE(shop.run({"queue", "set", "other"}).exit == 0);
  const Ran no_queue = shop.ask(arguments, "id,due\n1,2036-12-01\n");
  CHECK(no_queue.exit == 0);
  check_summary(no_queue, {{"scheduled", 1}});
  CHECK(shop.run({"queue", "show", "q"}).exit == 1);
}

TEST_CASE("a row whose blocker was cancelled as missing comes with the next reconcile", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  const std::string rows = "id,due,key\n1,2036-12-01,\n8,2036-12-08,k\n";
  const std::vector<std::string> arguments = reconcile_of({"-", "--key", "key", "--cancel-missing"});
  std::vector<std::string> dry = arguments;
  dry.push_back("--dry-run");
  const Ran told = shop.run(dry, rows);
  CHECK(told.exit == 1);
  CHECK_THAT(told.err, Catch::Contains("would be cancelled"));
  const Ran first = shop.run(arguments, rows);
  CHECK(first.exit == 1);
  CHECK_THAT(first.err,
             Catch::Contains("1 row was blocked by an order that was cancelled as missing since: run it "
                             "again"));
  CHECK(shop.order("q", "6")["state"] == "ABORTED");
  CHECK(shop.run(arguments, rows).exit == 0);
  CHECK(shop.order("q", "8")["state"] == "WAIT");
}

TEST_CASE("a person sees what was asked for, and a blocked key in any case", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  std::string rows = changed_rows;
  for (int i = 100; i < 131; ++i) rows += std::to_string(i) + ",2036-12-01,\n";
  const auto lines_with = [](const std::string& text, const std::string& word) {
    int count = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
  };
  const Ran dry = shop.run(reconcile_of({"-", "--key", "key", "--dry-run", "--cancel-missing"}), rows);
  CHECK(lines_with(dry.out, " schedule ") == 20);
  CHECK(lines_with(dry.out, " cancel ") == 3);
  CHECK_THAT(dry.out, Catch::Contains("... and 12 more; --verbose names them all\n"));
  CHECK(lines_with(shop.run(reconcile_of({"-", "--key", "key", "--dry-run", "--verbose"}), rows).out,
                   " schedule ") == 32);
  const Ran plain = shop.run(reconcile_of({"-", "--key", "key"}), rows);
  CHECK(plain.exit == 0);
  CHECK_THAT(plain.out, Catch::StartsWith("id  what     was due  due                   why\n"
                                          "8   blocked           2036-12-08T00:00:00Z  its key is that of 6, "
                                          "WAIT\n"
                                          "rows "));
  CHECK(plain.out.find("cancelled") == std::string::npos);
  CHECK(plain.out.find("more") == std::string::npos);
  const Ran verbose =
      shop.run(reconcile_of({"-", "--key", "key", "--verbose", "--cancel-missing"}), changed_rows);
  CHECK(lines_with(verbose.out, " cancel ") == 3 + 31);
}

TEST_CASE("what no row names stays, unless it is asked for", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  const std::string one = "id,due\n1,2036-12-01\n";
  const Ran kept = shop.ask(reconcile_of({"-"}), one);
  check_summary(kept, {{"unchanged", 1}});
  CHECK(summary_of(kept)["vanished"].is_null());
  CHECK(shop.stats("q")["WAIT"] == 6);
  check_summary(shop.ask(reconcile_of({"-", "--cancel-missing"}), one), {{"unchanged", 1}, {"vanished", 5}});
  CHECK(shop.stats("q")["WAIT"] == 1);
  // One that comes back is scheduled anew; one that somebody cancelled is not.
  REQUIRE(shop.run({"cancel", "q", "1"}).exit == 0);
  const Ran back = shop.ask(reconcile_of({"-"}), "id,due\n1,2036-12-01\n2,2036-12-02\n");
  check_summary(back, {{"scheduled", 1}, {"refused", 1}});
  CHECK(summary_of(back)["refused_by_state"] == json{{"ABORTED", 1}});
}

TEST_CASE("a source that breaks off: what came before stays, nothing is cancelled", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  const Ran ran = shop.ask(reconcile_of({"-", "--cancel-missing"}),
                           "id,due\n1,2036-12-09\n2,\"2036-12-02\n3,2036-12-03\n");
  CHECK(ran.exit == 3);
  CHECK_THAT(ran.err, Catch::Contains("line 3: a quote that is never closed") &&
                          Catch::Contains("no order is cancelled as missing"));
  CHECK(summary_of(ran)["finished"] == false);
  check_summary(ran, {{"rescheduled", 1}});
  CHECK(shop.order("q", "1")["due"] == december + 8 * day);
  CHECK(shop.stats("q")["WAIT"] == 6);
}

TEST_CASE("with a bad row nothing is cancelled, for who knows whom it names", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  const std::string rows = "id,due\n1,2036-12-09\n2,soon\n" + std::string(256, 'x') + ",2036-12-01\n";
  const Ran ran = shop.ask(reconcile_of({"-", "--cancel-missing"}), rows);
  CHECK(ran.exit == 3);
  CHECK_THAT(ran.err, Catch::Contains("no order is cancelled as missing: 2 bad rows may name any of them"));
  check_summary(ran, {{"rescheduled", 1}, {"bad", 2}});
  CHECK(events_of(ran, "bad")[0]["line"] == 3);
  CHECK(shop.stats("q")["WAIT"] == 6);
  // Without it the others are taken all the same.
  const Ran again = shop.run(reconcile_of({"-"}), rows);
  CHECK(again.exit == 3);
  CHECK_THAT(again.err, Catch::Contains("line 3: due: \"soon\"") && !Catch::Contains("cancelled"));
}

TEST_CASE("a row that the queue refuses is a bad row of a reconcile, too", "[cli][reconcile]") {
  const Shop shop;
  REQUIRE(shop.run({"queue", "set", "q", "--payload-max", "40"}).exit == 0);
  const Ran ran = shop.ask(reconcile_of({"-", "--cancel-missing"}),
                           "id,due\n1,2036-12-01\n22222222222222222222222222,2036-12-01\n3,2036-12-01\n");
  CHECK(ran.exit == 3);
  check_summary(ran, {{"scheduled", 2}, {"bad", 1}});
  CHECK(events_of(ran, "bad")[0]["line"] == 3);
}

TEST_CASE("a source without a row cancels nothing, unless that is meant", "[cli][reconcile]") {
  const Shop shop;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"-", "--cancel-missing"});
    return shop.run(reconcile_of(std::move(more)), "id,due\n");
  };
  CHECK(run({}).exit == 0);  // There is nothing to lose.
  fill(shop);
  const Ran refused = run({});
  CHECK(refused.exit == 1);
  CHECK_THAT(refused.err, Catch::Contains("it has no rows: with --cancel-missing that cancels all 6 waiting "
                                          "orders of queue q; add --allow-empty if it is meant"));
  CHECK(run({"--dry-run"}).exit == 1);
  CHECK(shop.stats("q")["WAIT"] == 6);
  CHECK(shop.run(reconcile_of({"-"}), "id,due\n").exit == 0);
  CHECK(run({"--allow-empty", "--dry-run"}).exit == 0);
  CHECK(shop.stats("q")["WAIT"] == 6);
  CHECK(run({"--allow-empty"}).exit == 0);
  CHECK(shop.stats("q")["ABORTED"] == 6);
  CHECK(shop.run(reconcile_of({"-", "--allow-empty"}), "id,due\n").exit == 2);
}

TEST_CASE("a reconcile whose source cannot be used changes nothing", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  const auto run = [&](std::vector<std::string> more, std::string_view rows) {
    more.insert(more.begin(), "--cancel-missing");
    const Ran ran = shop.run(reconcile_of(std::move(more)), rows);
    CHECK_THAT(ran.err, Catch::StartsWith("duelease: "));
    // Once the source is open there is a summary.
    CHECK((ran.out.empty() || ran.out.starts_with("rows         0\n")));
    return ran.exit;
  };
  CHECK(run({"-"}, "") == 3);
  CHECK(run({"-"}, "ID,due\n1,2036-12-01\n") == 3);
  CHECK(run({"-", "--key", "site"}, "id,due\n1,2036-12-01\n") == 3);
  CHECK(run({shop.path("none.csv").string()}, "") == 3);
  CHECK(run({"--from", "redis://127.0.0.1:1", "--zset", "z"}, "") == 5);
  CHECK(run({}, "") == 2);
  CHECK(run({"--from", "sqlite:x"}, "") == 2);
  CHECK(shop.run({"reconcile", "--queue", "no spaces", "--id", "id", "--due", "due", "-"}, "").exit == 2);
  CHECK(shop.run({"reconcile", "--queue", "q", "--id", "id", "-"}, "").exit == 2);
  CHECK(shop.stats("q")["WAIT"] == 6);
}

TEST_CASE("a reconcile that is interrupted tells what it did, and cancels nothing", "[cli][reconcile]") {
  const Shop shop;
  fill(shop);
  SlowSource source(shop);
  const auto running = shop.start(
      {"reconcile", "--queue", "q", "--id", "id", "--due", "due", "--cancel-missing", source.path});
  source.open();
  std::string rows = "id,due\n";
  for (int i = 0; i < 1'500; ++i) rows += "new-" + std::to_string(i) + ",2036-12-01\n";
  source.write(rows + "0,bad\n");
  // It has told of the last row, and waits for more.
  REQUIRE(
      eventually([&] { return running->err_so_far().find("line 1502: due: \"bad\"") != std::string::npos; }));
  running->signal(SIGINT);
  const Ran ran = running->wait();
  CHECK(ran.exit == 130);
  CHECK_THAT(ran.err, Catch::Contains("interrupted") && Catch::Contains("no order is cancelled as missing"));
  CHECK_THAT(ran.out,
             Catch::Contains("scheduled    1500\n") && Catch::Contains("cancelled       0  not finished\n"));
  CHECK(shop.stats("q")["WAIT"] == 1'506);
  CHECK(shop.stats("q")["ABORTED"] == 0);
}

TEST_CASE("reconcile_race: what others do while the source is read is left alone",
          "[cli][reconcile][reconcile_race]") {
  const ServedShop served;
  const std::string setup =
      "id,due\nclaimed,2001-01-01\ncompleted,2001-01-02\nrenewed,2036-12-01\nreturned,2036-12-01\n"
      "overdue,2001-01-03\ngone,2036-12-01\nmoved,2036-12-01\n";
  std::vector<std::string> arguments = reconcile_of({"-"});
  REQUIRE(served.run(arguments, setup).exit == 0);

  SlowSource source(served.shop);
  arguments = {"--server", served.address, "--json", "reconcile", "--queue",          "q",
               "--id",     "id",           "--due",  "due",       "--cancel-missing", source.path};
  const auto running = served.shop.start_bare(arguments);
  source.open();
  // The rows are those of before; but for "gone", and "moved" has another due time.
  source.write("id,due\nclaimed,2001-01-01\ncompleted,2001-01-02\nrenewed,2036-12-01\n");
  REQUIRE(served.run({"schedule", "q", "new", "--due", "2036-12-01"}).exit == 0);
  REQUIRE(served.run({"reschedule", "q", "renewed", "--due", "2036-12-24"}).exit == 0);
  REQUIRE(served.run({"cancel", "q", "returned"}).exit == 0);
  CHECK(served.claim("q")["id"] == "claimed");
  const json completed = served.claim("q");
  REQUIRE(served.run({"complete", "q", "completed", std::to_string(completed["token"].get<std::uint64_t>())})
              .exit == 0);
  source.write("returned,2036-12-01\noverdue,2001-01-03\nmoved,2036-11-30\n");
  source.close();

  const Ran ran = running->wait();
  INFO(ran.err);
  CHECK(ran.exit == 0);
  check_summary(ran, {{"rescheduled", 1}, {"unchanged", 1}, {"newer", 1}, {"refused", 3}, {"vanished", 1}});
  CHECK(summary_of(ran)["refused_by_state"] == json{{"PROCESSING", 1}, {"SUCCESS", 1}, {"ABORTED", 1}});
  const auto order = [&](const char* id) { return served.ask({"order", "q", id}).json(); };
  CHECK(order("new")["state"] == "WAIT");
  CHECK(order("renewed")["due"] == 2'113'689'600'000);
  CHECK(order("returned")["state"] == "ABORTED");
  CHECK(order("claimed")["state"] == "PROCESSING");
  CHECK(order("completed")["state"] == "SUCCESS");
  CHECK(order("overdue")["due"] == 978'480'000'000);
  CHECK(order("moved")["due"] == order("gone")["due"].get<std::int64_t>() - day);
  CHECK(order("gone")["state"] == "ABORTED");
  const json newer = events_of(ran, "difference")[2];
  CHECK(newer["what"] == "leave");
  CHECK(newer["id"] == "renewed");
  CHECK(newer["state"].is_null());  // A server does not tell it.
  CHECK(newer["was"] == order("renewed")["due"]);
  CHECK(served.run({"check"}).exit == 0);
}

// ---- A library: the table of its loans is the truth ----

namespace {

// A program of the library at work, over a table `loans` of a database.
struct Library {
  std::function<void(const std::string& sql)> run;
  std::string from;

  // Loans 1 to 40: the first 20 should be back by now.
  void lend() const {
    run("CREATE TABLE loans(id integer PRIMARY KEY, due_at bigint, returned integer, overdue integer)");
    std::string sql = "INSERT INTO loans VALUES";
    for (int i = 1; i <= 40; ++i) {
      sql += (i > 1 ? "," : "") + ("(" + std::to_string(i) + ",") +
             std::to_string(i <= 20 ? 1'000'000'000 + i : 2'100'000'000 + i) + ",0,0)";
    }
    run(sql);
  }
  std::vector<std::string> reconcile(std::vector<std::string> more = {},
                                     const char* column = "due_at") const {
    std::vector<std::string> arguments = {
        "reconcile",
        "--queue",
        "loans",
        "--id",
        "id",
        "--due",
        "due_at",
        "--cancel-missing",
        "--from",
        from,
        "--query",
        std::string("SELECT id, ") + column +
            " AS due_at FROM loans WHERE returned = 0 AND overdue = 0 ORDER BY id"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

void tell_the_story(const Library& library, const char* breaks_off) {
  library.lend();
  const Shop shop;
  check_summary(shop.ask(library.reconcile()), {{"scheduled", 40}});  // On an empty store: the rebuild.

  // Renewed, and returned: before it is due, and once more.
  REQUIRE(shop.run({"reschedule", "loans", "1", "--due", "2036-12-01"}).exit == 0);
  REQUIRE(shop.run({"cancel", "loans", "2"}).exit == 0);
  CHECK(shop.run({"cancel", "loans", "2"}).exit == 0);
  CHECK(shop.run({"cancel", "loans", "never lent"}).out == "NOTFOUND loans never lent: no such order\n");
  library.run("UPDATE loans SET due_at = 2111702400 WHERE id = 1");
  library.run("UPDATE loans SET returned = 1 WHERE id = 2");
  check_summary(shop.ask(library.reconcile()), {{"unchanged", 39}});

  // What is overdue is marked, each loan once.
  const std::string marked = shop.path("marked").string();
  REQUIRE(shop.run({"work", "--queue", "loans", "--drain", "--exec", "echo $DUELEASE_ID >>" + marked}).exit ==
          0);
  std::istringstream ids(read_file(marked));
  std::set<int> overdue;
  for (int id = 0; ids >> id;) CHECK(overdue.insert(id).second);
  CHECK(overdue.size() == 18);
  CHECK(*overdue.begin() == 3);
  CHECK(*overdue.rbegin() == 20);
  library.run("UPDATE loans SET overdue = 1 WHERE id BETWEEN 3 AND 19");  // Of 20 the mark got lost.

  // The table goes on while nobody tells the queue: a loan is new, one was renewed, two have come back.
  library.run("INSERT INTO loans VALUES(41, 2100000041, 0, 0)");
  library.run("UPDATE loans SET due_at = 2100009999 WHERE id = 30");
  library.run("UPDATE loans SET returned = 1 WHERE id IN (31, 32)");
  const json drift = {
      {"scheduled", 1}, {"rescheduled", 1}, {"unchanged", 18}, {"refused", 1}, {"vanished", 2}};
  const json before = shop.stats("loans");
  check_summary(shop.ask(library.reconcile({"--dry-run"})), drift);
  CHECK(shop.stats("loans")["WAIT"] == before["WAIT"]);

  // The source fails in the middle of its rows.
  const Ran broken = shop.ask(library.reconcile({}, breaks_off));
  INFO(broken.out << broken.err);
  CHECK(broken.exit == 3);
  CHECK_THAT(broken.err, Catch::Contains("no order is cancelled as missing"));
  CHECK(shop.stats("loans")["ABORTED"] == 1);

  const Ran mended = shop.ask(library.reconcile());
  CHECK(mended.exit == 0);
  CHECK(summary_of(mended)["vanished"] == 2);
  CHECK(shop.order("loans", "30")["due"] == 2'100'009'999'000);
  CHECK(shop.order("loans", "31")["state"] == "ABORTED");
  CHECK(shop.order("loans", "41")["state"] == "WAIT");
  CHECK(shop.order("loans", "20")["state"] == "SUCCESS");
  CHECK(shop.run({"check"}).exit == 0);

  // The store is lost.
  const Shop rebuilt;
  check_summary(rebuilt.ask(library.reconcile()), {{"scheduled", 21}});
  for (const char* id : {"1", "30", "41"}) {
    CHECK(rebuilt.order("loans", id)["due"] == shop.order("loans", id)["due"]);
  }
}

}  // namespace

TEST_CASE("library loans: a table of SQLite is the truth", "[cli][reconcile][sqlite]") {
  const Shop files;
  const std::string file = files.path("library.db").string();
  tell_the_story({[&](const std::string& sql) { run_sqlite(file, sql); }, "sqlite:" + file},
                 "CASE id WHEN 35 THEN abs(-9223372036854775807 - 1 + (id - 35)) ELSE due_at END");
}

TEST_CASE("library loans: a table of PostgreSQL is the truth", "[cli][reconcile][postgresql]") {
  if (skipped(PostgresServer::program("postgres"), "postgresql")) return;
  const PostgresServer server("open sesame");
  const auto run = [&](const std::string& sql) {
    const Ran ran = server.run(sql + ";\n");
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
  };
  tell_the_story({run, "postgresql://shop:open%20sesame@" + server.at()}, "due_at + 0 / (id - 35)");
}

TEST_CASE("library loans: a sorted set of Redis is left behind", "[cli][reconcile][redis]") {
  if (skipped(RedisServer::program(), "redis-server")) return;
  const RedisServer server;
  server.run("ZADD loans 2100000001 1 2100000002 2 2100000003 3\n");
  const Shop shop;
  const auto run = [&](const char* command, std::vector<std::string> more) {
    std::vector<std::string> arguments = {command,  "--queue", "loans", "--from", "redis://" + server.at(),
                                          "--zset", "loans"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return shop.ask(arguments);
  };
  check_counts(run("import", {}), 3, 3, 0, 0, 0);
  server.run("ZADD loans 2100000004 4 2100000099 1\nZREM loans 2\n");
  const json drift = {{"scheduled", 1}, {"rescheduled", 1}, {"unchanged", 1}, {"vanished", 1}};
  check_summary(run("reconcile", {"--cancel-missing", "--dry-run"}), drift);
  check_summary(run("reconcile", {"--cancel-missing"}), drift);
  CHECK(shop.order("loans", "1")["due"] == 2'100'000'099'000);
  CHECK(shop.order("loans", "2")["state"] == "ABORTED");
  CHECK(shop.order("loans", "4")["payload"] == "");
  // Without a member a sorted set is not there at all.
  server.run("DEL loans\n");
  CHECK(run("reconcile", {"--cancel-missing", "--allow-empty"}).exit == 3);
  CHECK(shop.stats("loans")["WAIT"] == 3);
}
