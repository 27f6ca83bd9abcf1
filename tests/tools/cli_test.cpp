// The program as a user sees it: one order at a time, queues, upkeep, and what its exit codes mean.
#include "program.h"

using duelease::test::Ran;
using duelease::test::read_file;
using duelease::test::Running;
using duelease::test::Shop;
using duelease::test::write_file;
using nlohmann::json;

namespace {

constexpr std::int64_t day_ms = 86'400'000;

void check_no_queue_typo(const std::vector<std::vector<std::string>>& commands) {
  const Shop shop;
  shop.schedule("q", "1");
  for (const std::vector<std::string>& arguments : commands) {
    INFO(arguments[0] << ' ' << arguments[1]);
    for (const Ran& ran : {shop.run(arguments), shop.ask(arguments)}) {
      CHECK(ran.exit == 1);
      CHECK(ran.out.empty());
      CHECK_THAT(ran.err, Catch::Contains("no queue typo"));
    }
  }
  CHECK(shop.ask({"queue", "list"}).json()["queues"] == json{"q"});
}

}  // namespace

TEST_CASE("help tells the commands and the exit codes", "[cli]") {
  const Shop shop;
  const Ran ran = shop.run_bare({"--help"});
  CHECK(ran.exit == 0);
  for (const char* word :
       {"schedule", "import", "work",    "claim",     "complete",   "fail",     "release", "extend",
        "pop",      "watch",  "ping",    "order",     "list",       "why",      "cancel",  "reschedule",
        "retry",    "stats",  "queue",   "run",       "serve",      "password", "purge",   "reap",
        "check",    "backup", "restore", "reconcile", "Exit codes:"}) {
    INFO(word);
    CHECK_THAT(ran.out, Catch::Contains(word));
  }
  CHECK(shop.run_bare({"schedule", "--help"}).exit == 0);
  CHECK(shop.run_bare({"queue", "set", "--help"}).exit == 0);
  CHECK(shop.run_bare({"--version"}).exit == 0);
  for (const char* command : {"import", "reconcile", "work"}) {
    CHECK_THAT(shop.run_bare({command, "--help"}).out,
               Catch::Contains("\n\nExample") &&
                   Catch::Contains(std::string(": duelease --store S ") + command + " "));
  }
}

TEST_CASE("wrong words end with 2 and say what was wrong", "[cli]") {
  const Shop shop;
  const auto wrong = [&shop](std::vector<std::string> arguments) {
    const Ran ran = shop.run(std::move(arguments));
    INFO(ran.err);
    CHECK(ran.exit == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Catch::StartsWith("duelease: "));
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
    return ran.err;
  };
  CHECK(wrong({}) == "duelease: which command? (see duelease --help)\n");
  CHECK(wrong({"shedule"}) == "duelease: no such command: shedule (see duelease --help)\n");
  CHECK(wrong({"queue"}) == "duelease: which command? (see duelease queue --help)\n");
  CHECK(wrong({"queue", "stop"}) == "duelease: no such command: stop (see duelease queue --help)\n");
  CHECK(wrong({"order", "q"}) == "duelease: --id is required (see duelease order --help)\n");
  CHECK(wrong({"order", "q", "1", "\x1B[2J"}) ==
        "duelease: one word too many: \"\\x1b[2J\" (see duelease order --help)\n");
  CHECK(wrong({"queue", "set", "q", "--leese", "5s"}) ==
        "duelease: no such option: --leese (see duelease queue set --help)\n");
  CHECK(wrong({"order", "q", "1", "--id", "2"}) ==
        "duelease: --id is given more than once (see duelease order --help)\n");
  CHECK(wrong({"stats", "--queue"}) == "duelease: --queue needs a value (see duelease stats --help)\n");
  CHECK(wrong({"stats", "--json=maybe"}) == "duelease: --json takes no value (see duelease stats --help)\n");
  CHECK(wrong({"queue", "set", "q", "--lease", "5"}) == "duelease: --lease: give a unit: 5s or 5ms\n");
  CHECK(wrong({"schedule", "q", "1", "--due", "+5"}) == "duelease: --due: give a unit: 5s or 5ms\n");
  CHECK_THAT(wrong({"queue", "set", "q", "--keep-success", "x"}), Catch::Contains("(or \"forever\")"));
  CHECK_THAT(wrong({"schedule", "q", "1"}), Catch::Contains("--due"));
  CHECK_THAT(wrong({"schedule", "q", "1", "--due", "soon"}), Catch::Contains("\"soon\" is not a time"));
  CHECK_THAT(wrong({"schedule", "q", "1", "--due", "253402300800000"}), Catch::Contains("253402300799999"));
  CHECK_THAT(wrong({"schedule", "q", "1", "--due", "+106751991168d"}),
             Catch::Contains("9223372036854775807"));
  CHECK_THAT(wrong({"schedule", "q", "1", "--due", "0", "--priority", "256"}), Catch::Contains("255"));
  CHECK_THAT(wrong({"schedule", "q", "1", "--due", "0", "--priority", "-1"}), Catch::Contains("255"));
  CHECK_THAT(wrong({"schedule", "q", "1", "--due", "0", "--payload", "x", "--payload-file", "-"}),
             Catch::Contains("give --payload or --payload-file, not both"));
  CHECK_THAT(wrong({"schedule", "no spaces", "1", "--due", "0"}), Catch::Contains("no spaces"));
  CHECK_THAT(wrong({"schedule", "q", std::string(256, 'x'), "--due", "0"}), Catch::Contains("255"));
  CHECK_THAT(wrong({"--durability", "maybe", "stats"}), Catch::Contains("sync, interval, none"));
  CHECK_THAT(wrong({"list", "q", "--state", "DONE"}), Catch::Contains("ABORTED"));
  CHECK_THAT(wrong({"purge", "q", "--state", "WAIT"}), Catch::Contains("FAILED"));
}

TEST_CASE("the store is named by --store or DUELEASE_STORE, and reading makes none", "[cli]") {
  const Shop shop;
  ::unsetenv("DUELEASE_STORE");
  const Ran unnamed = shop.run_bare({"stats"});
  CHECK(unnamed.exit == 2);
  CHECK_THAT(unnamed.err, Catch::Contains("DUELEASE_STORE"));

  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"stats"},
                                             {"order", "q", "1"},
                                             {"list", "q"},
                                             {"why", "q", "1"},
                                             {"cancel", "q", "1"},
                                             {"retry", "q", "1"},
                                             {"reschedule", "q", "1", "--due", "0"},
                                             {"check"},
                                             {"reap"},
                                             {"queue", "list"},
                                             {"queue", "pause", "q"},
                                             {"run", "start", "q", "r"},
                                             {"run", "beat", "q", "r"},
                                             {"run", "done", "q", "r"},
                                             {"run", "error", "q", "r"},
                                             {"run", "show", "q", "r"},
                                             {"run", "list", "q"},
                                             {"purge", "q", "--state", "FAILED"},
                                             {"backup", "--to", shop.path("b").string()},
                                             {"work", "--queue", "q", "--exec", "true", "--drain"}}) {
    const Ran ran = shop.run(arguments);
    INFO(arguments[0]);
    CHECK(ran.exit == 4);
    CHECK_THAT(ran.err, Catch::Contains("no store at " + shop.store()));
  }
  CHECK(!std::filesystem::exists(shop.store()));

  shop.schedule("q", "1");
  ::setenv("DUELEASE_STORE", shop.store().c_str(), 1);
  CHECK(shop.run_bare({"order", "q", "1"}).exit == 0);
  CHECK(shop.run_bare({"--store", shop.path("other").string(), "order", "q", "1"}).exit == 4);
  ::unsetenv("DUELEASE_STORE");
}

TEST_CASE("what is no store ends with 4, also a backup and a folder of something else", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  const std::string backup = shop.path("backup").string();
  REQUIRE(shop.run({"backup", "--to", backup}).exit == 0);
  const std::string foreign = shop.path("foreign").string();
  std::filesystem::create_directory(foreign);
  write_file(shop.path("foreign") / "letter.txt", "Dear Sir");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"stats"},
                                             {"schedule", "q", "2", "--due", "0"},
                                             {"reap"},
                                             {"work", "--queue", "q", "--exec", "true", "--drain"}}) {
    INFO(arguments[0]);
    for (const std::string& folder : {backup, foreign}) {
      std::vector<std::string> all = {"--store", folder};
      all.insert(all.end(), arguments.begin(), arguments.end());
      const Ran ran = shop.run_bare(std::move(all));
      CHECK(ran.exit == 4);
      CHECK_THAT(ran.err, Catch::Contains(folder));
    }
  }
  CHECK(read_file(shop.path("foreign") / "letter.txt") == "Dear Sir");
}

TEST_CASE("an answer that cannot be written ends with 4", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"--version"},
                                             {"stats"},
                                             {"--json", "stats"},
                                             {"order", "q", "1"},
                                             {"why", "q", "none"},
                                             {"schedule", "q", "1", "--due", "0"},
                                             {"check"},
                                             {"list", "q"},
                                             {"queue", "list"},
                                             {"work", "--queue", "q", "--exec", "true", "--drain"}}) {
    INFO(arguments[0]);
    const Ran full = shop.run_in_shell("\"$@\" >/dev/full", arguments);
    CHECK(full.exit == 4);
    CHECK(full.err == "duelease: cannot write to standard output: No space left on device\n");
    const Ran closed = shop.run_in_shell("\"$@\" >&-", arguments);
    CHECK(closed.exit == 4);
    CHECK(closed.err == "duelease: cannot write to standard output: Bad file descriptor\n");
  }
  // The reader is gone before the first line is written.
  const Ran gone = shop.run_in_shell("{ sleep 0.2; \"$@\"; echo $? >&2; } | :", {"stats"});
  CHECK(gone.err == "duelease: cannot write to standard output: Broken pipe\n4\n");
  CHECK(shop.run({"check"}).exit == 0);
}

TEST_CASE("a payload is not taken from a closed standard input", "[cli]") {
  const Shop shop;
  const Ran ran =
      shop.run_in_shell("\"$@\" <&-", {"schedule", "q", "1", "--due", "0", "--payload-file", "-"});
  CHECK(ran.exit == 3);
  CHECK_THAT(ran.err, Catch::Contains("Bad file descriptor"));
}

TEST_CASE("a limit on the size of files is an error of the store", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  // In blocks of 512 bytes.
  const Ran ran =
      shop.run_in_shell("ulimit -f 64; \"$@\"", {"schedule", "q", "2", "--due", "0", "--payload-file", "-"},
                        std::string(1'000'000, 'x'));
  CHECK(ran.exit == 4);
  CHECK_THAT(ran.err, Catch::Contains("File too large"));
  CHECK(shop.run({"schedule", "q", "3", "--due", "0"}).exit == 0);
}

TEST_CASE("a store that is open is locked", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  const auto working = shop.start({"work", "--queue", "q", "--exec", "echo running >&2; exec sleep 60"});
  REQUIRE(duelease::test::eventually([&] { return working->err_so_far() == "running\n"; }));
  const Ran ran = shop.run({"order", "q", "1"});
  CHECK(ran.exit == 4);
  CHECK_THAT(ran.err, Catch::StartsWith("duelease: "));
  working->signal(SIGTERM);
  working->signal(SIGINT);
  CHECK(working->wait().exit == 0);
  CHECK(shop.run({"order", "q", "1"}).exit == 0);
}

TEST_CASE("an order that was scheduled is shown as it is", "[cli]") {
  const Shop shop;
  const Ran scheduled = shop.ask({"schedule", "--queue", "shipping", "--id", "10248", "--due", "2036-12-01",
                                  "--payload", "{}", "--key", "site|7", "--priority", "3", "--tries", "5"});
  CHECK(scheduled.exit == 0);
  CHECK(scheduled.json() == json{{"outcome", "SCHEDULED"},
                                 {"queue", "shipping"},
                                 {"id", "10248"},
                                 {"state", "WAIT"},
                                 {"due", 2'111'702'400'000}});
  const json order = shop.order("shipping", "10248");
  CHECK(order["queue"] == "shipping");
  CHECK(order["id"] == "10248");
  CHECK(order["state"] == "WAIT");
  CHECK(order["due"] == 2'111'702'400'000);
  CHECK(order["payload"] == "{}");
  CHECK(order["key"] == "site|7");
  CHECK(order["run"].is_null());
  CHECK(order["priority"] == 3);
  CHECK(order["tries"] == 5);
  CHECK(order["attempt"] == 0);
  CHECK(order["lease_expires_at"].is_null());
  const Ran shown = shop.run({"order", "shipping", "10248"});
  CHECK_THAT(shown.out, Catch::Contains("2036-12-01T00:00:00Z") && Catch::Contains("site|7"));

  const Ran unknown = shop.run({"order", "shipping", "10249"});
  CHECK(unknown.exit == 1);
  CHECK(unknown.out.empty());
  CHECK(unknown.err == "duelease: no order 10249 in queue shipping\n");
}

TEST_CASE("a duplicate is refused by name", "[cli]") {
  const Shop shop;
  REQUIRE(shop.run({"schedule", "q", "1", "--due", "+1d", "--key", "k"}).exit == 0);
  const Ran same_id = shop.ask({"schedule", "q", "1", "--due", "0"});
  CHECK(same_id.exit == 1);
  CHECK(same_id.json() ==
        json{{"outcome", "DUPLICATE"}, {"queue", "q"}, {"id", "1"}, {"state", "WAIT"}, {"blocker", "1"}});
  const Ran same_key = shop.run({"schedule", "q", "2", "--due", "0", "--key", "k"});
  CHECK(same_key.exit == 1);
  CHECK(same_key.out == "DUPLICATE q 2: blocked by 1, which is WAIT\n");

  const Ran upsert = shop.ask({"schedule", "q", "1", "--due", "1000", "--upsert"});
  CHECK(upsert.exit == 0);
  CHECK(upsert.json()["outcome"] == "RESCHEDULED");
  CHECK(shop.order("q", "1")["due"] == 1000);
}

TEST_CASE("payloads come from an option, a file or standard input, and are bytes", "[cli]") {
  const Shop shop;
  const std::string bytes("\0\xFF\n\xE8\xAE", 5);
  write_file(shop.path("payload"), bytes);
  const std::string file = shop.path("payload").string();
  CHECK(shop.run({"schedule", "q", "file", "--due", "0", "--payload-file", file}).exit == 0);
  CHECK(shop.run({"schedule", "q", "stdin", "--due", "0", "--payload-file", "-"}, bytes).exit == 0);
  CHECK(shop.run({"schedule", "q", "empty", "--due", "0", "--payload", ""}).exit == 0);
  CHECK(shop.run({"schedule", "q", "dash", "--due", "0", "--payload", "--force"}).exit == 0);
  CHECK(shop.order("q", "file")["payload"] == json{{"base64", "AP8K6K4="}});
  CHECK(shop.run({"order", "q", "file", "--only", "payload"}).out == bytes);
  CHECK(shop.run({"order", "q", "stdin", "--only", "payload"}).out == bytes);
  CHECK(shop.order("q", "empty")["payload"] == "");
  CHECK(shop.order("q", "dash")["payload"] == "--force");
  CHECK_THAT(shop.run({"order", "q", "file"}).out, Catch::Contains("\\x00\\xff\\n\\xe8\\xae"));

  CHECK(shop.run({"schedule", "q", "x", "--due", "0", "--payload-file", shop.path("none").string()}).exit ==
        3);
  CHECK(shop.run({"schedule", "q", "x", "--due", "0", "--payload-file", shop.path("").string()}).exit == 3);
  const Ran large =
      shop.run({"schedule", "q", "x", "--due", "0", "--payload-file", "-"}, std::string(1'048'577, 'x'));
  CHECK(large.exit == 3);
  CHECK_THAT(large.err, Catch::Contains("1048576"));
  CHECK(shop.run({"schedule", "q", "x", "--due", "0", "--payload-file", "/dev/zero"}).exit == 3);
}

TEST_CASE("any bytes are an id, and every output stays readable", "[cli]") {
  const Shop shop;
  const std::string odd = "a\x1B[2J\xFF\n";
  for (const std::string& id : {odd, std::string("-5"), std::string("--json"), std::string("list")}) {
    CHECK(shop.run({"schedule", "--queue", "order", "--id", id, "--due", "0"}).exit == 0);
    CHECK(shop.run({"order", "--queue", "order", "--id", id}).exit == 0);
  }
  CHECK(shop.run({"order", "order", "list"}).exit == 0);
  CHECK(shop.run({"order", "order", "--", "--json"}).exit == 0);
  CHECK_THAT(shop.run({"list", "order"}).out, Catch::Contains("a\\x1b[2J\\xff\\n"));
  const json orders = shop.ask({"list", "order"}).json()["orders"];
  REQUIRE(orders.size() == 4);
  CHECK(std::count_if(orders.begin(), orders.end(), [](const json& o) {
          return o["id"] == json{{"base64", "YRtbMkr/Cg=="}};
        }) == 1);
  CHECK(shop.run({"cancel", "order", odd}).out == "ABORTED order a\\x1b[2J\\xff\\n\n");
}

TEST_CASE("a list comes in pages, WAIT in the order of claims", "[cli]") {
  const Shop shop;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(shop.run({"schedule", "q", std::to_string(i), "--due", std::to_string(1000 - i)}).exit == 0);
  }
  REQUIRE(shop.run({"cancel", "q", "3"}).exit == 0);
  std::vector<std::string> ids;
  std::string after;
  int pages = 0;
  do {
    std::vector<std::string> arguments = {"list", "q", "--state", "wait", "--limit", "3"};
    if (!after.empty()) arguments.insert(arguments.end(), {"--after", after});
    const json page = shop.ask(arguments).json();
    for (const json& order : page["orders"]) ids.push_back(order["id"]);
    after = page["next"].is_null() ? "" : page["next"].get<std::string>();
    REQUIRE(++pages < 10);
  } while (!after.empty());
  CHECK(ids == std::vector<std::string>{"4", "2", "1", "0"});

  const json all = shop.ask({"list", "q", "--full"}).json();
  CHECK(all["orders"].size() == 5);
  CHECK(all["orders"][3]["state"] == "ABORTED");
  CHECK(all["orders"][0].contains("payload"));
  CHECK_THAT(shop.run({"list", "q", "--limit", "2"}).out, Catch::Contains("more: --after "));
  CHECK(shop.ask({"list", "q", "--state", "SUCCESS"}).json()["orders"].empty());
  CHECK(shop.run({"list", "q", "--after", "xyz"}).exit == 2);
}

TEST_CASE("why says why, and 1 for an order that is not there", "[cli]") {
  const Shop shop;
  REQUIRE(shop.run({"schedule", "q", "1", "--due", "+1d"}).exit == 0);
  const Ran ran = shop.ask({"why", "q", "1"});
  CHECK(ran.exit == 0);
  CHECK(ran.json()["state"] == "WAIT");
  CHECK_THAT(ran.json()["why"].get<std::string>(), Catch::Contains("due"));
  CHECK(shop.run({"why", "q", "2"}).exit == 1);
}

TEST_CASE("history says what happened to an order, or how to keep one", "[cli]") {
  const Shop shop;
  CHECK(shop.run({"queue", "set", "q", "--keep-history", "30d"}).exit == 0);
  shop.schedule("q", "1");
  CHECK(shop.run({"work", "--queue", "q", "--name", "w1", "--exec", "echo no stock >&2; exit 3", "--drain"})
            .exit == 0);
  const Ran table = shop.run({"history", "q", "1"});
  CHECK(table.exit == 0);
  CHECK_THAT(table.out, Catch::Contains("time") && Catch::Contains("scheduled") &&
                            Catch::Contains("claimed") && Catch::Contains("PROCESSING") &&
                            Catch::Contains("w1") && Catch::Contains("exit 3: no stock"));
  CHECK(table.err.find("keeps no history") == std::string::npos);
  const std::vector<json> lines = shop.ask({"history", "q", "1"}).lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["event"] == "scheduled");
  CHECK(lines[0]["worker"] == "");
  CHECK(lines[1]["event"] == "claimed");
  CHECK(lines[1]["due"].is_null());
  CHECK(lines[2]["event"] == "failed");
  CHECK(lines[2]["state"] == "WAIT");
  CHECK(lines[2]["reason"] == "exit 3: no stock");
  CHECK(lines[2]["token"] == lines[1]["token"]);
  CHECK(lines[2]["due"] > lines[2]["at"]);
  CHECK(shop.ask({"history", "q", "1", "--limit", "1"}).lines().size() == 1);
  CHECK(shop.run({"history", "q", "1", "--limit", "0"}).exit == 2);
  const Ran none = shop.run({"history", "q", "2"});
  CHECK(none.exit == 1);
  CHECK(none.out.empty());
  CHECK(none.err == "duelease: nothing has happened to order 2 of queue q within 30 d\n");

  shop.schedule("off", "1");
  const Ran off = shop.run({"history", "off", "1"});
  CHECK(off.exit == 1);
  CHECK(off.err ==
        "duelease: queue off keeps no history; from now on it does with: queue set off --keep-history 30d\n");
  CHECK(shop.run({"history", "typo", "1"}).exit == 1);
}

TEST_CASE("cancel and reschedule answer what they did or what forbids it", "[cli]") {
  const Shop shop;
  REQUIRE(shop.run({"schedule", "q", "1", "--due", "+1d"}).exit == 0);
  const Ran moved = shop.ask({"reschedule", "q", "1", "--due", "1970-01-02"});
  CHECK(moved.exit == 0);
  CHECK(moved.json()["outcome"] == "RESCHEDULED");
  CHECK(moved.json()["due"] == day_ms);
  CHECK(shop.order("q", "1")["due"] == day_ms);

  CHECK(shop.ask({"cancel", "q", "1"}).json()["outcome"] == "ABORTED");
  CHECK(shop.run({"cancel", "q", "1"}).exit == 0);
  const Ran refused = shop.ask({"reschedule", "q", "1", "--due", "0"});
  CHECK(refused.exit == 1);
  CHECK(refused.json()["outcome"] == "REFUSED");
  CHECK(refused.json()["state"] == "ABORTED");
  const Ran unknown = shop.ask({"cancel", "q", "2"});
  CHECK(unknown.exit == 1);
  CHECK(unknown.json() == json{{"outcome", "NOTFOUND"}, {"queue", "q"}, {"id", "2"}});
}

TEST_CASE("a failed order is retried, unless its key is taken by then", "[cli]") {
  const Shop shop;
  for (const char* id : {"1", "2"}) {
    REQUIRE(shop.run({"schedule", "q", id, "--due", "0", "--tries", "1", "--key", id}).exit == 0);
  }
  CHECK(shop.run({"retry", "q", "1"}).exit == 1);
  CHECK(shop.run({"work", "--queue", "q", "--exec", "exit 7", "--drain"}).exit == 0);
  CHECK(shop.order("q", "1")["state"] == "FAILED");
  CHECK(shop.order("q", "1")["error"] == "exit 7");

  const Ran retried = shop.ask({"retry", "q", "1", "--due", "1970-01-02"});
  CHECK(retried.exit == 0);
  CHECK(retried.json()["outcome"] == "WAIT");
  CHECK(retried.json()["due"] == day_ms);
  REQUIRE(shop.run({"schedule", "q", "3", "--due", "0", "--key", "2"}).exit == 0);
  const Ran taken = shop.ask({"retry", "q", "2"});
  CHECK(taken.exit == 1);
  CHECK(taken.json()["outcome"] == "DUPLICATE");
  CHECK(taken.json()["blocker"] == "3");
}

TEST_CASE("stats count a queue, or all of them", "[cli]") {
  const Shop shop;
  shop.schedule("a", "1");
  shop.schedule("b", "1");
  REQUIRE(shop.run({"schedule", "b", "2", "--due", "+1d"}).exit == 0);
  const json b = shop.stats("b");
  CHECK(b["queue"] == "b");
  CHECK(b["WAIT"] == 2);
  CHECK(b["due"] == 1);
  CHECK(b["oldest_overdue_ms"] > 50 * 365 * day_ms);
  CHECK(b["leases"] == 0);
  CHECK(shop.ask({"stats"}).lines().size() == 2);
  CHECK_THAT(shop.run({"stats"}).out, Catch::StartsWith("queue "));
  CHECK(shop.run({"stats", "c"}).exit == 1);
}

TEST_CASE("settings of a queue are set, shown, and obeyed", "[cli]") {
  const Shop shop;
  const Ran set = shop.ask({"queue", "set", "q", "--lease", "2m", "--tries", "0", "--backoff-base", "10ms",
                            "--backoff-cap", "1h", "--backoff-jitter", "0", "--payload-max", "10",
                            "--keep-success", "7d", "--keep-history", "30d"});
  CHECK(set.exit == 0);
  const json expected{{"queue", "q"},
                      {"lease", 120'000},
                      {"tries", 0},
                      {"backoff_base", 10},
                      {"backoff_cap", 3'600'000},
                      {"backoff_jitter_percent", 0},
                      {"payload_bytes_max", 10},
                      {"keep_success", 7 * day_ms},
                      {"keep_history", 30 * day_ms},
                      {"paused", false}};
  CHECK(set.json() == expected);
  CHECK(shop.ask({"queue", "show", "q"}).json() == expected);
  CHECK(shop.ask({"queue", "set", "q", "--keep-success", "forever"}).json()["keep_success"].is_null());
  CHECK_THAT(shop.run({"queue", "show", "q"}).out,
             Catch::Contains("lease           2 min\n") && Catch::Contains("backoff base    10 ms\n") &&
                 Catch::Contains("keep success    forever\n") && Catch::Contains("keep history    30 d\n"));
  CHECK(shop.ask({"queue", "set", "q", "--keep-history", "none"}).json()["keep_history"] == 0);
  CHECK_THAT(shop.run({"queue", "show", "q"}).out, Catch::Contains("keep history    none\n"));
  CHECK(shop.run({"queue", "set", "q", "--keep-history", "36501d"}).exit == 2);
  CHECK(shop.run({"queue", "set", "q", "--keep-history", "30"}).exit == 2);
  CHECK(shop.run({"queue", "show", "other"}).exit == 1);
  CHECK(shop.run({"queue", "set", "q", "--lease", "31d"}).exit == 2);
  CHECK(shop.run({"schedule", "q", "1", "--due", "0", "--payload", "12345678901"}).exit == 3);

  shop.schedule("q", "1");
  CHECK(shop.ask({"queue", "pause", "q"}).json()["paused"] == true);
  const Ran drained = shop.run({"work", "--queue", "q", "--exec", "true", "--drain"});
  CHECK(drained.exit == 0);
  CHECK(drained.err == "duelease: queue q is paused: nothing of it is handed out\n");
  CHECK(shop.order("q", "1")["state"] == "WAIT");
  CHECK(shop.ask({"queue", "resume", "q"}).json()["paused"] == false);
  CHECK(shop.run({"work", "--queue", "q", "--exec", "true", "--drain"}).exit == 0);
  CHECK(shop.order("q", "1")["state"] == "SUCCESS");
  CHECK(shop.ask({"queue", "list"}).json()["queues"] == json{"q"});
}

TEST_CASE("a queue that is not there is not found by reads", "[cli]") {
  check_no_queue_typo({{"queue", "show", "typo"}, {"stats", "typo"}, {"check", "typo"}});
}

TEST_CASE("a queue that is not there is not found by upkeep either, and not made", "[cli]") {
  check_no_queue_typo({{"queue", "pause", "typo"},
                       {"queue", "resume", "typo"},
                       {"list", "typo"},
                       {"purge", "typo", "--state", "FAILED"},
                       {"reap", "typo"}});
}

TEST_CASE("purge removes what has ended, and nothing else", "[cli]") {
  const Shop shop;
  for (const char* id : {"1", "2", "3", "4"}) shop.schedule("q", id);
  for (const char* id : {"1", "2", "3"}) REQUIRE(shop.run({"cancel", "q", id}).exit == 0);
  CHECK(shop.ask({"purge", "q", "--state", "ABORTED", "--older", "1h"}).json()["purged"] == 0);
  CHECK(shop.ask({"purge", "--queue", "q", "--state", "ABORTED", "--limit", "1"}).json()["purged"] == 1);
  CHECK(shop.ask({"purge", "q", "--state", "ABORTED"}).json()["purged"] == 2);
  CHECK(shop.ask({"purge", "q", "--state", "SUCCESS"}).json()["purged"] == 0);
  CHECK(shop.ask({"list", "q"}).json()["orders"].size() == 1);
}

TEST_CASE("reap puts back what a dead worker held", "[cli]") {
  const Shop shop;
  shop.leave_to_a_dead_worker("q", "1", "200ms");
  CHECK(shop.order("q", "1")["state"] == "PROCESSING");
  CHECK(duelease::test::eventually([&] { return shop.ask({"reap"}).json()["reaped"] == 1; }));
  const json order = shop.order("q", "1");
  CHECK(order["state"] == "WAIT");
  CHECK(order["attempt"] == 1);
  CHECK(order["failures"] == 0);
  CHECK(shop.ask({"reap", "q", "--limit", "5"}).json()["reaped"] == 0);
}

TEST_CASE("check counts no violations in a sound store", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  const Ran ran = shop.ask({"check"});
  CHECK(ran.exit == 0);
  const json report = ran.json();
  CHECK(report["violations"] == 0);
  CHECK(report["orders"] == 1);
  CHECK(report["invariants"].size() >= 5);
  for (const json& invariant : report["invariants"]) CHECK(invariant["violations"] == 0);
  CHECK(shop.run({"check", "--queue", "q"}).exit == 0);
  CHECK(shop.run({"check", "--queue", "other"}).exit == 1);
  CHECK_THAT(shop.run({"check"}).out, Catch::Contains("1 order looked at, 0 violations"));
}

TEST_CASE("a backup becomes a store again, with higher tokens", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  CHECK(shop.run({"work", "--queue", "q", "--exec", "true", "--drain"}).exit == 0);
  const std::string backup = shop.path("backup").string();
  const std::string copy = shop.path("copy").string();
  CHECK(shop.ask({"backup", "--to", backup}).json()["backup"] == backup);
  CHECK(shop.run({"backup", "--to", backup}).exit == 2);
  CHECK(shop.run({"backup", "--to", ""}).exit == 2);
  const Ran no_parent = shop.run({"backup", "--to", shop.path("none/backup/").string()});
  CHECK(no_parent.exit == 2);
  CHECK_THAT(no_parent.err, Catch::Contains("there is no folder " + shop.path("none").string() + "\n"));

  CHECK(shop.run_bare({"restore", "--from", backup, "--to", copy}).exit == 0);
  CHECK(shop.run_bare({"restore", "--from", backup, "--to", copy}).exit != 0);
  CHECK(shop.run_bare({"restore", "--from", shop.path("none").string(), "--to", shop.path("x").string()})
            .exit == 4);
  CHECK(shop.run_bare({"restore", "--from", backup, "--to", ""}).exit == 2);
  const json before = shop.order("q", "1");
  CHECK(shop.run_bare({"--store", copy, "--json", "order", "q", "1"}).json() == before);

  REQUIRE(shop.run_bare({"--store", copy, "schedule", "q", "2", "--due", "0"}).exit == 0);
  REQUIRE(shop.run_bare({"--store", copy, "work", "--queue", "q", "--exec", "true", "--drain"}).exit == 0);
  const json after = shop.run_bare({"--store", copy, "--json", "order", "q", "2"}).json();
  CHECK(after["token"].get<std::uint64_t>() >
        before["token"].get<std::uint64_t>() + (std::uint64_t{1} << 44));

  const std::string above = shop.path("above").string();
  CHECK(shop.run_bare({"restore", "--from", backup, "--to", above, "--tokens-above", "4611686018427387904"})
            .exit == 0);
  REQUIRE(shop.run_bare({"--store", above, "schedule", "q", "2", "--due", "0"}).exit == 0);
  REQUIRE(shop.run_bare({"--store", above, "work", "--queue", "q", "--exec", "true", "--drain"}).exit == 0);
  const json highest = shop.run_bare({"--store", above, "--json", "order", "q", "2"}).json();
  CHECK(highest["token"].get<std::uint64_t>() > 4611686018427387904U);
}

TEST_CASE("the weaker levels of durability keep what was said, too", "[cli]") {
  const Shop shop;
  CHECK(shop.run({"--durability", "none", "schedule", "q", "1", "--due", "0"}).exit == 0);
  CHECK(shop.run({"schedule", "q", "2", "--due", "0", "--durability", "interval"}).exit == 0);
  CHECK(shop.stats("q")["WAIT"] == 2);
}
