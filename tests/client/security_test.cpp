// Passwords and TLS.
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>

#include "client/served.h"
#include "support/certificate.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

// A server with users ann (admin) and bob (producer of queue "shop").
class Guarded {
 public:
  Served& served() { return *served_; }
  ClientOptions as(std::string user, std::string password) {
    ClientOptions options = served_->client_options();
    options.user = std::move(user);
    options.password = std::move(password);
    return options;
  }

 private:
  std::unique_ptr<Served> make() {
    ServerOptions options = at_any_port();
    options.users_file = folder_ / "users";
    std::ofstream file(options.users_file);
    file << well(make_user_line("ann", "admin", "*", "secret")) << "\n"
         << well(make_user_line("bob", "producer", "shop", "tiger")) << "\n";
    file.close();
    return std::make_unique<Served>(options);
  }
  TemporaryFolder folder_;
  std::unique_ptr<Served> served_ = make();
};

Error refusal(const ClientOptions& options) {
  const auto client = Client::connect(options);
  REQUIRE_FALSE(client);
  return client.error();
}

class Encrypted {
 public:
  explicit Encrypted(const std::string& names)
      : certificate(make_certificate(folder_.path(), "server", names)), served(options()) {}
  ClientOptions client_options() {
    ClientOptions client = served.client_options();
    client.tls.enabled = true;
    client.tls.ca_file = certificate.certificate_file;
    return client;
  }

 private:
  ServerOptions options() const {
    ServerOptions server = at_any_port();
    server.tls_cert = certificate.certificate_file;
    server.tls_key = certificate.key_file;
    return server;
  }
  TemporaryFolder folder_;

 public:
  const Certificate certificate;
  Served served;
  const TemporaryFolder& folder() const { return folder_; }
};

}  // namespace

TEST_CASE("a password opens, a wrong one is denied", "[client]") {
  Guarded guarded;
  const auto client = well(Client::connect(guarded.as("ann", "secret")));
  CHECK(well(client->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
  guarded.served().proxy().cut();  // The next connection says it as well.
  CHECK(well(client->claim(claim_of("q", "w", 1, 1h))).size() == 1);

  CHECK(refusal(guarded.as("ann", "wrong")).code == Code::denied);
  CHECK(refusal(guarded.as("eve", "secret")).code == Code::denied);
}

TEST_CASE("without a password everything is denied", "[client]") {
  Guarded guarded;
  const auto client = Client::connect(guarded.as("", ""));
  if (client) {
    const Result<Answer> answer = (*client)->schedule(order_of("q", "a"));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::denied);
  } else {
    CHECK(client.error().code == Code::denied);
  }
}

TEST_CASE("what a user may not do is denied, and the connection goes on", "[client]") {
  Guarded guarded;
  const auto client = well(Client::connect(guarded.as("bob", "tiger")));
  const Result<Answer> elsewhere = client->schedule(order_of("q", "a"));
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().code == Code::denied);
  CHECK_THAT(elsewhere.error().message, Catch::Contains("bob"));
  CHECK(well(client->schedule(order_of("shop", "a"))).outcome == Outcome::scheduled);
}

TEST_CASE("a wrong password is told to calls that wait for the connection", "[client]") {
  Guarded guarded;
  ClientOptions options = guarded.as("ann", "wrong");
  options.connect_at_start = false;
  const auto client = well(Client::connect(options));
  const Result<Answer> answer = client->schedule(order_of("q", "a"));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::denied);
  const Result<std::vector<Claimed>> claimed = client->claim(claim_of("q", "w", 1, 1h));
  REQUIRE_FALSE(claimed);
  CHECK(claimed.error().code == Code::denied);
}

TEST_CASE("calls go over TLS", "[client]") {
  Encrypted encrypted("DNS:localhost,IP:127.0.0.1");
  const auto client = well(Client::connect(encrypted.client_options()));
  ScheduleRequest order = order_of("q", "a");
  order.payload = std::string(1024 * 1024, 'x');  // Many records long.
  CHECK(well(client->schedule(order)).outcome == Outcome::scheduled);
  encrypted.served.proxy().cut();
  const std::vector<Claimed> claimed = well(client->claim(claim_of("q", "w", 1, 1h)));
  CHECK(claimed.at(0).payload == *order.payload);
  std::vector<ScheduleRequest> many;
  for (int i = 0; i < 2000; ++i) many.push_back(order_of("q", std::to_string(i)));
  for (const Result<Answer>& answer : client->schedule(many))
    CHECK(well(answer).outcome == Outcome::scheduled);
}

TEST_CASE("a server that is not vouched for is not spoken to", "[client]") {
  Encrypted encrypted("DNS:elsewhere.example");
  ClientOptions options = encrypted.client_options();
  Error error = refusal(options);  // The certificate is for another host.
  CHECK(error.code == Code::unreachable);
  CHECK_THAT(error.message, Catch::Contains("TLS: "));

  options.tls.verify_host = false;
  well(well(Client::connect(options))->ping());

  options.tls.ca_file = make_certificate(encrypted.folder().path(), "other", "IP:127.0.0.1").certificate_file;
  error = refusal(options);
  CHECK(error.code == Code::unreachable);
  CHECK_THAT(error.message, Catch::Contains("TLS: "));
}

TEST_CASE("plain and TLS do not get along, and say so in time", "[client]") {
  Encrypted encrypted("IP:127.0.0.1");
  ClientOptions plain = encrypted.served.client_options();
  plain.connect_timeout = 2s;
  CHECK(refusal(plain).code == Code::unreachable);

  Served in_the_clear;
  ClientOptions tls = in_the_clear.client_options();
  tls.tls.enabled = true;
  tls.tls.ca_file = encrypted.certificate.certificate_file;
  tls.connect_timeout = 2s;
  CHECK(refusal(tls).code == Code::unreachable);
}
