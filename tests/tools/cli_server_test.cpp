// The program with --server: the same commands, asked of a server; and the commands of a worker by hand.
#include <stdlib.h>

#include "duelease/server.h"
#include "served_shop.h"
#include "support/certificate.h"

using duelease::test::Certificate;
using duelease::test::make_certificate;
using duelease::test::port_of;
using duelease::test::Ran;
using duelease::test::Running;
using duelease::test::ServedShop;
using duelease::test::Shop;
using duelease::test::write_file;
using nlohmann::json;

namespace {

std::string token_of(const json& order) { return std::to_string(order["token"].get<std::uint64_t>()); }

}  // namespace

TEST_CASE("the commands of a producer ask a server", "[cli][server]") {
  const ServedShop served;
  Ran ran = served.run({"schedule", "q", "1", "--due", "+1h", "--payload", "two words", "--key", "k"});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out == "SCHEDULED q 1\n");  // The due time is not on the wire.
  ran = served.run({"schedule", "q", "1", "--due", "+1h"});
  CHECK(ran.exit == 1);
  CHECK(ran.out == "DUPLICATE q 1: blocked by 1, which is WAIT\n");
  CHECK(served.run({"reschedule", "q", "1", "--due", "0"}).exit == 0);
  const json order = served.ask({"order", "q", "1"}).json();
  CHECK(order["payload"] == "two words");
  CHECK(order["queue"] == "q");
  CHECK(order["due"] == 0);
  CHECK(order["tries"] == 25);
  CHECK(order["tries_used"] == 0);
  CHECK(order["sequence"] > 0);
  CHECK_THAT(served.run({"order", "q", "1"}).out, Catch::Contains("0 used of 25"));
  CHECK_THAT(served.run({"why", "q", "1"}).out, Catch::Contains("due"));
  CHECK_THAT(served.run({"list", "q"}).out, Catch::Contains("WAIT"));
  CHECK(served.ask({"stats", "q"}).json()["WAIT"] == 1);
  CHECK(served.run({"queue", "set", "q", "--tries", "1"}).exit == 0);
  CHECK(served.ask({"queue", "show", "q"}).json()["tries"] == 1);
  CHECK(served.ask({"queue", "pause", "q"}).json()["paused"] == true);
  CHECK(served.ask({"queue", "resume", "q"}).json()["paused"] == false);
  CHECK(served.ask({"queue", "list"}).json()["queues"] == json({"q"}));
  const json check = served.ask({"check"}).json();
  CHECK(check["violations"] == 0);
  CHECK(check["orders"].is_null());
  CHECK_THAT(served.run({"check"}).out, Catch::EndsWith("0 violations\n"));
  CHECK(served.run({"cancel", "q", "1"}).out == "ABORTED q 1\n");
  CHECK(served.ask({"purge", "q", "--state", "ABORTED"}).json()["purged"] == 1);
  CHECK(served.ask({"reap"}).json()["reaped"] == 0);
  CHECK(served.run({"order", "q", "1"}).exit == 1);
}

TEST_CASE("runs on a server", "[cli][server]") {
  const ServedShop served;
  CHECK(served.run({"run", "open", "q", "r", "--ttl", "1h"}).out == "CREATING q r\n");
  CHECK(served.ask({"run", "start", "q", "r"}).json()["state"] == "RUNNING");
  CHECK(served.run({"schedule", "q", "1", "--due", "0", "--run", "r"}).exit == 0);
  CHECK(served.run({"run", "beat", "q", "r"}).out == "RUNNING q r\n");
  const json order = served.ask({"claim", "q"}).json();
  CHECK(order["run"] == "r");
  const Ran busy = served.run({"run", "done", "q", "r"});
  CHECK(busy.exit == 1);
  CHECK(busy.err == "duelease: run r of queue q still has 0 orders in WAIT and 1 in PROCESSING\n");
  CHECK(served.run({"complete", "q", "1", token_of(order)}).exit == 0);
  CHECK(served.run({"run", "done", "q", "r"}).out == "DONE q r\n");
  CHECK(served.run({"run", "open", "q", "s"}).exit == 0);
  CHECK(served.run({"run", "error", "q", "s", "--reason", "no paper"}).out == "ERROR q s\n");
  CHECK(served.ask({"run", "list", "q"}).json() == json{{"queue", "q"}, {"runs", {"r", "s"}}});
  const json run = served.ask({"run", "show", "q", "r"}).json();
  CHECK(run["queue"] == "q");
  CHECK(run["state"] == "DONE");
  CHECK(run["ttl"] == 3'600'000);
  CHECK(run["SUCCESS"] == 1);
  CHECK_THAT(served.run({"run", "show", "q", "s"}).out, Catch::Contains("no paper"));
  CHECK(served.run({"run", "show", "q", "t"}).exit == 1);
}

TEST_CASE("an import goes to a server", "[cli][server]") {
  const ServedShop served;
  std::string csv = "OrderID,Due\n";
  for (int i = 0; i < 3000; ++i) csv += std::to_string(i) + ",2020-01-01\n";
  const Ran ran =
      served.run({"--json", "import", "--queue", "q", "--id", "OrderID", "--due", "Due", "-"}, csv);
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.lines().back()["scheduled"] == 3000);
  CHECK(served.ask({"stats", "q"}).json()["due"] == 3000);
}

// From both ends of the file, with ids of their own: it is the key that says which orders are the same.
TEST_CASE("two processes race for the same orders through a server: each is scheduled once",
          "[cli][server]") {
  const ServedShop served;
  const auto start = [&served](const std::string& run, bool backwards) {
    std::string csv = "id,site,lot,due\n";
    for (int i = 0; i < 1000; ++i) {
      const std::string number = std::to_string(backwards ? 999 - i : i);
      csv.append(run).append("-").append(number).append(",7,").append(number).append(",2020-01-01\n");
    }
    const std::string file = served.shop.path(run + ".csv").string();
    write_file(file, csv);
    return served.shop.start_bare({"--server", served.address, "--json", "import", "--queue", "q", "--id",
                                   "id", "--due", "due", "--key", "site,lot", "--run", run, file});
  };
  REQUIRE(served.run({"run", "open", "q", "batch"}).exit == 0);
  REQUIRE(served.run({"run", "open", "q", "manual"}).exit == 0);
  const std::unique_ptr<Running> one = start("batch", false);
  const std::unique_ptr<Running> other = start("manual", true);
  const Ran batch = one->wait();
  const Ran manual = other->wait();
  INFO(batch.err << manual.err);
  REQUIRE(batch.exit == 0);
  REQUIRE(manual.exit == 0);
  const auto figure = [](const Ran& ran, const char* name) { return ran.lines().back()[name].get<int>(); };
  CHECK(figure(batch, "scheduled") + figure(manual, "scheduled") == 1000);
  CHECK(figure(batch, "refused") + figure(manual, "refused") == 1000);
  CHECK(served.ask({"stats", "q"}).json()["WAIT"] == 1000);
  for (const auto& [run, ran] : {std::pair{"batch", &batch}, {"manual", &manual}}) {
    CHECK(served.ask({"run", "show", "q", run}).json()["WAIT"] == figure(*ran, "scheduled"));
  }
  // All are popped, and still none may be scheduled again.
  CHECK(served.ask({"pop", "q", "--count", "2000"}).lines().size() == 1000);
  const Ran again = start("batch", true)->wait();
  CHECK(figure(again, "refused") == 1000);
  CHECK(again.lines().back()["refused_by_state"] == json{{"SUCCESS", 1000}});
  CHECK(served.ask({"check"}).json()["violations"] == 0);
}

TEST_CASE("work runs on a server's orders", "[cli][server]") {
  const ServedShop served;
  for (int i = 0; i < 5; ++i) served.schedule("q", std::to_string(i));
  const Ran ran = served.ask({"work", "--queue", "q", "--exec", "echo done $DUELEASE_ID", "--drain"});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.lines().back()["completed"] == 5);
  CHECK(served.ask({"order", "q", "3"}).json()["result"] == "done 3\n");
}

TEST_CASE("a worker by hand: claim, extend, complete, fail, release, pop", "[cli][server]") {
  const ServedShop served;
  CHECK(served.run({"claim", "q"}).exit == 1);
  for (int i = 0; i < 4; ++i) served.schedule("q", std::to_string(i));
  const json first = served.claim("q");
  CHECK(first["id"] == "0");
  CHECK(first["attempt"] == 1);
  CHECK(served.ask({"extend", "q", "0", token_of(first), "--lease", "1h"}).json()["outcome"] == "EXTENDED");
  CHECK(served.run({"complete", "q", "0", token_of(first), "--result", "r"}).out == "COMPLETED q 0\n");
  CHECK(served.run({"complete", "q", "0", token_of(first)}).out == "ALREADY q 0\n");
  CHECK(served.ask({"order", "q", "0"}).json()["result"] == "r");

  const json second = served.claim("q");
  const Ran failed = served.run({"fail", "q", "1", token_of(second), "--error", "no money", "--final"});
  CHECK(failed.out == "FAILED q 1\n");
  CHECK(failed.exit == 0);
  const Ran late = served.run({"fail", "q", "1", token_of(second)});
  CHECK(late.exit == 1);
  CHECK(late.out == "STALE q 1: the token is not the current one\n");

  const json third = served.claim("q");
  CHECK(served.run({"release", "q", "2", token_of(third)}).out == "WAIT q 2\n");
  const Ran popped = served.ask({"pop", "q", "--count", "10"});
  CHECK(popped.lines().size() == 2);
  CHECK(served.run({"pop", "q"}).exit == 1);
  CHECK_THAT(served.run({"complete", "q", "0"}).err, Catch::Contains("--token"));
}

TEST_CASE("a claim waits, and takes the first queue first", "[cli][server]") {
  const ServedShop served;
  CHECK(served.run({"claim", "q", "--wait", "50ms"}).exit == 1);
  served.schedule("a", "1");
  served.schedule("b", "1");
  CHECK(served.claim("b,a")["queue"] == "b");
  CHECK_THAT(served.run({"claim", "b,a", "--worker", "w"}).out,
             Catch::Contains("token") && Catch::Contains("lease ends"));
}

TEST_CASE("the commands of a worker work on a store too", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  const json order = shop.ask({"claim", "q"}).json();
  const Ran extended = shop.run({"extend", "q", "1", token_of(order), "--lease", "1h"});
  CHECK_THAT(extended.out, Catch::StartsWith("EXTENDED q 1: the lease ends 20"));
  CHECK_THAT(shop.run({"release", "q", "1", token_of(order)}).out, Catch::StartsWith("WAIT q 1: due 1970"));
  CHECK(shop.ask({"pop", "q"}).json()["id"] == "1");
}

TEST_CASE("ping, and no server", "[cli][server]") {
  ServedShop served;
  const Ran ran = served.run({"ping"});
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("PONG in "));
  CHECK(served.stop().exit == 0);
  const Ran gone = served.run({"ping"});
  CHECK(gone.exit == 5);
  CHECK_THAT(gone.err, Catch::StartsWith("duelease: 127.0.0.1:"));
  CHECK(served.run({"schedule", "q", "1", "--due", "0"}).exit == 5);
  CHECK(served.shop.run_bare({"ping"}).exit == 2);
}

TEST_CASE("words that do not go together", "[cli][server]") {
  const Shop shop;
  const auto wrong = [&shop](std::vector<std::string> arguments) {
    const Ran ran = shop.run_bare(std::move(arguments));
    INFO(ran.err);
    CHECK(ran.exit == 2);
    return ran.err;
  };
  CHECK_THAT(wrong({"--server", "host:x", "stats"}), Catch::Contains("\"host:x\" is not HOST:PORT"));
  CHECK_THAT(wrong({"--server", "h", "--store", "s", "stats"}), Catch::Contains("--store or --server"));
  CHECK_THAT(wrong({"--server", "h", "--user", "ann", "stats"}), Catch::Contains("ann has no password"));
  CHECK_THAT(wrong({"--server", "h", "--password-file", "/none", "stats"}), Catch::Contains("/none"));
  CHECK_THAT(wrong({"--server", "h", "backup", "--to", "b"}), Catch::Contains("--store"));
  CHECK_THAT(wrong({"--server", "h", "serve"}), Catch::Contains("--store"));
  CHECK_THAT(wrong({"--server", "h", "restore", "--from", "a", "--to", "b"}), Catch::Contains("--server"));
}

TEST_CASE("a password, from the environment or a file, and TLS", "[cli][server]") {
  const duelease::test::TemporaryFolder folder;
  const Certificate certificate = make_certificate(folder.path(), "server", "IP:127.0.0.1");
  const duelease::Result<std::string> line = duelease::make_user_line("ann", "admin", "*", "secret");
  REQUIRE(line);
  const std::string users = (folder / "users").string();
  write_file(users, *line + "\n");
  const ServedShop served(
      {"--users", users, "--tls-cert", certificate.certificate_file, "--tls-key", certificate.key_file});
  const std::vector<std::string> ping = {"--user", "ann", "--tls-ca", certificate.certificate_file, "ping"};
  const auto with_file = [&](const std::string& password) {
    const std::string file = (folder / "password").string();
    write_file(file, password);
    std::vector<std::string> arguments = ping;
    arguments.insert(arguments.begin(), {"--password-file", file});
    return served.run(arguments);
  };
  CHECK(with_file("secret\n").exit == 0);
  const Ran denied = with_file("wrong");
  CHECK(denied.exit == 1);
  CHECK_THAT(denied.err, Catch::StartsWith("duelease: 127.0.0.1:"));

  ::setenv("DUELEASE_PASSWORD", "secret", 1);
  const Ran by_environment = served.run(ping);
  const Ran not_vouched_for = served.run({"--user", "ann", "--tls", "ping"});
  ::unsetenv("DUELEASE_PASSWORD");
  INFO(by_environment.err);
  CHECK(by_environment.exit == 0);
  CHECK(not_vouched_for.exit == 5);
  CHECK_THAT(not_vouched_for.err, Catch::Contains("TLS: "));
}
