// The invariants as counters that a monitor reads in INFO.
#include <catch2/catch.hpp>
#include <chrono>

#include "client.h"

using namespace duelease;
using namespace std::chrono_literals;
using duelease::test::Client;
using duelease::test::eventually;
using duelease::test::info;
using duelease::test::LiveServer;

namespace {

constexpr const char* one_of_them = "invariant_every_record_decodes";

}  // namespace

TEST_CASE("INFO tells the last check of the whole store", "[server]") {
  LiveServer server;
  Client client(server.port());
  REQUIRE(client.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  CHECK(info(client, "last_check_at") == 0);
  CHECK_THROWS(info(client, one_of_them));  // Not 0: nobody has looked.

  client.ask("CHECK q");
  CHECK(info(client, "last_check_at") == 0);
  client.ask("CHECK");
  CHECK(info(client, "last_check_at") > 1'700'000'000'000);
  CHECK(info(client, "last_check_orders") == 1);
  CHECK(info(client, one_of_them) == 0);
  client.send("INFO\n");
  const std::string text = client.value().text;
  CHECK_THAT(text, Catch::Contains("# Invariants\r\n") && Catch::Contains("\r\nlast_check_seconds:0."));
  const Result<CheckReport> report = server.engine().check();
  REQUIRE(report);
  for (const Violation& violation : report->invariants) {
    CHECK_THAT(text, Catch::Contains("\r\ninvariant_" + violation.invariant + ":0\r\n"));
  }
}

TEST_CASE("a server checks its store by itself", "[server]") {
  ServerOptions options = test::any_port();
  options.check_every = 5ms;
  LiveServer server(options);
  Client client(server.port());
  REQUIRE(eventually([&] { return info(client, "last_check_at") > 0; }));
  REQUIRE(client.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  CHECK(eventually([&] { return info(client, "last_check_orders") == 1; }));
}

TEST_CASE("a stop does not wait for the next check, and a check can be stopped", "[server]") {
  ServerOptions options = test::any_port();
  options.check_every = 1h;
  options.stop_deadline = 0ms;
  LiveServer server(options);
  Client client(server.port());
  REQUIRE(client.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  server.end();
  std::stop_source stop;
  stop.request_stop();
  const Result<CheckReport> stopped = server.engine().check({}, stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Code::closing);
}

TEST_CASE("a time between checks that does not fit is refused", "[server]") {
  test::TemporaryFolder folder;
  const std::unique_ptr<Engine> open = test::open_live(folder / "store");
  ServerOptions options = test::any_port();
  options.check_every = Duration{-1};
  const Result<std::unique_ptr<Server>> server = Server::start(*open, options);
  REQUIRE_FALSE(server);
  CHECK_THAT(server.error().message, Catch::Contains("time between two checks is -1 ms"));
}
