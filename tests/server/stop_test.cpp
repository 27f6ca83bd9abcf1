// graceful_stop, scenario 30.
#include <catch2/catch.hpp>
#include <future>

#include "client.h"

using namespace duelease;
using duelease::test::Client;
using duelease::test::eventually;
using duelease::test::info;
using duelease::test::LiveServer;

namespace {

std::string claim_one(Client& client) {
  client.send("CLAIM q w\n");
  return std::to_string(client.value().array.at(0).array.at(1).integer);
}

bool is_running(const std::future<void>& future) {
  return future.wait_for(std::chrono::seconds{0}) != std::future_status::ready;
}

}  // namespace

TEST_CASE("a stop answers claims, takes reports, and ends when nobody holds an order", "[server][scenario]") {
  LiveServer server;
  Client worker(server.port());
  Client waiter(server.port());
  Client other(server.port());
  REQUIRE(worker.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  const std::string token = claim_one(worker);
  waiter.send("CLAIM q w WAIT 1h\nPING\n");
  REQUIRE(eventually([&] { return info(other, "claims_waiting") == 1; }));

  std::future<void> stopped = std::async(std::launch::async, [&] { server.server().stop(); });
  CHECK(waiter.reply() == "[]");
  CHECK(waiter.reply() == "+PONG");
  CHECK_THAT(other.ask("CLAIM q w WAIT 1h"), Catch::StartsWith("-CLOSING "));
  CHECK_THAT(other.ask("POP q"), Catch::StartsWith("-CLOSING "));
  CHECK_THROWS(Client(server.port()));
  CHECK(other.ask("SCHEDULE q 2 NOW") == "+SCHEDULED");
  CHECK_THAT(worker.ask("EXTEND q 1 " + token + " 1h"), Catch::StartsWith(":"));
  CHECK(is_running(stopped));
  // By another connection than the claim's, as a pool of them does.
  CHECK(other.ask("COMPLETE q 1 " + token) == "+COMPLETED");
  stopped.get();  // A minute before its deadline.
  CHECK(worker.closed_by_server());
  CHECK(other.closed_by_server());
}

TEST_CASE("a stop does not wait longer than its deadline, nor for who is gone", "[server][scenario]") {
  ServerOptions options = test::any_port();
  const bool gone = GENERATE(false, true);
  options.stop_deadline = gone ? Duration{3'600'000} : Duration{100};
  LiveServer server(options);
  Client worker(server.port());
  Client other(server.port());
  REQUIRE(worker.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  claim_one(worker);
  if (gone) {
    worker.reset();
    REQUIRE(eventually([&] { return info(other, "connected_clients") == 1; }));
  }
  server.server().stop();
  CHECK(test::well(server.engine().stats("q")).leases == 1);
  server.server().stop();  // Again does nothing.
}

TEST_CASE("a stop can be cut short", "[server][scenario]") {
  LiveServer server;
  Client worker(server.port());
  REQUIRE(worker.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  claim_one(worker);
  std::future<void> stopped = std::async(std::launch::async, [&] { server.server().stop(); });
  REQUIRE(eventually([&] { return server.log().find("stopping") != std::string::npos; }));
  CHECK(is_running(stopped));
  server.server().stop_now();
  stopped.get();
  CHECK(worker.closed_by_server());
}

TEST_CASE("what came before a stop is answered", "[server][scenario]") {
  LiveServer server;
  Client producer(server.port());
  constexpr std::size_t count = 5000;
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += "SCHEDULE q " + std::to_string(i) + " NOW\n";
  producer.send(all);
  REQUIRE(producer.reply() == "+SCHEDULED");
  std::future<void> stopped = std::async(std::launch::async, [&] { server.server().stop(); });
  std::size_t acknowledged = 1;
  try {
    while (producer.reply() == "+SCHEDULED") ++acknowledged;
  } catch (const std::runtime_error&) {  // The server closed.
  }
  stopped.get();
  const Stats stats = test::well(server.engine().stats("q"));
  CHECK(stats.counts.wait == acknowledged);
}

TEST_CASE("a server with several threads ends with connections of all kinds", "[server]") {
  ServerOptions options = test::any_port();
  options.threads = 3;
  LiveServer server(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    REQUIRE(clients.back()->ask("SCHEDULE q " + std::to_string(i) + " +1h") == "+SCHEDULED");
    const char* const last[] = {"CLAIM q w WAIT 1h\n", "*2\r\n$4\r\nPI", "LIST q\nCHECK q\n"};
    clients.back()->send(last[i % 3]);
  }
  SECTION("well") { server.server().stop(); }
  SECTION("at once") { server.server().stop_now(); }
  SECTION("by itself") {}
}

TEST_CASE("a server ends at once with reads behind a change", "[server]") {
  LiveServer server;
  Client other(server.port());
  const bool by_itself = GENERATE(false, true);
  const std::string last = GENERATE("ORDER q 1\n", "SCHEDULE q 2 +1h\n", "CLAIM q w WAIT 1h\nPING\n",
                                    "AUTH a b\n", "*2\r\n$4\r\nPI");
  test::HeldUp held_up(server.engine());
  Client client(server.port());
  client.send("SCHEDULE q 1 +1h\nORDER q 1\n" + last);
  REQUIRE(eventually([&] { return info(other, "requests_under_way") >= 2; }));
  std::future<void> ended = std::async(std::launch::async, [&] {
    if (by_itself) return server.end();
    server.server().stop_now();
  });
  CHECK(client.closed_by_server());
  held_up.end();
  ended.get();
  CHECK(test::well(server.engine().order("q", "1")));
  CHECK_FALSE(test::well(server.engine().order("q", "2")));  // It came behind the read.
}
