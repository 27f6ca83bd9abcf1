// `duelease serve` and `duelease password`, as a user sees them.
#include <sys/socket.h>
#include <sys/un.h>

#include "program.h"

using duelease::test::eventually;
using duelease::test::port_of;
using duelease::test::Ran;
using duelease::test::Running;
using duelease::test::Shop;
using duelease::test::write_file;

namespace {

// What the server answers to these lines.
std::string say(const std::string& port, const std::string& lines) {
  const std::string command =
      "exec 3<>/dev/tcp/127.0.0.1/" + port + "; printf '" + lines + "QUIT\\n' >&3; cat <&3";
  FILE* const pipe = ::popen(("bash -c \"" + command + "\"").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char buffer[4096];
  std::size_t got = 0;
  while ((got = ::fread(buffer, 1, sizeof buffer, pipe)) > 0) out.append(buffer, got);
  ::pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("serve answers, and ends well with SIGTERM", "[cli][serve]") {
  const Shop shop;
  const int signal = GENERATE(SIGTERM, SIGINT);
  const auto server = shop.start({"serve", "--port", "0"});
  CHECK(say(port_of(*server), "SCHEDULE q 1 NOW\\nPING\\n") == "+SCHEDULED\r\n+PONG\r\n+OK\r\n");
  CHECK(shop.run({"stats"}).exit == 4);  // The store is locked.
  server->signal(signal);
  const Ran ran = server->wait();
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.err, Catch::Contains("stopping") && Catch::EndsWith("closed\n"));
  CHECK(shop.order("q", "1")["state"] == "WAIT");
}

TEST_CASE("a second SIGTERM ends serve at once", "[cli][serve]") {
  const Shop shop;
  const auto server = shop.start({"serve", "--port", "0", "--stop-deadline", "1h"});
  const std::string port = port_of(*server);
  // Holds an order until the server closes.
  FILE* const worker =
      ::popen(("bash -c \"exec 3<>/dev/tcp/127.0.0.1/" + port +
               "; printf 'SCHEDULE q 1 NOW\\nCLAIM q w\\n' >&3; cat <&3\" >" + shop.path("said").string())
                  .c_str(),
              "r");
  REQUIRE(eventually([&] {
    return std::filesystem::exists(shop.path("said")) &&
           duelease::test::read_file(shop.path("said")).find("*9") != std::string::npos;
  }));
  server->signal(SIGTERM);
  REQUIRE(eventually([&] { return server->err_so_far().find("stopping") != std::string::npos; }));
  server->signal(SIGTERM);
  CHECK(server->wait().exit == 0);
  ::pclose(worker);
}

TEST_CASE("serve killed and started again keeps what it acknowledged, and its leases", "[cli][serve]") {
  const Shop shop;
  const std::string claim = "CLAIM q w REQUEST r LEASE 1h\\n";
  std::string first;
  {
    const auto server = shop.start({"serve", "--port", "0"});
    first = say(port_of(*server), "SCHEDULE q 1 NOW\\n" + claim);
    CHECK_THAT(first, Catch::StartsWith("+SCHEDULED\r\n*1\r\n"));
    server->signal(SIGKILL);
    server->wait();
  }
  const auto server = shop.start({"serve", "--port", "0"});
  const std::string port = port_of(*server);
  CHECK_THAT(say(port, "CLAIM q another\\n"), Catch::StartsWith("*0\r\n"));
  // The token, and more: the end of the lease may have moved by a little.
  const std::string again = say(port, claim);
  const std::size_t head = std::string("*1\r\n*9\r\n$1\r\n1\r\n:2\r\n:1\r\n").size();
  CHECK(again.substr(0, head) == first.substr(std::string("+SCHEDULED\r\n").size(), head));
  CHECK_THAT(say(port, "COMPLETE q 1 2\\n"), Catch::StartsWith("+COMPLETED\r\n"));
  server->signal(SIGTERM);
  CHECK(server->wait().exit == 0);
}

TEST_CASE("serve takes its settings from a file, and the command line goes first", "[cli][serve]") {
  const Shop shop;
  write_file(
      shop.path("duelease.toml"),
      "# A comment\nport = 1\nmax-line = \"1KiB\"\nlisten = [\"127.0.0.1\", \"::1\"]\ninsecure = true\n"
      "store = \"" +
          shop.path("another").string() + "\"\ndurability = \"interval\"\n");
  const auto server =
      shop.start_bare({"serve", "--config", shop.path("duelease.toml").string(), "--port", "0"});
  CHECK_THAT(say(port_of(*server), std::string(1100, 'x')), Catch::Contains("1024"));
  server->signal(SIGTERM);
  const Ran ran = server->wait();
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.err, Catch::Contains("listening on ::1"));
  CHECK(std::filesystem::exists(shop.path("another")));

  const auto wrong = [&shop](const std::string& text) {
    write_file(shop.path("wrong.toml"), text);
    const Ran refused = shop.run({"serve", "--port", "0", "--config", shop.path("wrong.toml").string()});
    INFO(refused.err);
    CHECK(refused.exit == 2);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
    return refused.err;
  };
  CHECK_THAT(wrong("ports = 1\n"), Catch::Contains("wrong.toml: there is no setting \"ports\""));
  CHECK_THAT(wrong("max-words = 1\n"), Catch::Contains("max-words: \"1\" is not a whole number from 64"));
  CHECK_THAT(wrong("max-line = \"1 mile\"\n"),
             Catch::Contains("max-line: \"1 mile\" is not a number of bytes"));
  CHECK_THAT(wrong("[server]\nport = 1\n"), Catch::Contains("no \"[server]\""));
  CHECK_THAT(wrong("max-words = 100\nmax-words = 100\n"), Catch::Contains("max-words"));
  CHECK_THAT(wrong("insecure = maybe\n"), Catch::Contains("neither yes nor no"));
  CHECK_THAT(wrong("max-words = [100, 200]\n"), Catch::Contains("one value"));
  CHECK(shop.run({"serve", "--config", shop.path("none").string()}).exit == 2);
}

TEST_CASE("serve refuses what it cannot do", "[cli][serve]") {
  const Shop shop;
  const Ran open = shop.run({"serve", "--port", "0", "--listen", "0.0.0.0"});
  CHECK(open.exit == 2);
  CHECK_THAT(open.err, Catch::Contains("users"));
  CHECK_THAT(shop.run({"serve", "--port", "65536"}).err, Catch::Contains("\"65536\""));
  CHECK(shop.run_bare({"serve", "--port", "0"}).exit == 2);

  const auto first = shop.start({"serve", "--port", "0"});
  port_of(*first);
  const Ran locked = shop.run({"serve", "--port", "0"});
  CHECK(locked.exit == 4);
}

TEST_CASE("every limit is in the help of serve", "[cli][serve]") {
  const Shop shop;
  const std::string help = shop.run({"serve", "--help"}).out;
  for (const char* name : {"--max-connections", "10000",           "--max-request",   "1088KiB",
                           "--max-line",        "64KiB",           "--max-reply",     "64MiB",
                           "--max-held",        "--max-pipeline",  "--max-words",     "--max-unsent",
                           "--idle-timeout",    "--login-timeout", "--write-timeout", "--stop-deadline",
                           "--users",           "--tls-cert",      "--tls-client-ca", "--config"}) {
    INFO(name);
    CHECK_THAT(help, Catch::Contains(name));
  }
}

TEST_CASE("password makes a line with which one can log in", "[cli][serve]") {
  const Shop shop;
  const Ran made = shop.run_bare({"password", "me", "admin", "*"}, "open sesame\n");
  REQUIRE(made.exit == 0);
  CHECK_THAT(made.out, Catch::StartsWith("me admin * $argon2id$"));
  CHECK_THAT(made.out + made.err, !Catch::Contains("sesame"));
  CHECK(shop.run_bare({"password", "me", "king", "*"}, "x\n").exit == 2);
  CHECK(shop.run_bare({"password", "me", "admin", "*"}, "\n").exit == 2);
  write_file(shop.path("users"), "# us\n" + made.out);

  const auto server = shop.start({"serve", "--port", "0", "--users", shop.path("users").string()});
  const std::string said = say(port_of(*server), "PING\\nAUTH me \\\"open sesame\\\"\\nPING\\n");
  CHECK_THAT(said, Catch::StartsWith("-NOAUTH ") && Catch::EndsWith("+OK\r\n+PONG\r\n+OK\r\n"));
}

TEST_CASE("serve tells a service manager when it is ready", "[cli][serve]") {
  const Shop shop;
  const std::string path = shop.path("notify").string();
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const timeval minute{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
  const auto told = [fd] {
    char buffer[64];
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    return std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  };
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  const auto server = shop.start({"serve", "--port", "0"});
  ::unsetenv("NOTIFY_SOCKET");
  CHECK(told() == "READY=1");
  server->signal(SIGTERM);
  CHECK(told() == "STOPPING=1");
  CHECK(server->wait().exit == 0);
  ::close(fd);
}

TEST_CASE("serve takes fewer connections where the system allows few open files", "[cli][serve]") {
  const Shop shop;
  const Ran ran = shop.run_in_shell("ulimit -n 100; exec timeout 1 \"$@\"",
                                    {"serve", "--port", "0", "--max-connections", "80"});
  CHECK_THAT(ran.err, Catch::Contains("at most 50 connections are taken"));
}

TEST_CASE("serve refuses a file of settings that is a folder, and a memtable beyond all memory",
          "[cli][serve]") {
  const Shop shop;
  const Ran folder = shop.run({"serve", "--port", "0", "--config", shop.path("").string()});
  CHECK(folder.exit == 2);
  CHECK_THAT(folder.err, Catch::Contains("cannot be read"));
  const Ran memtable = shop.run({"serve", "--port", "0", "--memtable", "65GiB"});
  CHECK(memtable.exit == 4);
  CHECK_THAT(memtable.err, Catch::Contains("allowed are 65536 to 68719476736"));
}
