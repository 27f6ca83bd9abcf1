// The same sessions over TLS.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "client.h"
#include "server/asio.h"

using namespace duelease;
using duelease::test::LiveServer;
namespace ssl = boost::asio::ssl;

namespace {

// An authority, and what it signed for a server and a client; made by the openssl program.
class Certificates {
 public:
  Certificates() {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout "
        "ca.key "
        "-out ca.pem");
    sign("server");
    sign("client");
  }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  void sign(const std::string& name) const {
    run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " + name +
        ".key -out " + name + ".csr");
    run("x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out " + name +
        ".pem");
  }
  void run(const std::string& what) const {
    const std::string command = "cd " + folder_.path().string() + " && openssl " + what + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  }
  test::TemporaryFolder folder_;
};

const Certificates& certificates() {
  static const Certificates made;
  return made;
}

ServerOptions over_tls() {
  ServerOptions options = test::any_port();
  options.tls_cert = certificates().path("server.pem");
  options.tls_key = certificates().path("server.key");
  return options;
}

class TlsClient {
 public:
  explicit TlsClient(std::uint16_t port, bool with_certificate = false) {
    context_.load_verify_file(certificates().path("ca.pem").string());
    context_.set_verify_mode(ssl::verify_peer);
    if (with_certificate) {
      context_.use_certificate_chain_file(certificates().path("client.pem").string());
      context_.use_private_key_file(certificates().path("client.key").string(), ssl::context::pem);
    }
    stream_.emplace(io_, context_);
    stream_->next_layer().connect({boost::asio::ip::address_v4::loopback(), port});
    stream_->handshake(ssl::stream_base::client);
  }
  void send(std::string_view bytes) { boost::asio::write(*stream_, boost::asio::buffer(bytes)); }
  // Throws when the connection ends.
  std::string reply() {
    for (;;) {
      if (auto reply = test::well(replies_.next())) return test::shown(*reply);
      char buffer[16 * 1024];
      replies_.feed({buffer, stream_->read_some(boost::asio::buffer(buffer))});
    }
  }

 private:
  boost::asio::io_context io_;
  ssl::context context_{ssl::context::tls_client};
  std::optional<ssl::stream<boost::asio::ip::tcp::socket>> stream_;
  protocol::ReplyReader replies_;
};

}  // namespace

TEST_CASE("over TLS, small and large, to the end", "[server][tls]") {
  LiveServer server(over_tls());
  TlsClient client(server.port());
  client.send("PING\nSCHEDULE q 1 NOW\nORDER q 2\n");
  CHECK(client.reply() == "+PONG");
  CHECK(client.reply() == "+SCHEDULED");
  CHECK(client.reply() == "nil");
  const std::string payload(900'000, 'x');
  std::thread sender([&] {
    for (int i = 0; i < 5; ++i) {
      client.send(test::in_array_form({"SCHEDULE", "large", std::to_string(i), "NOW", "PAYLOAD", payload}));
    }
  });
  sender.join();  // The server takes all before it is read.
  for (int i = 0; i < 5; ++i) CHECK(client.reply() == "+SCHEDULED");
  client.send("ORDER large 3\nQUIT\n");
  CHECK_THAT(client.reply(), Catch::Contains(payload));
  CHECK(client.reply() == "+OK");
  CHECK_THROWS_AS(client.reply(), boost::system::system_error);
}

TEST_CASE("a dead client over TLS is noticed while it waits", "[server][tls]") {
  LiveServer server(over_tls());
  TlsClient alive(server.port());
  const auto waiting = [&alive](int count) {
    return test::eventually([&alive, count] {
      alive.send("INFO\n");
      return alive.reply().find("claims_waiting:" + std::to_string(count)) != std::string::npos;
    });
  };
  {
    TlsClient dead(server.port());
    dead.send("CLAIM q w WAIT 1h\n");
    REQUIRE(waiting(1));
  }
  REQUIRE(waiting(0));
}

TEST_CASE("plain text to a TLS port ends that connection, and so does silence", "[server][tls]") {
  ServerOptions options = over_tls();
  options.handshake_timeout = Duration{100};
  LiveServer server(options);
  test::Client plain(server.port());
  plain.send("PING\r\n");
  CHECK(plain.closed_by_server());
  test::Client silent(server.port());
  CHECK(silent.closed_by_server());
  TlsClient client(server.port());
  client.send("PING\n");
  CHECK(client.reply() == "+PONG");
}

TEST_CASE("with an authority for clients, only those with its certificate are served", "[server][tls]") {
  ServerOptions options = over_tls();
  options.tls_client_ca = certificates().path("ca.pem");
  LiveServer server(options);
  const auto without = [&server] {
    TlsClient client(server.port());
    client.send("PING\n");
    client.reply();
  };
  CHECK_THROWS_AS(without(), boost::system::system_error);
  TlsClient client(server.port(), true);
  client.send("PING\n");
  CHECK(client.reply() == "+PONG");
}
