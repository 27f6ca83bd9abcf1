// duelease import of orders with states, and of data that holds duplicates, as a user sees it.
#include <sys/stat.h>

#include "import_runs.h"

using namespace duelease::test;
using nlohmann::json;

namespace {

std::vector<std::string> import_of(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"import", "--queue",  "q",      "--id",  "id", "--due",
                                        "due",    "--status", "status", "--key", "key"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Group a: a SUCCESS and two that wait; b: two that wait, c: two SUCCESS and one that waits; d: no conflict.
constexpr const char* history =
    "id,due,status,key,made\n"
    "1,2026-12-01,WAIT,a,2026-01-01\n"
    "2,2026-12-01,SUCCESS,a,2026-01-02\n"
    "3,2026-12-01,WAIT,a,2026-01-03\n"
    "4,2026-12-01,WAIT,b,2026-01-09\n"
    "5,2026-12-01,WAIT,b,2026-01-01\n"
    "6,2026-12-01,SUCCESS,c,2026-01-01\n"
    "7,2026-12-01,SUCCESS,c,2026-01-02\n"
    "8,2026-12-01,WAIT,c,2026-01-03\n"
    "9,2026-12-01,FAILED,d,2026-01-03\n"
    "10,2026-12-01,WAIT,d,2026-01-03\n"
    "11,2026-12-01,ABORTED,,2026-01-03\n";

std::string states_of(const Shop& shop, int orders) {
  std::string states;
  for (int i = 1; i <= orders; ++i)
    states += shop.order("q", std::to_string(i))["state"].get<std::string>()[0];
  return states;
}

void check_is_sound(const Shop& shop) {
  const Ran ran = shop.run({"check"});
  INFO(ran.out << ran.err);
  CHECK(ran.exit == 0);
}

int schedule(const Shop& shop, const char* id, const char* key) {
  return shop.run({"schedule", "q", id, "--due", "+1h", "--key", key}).exit;
}

}  // namespace

TEST_CASE("orders are taken over in the states that they have", "[cli][import][takeover]") {
  const Shop shop;
  const std::string rows =
      "id,due,status,key,made,over\n"
      "1,2026-12-01,open,,2026-01-01,\n"
      "2,2026-01-02,done,k,2026-01-01,2026-01-03\n"
      "3,2026-01-02,failed,,,2026-01-03\n"
      "4,2026-01-02,PROCESSING,,,\n"
      "5,2026-01-02,strange,,,\n"
      "6,2026-01-02,void,,,\n"
      "7,2026-01-02,done,,2199-01-01,\n"
      "8,2026-01-02,open,m,,\n";
  REQUIRE(schedule(shop, "old", "m") == 0);
  const std::vector<std::string> arguments =
      import_of({"-", "--status-map", "open=WAIT,done=success", "--status-map", "void=ABORTED", "--created",
                 "made", "--ended", "over"});
  const Ran ran = shop.ask(arguments, rows);
  CHECK(ran.exit == 3);
  check_counts(ran, 8, 4, 0, 1, 3);
  CHECK(summary_of(ran)["scheduled_by_state"] ==
        json{{"WAIT", 1}, {"SUCCESS", 1}, {"FAILED", 1}, {"ABORTED", 1}});
  const std::vector<json> bad = events_of(ran, "bad");
  CHECK_THAT(bad[0]["error"].get<std::string>(),
             Catch::Contains("PROCESSING") && Catch::Contains("--status-map"));
  CHECK_THAT(bad[1]["error"].get<std::string>(), Catch::Contains("strange"));
  CHECK_THAT(bad[2]["error"].get<std::string>(), Catch::Contains("in the future"));
  CHECK(events_of(ran, "refused")[0]["blocker"] == "old");
  CHECK(shop.order("q", "1")["state"] == "WAIT");
  CHECK(shop.order("q", "1")["created_at"] == 1'767'225'600'000);
  CHECK(shop.order("q", "2")["state"] == "SUCCESS");
  CHECK(shop.order("q", "2")["updated_at"] == 1'767'398'400'000);
  CHECK(shop.order("q", "3")["state"] == "FAILED");
  CHECK(shop.order("q", "6")["state"] == "ABORTED");
  check_is_sound(shop);

  // Nothing is replaced, whatever its state is.
  const Ran again = shop.ask(arguments, rows);
  check_counts(again, 8, 0, 0, 1, 3);
  CHECK(summary_of(again)["present"] == 4);
  CHECK(shop.run({"retry", "q", "3"}).exit == 0);
  CHECK(shop.run(arguments, rows).exit == 3);
  CHECK(shop.order("q", "3")["state"] == "WAIT");
}

TEST_CASE("a SUCCESS behind a WAIT with its key is never dropped without a word", "[cli][import][takeover]") {
  const Shop shop;
  const std::string rows = "id,due,status,key\n1,0,WAIT,k\n2,0,SUCCESS,k\n";
  // As with --duplicates refuse.
  const Ran ran = shop.ask(import_of({"-"}), rows);
  CHECK(ran.exit == 1);
  CHECK(events_of(ran, "conflict")[0]["owner"] == "2");
  check_counts(ran, 2, 0, 0, 0, 0);

  REQUIRE(schedule(shop, "old", "k") == 0);
  const std::string one = "id,due,status,key\n2,0,SUCCESS,k\n";
  for (const char* policy : {"refuse", "keep-one", "grandfather"}) {
    const Ran refused = shop.ask(import_of({"-", "--duplicates", policy}), one);
    CHECK(refused.exit == 1);
    check_counts(refused, 1, 0, 0, 1, 0);
    CHECK(summary_of(refused)["refused_done"] == 1);
    CHECK_THAT(refused.err, Catch::Contains("is SUCCESS not taken"));
  }
  // A WAIT is a duplicate as any.
  CHECK(shop.run(import_of({"-"}), "id,due,status,key\n3,0,WAIT,k\n").exit == 0);
}

TEST_CASE("a row that the queue would not take owns no key", "[cli][import][takeover]") {
  const Shop shop;
  REQUIRE(shop.run({"queue", "set", "q", "--payload-max", "80"}).exit == 0);
  const std::string long_id(81, '9');
  const std::string too_long(256, 'i');
  const std::string rows = "id,due,status,key\n1,0,WAIT,a\n" + long_id + ",0,WAIT,a\n2,0,WAIT,b\n" +
                           too_long + ",0,SUCCESS,b\n3,0,WAIT," + too_long + "\n";
  for (const char* policy : {"keep-one", "grandfather", "refuse"}) {
    const Ran ran = shop.ask(import_of({"-", "--duplicates", policy}), rows);
    CHECK(ran.exit == 3);
    CHECK(summary_of(ran)["bad"] == 3);
    CHECK(summary_of(ran)["conflicts"] == 0);
    CHECK(events_of(ran, "bad")[0]["line"] == 3);
    CHECK(shop.order("q", "1")["state"] == "WAIT");
    CHECK(shop.order("q", "2")["state"] == "WAIT");
  }
}

TEST_CASE("the others of a key are not made void because of an owner that another order blocks",
          "[cli][import][takeover]") {
  const std::string rows =
      "id,due,status,key\n1,0,WAIT,a\n2,0,WAIT,a\n3,0,FAILED,a\n4,0,WAIT,b\n5,0,WAIT,b\n";
  for (const std::string policy : {"keep-one", "grandfather"}) {
    const Shop shop;
    REQUIRE(schedule(shop, "old", "a") == 0);
    const std::vector<std::string> arguments = import_of({"-", "--duplicates", policy});
    const Ran ran = shop.ask(arguments, rows);
    CHECK(ran.exit == 1);
    check_counts(ran, 5, 3, 0, 1, 0);
    CHECK(events_of(ran, "refused")[0]["blocker"] == "old");
    CHECK(events_of(ran, "left")[0] == json{{"event", "left"}, {"line", 2}, {"id", "1"}, {"owner", "2"}});
    CHECK(summary_of(ran)["left"] == 1);
    // What was done, not what was planned.
    CHECK(summary_of(ran)["voided"] == (policy == "keep-one" ? 1 : 0));
    CHECK(summary_of(ran)["grandfathered"] == (policy == "keep-one" ? 0 : 1));
    CHECK(shop.run({"order", "q", "1"}).exit == 1);
    const Ran again = shop.run(arguments, rows);
    CHECK(again.exit == 1);
    CHECK_THAT(again.out, Catch::Contains("left 1 (line 2): 2, the owner of its key, was not taken\n"));
    CHECK_THAT(again.err, Catch::Contains("1 row not taken"));
    // When the key is free all of them come, as planned.
    REQUIRE(shop.run({"cancel", "q", "old"}).exit == 0);
    CHECK(shop.run(arguments, rows).exit == 0);
    CHECK(states_of(shop, 5) == (policy == "keep-one" ? "AWFAW" : "WWFWW"));
    check_is_sound(shop);
  }
}

TEST_CASE("words that do not fit with states are refused", "[cli][import][takeover]") {
  const Shop shop;
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"import", "--queue", "q", "--id", "id", "--due", "due", "-"});
    const Ran ran = shop.run(more, "id,due\n1,0\n");
    CHECK(ran.exit == 2);
    return ran.err;
  };
  CHECK_THAT(error({"--status", "s", "--run", "r"}), Catch::Contains("--run"));
  CHECK_THAT(error({"--duplicates", "keep-one", "--upsert"}), Catch::Contains("--upsert"));
  CHECK_THAT(error({"--duplicates", "ignore"}), Catch::Contains("keep-one"));
  CHECK_THAT(error({"--status-map", "a=WAIT"}), Catch::Contains("--status column"));
  for (const char* map : {"a", "a=", "a=PROCESSING", "a=WAIT,b=NO", "a=WAIT,"}) {
    CHECK_THAT(error({"--status", "s", "--status-map", map}), Catch::Contains("WORD=STATE"));
  }
  CHECK(!std::filesystem::exists(shop.store()));
}

TEST_CASE("duplicates can be refused as a whole, and are all named", "[cli][import][takeover]") {
  const Shop shop;
  const Ran ran = shop.ask(import_of({"-", "--duplicates", "refuse"}), history);
  CHECK(ran.exit == 1);
  check_counts(ran, 11, 0, 0, 0, 0);
  const std::vector<json> conflicts = events_of(ran, "conflict");
  REQUIRE(conflicts.size() == 3);
  CHECK(conflicts[0]["key"] == "a");
  CHECK(conflicts[0]["rows"] == 3);
  CHECK(conflicts[0]["states"] == json{{"WAIT", 2}, {"SUCCESS", 1}});
  CHECK(conflicts[0]["members"][0] == json{{"line", 2}, {"id", "1"}, {"state", "WAIT"}, {"fate", "refused"}});
  CHECK(shop.run({"list", "q"}).exit == 1);  // Not even the queue is there.

  const Ran shown = shop.run(import_of({"-", "--duplicates", "refuse"}), history);
  CHECK(shown.exit == 1);
  CHECK_THAT(shown.out, Catch::Contains("key  states") && Catch::Contains("a    WAIT 2, SUCCESS 1") &&
                            Catch::Contains("3 keys that two or more rows block"));
  CHECK_THAT(shown.err, Catch::Contains("there are duplicates; nothing is imported"));

  const std::string clean =
      "id,due,status,key\n1,2026-12-01,WAIT,a\n2,2026-12-01,FAILED,a\n3,2026-12-01,WAIT,\n";
  check_counts(shop.ask(import_of({"-", "--duplicates", "refuse"}), clean), 3, 3, 0, 0, 0);
}

TEST_CASE("story 2: history with duplicates is cleaned, and none of it is dropped",
          "[cli][import][takeover]") {
  const Shop shop;
  const std::vector<std::string> arguments =
      import_of({"-", "--duplicates", "keep-one", "--created", "made"});
  const Ran ran = shop.ask(arguments, history);
  INFO(ran.out << ran.err);
  CHECK(ran.exit == 0);
  check_counts(ran, 11, 11, 0, 0, 0);
  CHECK(summary_of(ran)["conflicts"] == 3);
  CHECK(summary_of(ran)["voided"] == 4);
  CHECK(summary_of(ran)["grandfathered"] == 1);
  CHECK(states_of(shop, 11) == "ASAWASSAFWA");
  CHECK_THAT(shop.order("q", "1")["error"].get<std::string>(), Catch::Contains("duplicate of 2 (SUCCESS)"));
  CHECK_THAT(shop.order("q", "5")["error"].get<std::string>(), Catch::Contains("duplicate of 4 (WAIT)"));
  const std::vector<json> conflicts = events_of(ran, "conflict");
  CHECK(conflicts[1]["owner"] == "4");
  CHECK(conflicts[2]["owner"] == "7");
  CHECK(conflicts[2]["members"][0]["fate"] == "grandfathered");
  CHECK(conflicts[2]["members"][2]["fate"] == "voided");
  check_is_sound(shop);
  for (const char* key : {"a", "b", "c", "d"}) CHECK(schedule(shop, "new", key) == 1);

  const Ran again = shop.ask(arguments, history);
  CHECK(again.exit == 0);
  check_counts(again, 11, 0, 0, 0, 0);
  CHECK(summary_of(again)["present"] == 11);
  CHECK(summary_of(again)["voided"] == 0);
  CHECK(summary_of(again)["grandfathered"] == 0);
  CHECK(states_of(shop, 11) == "ASAWASSAFWA");
}

TEST_CASE("an owner that is there but has failed makes nothing void", "[cli][import][takeover]") {
  const Shop shop;
  REQUIRE(shop.run(import_of({"-"}), "id,due,status,key\n2,2036-12-01,FAILED,a\n").exit == 0);
  const std::vector<std::string> arguments = import_of({"-", "--duplicates", "keep-one"});
  const Ran ran = shop.ask(arguments, "id,due,status,key\n1,2036-12-01,WAIT,a\n2,2036-12-01,WAIT,a\n");
  CHECK(ran.exit == 1);
  CHECK(events_of(ran, "left")[0]["id"] == "1");
  CHECK(summary_of(ran)["present"] == 1);

  // What an import before made void is there, whatever has become of its owner.
  const std::string rows = "id,due,status,key\n3,2036-12-01,WAIT,b\n4,2036-12-01,WAIT,b\n";
  REQUIRE(shop.run(arguments, rows).exit == 0);
  REQUIRE(shop.run({"cancel", "q", "4"}).exit == 0);
  const Ran again = shop.ask(arguments, rows);
  CHECK(again.exit == 0);
  CHECK(summary_of(again)["present"] == 2);
  CHECK(summary_of(again)["left"] == 0);
}

TEST_CASE("duplicates that are grandfathered stay, and only what comes later is held to the rule",
          "[cli][import][takeover]") {
  const Shop shop;
  const Ran ran = shop.ask(import_of({"-", "--duplicates", "grandfather", "--created", "made"}), history);
  CHECK(ran.exit == 0);
  check_counts(ran, 11, 11, 0, 0, 0);
  CHECK(summary_of(ran)["voided"] == 0);
  CHECK(summary_of(ran)["grandfathered"] == 5);
  CHECK(states_of(shop, 11) == "WSWWWSSWFWA");
  check_is_sound(shop);
  for (const char* key : {"a", "b", "c", "d"}) CHECK(schedule(shop, "new", key) == 1);
  // A grandfathered one frees nothing, the owner does.
  CHECK(shop.run({"cancel", "q", "5"}).exit == 0);
  CHECK(schedule(shop, "new", "b") == 1);
  CHECK(shop.run({"cancel", "q", "4"}).exit == 0);
  CHECK(schedule(shop, "new", "b") == 0);
  check_is_sound(shop);
}

TEST_CASE("an id that several rows have stops an import with a policy", "[cli][import][takeover]") {
  const Shop shop;
  const std::string rows = "id,due,status,key\n1,0,WAIT,\n2,0,WAIT,a\n1,0,FAILED,\n";
  const Ran ran = shop.ask(import_of({"-", "--duplicates", "keep-one"}), rows);
  CHECK(ran.exit == 3);
  CHECK(events_of(ran, "repeated")[0] ==
        json{{"event", "repeated"}, {"id", "1"}, {"rows", 2}, {"lines", {2, 4}}});
  CHECK(summary_of(ran)["scheduled"] == 0);
  CHECK_THAT(shop.run(import_of({"-", "--duplicates", "grandfather"}), rows).err,
             Catch::Contains("1 is the id of 2 rows, first of line 2 and 4") &&
                 Catch::Contains("nothing is imported"));
}

TEST_CASE("a person sees the first 20 keys with duplicates, or all of them when asked",
          "[cli][import][takeover]") {
  const Shop shop;
  std::string rows = "id,due,status,key\n";
  for (int i = 0; i < 100; ++i) {
    rows += std::to_string(i) + ",0,WAIT,k" + std::to_string(i % 25) + "\n";
  }
  const Ran some = shop.run(import_of({"-", "--duplicates", "refuse"}), rows);
  CHECK_THAT(some.out, Catch::Contains("k19") && !Catch::Contains("k20") && Catch::Contains("and 5 more"));
  CHECK_THAT(shop.run(import_of({"-", "--duplicates", "refuse", "--verbose"}), rows).out,
             Catch::Contains("k24"));
}

TEST_CASE("nothing is imported from a source that fails, or is interrupted, before its end",
          "[cli][import][takeover]") {
  const Shop shop;
  const Ran torn = shop.ask(import_of({"-", "--duplicates", "keep-one"}),
                            "id,due,status,key\n1,0,WAIT,a\n2,0,WAIT,\"b\n3,0,WAIT,\n");
  CHECK(torn.exit == 3);
  CHECK(summary_of(torn)["scheduled"] == 0);
  const Ran strict = shop.ask(import_of({"-", "--duplicates", "keep-one", "--strict"}),
                              "id,due,status,key\n1,0,WAIT,a\n2,0,no,\n3,0,WAIT,\n");
  CHECK(strict.exit == 3);
  CHECK(summary_of(strict)["scheduled"] == 0);

  const std::string pipe = shop.path("pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::vector<std::string> arguments = import_of({pipe, "--duplicates", "keep-one"});
  arguments.insert(arguments.begin(), "--json");
  const auto importing = shop.start(arguments);
  const int rows = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(rows >= 0);
  std::string text = "id,due,status,key\n";
  for (int i = 0; i < 1'000; ++i) text += std::to_string(i) + ",0,WAIT,\n0,0,bad,\n";
  REQUIRE(::write(rows, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  REQUIRE(eventually([&] { return importing->out_so_far().find("\"line\":3,") != std::string::npos; }));
  importing->signal(SIGINT);
  const Ran ran = importing->wait();
  ::close(rows);
  CHECK(ran.exit == 130);
  CHECK(summary_of(ran)["scheduled"] == 0);
  CHECK(shop.run({"list", "q"}).exit == 1);  // Not even the queue is there.
}

TEST_CASE("the copy of the rows lies where TMPDIR says, and is gone with the program",
          "[cli][import][takeover]") {
  const Shop shop;
  std::string rows = "id,due,status,key\n";
  for (int i = 0; i < 3'000; ++i) rows += std::to_string(i) + ",0,WAIT,k" + std::to_string(i) + "\n";
  std::filesystem::create_directory(shop.path("tmp"));
  const std::string script = "TMPDIR='" + shop.path("tmp").string() + "' \"$@\" && ls -A '" +
                             shop.path("tmp").string() + "' | wc -l >&2";
  std::vector<std::string> arguments = import_of({"-", "--duplicates", "keep-one", "--durability", "none"});
  const Ran ran = shop.run_in_shell(script, arguments, rows);
  CHECK(ran.err == "0\n");
  CHECK(shop.stats("q")["WAIT"] == 3'000);
}
