// Who may say what.
#include <catch2/catch.hpp>
#include <fstream>

#include "client.h"
#include "server/users.h"

using namespace duelease;
using duelease::test::Client;
using duelease::test::LiveServer;

namespace {

std::string user(std::string_view name, std::string_view role, std::string_view queues,
                 std::string_view word) {
  return test::well(make_user_line(name, role, queues, word)) + "\n";
}

// Hashing takes a while, so it is done once.
const std::string& users_text() {
  static const std::string text =
      "# name role queues hash\n\n" + user("shop", "producer", "unpaid,shop.*", "one") +
      user("payer", "worker", "unpaid", "two") + user("eye", "read-only", "unpaid", "three") +
      user("default", "admin", "*", "four");
  return text;
}

struct Guarded {
  test::TemporaryFolder folder;
  LiveServer server{options()};

  Guarded() = default;
  explicit Guarded(Duration login_timeout) : server(options(login_timeout)) {}

  ServerOptions options(Duration login_timeout = ServerOptions{}.login_timeout) const {
    std::ofstream(folder / "users") << users_text();
    ServerOptions out = test::any_port();
    out.users_file = folder / "users";
    out.login_timeout = login_timeout;
    return out;
  }
};

bool denied(const std::string& reply) { return reply.starts_with("-DENIED "); }

}  // namespace

TEST_CASE("before AUTH nothing is done", "[server][users]") {
  Guarded guarded;
  Client client(guarded.server.port());
  for (const char* line : {"PING", "SCHEDULE unpaid 1 NOW", "CLAIM unpaid w WAIT 1h", "ORDER unpaid 1",
                           "QUEUES", "INFO", "HELLO", "HELLO 2", "CLIENT ID", "PURGE unpaid FAILED"}) {
    INFO(line);
    CHECK_THAT(client.ask(line), Catch::StartsWith("-NOAUTH "));
  }
  CHECK_THAT(client.ask("NONSENSE"), Catch::StartsWith("-ERR "));
  CHECK(client.ask("QUIT") == "+OK");
}

TEST_CASE("before AUTH only small requests are read", "[server][users]") {
  Guarded guarded;
  const std::string large(5000, 'x');
  std::string words = "PING";
  for (int i = 0; i < 16; ++i) words += " x";
  for (const std::string& request :
       {"ECHO " + large + "\n", large, std::string("*2\r\n$4\r\nECHO\r\n$5000\r\n"), words + "\n",
        std::string("*17\r\n")}) {
    INFO(request.substr(0, 40));
    Client client(guarded.server.port());
    client.send(request);
    CHECK_THAT(client.reply(), Catch::StartsWith("-TOOLARGE ") && Catch::EndsWith("before AUTH"));
    CHECK(client.closed_by_server());
  }
  // Many small ones in one piece, and behind AUTH a large one, which is read with the limits that it brings.
  Client client(guarded.server.port());
  std::string pings;
  for (int i = 0; i < 2000; ++i) pings += "PING\r\n";
  client.send(pings + "AUTH default four\r\n" + test::in_array_form({"ECHO", std::string(500'000, 'y')}) +
              "ECHO " + large + "\n");
  for (int i = 0; i < 2000; ++i) REQUIRE(client.reply().starts_with("-NOAUTH "));
  CHECK(client.reply() == "+OK");
  CHECK(client.reply().size() == 500'002);
  CHECK(client.reply().size() == 5002);
}

TEST_CASE("who does not log in is closed after a while", "[server][users]") {
  Guarded guarded(Duration{300});
  Client silent(guarded.server.port());
  Client busy(guarded.server.port());
  Client shop(guarded.server.port());
  CHECK(shop.ask("AUTH shop one") == "+OK");
  CHECK_THAT(silent.reply(), Catch::StartsWith("-NOAUTH ") && Catch::Contains("300 ms"));
  CHECK(silent.closed_by_server());
  while (busy.try_send("PING\n")) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  CHECK(shop.ask("PING") == "+PONG");
  CHECK_THAT(guarded.server.log(), Catch::Contains("which did not log in for 300 ms"));
}

TEST_CASE("each role may do its part, in its queues", "[server][users]") {
  Guarded guarded;
  Client shop(guarded.server.port());
  // What is sent behind AUTH is looked at with the rights that it gives.
  shop.send("AUTH shop one\nSCHEDULE unpaid 1 NOW\nSCHEDULE shop.a 2 NOW\nSCHEDULE other 3 NOW\n");
  CHECK(shop.reply() == "+OK");
  CHECK(shop.reply() == "+SCHEDULED");
  CHECK(shop.reply() == "+SCHEDULED");
  CHECK(denied(shop.reply()));
  CHECK(denied(shop.ask("CLAIM unpaid w")));
  CHECK(denied(shop.ask("PURGE unpaid FAILED")));
  CHECK(denied(shop.ask("IMPORT unpaid 3 NOW STATE SUCCESS")));
  CHECK(shop.ask("RECONCILE unpaid 4 NOW 0 NOW DRYRUN") == "+SCHEDULED");
  CHECK(denied(shop.ask("RECONCILE other 4 NOW 0 NOW")));
  CHECK(denied(shop.ask("ORDER other 3")));
  CHECK(shop.ask("RUN OPEN unpaid r") == "+CREATING");
  CHECK(shop.ask("RUN START unpaid r") == "+RUNNING");
  CHECK(shop.ask("RUN BEAT unpaid r") == "+RUNNING");
  CHECK(shop.ask("RUN DONE unpaid r") == "+DONE");
  CHECK(shop.ask("RUN OPEN unpaid s") == "+CREATING");
  CHECK(shop.ask("RUN ERROR unpaid s") == "+ERROR");
  CHECK(denied(shop.ask("RUN OPEN other r")));
  CHECK(denied(shop.ask("RUN SHOW other r")));
  CHECK(denied(shop.ask("RUN LIST other")));
  CHECK_THAT(shop.ask("ORDER unpaid 1"), Catch::StartsWith("["));

  Client payer(guarded.server.port());
  CHECK_THAT(payer.ask("HELLO 2 AUTH payer two"), Catch::Contains("\"server\" \"duelease\""));
  CHECK(denied(payer.ask("CLAIM unpaid,shop.a w")));
  CHECK(denied(payer.ask("SCHEDULE unpaid 9 NOW")));
  CHECK(denied(payer.ask("PAUSE unpaid")));
  CHECK(denied(payer.ask("RECONCILE unpaid 4 NOW 0 NOW")));
  CHECK(payer.ask("MARK").starts_with("["));
  for (const char* verb : {"OPEN", "START", "BEAT", "DONE", "ERROR"}) {
    INFO(verb);
    CHECK(denied(payer.ask("RUN " + std::string(verb) + " unpaid r")));
  }
  CHECK_THAT(payer.ask("CLAIM unpaid w"), Catch::StartsWith("[["));

  Client eye(guarded.server.port());
  CHECK(eye.ask("AUTH eye three") == "+OK");
  for (const char* line : {"SCHEDULE unpaid 9 NOW",
                           "RESCHEDULE unpaid 1 NOW",
                           "CANCEL unpaid 1",
                           "RETRY unpaid 1",
                           "CLAIM unpaid w",
                           "POP unpaid",
                           "COMPLETE unpaid 1 1",
                           "FAIL unpaid 1 1",
                           "RELEASE unpaid 1 1",
                           "EXTEND unpaid 1 1 1s",
                           "REAP unpaid",
                           "PURGE unpaid FAILED",
                           "QUEUE SET unpaid tries 1",
                           "PAUSE unpaid",
                           "RESUME unpaid",
                           "STATS other",
                           "CHECK",
                           "RUN OPEN unpaid r",
                           "RUN START unpaid r",
                           "RUN BEAT unpaid r",
                           "RUN DONE unpaid r",
                           "RUN ERROR unpaid r"}) {
    INFO(line);
    CHECK(denied(eye.ask(line)));
  }
  CHECK(eye.ask("QUEUES") == "[\"unpaid\"]");
  for (const char* line : {"STATS unpaid", "LIST unpaid", "QUEUE SHOW unpaid", "CHECK unpaid",
                           "RUN SHOW unpaid r", "RUN LIST unpaid"}) {
    INFO(line);
    CHECK_THAT(eye.ask(line), Catch::StartsWith("["));
  }

  Client admin(guarded.server.port());
  CHECK(admin.ask("AUTH four") == "+OK");
  CHECK(admin.ask("QUEUES") == "[\"shop.a\" \"unpaid\"]");
  CHECK(admin.ask("PAUSE unpaid") == "+OK");
  CHECK(admin.ask("SCHEDULE anything 1 NOW") == "+SCHEDULED");
}

TEST_CASE("a wrong login is refused, a few times, and the log does not tell secrets", "[server][users]") {
  Guarded guarded;
  Client client(guarded.server.port());
  CHECK(denied(client.ask("AUTH shop two")));
  CHECK(denied(client.ask("AUTH nobody one")));
  CHECK(denied(client.ask({"AUTH", "no\nbody\x1b", "sesame"})));
  CHECK(client.ask("AUTH shop one") == "+OK");
  CHECK(denied(client.ask("AUTH shop sesame")));
  // It is still who it was.
  CHECK(client.ask("SCHEDULE unpaid 1 NOW") == "+SCHEDULED");
  CHECK(denied(client.ask("AUTH shop sesame")));
  CHECK(client.closed_by_server());
  const std::string log = guarded.server.log();
  CHECK_THAT(log, Catch::Contains("login of 'no\\x0abody\\x1b' from 127.0.0.1"));
  CHECK_THAT(log, !Catch::Contains("sesame"));
  CHECK_THAT(log, !Catch::Contains("argon2"));
}

TEST_CASE("what is no request is told to its sender, and not to the log", "[server][users]") {
  Guarded guarded;
  for (const std::string line :
       {"AUTH shop \"hunter2secret", "AUTH shop 'hunter2secret", "AUTH shop \"hunter2secret\"x",
        "*3\r\nhunter2secret", "*3\r\n$4\r\nAUTH\r\n$hunter2secret", "*hunter2secret",
        "SCHEDULE unpaid 1 NOW PAYLOAD \"hunter2secret", "SCHEDULE unpaid 1 NOW PAYLOAD 'hunter2secret",
        "AUTH shop \"\\hunter2secret\""}) {
    INFO(line);
    Client client(guarded.server.port());
    client.send(line + "\r\n");
    const std::string reply = client.reply();
    CHECK_THAT(reply, Catch::StartsWith("-ERR "));
    CHECK(client.closed_by_server());
  }
  const std::string log = guarded.server.log();
  CHECK_THAT(log, Catch::Contains("closing the connection of 127.0.0.1") && Catch::Contains("no request"));
  CHECK_THAT(log, !Catch::Contains("hunt") && !Catch::Contains("secret"));
}

TEST_CASE("where there are no users nobody needs to log in", "[server][users]") {
  LiveServer server;
  Client client(server.port());
  CHECK_THAT(client.ask("AUTH me secret"), Catch::StartsWith("-ERR ") && Catch::Contains("no users"));
  CHECK_THAT(client.ask("PURGE q FAILED"), Catch::StartsWith("-NOTFOUND "));  // Allowed, and there is no q.
}

TEST_CASE("a users file says what is wrong with it, and where", "[server][users]") {
  const std::string line = users_text().substr(users_text().find("shop"));
  const std::string hash = line.substr(line.find('$'), line.find('\n') - line.find('$'));
  const auto wrong = [](const std::string& text) {
    const auto users = server::Users::parse(text, "users");
    REQUIRE_FALSE(users);
    return users.error().message;
  };
  CHECK_THAT(wrong(""), Catch::Contains("no user"));
  CHECK_THAT(wrong("# only\n"), Catch::Contains("no user"));
  CHECK_THAT(wrong("\nme admin *\n"),
             Catch::StartsWith("users:2: ") && Catch::Contains("name role queues hash"));
  CHECK_THAT(wrong("me king * " + hash), Catch::Contains("producer, worker, read-only or admin"));
  CHECK_THAT(wrong("me admin a,,b " + hash), Catch::Contains("queues"));
  CHECK_THAT(wrong("me admin a*b " + hash), Catch::Contains("queues"));
  CHECK_THAT(wrong("me admin * secret"), Catch::Contains("duelease password"));
  CHECK_THAT(wrong("me admin * " + hash + " more"), Catch::Contains("name role queues hash"));
  CHECK_THAT(wrong("me admin * " + hash + "\nme admin * " + hash), Catch::StartsWith("users:2: "));
  CHECK(server::Users::parse("me admin * " + hash + "\r\n", "users"));
  CHECK_FALSE(make_user_line("a b", "admin", "*", "x"));
  CHECK_FALSE(make_user_line("me", "admin", "*", ""));
}

TEST_CASE("a password is right once, and right again", "[server][users]") {
  const auto users = test::well(server::Users::parse(users_text(), "users"));
  CHECK(users->find("shop", "two") == nullptr);
  for (int i = 0; i < 2; ++i) {
    const server::User* const found = users->find("shop", "one");
    REQUIRE(found != nullptr);
    CHECK(found->name == "shop");
    CHECK(users->find("shop", "two") == nullptr);
    CHECK(users->find("payer", "one") == nullptr);
    CHECK(users->find("nobody", "one") == nullptr);
  }
}

TEST_CASE("a worker's name and its request id give nobody the orders of a queue that is not theirs",
          "[server][users]") {
  Guarded guarded;
  Client admin(guarded.server.port());
  REQUIRE(admin.ask("AUTH four") == "+OK");
  REQUIRE(admin.ask("SCHEDULE bank 1 NOW PAYLOAD secret") == "+SCHEDULED");
  REQUIRE_THAT(admin.ask("CLAIM bank w REQUEST r"), Catch::Contains("secret"));
  Client payer(guarded.server.port());
  REQUIRE(payer.ask("AUTH payer two") == "+OK");
  CHECK(payer.ask("CLAIM unpaid w REQUEST r") == "[]");
}

TEST_CASE("who has logged in before need not wait for those who guess", "[server][users]") {
  Guarded guarded;
  Client first(guarded.server.port());
  REQUIRE(first.ask("AUTH shop one") == "+OK");
  std::vector<std::unique_ptr<Client>> guessing;
  for (int i = 0; i < 40; ++i) {
    guessing.push_back(std::make_unique<Client>(guarded.server.port()));
    guessing.back()->send("AUTH shop guess\n");
  }
  Client again(guarded.server.port());
  again.send("AUTH shop one\nSCHEDULE shop.a 1 NOW\n");
  CHECK(again.reply() == "+OK");
  CHECK(again.reply() == "+SCHEDULED");
  CHECK_FALSE(guessing.back()->has_come());
}
