// Connections that are refused, cut, silent, or closed; and limits.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/scripted_server.h"
#include "client/served.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

TEST_CASE("no server: the first connection tells", "[client]") {
  Served served;
  served.proxy().close();
  const auto client = Client::connect(served.client_options());
  REQUIRE_FALSE(client);
  CHECK(client.error().code == Code::unreachable);
  CHECK_THAT(client.error().message, Catch::StartsWith("127.0.0.1:" + std::to_string(served.proxy().port())));
}

TEST_CASE("no such host", "[client]") {
  ClientOptions options;
  options.host = "no such host";
  const auto client = Client::connect(options);
  REQUIRE_FALSE(client);
  CHECK(client.error().code == Code::unreachable);
}

TEST_CASE("a server that does not answer the greeting is given up", "[client]") {
  Served served;
  served.proxy().hold_replies();
  ClientOptions options = served.client_options();
  options.connect_timeout = 50ms;
  const auto client = Client::connect(options);
  REQUIRE_FALSE(client);
  CHECK(client.error().code == Code::unreachable);
  CHECK_THAT(client.error().message, Catch::Contains("no connection within 50 ms"));
}

TEST_CASE("calls wait for a server that is not there yet", "[client]") {
  Served served;
  served.proxy().close();
  ClientOptions options = served.client_options();
  options.connect_at_start = false;
  const auto client = well(Client::connect(options));
  Reply<Answer> reply;
  client->schedule(order_of("q", "a"), reply.callback());
  Reply<std::vector<Claimed>> claimed;
  client->claim(claim_of("q", "w", 1, 1h), claimed.callback());
  CHECK_FALSE(reply.arrived());
  served.proxy().open();
  CHECK(well(reply.get()).outcome == Outcome::scheduled);
  CHECK(well(claimed.get()).size() == 1);
}

TEST_CASE("a call that finds no server in time says that nothing was sent", "[client]") {
  Served served;
  const auto client = [&] {
    ClientOptions options = served.client_options();
    options.request_timeout = 100ms;
    return well(Client::connect(options));
  }();
  served.proxy().close();
  Result<Answer> answer = client->schedule(order_of("q", "a"));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::unreachable);
  // The first may have met the connection before it was known to be gone.
  answer = client->schedule(order_of("q", "a"));
  REQUIRE_FALSE(answer);
  CHECK_THAT(answer.error().message, Catch::Contains("nothing was sent"));
  served.proxy().open();
  CHECK(well(client->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
}

TEST_CASE("a server that falls silent is left after the timeout", "[client]") {
  Served served;
  ClientOptions options = served.client_options();
  options.request_timeout = 200ms;
  const auto client = well(Client::connect(options));
  served.proxy().hold_replies();
  const auto start = std::chrono::steady_clock::now();
  const Result<Answer> answer = client->schedule(order_of("q", "a"));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::unreachable);
  CHECK_THAT(answer.error().message, Catch::Contains("its answer is lost"));
  CHECK(std::chrono::steady_clock::now() - start >= 200ms);
  served.proxy().cut();  // Replies pass again.
  CHECK(well(client->schedule(order_of("q", "a"))).outcome == Outcome::duplicate);
}

TEST_CASE("more calls than may be in flight are refused", "[client]") {
  Served served;
  ClientOptions options = served.client_options();
  options.requests_in_flight_max = 3;
  const auto client = well(Client::connect(options));
  served.proxy().hold_replies();
  std::vector<Reply<Answer>> replies(4);
  for (std::size_t i = 0; i < 4; ++i) {
    client->schedule(order_of("q", std::to_string(i)), replies[i].callback());
  }
  const Result<Answer> refused = replies[3].get();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::overloaded);
  const std::vector<Result<Answer>> many =
      client->schedule(std::vector<ScheduleRequest>(4, order_of("q", "x")));
  REQUIRE(many.size() == 4);
  CHECK(many[3].error().code == Code::invalid);
  served.proxy().cut();
  for (std::size_t i = 0; i < 3; ++i) {  // What was not sent by then is sent now.
    const Result<Answer> answer = replies[i].get();
    CHECK((answer || answer.error().code == Code::unreachable));
  }
  well(client->ping());
}

TEST_CASE("a closed client answers closing", "[client]") {
  Served served;
  const auto client = served.client();
  Reply<std::vector<Claimed>> waiting;
  client->claim(claim_of("q", "w", 1, 1h), waiting.callback());
  served.proxy().hold_replies();
  Reply<Answer> under_way;
  client->schedule(order_of("q", "a"), under_way.callback());
  client->close();
  client->close();
  const auto code = [](auto result) {
    REQUIRE_FALSE(result);
    return result.error().code;
  };
  CHECK(code(waiting.get()) == Code::closing);
  CHECK(code(under_way.get()) == Code::closing);
  CHECK(code(client->schedule(order_of("q", "b"))) == Code::closing);
  CHECK(code(client->claim(claim_of("q", "w"))) == Code::closing);
  CHECK(code(client->ping()) == Code::closing);
  CHECK(code(client->schedule(std::vector<ScheduleRequest>(2)).at(1)) == Code::closing);
}

TEST_CASE("a client that is destroyed answers what is under way", "[client]") {
  Served served;
  Reply<std::vector<Claimed>> waiting;
  Reply<Answer> under_way;
  {
    const auto client = served.client();
    client->claim(claim_of("q", "w", 1, 1h), waiting.callback());
    served.proxy().hold_replies();
    client->schedule(order_of("q", "a"), under_way.callback());
  }
  REQUIRE(waiting.arrived());
  REQUIRE(under_way.arrived());
  CHECK(waiting.get().error().code == Code::closing);
  CHECK(under_way.get().error().code == Code::closing);
}

TEST_CASE("a server that stops and comes back is waited for", "[client]") {
  Served served;
  const auto client = served.client();
  Reply<std::vector<Claimed>> waiting;
  client->claim(claim_of("q", "w", 1, 1h), waiting.callback());
  well(client->ping());
  served.stop_server();
  Reply<Answer> reply;
  client->cancel({"q", "a", false}, reply.callback());
  served.start_server();
  const Result<Answer> answer = reply.get();  // The cancel may have been on its way.
  CHECK((answer ? answer->outcome == Outcome::not_found : answer.error().code == Code::unreachable));
  CHECK(well(client->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
  CHECK(well(waiting.get()).size() == 1);
}

TEST_CASE("a server that stops well lets a worker report", "[client]") {
  ServerOptions options = at_any_port();
  options.stop_deadline = Duration{60'000};
  Served served(options);
  const auto client = served.client();
  schedule_many(served.engine(), "q", 1);
  const Claimed order = well(client->claim(claim_of("q", "w"))).at(0);
  std::thread stopping([&] { served.server().stop(); });
  Reply<std::vector<Claimed>> next;  // CLOSING, and asked again later.
  client->claim(claim_of("q", "w"), next.callback());
  CHECK(well(client->complete(report_on<CompleteRequest>(order))).outcome == Outcome::completed);
  stopping.join();
  served.start_server();
  CHECK(well(next.get()).empty());
}

TEST_CASE("a call that was put off is answered at its own deadline, and before younger ones", "[client]") {
  std::atomic<int> first_asked{0};
  const ScriptedServer server([&](const ScriptedServer::Words& words) -> std::string {
    return words[2] == "first" && ++first_asked == 1 ? "-CLOSING for a moment\r\n" : "";
  });
  ClientOptions options;
  options.port = server.port();
  options.request_timeout = Duration{1500};
  const auto client = well(Client::connect(options));
  std::mutex mutex;
  std::string order;
  std::vector<Reply<Answer>> replies(2);
  const auto note = [&](const std::string& name, Reply<Answer>& reply) {
    return [&mutex, &order, name, put = reply.callback()](Result<Answer> answer) {
      const std::lock_guard lock(mutex);
      order += name + " ";
      put(std::move(answer));
    };
  };
  client->schedule(order_of("q", "first"), note("first", replies[0]));
  while (first_asked == 0) std::this_thread::yield();
  std::this_thread::sleep_for(100ms);  // It is put off for 200 ms or more.
  client->schedule(order_of("q", "second"), note("second", replies[1]));
  CHECK_FALSE(replies[0].get());
  CHECK_FALSE(replies[1].get());
  CHECK(first_asked == 2);
  const std::lock_guard lock(mutex);
  CHECK(order == "first second ");
}
