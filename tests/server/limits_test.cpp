// What a client cannot do to the server.
#include <catch2/catch.hpp>

#include "client.h"

using namespace duelease;
using duelease::test::Client;
using duelease::test::eventually;
using duelease::test::info;
using duelease::test::LiveServer;

TEST_CASE("what is no request is answered, behind all before it, and ends its connection alone", "[server]") {
  LiveServer server;
  Client bad(server.port());
  Client good(server.port());
  const std::string frame = GENERATE("*1\r\n+oops\r\n", "*-7\r\n", "*1\r\n$-5\r\n", "SAY \"unclosed\n");
  bad.send("SCHEDULE q 1 +1h\nORDER q 1\nPING\n" + frame + "SCHEDULE q 2 +1h\n");
  CHECK(bad.reply() == "+SCHEDULED");
  CHECK_THAT(bad.reply(), Catch::StartsWith("[\"id\""));
  CHECK(bad.reply() == "+PONG");
  CHECK_THAT(bad.reply(), Catch::StartsWith("-ERR "));
  CHECK(bad.closed_by_server());
  CHECK(good.ask("ORDER q 2") == "nil");
}

TEST_CASE("what is too large is refused before it has come", "[server]") {
  ServerOptions options = test::any_port();
  options.request_bytes_max = 2048;
  options.line_bytes_max = 1024;
  options.words_max = 64;
  LiveServer server(options);
  {
    Client client(server.port());
    client.send("*2\r\n$4\r\nPING\r\n$5000\r\n");
    CHECK_THAT(client.reply(), Catch::StartsWith("-TOOLARGE ") && Catch::Contains("2048"));
    CHECK(client.closed_by_server());
  }
  {
    Client client(server.port());
    client.send(std::string(1025, 'x'));
    CHECK_THAT(client.reply(), Catch::StartsWith("-TOOLARGE ") && Catch::Contains("1024"));
    CHECK(client.closed_by_server());
  }
  {
    Client client(server.port());
    client.send("*65\r\n");
    CHECK_THAT(client.reply(), Catch::StartsWith("-") && Catch::Contains("64"));
    CHECK(client.closed_by_server());
  }
}

TEST_CASE("a client that does not read is not read either", "[server]") {
  ServerOptions options = test::any_port();
  options.reply_bytes_max = 512 * 1024;
  LiveServer server(options);
  Client other(server.port());
  REQUIRE(other.ask({"SCHEDULE", "q", "1", "NOW", "PAYLOAD", std::string(256 * 1024, 'x')}) == "+SCHEDULED");

  constexpr std::size_t sockets_hold_at_most = 32 * 1024 * 1024;
  const std::string line = GENERATE("ORDER q 1\n", "PING xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
  std::string many;
  while (many.size() < 1'000'000) many += line;
  Client silent(server.port(), 4096);
  std::size_t sent = 0;
  int full = 0;
  while (full < 100 && sent < sockets_hold_at_most) {
    const std::size_t start = sent % line.size();
    const std::size_t now = silent.send_some(std::string_view(many).substr(start));
    sent += now;
    full = now == 0 ? full + 1 : 0;
    if (now == 0) std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  CHECK(sent < sockets_hold_at_most);
  CHECK(other.ask("PING") == "+PONG");

  // Nothing was lost: it goes on as soon as the client reads.
  const std::size_t whole = sent / line.size();
  for (std::size_t i = 0; i < std::min<std::size_t>(whole, 200); ++i) {
    REQUIRE(silent.value().kind != protocol::Value::Kind::error);
  }
}

TEST_CASE("half a request costs the bytes that came", "[server]") {
  LiveServer server;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send("*5\r\n$8\r\nSCHEDULE\r\n$1\r\nq\r\n$1\r\n1\r\n$3\r\nNOW\r\n$1000000\r\nxxx");
  }
  Client other(server.port());
  const std::uint64_t sent_by_each = 60;
  REQUIRE(eventually([&] { return info(other, "bytes_read") >= 100 * 50; }));
  CHECK(info(other, "request_bytes_held") <= 101 * sent_by_each);
  clients.clear();
  REQUIRE(eventually([&] { return info(other, "connected_clients") == 1; }));
  CHECK(info(other, "request_bytes_held") < 100);
}

TEST_CASE("all connections together hold no more than a limit", "[server]") {
  ServerOptions options = test::any_port();
  options.held_bytes_max = 1024 * 1024;
  LiveServer server(options);
  const std::string payload(700'000, 'x');
  const auto request = [&payload](const std::string& id) {
    return test::in_array_form({"SCHEDULE", "q", id, "+1h", "PAYLOAD", payload});
  };
  Client first(server.port());
  Client second(server.port());
  Client other(server.port());
  first.send(request("1").substr(0, 600'000));
  REQUIRE(eventually([&] { return info(other, "request_bytes_held") > 500'000; }));
  second.try_send(request("2").substr(0, 600'000));
  CHECK_THAT(second.reply(), Catch::StartsWith("-OVERLOADED "));
  CHECK(second.closed_by_server());
  first.send(request("1").substr(600'000));
  CHECK(first.reply() == "+SCHEDULED");
  Client third(server.port());
  third.send(request("2"));
  CHECK(third.reply() == "+SCHEDULED");
}

TEST_CASE("a connection that dies with reads behind a change holds nothing any more", "[server]") {
  LiveServer server;
  Client other(server.port());
  const std::string behind = GENERATE("ORDER q 1\n", "LIST q\nORDER q 1\n", "COMPLETE q 1 1\nORDER q 1\n",
                                      "ORDER q 1\n*2\r\n$4\r\nPI");
  test::HeldUp held_up(server.engine());
  Client dying(server.port());
  dying.send("SCHEDULE q 1 +1h\n" + behind);
  REQUIRE(eventually([&] { return info(other, "requests_under_way") >= 2; }));  // INFO too.
  dying.reset();
  REQUIRE(eventually([&] { return info(other, "connected_clients") == 1; }));
  held_up.end();
  REQUIRE(eventually([&] { return info(other, "requests_under_way") == 1; }));
  CHECK(info(other, "request_bytes_held") < 20);
  CHECK_THAT(other.ask("ORDER q 1"), Catch::StartsWith("[\"id\""));
}

TEST_CASE("a change that waits behind a read is held, and counted", "[server]") {
  LiveServer server;
  Client other(server.port());
  test::HeldUp held_up(server.engine());
  Client client(server.port());
  client.send("SCHEDULE q 1 +1h\nORDER q 1\n");
  client.send(test::in_array_form({"SCHEDULE", "q", "2", "+1h", "PAYLOAD", std::string(500'000, 'x')}));
  REQUIRE(eventually([&] { return info(other, "bytes_read") > 500'000; }));
  CHECK(info(other, "request_bytes_held") > 500'000);
  held_up.end();
  CHECK(client.reply() == "+SCHEDULED");
  CHECK_THAT(client.reply(), Catch::StartsWith("[\"id\""));
  CHECK(client.reply() == "+SCHEDULED");
  CHECK(info(other, "request_bytes_held") < 20);
}

TEST_CASE("all connections together have no more unsent than a limit, and none of them for ever",
          "[server]") {
  ServerOptions options = test::any_port();
  options.unsent_bytes_max = 1024 * 1024;
  options.write_timeout = Duration{1000};
  LiveServer server(options);
  Client other(server.port());
  REQUIRE(other.ask({"SCHEDULE", "q", "1", "NOW", "PAYLOAD", std::string(256 * 1024, 'x')}) == "+SCHEDULED");
  std::string asks;
  for (int i = 0; i < 200; ++i) asks += "ORDER q 1\n";
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 4; ++i) {
    silent.push_back(std::make_unique<Client>(server.port(), 4096));
    silent.back()->send(asks);
  }
  const std::size_t of_one_run = 2 * 1024 * 1024;
  std::uint64_t most = 0;
  // Who reads is served all the while.
  REQUIRE(eventually([&] {
    most = std::max(most, info(other, "reply_bytes_unsent"));
    return info(other, "connected_clients") == 1;
  }));
  CHECK(most > options.unsent_bytes_max);
  CHECK(most < options.unsent_bytes_max + 4 * of_one_run);
  CHECK(info(other, "reply_bytes_unsent") == 0);
  CHECK_THAT(server.log(), Catch::Contains("which took no byte of its replies for 1000 ms"));
}

TEST_CASE("a client that reads slowly is not closed", "[server]") {
  ServerOptions options = test::any_port();
  options.write_timeout = Duration{1000};
  LiveServer server(options);
  Client slow(server.port(), 4096);
  REQUIRE(slow.ask({"SCHEDULE", "q", "1", "NOW", "PAYLOAD", std::string(1000 * 1000, 'x')}) == "+SCHEDULED");
  std::string asks;
  for (int i = 0; i < 20; ++i) asks += "ORDER q 1\n";
  slow.send(asks);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    REQUIRE(slow.value().array.size() > 20);
  }
}

// With the engine held up, what is under way is what was taken.
TEST_CASE("claims under way have room for the largest replies that the engine gives", "[server]") {
  ServerOptions options = test::any_port();
  options.reply_bytes_max = 32 * 1024 * 1024;
  options.request_bytes_max = 2 * 1024 * 1024;
  const auto [claim, claim_reply_bytes_max, taken] = GENERATE(table<std::string, std::size_t, std::uint64_t>({
      {"CLAIM q w COUNT 100\n", 64 * 1024 * 1024, 1},
      {"CLAIM q w COUNT 100\n", 16 * 1024 * 1024, 2},
      {"CLAIM q w COUNT 100\n", 1024, 16},  // An order that is larger is answered alone.
      {"POP q COUNT 2\n", 16 * 1024 * 1024, 8},
  }));
  Options engine_options = test::small_options();
  engine_options.claim_reply_bytes_max = claim_reply_bytes_max;
  LiveServer server(options, engine_options);
  Client other(server.port());
  test::HeldUp held_up(server.engine());
  Client client(server.port());
  std::string claims;
  for (int i = 0; i < 20; ++i) claims += claim;
  client.send(claims);
  REQUIRE(eventually([&] { return info(other, "bytes_read") >= claims.size(); }));
  CHECK(info(other, "requests_under_way") == taken + 1);
  held_up.end();
  for (int i = 0; i < 20; ++i) CHECK(client.reply() == "[]");
}

TEST_CASE("many changes in one read go to an engine that lets few wait", "[server]") {
  Options engine_options = test::small_options();
  engine_options.commands_waiting_max = GENERATE(1, 100);
  LiveServer server(test::any_port(), engine_options);
  Client client(server.port());
  std::string all;
  for (int i = 0; i < 100; ++i) all += "SCHEDULE q " + std::to_string(i) + " +1h\n";
  client.send(all);
  for (int i = 0; i < 100; ++i) {
    const std::string reply = client.reply();
    if (engine_options.commands_waiting_max == 100) {
      CHECK(reply == "+SCHEDULED");
    } else {
      CHECK((reply == "+SCHEDULED" || reply.starts_with("-OVERLOADED ")));
    }
  }
}

TEST_CASE("any port is the same at all addresses", "[server]") {
  ServerOptions options = test::any_port();
  options.addresses = {"127.0.0.1", "127.0.0.2", "::1"};
  LiveServer server(options);
  const std::string port = " port " + std::to_string(server.port()) + "\n";
  for (const std::string& address : options.addresses) {
    CHECK_THAT(server.log(), Catch::Contains("listening on " + address + port));
  }
}

TEST_CASE("connections above the limit are told so", "[server]") {
  ServerOptions options = test::any_port();
  options.connections_max = 2;
  LiveServer server(options);
  auto first = std::make_unique<Client>(server.port());
  Client second(server.port());
  CHECK(first->ask("PING") == "+PONG");
  CHECK(second.ask("PING") == "+PONG");
  Client third(server.port());
  CHECK_THAT(third.reply(), Catch::StartsWith("-OVERLOADED ") && Catch::Contains("2 connections"));
  CHECK(third.closed_by_server());
  third.close();
  first.reset();
  REQUIRE(eventually([&] { return info(second, "connected_clients") == 1; }));
  Client fourth(server.port());
  CHECK(fourth.ask("PING") == "+PONG");
}

TEST_CASE("a silent connection is closed where that is wanted, one that waits for an order is not",
          "[server]") {
  ServerOptions options = test::any_port();
  options.idle_timeout = Duration{100};
  LiveServer server(options);
  Client waiter(server.port());
  Client silent(server.port());
  waiter.send("CLAIM q w WAIT 500\n");
  CHECK(silent.closed_by_server());
  CHECK(waiter.reply() == "[]");
  CHECK(waiter.closed_by_server());
}

TEST_CASE("options out of range are refused by name", "[server]") {
  const test::TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = test::open_live(folder / "store");
  const auto refused = [&engine](ServerOptions options) {
    options.port = 0;
    const auto server = Server::start(*engine, std::move(options));
    REQUIRE_FALSE(server);
    return server.error().message;
  };
  CHECK_THAT(refused({.threads = 65}), Catch::Contains("threads is 65, allowed are 1 to 64"));
  CHECK_THAT(refused({.connections_max = 0}), Catch::Contains("connections is 0"));
  CHECK_THAT(refused({.unsent_bytes_max = 1}), Catch::Contains("unsent bytes is 1, allowed are 1048576 to "));
  CHECK_THAT(refused({.login_timeout = Duration{-1}}), Catch::Contains("login timeout is -1 ms"));
  CHECK_THAT(refused({.write_timeout = Duration{-1}}), Catch::Contains("write timeout is -1 ms"));
  CHECK_THAT(refused({.stop_deadline = Duration::max()}), Catch::Contains("allowed are 0 to 31536000000 ms"));
  CHECK_THAT(refused({.addresses = {"localhost"}}), Catch::Contains("\"localhost\" is no IP address"));
  CHECK_THAT(refused({.addresses = {}}), Catch::Contains("no address"));
  CHECK_THAT(refused({.addresses = {"0.0.0.0"}}), Catch::Contains("users"));
  CHECK_THAT(refused({.tls_cert = "a.pem"}), Catch::Contains("key"));
  CHECK_THAT(refused({.tls_cert = "/none/a.pem", .tls_key = "b.pem"}), Catch::Contains("/none/a.pem"));
  CHECK_THAT(refused({.addresses = {"192.0.2.1"}, .insecure = true}), Catch::Contains("192.0.2.1"));
  const auto open = Server::start(*engine, {.addresses = {"0.0.0.0", "::1"}, .port = 0, .insecure = true});
  CHECK(open);
}

TEST_CASE("what a browser sends ends its connection before its body is looked at", "[server]") {
  LiveServer server;
  for (const char* head : {"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "get / HTTP/1.1\r\nhost: x\r\n\r\n"}) {
    Client browser(server.port());
    browser.send(std::string(head) + "SCHEDULE q 1 NOW\r\n");
    CHECK_THAT(browser.reply(), Catch::StartsWith("-ERR "));
    CHECK(browser.closed_by_server());
  }
  Client client(server.port());
  CHECK_THAT(client.ask("STATS q"), Catch::StartsWith("-NOTFOUND "));
}

TEST_CASE("long walks of one client do not hold up the walks of others", "[server]") {
  LiveServer server;
  Client other(server.port());
  std::string orders;
  for (int i = 0; i < 1000; ++i) orders += "SCHEDULE q " + std::to_string(i) + " +1h\n";
  other.send(orders);
  for (int i = 0; i < 1000; ++i) REQUIRE(other.reply() == "+SCHEDULED");
  constexpr std::size_t many = 1000;
  std::string checks;
  for (std::size_t i = 0; i < many; ++i) checks += "CHECK\n";
  Client first(server.port());
  Client second(server.port());
  first.send(checks);
  second.send(checks);
  first.reply();  // Both are being served.
  REQUIRE_THAT(other.ask("STATS q"), Catch::StartsWith("["));
  // Counted, not timed: a machine under load is slow for all of them.
  CHECK(first.take_replies() < many / 2);
}

TEST_CASE("a cursor that is none is shown as what it is", "[server]") {
  LiveServer server;
  Client client(server.port());
  REQUIRE(client.ask("SCHEDULE q 1 NOW") == "+SCHEDULED");
  CHECK(client.ask({"LIST", "q", "AFTER", "\xff"}) == "-INVALID '\\xff' is not a cursor of a list");
}
