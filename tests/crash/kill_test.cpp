// kill_at_every_step, with a real process and a real kill -9 at random moments: nothing that was
// acknowledged is lost at any level of durability, and tokens go on rising.
//
// The process that is killed is this program again, run with the hidden test "the process that is killed".
// It works with four threads and writes each acknowledged change, one line each, to a pipe before it goes
// on; what is in the pipe when it dies is what the next open must find.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "duelease/engine.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* child_name = "the process that is killed";
constexpr int pipe_fd = 3;

Options kill_options(Durability durability) {
  Options options;
  options.durability = durability;
  options.sync_interval = Duration{20};
  options.memtable_bytes = 512 * 1024;  // Flushes are killed as well.
  options.restart_grace = Duration{3'600'000};
  return options;
}

// ---- The process that is killed -----------------------------------------------------------------

// What a line says was acknowledged.
enum class Step : char {
  scheduled = 's',
  cancelled = 'x',
  claimed = 'c',
  released = 'r',
  failed = 'f',
  completed = 'd',
};

void say(Step step, const std::string& id, Token token) {
  const std::string line = std::string(1, static_cast<char>(step)) + " " + id + " " +
                           std::to_string(static_cast<std::uint64_t>(token)) + "\n";
  if (::write(pipe_fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(2);
}

template <class T>
T must(Result<T> result) {
  if (!result) ::_exit(3);
  return std::move(*result);
}

class Worker {
 public:
  Worker(Engine& engine, std::string name)
      : engine_(engine), name_(std::move(name)), random_(std::random_device{}()) {}

  [[noreturn]] void run() {
    for (std::uint64_t i = 0;; ++i) {
      schedule(name_ + "-" + std::to_string(i));
      if (i % 4 == 3) work();
    }
  }

 private:
  void schedule(std::string id) {
    ScheduleRequest request;
    request.queue = "q";
    request.id = id;
    request.key = "key-" + id;
    request.payload = std::string(random_() % 1000, 'p');
    must(engine_.schedule(std::move(request)));
    say(Step::scheduled, id, Token{0});
    if (random_() % 8 == 0) cancel(std::move(id));
  }

  void cancel(std::string id) {
    // Another thread may have claimed it by now.
    if (must(engine_.cancel({"q", id, false})).outcome == Outcome::aborted)
      say(Step::cancelled, id, Token{0});
  }

  void work() {
    const std::vector<Claimed> orders =
        must(engine_.claim({.queues = {"q"}, .worker = name_, .count = 3, .lease = {}, .request = ""}));
    for (const Claimed& order : orders) say(Step::claimed, order.id, order.token);
    for (const Claimed& order : orders) report(order);
  }

  void report(const Claimed& order) {
    switch (random_() % 8) {
      case 0: return;  // Its lease stays.
      case 1:
        must(engine_.release({"q", order.id, order.token, {}}));
        return say(Step::released, order.id, order.token);
      case 2:
        must(engine_.fail({"q", order.id, order.token, "failed", {}, true}));
        return say(Step::failed, order.id, order.token);
      default: break;
    }
    const std::string effect = std::to_string(static_cast<std::uint64_t>(order.token));
    must(engine_.complete({"q", order.id, order.token, {}, {{"effect-" + order.id, effect}}}));
    say(Step::completed, order.id, order.token);
  }

  Engine& engine_;
  const std::string name_;
  std::mt19937_64 random_;
};

// ---- The one that kills -------------------------------------------------------------------------

// The last that was acknowledged of an order. Steps under a later token are later; a cancel ends it.
struct Known {
  Token token{};
  Step step = Step::scheduled;

  auto rank() const {
    return std::tuple(step == Step::cancelled, token, step != Step::scheduled && step != Step::claimed);
  }
};

class Killer {
 public:
  explicit Killer(Durability durability) : durability_(durability), random_(std::random_device{}()) {}

  void round(int number) {
    INFO("round " << number);
    const std::size_t lines = run_and_kill(number);
    CHECK(lines > 0);
    check();
  }

 private:
  std::string path() const { return (folder_ / "store").string(); }

  // Answers how many lines came.
  std::size_t run_and_kill(int round) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = start(round, ends);
    ::close(ends[1]);
    std::string text;
    std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + 120s;
    bool killed = false;
    char buffer[4096];
    for (;;) {
      if (!killed && std::chrono::steady_clock::now() >= end) {
        ::kill(child, SIGKILL);
        killed = true;
        REQUIRE(::fcntl(ends[0], F_SETFL, 0) == 0);  // From here on to the end of the pipe.
      }
      const ssize_t size = ::read(ends[0], buffer, sizeof buffer);
      if (size == 0) break;
      if (size < 0) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      if (text.empty()) end = std::chrono::steady_clock::now() + std::chrono::milliseconds(random_() % 150);
      text.append(buffer, static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    INFO("exit status " << status);
    REQUIRE(WIFSIGNALED(status));  // Else it ended by itself: by an error.
    return learn(text);
  }

  pid_t start(int round, const int (&ends)[2]) {
    const std::string settings =
        std::to_string(static_cast<int>(durability_)) + " " + std::to_string(round) + " " + path();
    REQUIRE(::setenv("DUELEASE_KILL_TEST", settings.c_str(), 1) == 0);
    REQUIRE(::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    REQUIRE(::fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0);
    const char* const arguments[] = {"/proc/self/exe", child_name, nullptr};
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {  // Only system calls here: the threads of RocksDB were not forked.
      const int nothing = ::open("/dev/null", O_WRONLY);
      if (::dup2(ends[1], pipe_fd) < 0 || ::dup2(nothing, STDOUT_FILENO) < 0) ::_exit(4);
      if (ends[1] != pipe_fd) ::close(ends[1]);
      ::execv(arguments[0], const_cast<char* const*>(arguments));
      ::_exit(5);
    }
    ::unsetenv("DUELEASE_KILL_TEST");
    return child;
  }

  std::size_t learn(const std::string& text) {
    std::istringstream in(text);
    std::size_t lines = 0;
    char step = 0;
    std::string id;
    std::uint64_t token = 0;
    while (in >> step >> id >> token) {
      ++lines;
      const Known known{Token{token}, static_cast<Step>(step)};
      Known& last = known_[id];
      if (known.rank() >= last.rank()) last = known;
      if (known.step != Step::claimed) continue;
      if (token <= sequence_) FAIL("token " << token << " is not above those of the processes before");
      if (!tokens_.emplace(token, id).second) FAIL("token " << token << " was given twice");
    }
    return lines;
  }

  void check() {
    Result<std::unique_ptr<Engine>> engine = Engine::open(path(), kill_options(durability_));
    if (!engine) FAIL(engine.error().message);
    const Result<CheckReport> report = (*engine)->check();
    REQUIRE(report);
    CHECK(report->violations() == 0);
    CHECK((*engine)->mended().empty());
    sequence_ = *(*engine)->last_sequence();
    if (!tokens_.empty()) CHECK(sequence_ >= tokens_.rbegin()->first);
    for (const auto& [id, known] : known_) {
      const Result<std::optional<Order>> order = (*engine)->order("q", id);
      const Result<std::optional<std::string>> effect = (*engine)->app_get("effect-" + id);
      INFO(id << ": last acknowledged " << static_cast<char>(known.step) << " under token "
              << static_cast<std::uint64_t>(known.token));
      if (!order || !effect) FAIL("it cannot be read");
      if (!*order) FAIL("it is gone");
      INFO("found " << state_name((*order)->state) << " under token "
                    << static_cast<std::uint64_t>((*order)->token));
      if (!fits(known, **order)) FAIL("the state is none that it can be in");
      // The app's row changed with the order, or not at all.
      const std::string token = std::to_string(static_cast<std::uint64_t>((*order)->token));
      const bool done = (*order)->state == State::success;
      if (*effect != (done ? std::optional(token) : std::nullopt))
        FAIL("the effect is " << effect->value_or("not there"));
    }
  }

  // Whether the order can have got there from what was acknowledged last, by what may have been under way:
  // what its holder said, the next claim, and a cancel.
  static bool fits(const Known& known, const Order& order) {
    const State state = order.state;
    const bool free = state == State::wait || state == State::processing || state == State::aborted;
    switch (known.step) {
      case Step::scheduled: return free;
      case Step::cancelled: return state == State::aborted;
      case Step::claimed:
        return order.token == known.token || (order.token > known.token && state == State::processing);
      case Step::released: return order.token >= known.token && free;
      case Step::failed: return order.token == known.token && state == State::failed;
      case Step::completed: return order.token == known.token && state == State::success;
    }
    return false;
  }

  const Durability durability_;
  const TemporaryFolder folder_;
  std::mt19937_64 random_;
  std::map<std::string, Known> known_;
  std::map<std::uint64_t, std::string> tokens_;  // Of all claims.
  std::uint64_t sequence_ = 0;                   // At the last open.
};

}  // namespace

TEST_CASE("the process that is killed", "[.child]") {
  const char* settings = std::getenv("DUELEASE_KILL_TEST");
  if (settings == nullptr) return;
  std::istringstream in(settings);
  int durability = 0;
  std::string round;
  std::string path;
  in >> durability >> round >> path;
  const std::unique_ptr<Engine> engine =
      must(Engine::open(path, kill_options(static_cast<Durability>(durability))));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&engine, name = round + "-" + std::to_string(i)] { Worker(*engine, name).run(); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("kill_at_every_step: kill -9 at random moments loses nothing acknowledged, at any level") {
  const Durability durability = GENERATE(Durability::sync, Durability::interval, Durability::none);
  INFO("level " << static_cast<int>(durability));
  Killer killer(durability);
  for (int round = 0; round < 10; ++round) killer.round(round);
}
