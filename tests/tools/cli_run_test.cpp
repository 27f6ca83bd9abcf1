// duelease run, schedule --run and import --run, on a store.
#include "program.h"

using duelease::test::Ran;
using duelease::test::Shop;
using nlohmann::json;

namespace {

json show(const Shop& shop, const std::string& run) { return shop.ask({"run", "show", "q", run}).json(); }

Ran schedule(const Shop& shop, const std::string& id, const std::string& run) {
  return shop.run({"schedule", "q", id, "--due", "0", "--key", "lot" + id, "--run", run});
}

}  // namespace

TEST_CASE("a run from its opening to DONE", "[cli][run]") {
  const Shop shop;
  CHECK(shop.run({"run", "open", "q", "nightly", "--ttl", "90s"}).out == "CREATING q nightly\n");
  CHECK(shop.ask({"run", "open", "--queue", "q", "--run", "nightly"}).json() ==
        json{{"queue", "q"}, {"run", "nightly"}, {"state", "CREATING"}});
  CHECK(schedule(shop, "1", "nightly").exit == 0);
  CHECK(schedule(shop, "2", "nightly").exit == 0);
  CHECK(shop.run({"run", "start", "q", "nightly"}).out == "RUNNING q nightly\n");
  CHECK(shop.ask({"run", "beat", "q", "nightly"}).json()["state"] == "RUNNING");
  CHECK(shop.order("q", "1")["run"] == "nightly");
  CHECK_THAT(shop.run({"order", "q", "1"}).out, Catch::Contains("run ") && Catch::Contains("nightly\n"));

  const json running = show(shop, "nightly");
  CHECK(running["ttl"] == 90'000);
  CHECK(running["expires_at"] > running["started_at"]);
  CHECK(running["started_at"] >= running["opened_at"]);
  CHECK(running["ended_at"].is_null());
  CHECK(running["WAIT"] == 2);
  CHECK_THAT(shop.run({"run", "show", "q", "nightly"}).out,
             Catch::Contains("RUNNING") && Catch::Contains("1 min 30 s") && Catch::Contains("beat before"));

  const Ran busy = shop.run({"run", "done", "q", "nightly"});
  CHECK(busy.exit == 1);
  CHECK(busy.err == "duelease: run nightly of queue q still has 2 orders in WAIT and 0 in PROCESSING\n");
  CHECK(shop.run({"work", "--queue", "q", "--exec", "test $DUELEASE_ID = 1", "--drain"}).exit == 0);
  CHECK(shop.run({"run", "done", "q", "nightly"}).exit == 1);  // Order 2 comes again.
  CHECK(shop.run({"run", "done", "q", "nightly", "--force"}).out == "DONE q nightly\n");
  CHECK(shop.order("q", "2")["state"] == "ABORTED");
  CHECK(shop.run({"purge", "q", "--state", "ABORTED"}).exit == 0);

  const json done = show(shop, "nightly");
  CHECK(done["state"] == "DONE");
  CHECK(done["ended_at"] >= done["started_at"]);
  CHECK(done["expires_at"].is_null());
  CHECK(done["SUCCESS"] == 1);
  CHECK(done["ABORTED"] == 1);
  CHECK(done["purged_ABORTED"] == 1);
  CHECK_THAT(shop.run({"run", "show", "q", "nightly"}).out, Catch::Contains("1 (1 of them purged)"));
  CHECK(shop.run({"check"}).exit == 0);
}

TEST_CASE("a run that ends in ERROR leaves its ids and keys free", "[cli][run]") {
  const Shop shop;
  REQUIRE(shop.run({"run", "open", "q", "a"}).exit == 0);
  REQUIRE(shop.run({"run", "open", "q", "b"}).exit == 0);
  CHECK(schedule(shop, "1", "a").exit == 0);
  CHECK(schedule(shop, "1", "b").exit == 1);  // DUPLICATE
  CHECK(shop.run({"run", "error", "q", "a", "--reason", "no paper"}).out == "ERROR q a\n");
  CHECK(shop.order("q", "1")["state"] == "ABORTED");
  CHECK(schedule(shop, "1", "b").exit == 0);
  CHECK(show(shop, "a")["reason"] == "no paper");
  CHECK_THAT(shop.run({"run", "show", "q", "a"}).out, Catch::Contains("no paper"));
  CHECK(shop.run({"run", "list", "q"}).out == "a\nb\n");
  CHECK(shop.ask({"run", "list", "q"}).json() == json{{"queue", "q"}, {"runs", {"a", "b"}}});

  const Ran late = schedule(shop, "2", "a");
  CHECK(late.exit == 1);
  CHECK(late.err == "duelease: run a of queue q has ended: ERROR\n");
}

TEST_CASE("a run that is not there, and words that are wrong", "[cli][run]") {
  const Shop shop;
  const auto fails = [&shop](std::vector<std::string> arguments, int exit) {
    const Ran ran = shop.run(std::move(arguments));
    INFO(ran.err);
    CHECK(ran.exit == exit);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK(fails({"schedule", "q", "1", "--due", "0", "--run", "r"}, 1) == "duelease: no run r of queue q\n");
  shop.schedule("q", "1");
  for (const char* verb : {"start", "beat", "done", "error", "show"}) {
    CHECK(fails({"run", verb, "q", "r"}, 1) == "duelease: no run r of queue q\n");
  }
  CHECK_THAT(fails({"run", "list", "none"}, 1), Catch::Contains("no queue none"));
  CHECK(shop.run({"run", "list", "q"}).out.empty());
  CHECK_THAT(fails({"run"}, 2), Catch::Contains("which command?"));
  CHECK_THAT(fails({"run", "open", "q"}, 2), Catch::Contains("--run is required"));
  CHECK_THAT(fails({"run", "open", "q", "r", "--ttl", "5"}, 2), Catch::Contains("give a unit"));
  CHECK_THAT(fails({"run", "open", "q", "r", "--ttl", "31d"}, 2), Catch::Contains("2592000000"));
  CHECK_THAT(fails({"run", "open", "q", std::string(129, 'r')}, 2), Catch::Contains("128"));
}

TEST_CASE("an import joins a run, or ends when it cannot", "[cli][run][import]") {
  const Shop shop;
  const auto import = [&shop](const std::string& run) {
    return shop.ask({"import", "--queue", "q", "--id", "id", "--due", "due", "--run", run, "-"},
                    "id,due\n1,2036-12-01\n2,2036-12-01\n");
  };
  const Ran none = import("r");
  CHECK(none.exit == 1);
  CHECK(none.err == "duelease: no run r of queue q\n");
  REQUIRE(shop.run({"run", "open", "q", "r"}).exit == 0);
  const Ran joined = import("r");
  CHECK(joined.exit == 0);
  CHECK(joined.lines().back()["scheduled"] == 2);
  CHECK(shop.order("q", "2")["run"] == "r");
  CHECK(show(shop, "r")["WAIT"] == 2);
  for (const std::string& name : {std::string(), std::string(129, 'r')}) {
    const Ran wrong = import(name);
    CHECK(wrong.exit == 2);
    CHECK_THAT(wrong.err, Catch::Contains("1 - 128"));
  }
}
