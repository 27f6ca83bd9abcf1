// duelease work, as a user sees it.
#include "program.h"

using duelease::test::eventually;
using duelease::test::Ran;
using duelease::test::read_file;
using duelease::test::Shop;
using nlohmann::json;

namespace {

std::vector<std::string> work_of(const std::string& command, std::vector<std::string> more = {"--drain"}) {
  std::vector<std::string> arguments = {"work", "--queue", "q", "--exec", command};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("a command gets the payload and the names, its output becomes the result", "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "10248", "pay\nload");
  const Ran ran =
      shop.ask(work_of("cat; printf ' %s/%s %s' $DUELEASE_QUEUE $DUELEASE_ID $DUELEASE_ATTEMPT; "
                       "test $DUELEASE_TOKEN -gt 0"));
  CHECK(ran.exit == 0);
  const json order = shop.order("q", "10248");
  CHECK(order["state"] == "SUCCESS");
  CHECK(order["result"] == "pay\nload q/10248 1");
  const std::vector<json> lines = ran.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["event"] == "done");
  CHECK(lines[0]["id"] == "10248");
  CHECK(lines[0]["token"] == order["token"]);
  CHECK(lines[0]["end"] == "exit 0");
  CHECK(lines[1] == json{{"event", "summary"},
                         {"claimed", 1},
                         {"completed", 1},
                         {"failed", 0},
                         {"released", 0},
                         {"lost", 0}});
}

TEST_CASE("the result is the first 64 KiB of the output, as bytes", "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  CHECK(shop.run(work_of("head -c 1000000 /dev/zero")).exit == 0);
  CHECK(shop.run({"order", "q", "1", "--only", "result"}).out == std::string(65'536, '\0'));
}

TEST_CASE("a command that fails fails its order, with the reason", "[cli][work]") {
  const Shop shop;
  REQUIRE(shop.run({"queue", "set", "q", "--backoff-base", "1h"}).exit == 0);
  shop.schedule("q", "exit");
  shop.schedule("q", "signal");
  const Ran ran =
      shop.run(work_of("[ $DUELEASE_ID = signal ] && kill -KILL $$; echo no such customer >&2; exit 3"));
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::Contains("failed q exit: attempt 1") &&
                          Catch::Contains("2 claimed: 0 completed, 2 failed"));
  CHECK_THAT(ran.err, Catch::Contains("no such customer\n"));
  const json order = shop.order("q", "exit");
  CHECK(order["state"] == "WAIT");
  CHECK(order["failures"] == 1);
  CHECK(order["error"] == "exit 3: no such customer");
  CHECK(shop.order("q", "signal")["error"] == "killed by SIGKILL");
}

TEST_CASE("a payload larger than a pipe does no harm, read or not", "[cli][work]") {
  const Shop shop;
  const std::string payload(1'000'000, 'x');
  REQUIRE(shop.run({"schedule", "q", "1", "--due", "0", "--payload-file", "-"}, payload).exit == 0);
  REQUIRE(shop.run({"schedule", "q", "2", "--due", "0", "--payload-file", "-"}, payload).exit == 0);
  CHECK(shop.run(work_of("[ $DUELEASE_ID = 1 ] && exit 0; cat; cat /dev/null")).exit == 0);
  CHECK(shop.order("q", "1")["state"] == "SUCCESS");
  CHECK(shop.order("q", "2")["result"] == payload.substr(0, 65'536));
}

TEST_CASE("of several queues the first named is served first", "[cli][work]") {
  const Shop shop;
  for (const char* id : {"1", "2"}) shop.schedule("slow", id), shop.schedule("fast", id);
  const std::string log = shop.path("log").string();
  CHECK(shop.run({"work", "--queue", "fast,slow", "--exec", "echo $DUELEASE_QUEUE$DUELEASE_ID >>" + log,
                  "--drain"})
            .exit == 0);
  CHECK(read_file(log) == "fast1\nfast2\nslow1\nslow2\n");
}

TEST_CASE("many commands at a time do each order once", "[cli][work]") {
  const Shop shop;
  std::string rows = "id,due\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(i) + ",1996-01-01\n";
  REQUIRE(shop.run({"import", "--queue", "q", "--id", "id", "--due", "due", "-"}, rows).exit == 0);
  const std::string log = shop.path("log").string();
  const Ran ran = shop.ask(work_of("echo $DUELEASE_ID >>" + log, {"--drain", "--concurrency", "8"}));
  CHECK(ran.exit == 0);
  CHECK(ran.lines().back()["completed"] == 60);
  const std::string text = read_file(log);
  CHECK(std::count(text.begin(), text.end(), '\n') == 60);
  CHECK(shop.stats("q")["SUCCESS"] == 60);
}

TEST_CASE("the first signal lets commands end, and starts none", "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  shop.schedule("q", "2");
  const std::string go = shop.path("go").string();
  const auto working =
      shop.start(work_of("echo started >&2; until [ -e " + go + " ]; do sleep 0.01; done; echo ended", {}));
  REQUIRE(eventually([&] { return working->err_so_far() == "started\n"; }));
  working->signal(SIGTERM);
  REQUIRE(eventually([&] { return working->err_so_far().find("stopping") != std::string::npos; }));
  duelease::test::write_file(go, "");
  const Ran ran = working->wait();
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::Contains("1 claimed: 1 completed"));
  CHECK(shop.order("q", "1")["result"] == "ended\n");
  CHECK(shop.order("q", "2")["state"] == "WAIT");
  CHECK(shop.order("q", "2")["attempt"] == 0);
}

TEST_CASE("the second signal ends the commands and gives their orders back, the try not counted",
          "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  const auto working = shop.start(work_of("echo started >&2; exec sleep 60", {}));
  REQUIRE(eventually([&] { return working->err_so_far() == "started\n"; }));
  working->signal(SIGINT);
  REQUIRE(eventually([&] { return working->err_so_far().find("stopping") != std::string::npos; }));
  working->signal(SIGINT);
  const Ran ran = working->wait();
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::Contains("released q 1"));
  const json order = shop.order("q", "1");
  CHECK(order["state"] == "WAIT");
  CHECK(order["attempt"] == 1);
  CHECK(order["tries_used"] == 0);
}

TEST_CASE("a stop may have an end set", "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  const auto working = shop.start(work_of("trap '' TERM; echo started >&2; while :; do sleep 0.01; done",
                                          {"--stop-after", "50ms", "--kill-after", "50ms"}));
  REQUIRE(eventually([&] { return working->err_so_far() == "started\n"; }));
  working->signal(SIGTERM);
  CHECK(working->wait().exit == 0);
  CHECK(shop.order("q", "1")["state"] == "WAIT");
}

TEST_CASE("an order that falls due later is done then", "[cli][work]") {
  const Shop shop;
  REQUIRE(shop.run({"schedule", "q", "1", "--due", "+300ms"}).exit == 0);
  const auto working = shop.start(work_of("echo done >&2", {}));
  CHECK(eventually([&] { return working->err_so_far() == "done\n"; }));
  working->signal(SIGTERM);
  CHECK(working->wait().exit == 0);
  CHECK(shop.order("q", "1")["state"] == "SUCCESS");
}

TEST_CASE("an order keeps its lease while its command runs longer than it", "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  const Ran ran = shop.ask(work_of("sleep 1.2", {"--drain", "--lease", "300ms"}));
  CHECK(ran.lines().back()["completed"] == 1);
  CHECK(shop.order("q", "1")["attempt"] == 1);
}

TEST_CASE("a command whose lease is lost is ended, and the order goes to whoever claims it next",
          "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  const auto working = shop.start(
      work_of("echo attempt $DUELEASE_ATTEMPT >&2; [ $DUELEASE_ATTEMPT = 1 ] && exec sleep 60; exit 0",
              {"--lease", "200ms", "--verbose"}));
  REQUIRE(eventually([&] { return working->err_so_far() == "attempt 1\n"; }));
  // A machine that sleeps for longer than the lease. The pause is the case itself.
  working->signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds{500});
  working->signal(SIGCONT);
  REQUIRE(eventually([&] { return working->out_so_far().find("done q 1") != std::string::npos; }));
  working->signal(SIGTERM);
  const Ran ran = working->wait();
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::Contains("lost q 1: attempt 1") && Catch::Contains("2 claimed: 1 completed"));
  CHECK(shop.order("q", "1")["state"] == "SUCCESS");
  CHECK(shop.order("q", "1")["attempt"] == 2);
}

TEST_CASE("a worker says what it waits for, and what it could not do", "[cli][work]") {
  const Shop shop;
  shop.leave_to_a_dead_worker("q", "1", "1h");
  CHECK(shop.run(work_of("true")).err == "duelease: queue q: 1 order under lease elsewhere\n");
  CHECK(shop.order("q", "1")["state"] == "PROCESSING");

  const Ran drained = shop.run({"work", "--queue", "none", "--exec", "true", "--drain"});
  CHECK(drained.exit == 0);
  CHECK(drained.err == "duelease: there is no queue none yet\n");
  const auto waiting = shop.start({"work", "--queue", "none", "--exec", "true"});
  CHECK(eventually([&] {
    return waiting->err_so_far() == "duelease: there is no queue none yet: waiting for its first order\n";
  }));
  waiting->signal(SIGTERM);
  CHECK(waiting->wait().exit == 0);
}

TEST_CASE("a worker ends when it is told to, whatever the server says", "[cli][work]") {
  const bool at_start = GENERATE(true, false);
  const bool hangs_up = GENERATE(true, false);
  INFO(at_start << hangs_up);
  const Shop shop;
  // Greets; what is asked for then has CLOSING as its answer, or the end of the connection. Tells what it was asked.
  const std::string script = R"(
import socketserver, sys
answer_queue, hangs_up = sys.argv[1] == '1', sys.argv[2] == '1'
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
            print(words[0].decode(), flush=True)
            if words[0] == b'PING':
                self.wfile.write(b'+PONG\r\n')
            elif words[0] == b'QUEUE' and answer_queue:
                self.wfile.write(b'-NOTFOUND no such queue\r\n')
            elif hangs_up:
                return
            else:
                self.wfile.write(b'-CLOSING for good\r\n')
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
server = Server(('127.0.0.1', 0), Handler)
print('port', server.server_address[1], flush=True)
server.serve_forever()
)";
  const duelease::test::Running server(shop.path("."), "/usr/bin/python3",
                                       {"-c", script, at_start ? "0" : "1", hangs_up ? "1" : "0"}, "");
  REQUIRE(eventually([&] { return server.out_so_far().find('\n') != std::string::npos; }));
  const std::string port = std::to_string(std::stoi(server.out_so_far().substr(5)));
  const auto working =
      shop.start_bare({"--server", "127.0.0.1:" + port, "work", "--queue", "q,r,s", "--exec", "true"});
  REQUIRE(eventually(
      [&] { return server.out_so_far().find(at_start ? "QUEUE" : "CLAIM") != std::string::npos; }));
  const auto start = std::chrono::steady_clock::now();
  working->signal(SIGTERM);
  const Ran ran = working->wait();
  INFO(ran.err);
  CHECK(ran.exit == (at_start ? 1000 + SIGTERM : 0));
  CHECK(std::chrono::steady_clock::now() < start + std::chrono::seconds{20});
}

TEST_CASE("wrong options of a worker end with 2", "[cli][work]") {
  const Shop shop;
  shop.schedule("q", "1");
  CHECK(shop.run(work_of("true", {"--concurrency", "0"})).exit == 2);
  CHECK(shop.run(work_of("true", {"--concurrency", "1025"})).exit == 2);
  CHECK(shop.run(work_of("true", {"--drain", "--lease", "31d"})).exit == 2);
  const Ran grace = shop.run(work_of("true", {"--drain", "--grace", "61m"}));
  CHECK(grace.exit == 2);
  CHECK(grace.err == "duelease: --grace: 1 h 1 min is more than 1 h\n");
  CHECK(shop.run(work_of("true", {"--drain", "--name", std::string(129, 'n')})).exit == 2);
  CHECK(shop.run({"work", "--queue", "q,", "--exec", "true", "--drain"}).exit == 2);
  CHECK(shop.order("q", "1")["state"] == "WAIT");
}
