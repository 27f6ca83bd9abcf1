// Requests that are sent without waiting for replies; claims that wait.
#include <catch2/catch.hpp>

#include "client.h"

using namespace duelease;
using duelease::test::Client;
using duelease::test::eventually;
using duelease::test::info;
using duelease::test::LiveServer;

namespace {

std::string number(int i) { return std::to_string(i); }

}  // namespace

TEST_CASE("replies come in the order of the requests, whatever they are", "[server]") {
  LiveServer server;
  Client client(server.port());
  constexpr int rounds = 200;
  std::string all;
  for (int i = 0; i < rounds; ++i) {
    const std::string id = number(i);
    all += "SCHEDULE q " + id + " NOW\nSCHEDULE q " + id + " NOW\nPING " + id + "\nNONSENSE\nCLAIM q w" + id +
           "\nCOMPLETE q " + id + " 99999\nCOMPLETE q none 1\nSCHEDULE q x" + id + " +1h\nCANCEL q x" + id +
           "\nORDER q x" + id + "\nRETRY q none\nWHY q none\n";
  }
  client.send(all);
  for (int i = 0; i < rounds; ++i) {
    const std::string id = number(i);
    INFO(id);
    CHECK(client.reply() == "+SCHEDULED");
    CHECK(client.reply() == "[\"DUPLICATE\" \"WAIT\" \"" + id + "\"]");
    CHECK(client.reply() == "\"" + id + "\"");
    CHECK_THAT(client.reply(), Catch::StartsWith("-ERR"));
    CHECK_THAT(client.reply(), Catch::StartsWith("[[\"" + id + "\" :"));
    CHECK(client.reply() == "+STALE");
    CHECK(client.reply() == "+STALE");
    CHECK(client.reply() == "+SCHEDULED");
    CHECK(client.reply() == "+ABORTED");
    CHECK_THAT(client.reply(), Catch::Contains("\"state\" \"ABORTED\""));
    CHECK(client.reply() == "+NOTFOUND");
    CHECK_THAT(client.reply(), Catch::StartsWith("\"no such order"));
  }
}

TEST_CASE("a run, its orders and its end may be sent in one go", "[server]") {
  LiveServer server;
  Client client(server.port());
  constexpr int orders = 1500;
  std::string all = "RUN OPEN q r\n";
  for (int i = 0; i < orders; ++i) all += "SCHEDULE q " + number(i) + " NOW RUN r\n";
  all += "RUN START q r\nRUN DONE q r\nRUN ERROR q r\nSCHEDULE q late NOW RUN r\nRUN SHOW q r\nCLAIM q w\n";
  client.send(all);
  CHECK(client.reply() == "+CREATING");
  for (int i = 0; i < orders; ++i) CHECK(client.reply() == "+SCHEDULED");
  CHECK(client.reply() == "+RUNNING");
  CHECK_THAT(client.reply(), Catch::StartsWith("-BUSY ") && Catch::Contains("1500 orders in WAIT"));
  CHECK(client.reply() == "+ERROR");
  CHECK_THAT(client.reply(), Catch::StartsWith("-NOTALIVE "));
  CHECK_THAT(client.reply(), Catch::Contains("\"state\" \"ERROR\""));
  CHECK(client.reply() == "[]");
}

TEST_CASE("a read sees what was changed before it on its connection, and nothing behind it", "[server]") {
  LiveServer server;
  Client client(server.port());
  REQUIRE(client.ask("QUEUE SET q paused no") == "+OK");  // A list of a queue that is nowhere is refused.
  std::string all;
  for (int i = 0; i < 300; ++i) {
    all += "LIST q LIMIT 1000\nSCHEDULE q " + number(i) + " +1h\n";
  }
  client.send(all);
  for (int i = 0; i < 300; ++i) {
    CHECK(client.value().array.at(1).array.size() == static_cast<std::size_t>(i));
    CHECK(client.reply() == "+SCHEDULED");
  }
}

TEST_CASE("more requests than may be under way at once are all answered", "[server]") {
  ServerOptions options = test::any_port();
  options.requests_under_way_max = GENERATE(1, 7, 1024);
  LiveServer server(options);
  Client client(server.port());
  constexpr int count = 3000;
  std::string all;
  for (int i = 0; i < count; ++i) all += test::in_array_form({"SCHEDULE", "q", number(i), "NOW"});
  std::thread sender([&] { client.send(all); });
  for (int i = 0; i < count; ++i) REQUIRE(client.reply() == "+SCHEDULED");
  sender.join();
  CHECK(test::well(server.engine().stats("q")).counts.wait == count);
}

TEST_CASE("a request may come in pieces", "[server]") {
  LiveServer server;
  Client client(server.port());
  const std::string all =
      test::in_array_form({"SCHEDULE", "q", "1", "NOW", "PAYLOAD", "a\r\nb"}) + "PING\r\n";
  for (const char byte : all) client.send({&byte, 1});
  CHECK(client.reply() == "+SCHEDULED");
  CHECK(client.reply() == "+PONG");
}

TEST_CASE("a claim that waits holds up those behind it, and no other connection", "[server]") {
  LiveServer server;
  Client waiter(server.port());
  Client other(server.port());
  waiter.send("CLAIM q w WAIT 1h\nPING\nSTATS q\n");
  REQUIRE(eventually([&] { return info(other, "claims_waiting") == 1; }));
  CHECK_FALSE(waiter.has_come());
  CHECK(other.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  CHECK_THAT(waiter.reply(), Catch::StartsWith("[[\"1\" :"));
  CHECK(waiter.reply() == "+PONG");
  CHECK_THAT(waiter.reply(), Catch::Contains("\"PROCESSING\" :1"));
  CHECK(waiter.ask("CLAIM q w WAIT 20") == "[]");
}

TEST_CASE("no order goes to a connection that died while it waited", "[server][scenario]") {
  LiveServer server;
  Client dead(server.port());
  Client alive(server.port());
  Client other(server.port());
  // With enough behind the claim that it does not fit into one read.
  const std::string behind = GENERATE(std::string(), std::string(300'000, '\n') + "PING\n");
  const bool killed = GENERATE(false, true);
  dead.send("CLAIM q dead WAIT 1h\n" + behind);
  REQUIRE(eventually([&] { return info(other, "claims_waiting") == 1; }));
  alive.send("CLAIM q alive WAIT 1h\n");
  REQUIRE(eventually([&] { return info(other, "claims_waiting") == 2; }));
  if (killed) {
    dead.reset();
  } else {
    dead.close();
  }
  REQUIRE(eventually([&] { return info(other, "claims_waiting") == 1; }));
  CHECK(other.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  CHECK(alive.value().array.at(0).array.at(2).integer == 1);  // The first attempt.
}

TEST_CASE("a client that sends no more gets its replies, and no claim waits for it", "[server]") {
  LiveServer server;
  Client client(server.port());
  client.send("SCHEDULE q 1 +1h\nCLAIM q w WAIT 1h\nPING\nCLAIM q w WAIT 1h\nORDER q none\n");
  client.half_close();
  CHECK(client.reply() == "+SCHEDULED");
  CHECK(client.reply() == "[]");
  CHECK(client.reply() == "+PONG");
  CHECK(client.reply() == "[]");
  CHECK(client.reply() == "nil");
  CHECK(client.closed_by_server());
}

TEST_CASE("lost_claim_reply: the same worker asks again and gets the same orders", "[server][scenario]") {
  LiveServer server;
  Client producer(server.port());
  CHECK(producer.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  {
    Client lost(server.port());
    lost.send("CLAIM q w1 REQUEST r1\n");
    REQUIRE(eventually([&] { return lost.has_come(); }));
    lost.reset();
  }
  Client again(server.port());
  CHECK(again.ask("CLAIM q w2 REQUEST r1") == "[]");
  const protocol::Value orders = [&] {
    again.send("CLAIM q w1 REQUEST r1\n");
    return again.value();
  }();
  REQUIRE(orders.array.size() == 1);
  CHECK(orders.array[0].array.at(2).integer == 1);
  CHECK(again.ask("COMPLETE q 1 " + number(static_cast<int>(orders.array[0].array.at(1).integer))) ==
        "+COMPLETED");
}

TEST_CASE("idle_wake_up: a waiting claim is answered when the order is due", "[server][scenario]") {
  LiveServer server;
  Client waiter(server.port());
  Client producer(server.port());
  waiter.send("CLAIM q w WAIT 1h\n");
  CHECK(producer.ask("SCHEDULE q later +1h") == "+SCHEDULED");
  CHECK(producer.ask("SCHEDULE q 1 +200") == "+SCHEDULED");
  const std::vector<protocol::Value> order = waiter.value().array.at(0).array;
  CHECK(order.at(0).text == "1");
  CHECK(system_clock()->now().wall.time_since_epoch().count() >= order.at(4).integer);
}

TEST_CASE("overdue_backlog: drained in due order, while others are answered", "[server][scenario]") {
  LiveServer server;
  test::schedule_many(server.engine(), "q", 5000);
  Client worker(server.port());
  Client other(server.port());
  std::string last;
  std::size_t drained = 0;
  // Many claims at once, more than the unsent bytes that they may have leave room for.
  std::string claims;
  for (int i = 0; i < 10; ++i) claims += "CLAIM q w COUNT 500\n";
  worker.send(claims);
  for (int i = 0; i < 10; ++i) {
    CHECK(other.ask("SCHEDULE r " + number(i) + " NOW") == "+SCHEDULED");
    for (const protocol::Value& order : worker.value().array) {
      CHECK(order.array.at(0).text > last);  // All are due at the same time: by id.
      last = order.array.at(0).text;
      ++drained;
    }
  }
  CHECK(drained == 5000);
  CHECK(worker.ask("CLAIM q w") == "[]");
}
