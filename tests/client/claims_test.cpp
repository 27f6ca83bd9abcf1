// Claims that wait, cancelled ones, and how long a lease lasts on the client's clock.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/scripted_server.h"
#include "client/served.h"
#include "protocol/answer.h"
#include "protocol/reply.h"
#include "support/manual_clock.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

// Until so many claims have a connection of their own.
void await_connections(Served& served, std::uint64_t count) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (served.proxy().connections() < count) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no connection came");
    std::this_thread::yield();
  }
}

// Of a server that hands out one order to each claim.
std::string one_order() {
  Claimed order;
  order.queue = "q";
  order.id = "a";
  order.token = Token{1};
  order.attempt = 1;
  order.lease_expires_at = Time{std::chrono::hours{1'000'000}};
  std::string reply;
  protocol::print_claimed(reply, std::vector{order});
  return reply;
}

ClientOptions options_for(const ScriptedServer& server) {
  ClientOptions options;
  options.port = server.port();
  options.request_timeout = Duration{60'000};
  return options;
}

}  // namespace

TEST_CASE("claims that wait hold up nothing", "[client]") {
  Served served;
  const auto client = served.client();
  std::vector<Reply<std::vector<Claimed>>> waiting(5);
  for (Reply<std::vector<Claimed>>& reply : waiting) {
    client->claim(claim_of("q", "w", 1, 1h), reply.callback());
  }
  well(client->ping());
  CHECK(well(client->check()).violations() == 0);
  for (int i = 0; i < 5; ++i) {
    CHECK(well(client->schedule(order_of("q", std::to_string(i)))).outcome == Outcome::scheduled);
  }
  for (Reply<std::vector<Claimed>>& reply : waiting) CHECK(well(reply.get()).size() == 1);
}

TEST_CASE("the connection of a claim that waited serves the next one", "[client]") {
  Served served;
  const auto client = served.client();
  for (int i = 0; i < 3; ++i) {
    Reply<std::vector<Claimed>> reply;
    client->claim(claim_of("q", "w", 1, 1h), reply.callback());
    well(client->schedule(order_of("q", std::to_string(i))));
    CHECK(well(reply.get()).size() == 1);
  }
  CHECK(served.proxy().connections() == 2);
}

TEST_CASE("a wait comes to an end", "[client]") {
  Served served;
  const auto client = served.client();
  const auto start = std::chrono::steady_clock::now();
  CHECK(well(client->claim(claim_of("q", "w", 1, 50ms))).empty());
  CHECK(std::chrono::steady_clock::now() - start >= 50ms);
}

TEST_CASE("a cancelled claim is answered empty, and takes nothing later", "[client]") {
  Served served;
  const auto client = served.client();
  Reply<std::vector<Claimed>> cancelled;
  const ClaimTicket ticket = client->claim(claim_of("q", "w1", 1, 1h), cancelled.callback());
  await_connections(served, 2);
  client->cancel_claim(ticket);
  CHECK(well(cancelled.get()).empty());
  client->cancel_claim(ticket);  // Does no harm.
  Reply<std::vector<Claimed>> other;
  client->claim(claim_of("q", "w2", 1, 1h), other.callback());
  well(client->schedule(order_of("q", "a")));
  CHECK(well(other.get()).size() == 1);
}

TEST_CASE("a claim that is cancelled while its orders are on their way answers with them", "[client]") {
  Served served;
  const auto client = served.client();
  well(served.engine().schedule(order_of("q", "first")));
  CHECK(well(client->claim(claim_of("q", "w", 1, 1h))).size() == 1);  // Now there is a connection to wait on.
  served.proxy().hold_replies();
  Reply<std::vector<Claimed>> reply;
  const ClaimTicket ticket = client->claim(claim_of("q", "w", 1, 1h), reply.callback());
  well(served.engine().schedule(order_of("q", "second")));
  const auto end = std::chrono::steady_clock::now() + patience;
  while (well(served.engine().stats("q")).counts.processing < 2) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::yield();
  }
  client->cancel_claim(ticket);
  std::this_thread::sleep_for(20ms);
  served.proxy().cut();  // What was kept back is lost.
  const std::vector<Claimed> orders = well(reply.get());
  if (orders.empty()) return;  // The cut came before the second request: the lease will run out.
  CHECK(orders[0].attempt == 1);
}

TEST_CASE("a claim is cancelled at once when the server is closing", "[client]") {
  std::atomic<int> asked{0};
  ScriptedServer server([&](const ScriptedServer::Words& words) -> std::string {
    if (words[0] == "CLAIM") ++asked;
    return "-CLOSING for good\r\n";
  });
  const auto client = well(Client::connect(options_for(server)));
  Reply<std::vector<Claimed>> reply;
  const auto start = std::chrono::steady_clock::now();
  const ClaimTicket ticket = client->claim(claim_of("q", "w", 1, 1h), reply.callback());
  while (asked == 0) {
    REQUIRE(std::chrono::steady_clock::now() < start + patience);
    std::this_thread::yield();
  }
  client->cancel_claim(ticket);
  CHECK(well(reply.get()).empty());
  CHECK(std::chrono::steady_clock::now() < start + 30s);  // request_timeout is a minute.
}

TEST_CASE("a claim is cancelled at once when there is no connection", "[client]") {
  Served served;
  const auto client = served.client();
  Reply<std::vector<Claimed>> reply;
  const ClaimTicket ticket = client->claim(claim_of("q", "w", 1, 1h), reply.callback());
  await_connections(served, 2);
  served.proxy().close();
  client->cancel_claim(ticket);
  CHECK(well(reply.get()).empty());
}

TEST_CASE("a waiting claim goes on after its connection was cut", "[client]") {
  Served served;
  const auto client = served.client();
  Reply<std::vector<Claimed>> reply;
  client->claim(claim_of("q", "w", 1, 1h), reply.callback());
  for (std::uint64_t cuts = 0; cuts < 5; ++cuts) {
    await_connections(served, 2 + cuts);
    served.proxy().cut();
  }
  well(client->schedule(order_of("q", "a")));
  CHECK(well(reply.get()).size() == 1);
}

TEST_CASE("a lease lasts on the client's clock, however wrong the server's is", "[client]") {
  const auto clock = std::make_shared<ManualClock>();  // Long ago, and it stands still.
  ServerOptions server_options = at_any_port();
  server_options.clock = clock;
  Options engine_options = quick_options();
  engine_options.clock = clock;
  Served served(server_options, engine_options);
  const auto client = served.client();
  const Duration wait = GENERATE(Duration{0}, Duration{3'600'000});
  schedule_many(served.engine(), "q", 1);
  ClaimRequest ask = claim_of("q", "w", 1, wait);
  ask.lease = Duration{600'000};
  const Claimed order = well(client->claim(ask)).at(0);
  CHECK(order.lease < Duration{600'000});
  CHECK(order.lease > Duration{600'000} - std::chrono::duration_cast<Duration>(patience));
}

TEST_CASE("a lease that was handed out earlier is not whole any more", "[client]") {
  const auto clock = std::make_shared<ManualClock>();
  ServerOptions server_options = at_any_port();
  server_options.clock = clock;
  Options engine_options = quick_options();
  engine_options.clock = clock;
  Served served(server_options, engine_options);
  const auto client = served.client();
  schedule_many(served.engine(), "q", 1);
  ClaimRequest ask = claim_of("q", "w", 1);
  ask.lease = Duration{600'000};
  ask.request = "the same";
  CHECK(well(client->claim(ask)).size() == 1);
  clock->pass(Duration{590'000});
  CHECK(well(client->claim(ask)).at(0).lease < Duration{10'000});
  clock->pass(Duration{20'000});
  const std::vector<Claimed> late = well(client->claim(ask));  // Unless it was reaped this moment.
  if (!late.empty() && late[0].attempt == 1) CHECK(late[0].lease == Duration{0});
}

TEST_CASE("orders are answered also when the server does not tell its time", "[client]") {
  const std::string time = GENERATE("-ERR no such verb\r\n", "+soon\r\n", "");
  const Duration wait = GENERATE(Duration{0}, Duration{3'600'000});
  const ScriptedServer server([&](const ScriptedServer::Words& words) {
    if (words[0] == "CLAIM") return one_order();
    return words[0] == "TIME" ? time : std::string("-ERR no such verb\r\n");
  });
  ClientOptions options = options_for(server);
  if (time.empty()) options.request_timeout = Duration{200};
  const auto client = well(Client::connect(options));
  ClaimRequest ask = claim_of("q", "w", 1, wait);
  ask.lease = Duration{600'000};
  const std::vector<Claimed> known = well(client->claim(ask));
  REQUIRE(known.size() == 1);
  CHECK(known[0].lease < Duration{600'000} + Duration{1});
  CHECK(known[0].lease > Duration{600'000} - std::chrono::duration_cast<Duration>(patience));
  if (time.empty()) CHECK(known[0].lease <= Duration{600'000} - Duration{200});
  ask.request = "of the caller";  // The orders may have been handed out long ago.
  CHECK(well(client->claim(ask)).at(0).lease == Duration{0});
  ask.request.clear();
  ask.lease.reset();
  const Claimed unknown = well(client->claim(ask)).at(0);
  CHECK(unknown.lease == Duration{0});
  CHECK(unknown.lease_length == Duration{0});
}

TEST_CASE("a client knows how long the leases of a queue are, and asks once", "[client]") {
  std::atomic<int> asked{0};
  const ScriptedServer server([&](const ScriptedServer::Words& words) -> std::string {
    if (words[0] == "CLAIM") return one_order();
    if (words[0] != "QUEUE") return "-ERR no such verb\r\n";
    ++asked;
    std::string reply;
    QueueSettings settings;
    settings.lease = Duration{70'000};
    protocol::print_settings(reply, settings);
    return reply;
  });
  const auto client = well(Client::connect(options_for(server)));
  ClaimRequest ask = claim_of("q", "w");
  CHECK(well(client->claim(ask)).at(0).lease_length == Duration{70'000});
  CHECK(well(client->claim(ask)).at(0).lease_length == Duration{70'000});
  CHECK(asked == 1);
  ask.lease = Duration{5'000};
  CHECK(well(client->claim(ask)).at(0).lease_length == Duration{5'000});
}

TEST_CASE("a lease that was handed out earlier is extended by its whole length", "[client]") {
  const auto clock = std::make_shared<ManualClock>();
  ServerOptions server_options = at_any_port();
  server_options.clock = clock;
  Options engine_options = quick_options();
  engine_options.clock = clock;
  Served served(server_options, engine_options);
  QueueSetRequest set;
  set.queue = "q";
  set.lease = Duration{600'000};
  well(served.engine().set_queue(set));
  const auto client = served.client();
  schedule_many(served.engine(), "q", 1);
  ClaimRequest ask = claim_of("q", "w", 1);
  ask.request = "the same";
  CHECK(well(client->claim(ask)).size() == 1);
  clock->pass(Duration{590'000});
  const Claimed again = well(client->claim(ask)).at(0);
  CHECK(again.lease < Duration{10'001});
  CHECK(again.lease_length == Duration{600'000});
}

TEST_CASE("connections that nothing waits on are closed, and others come when they are needed", "[client]") {
  Served served;
  const auto client = served.client();
  for (int round = 1; round <= 2; ++round) {
    std::vector<Reply<std::vector<Claimed>>> waiting(20);
    for (Reply<std::vector<Claimed>>& reply : waiting) {
      client->claim(claim_of("q" + std::to_string(round), "w", 1, 1h), reply.callback());
    }
    await_connections(served, 1 + 20 * static_cast<std::uint64_t>(round));
    schedule_many(served.engine(), "q" + std::to_string(round), 20);
    for (Reply<std::vector<Claimed>>& reply : waiting) CHECK(well(reply.get()).size() == 1);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (served.proxy().open_connections() > 1) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      std::this_thread::sleep_for(50ms);
    }
  }
  well(client->ping());
}

TEST_CASE("more claims than may wait are refused", "[client]") {
  Served served;
  ClientOptions options = served.client_options();
  options.waiting_claims_max = 2;
  const auto client = well(Client::connect(options));
  std::vector<Reply<std::vector<Claimed>>> waiting(2);
  ClaimTicket ticket{};
  for (Reply<std::vector<Claimed>>& reply : waiting) {
    ticket = client->claim(claim_of("q", "w", 1, 1h), reply.callback());
  }
  const auto refused = client->claim(claim_of("q", "w", 1, 1h));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::overloaded);
  CHECK_THAT(refused.error().message, Catch::Contains("more than 2 claims"));
  CHECK(client->check().error().code == Code::overloaded);
  CHECK(well(client->claim(claim_of("q", "w"))).empty());  // It does not wait.
  client->cancel_claim(ticket);
  CHECK(well(waiting[1].get()).empty());
  CHECK(well(client->check()).violations() == 0);
}
