// kill -9, again and again, at moments that nobody chose: each order takes effect once all the same.
//
// The orders are those of the Northwind sample database where its lines are there (support/shared_sample.h;
// OrderID,CustomerID,OrderDate,RequiredDate,ShippedDate,ProductID,Quantity), else made up.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/live_engine.h"
#include "support/printing.h"
#include "support/shared_sample.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* queue = "settle";

// By order: the first line of each.
std::vector<ScheduleRequest> northwind(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<ScheduleRequest> orders;
  std::set<std::string> seen;
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    if (fields.size() != 7 || !seen.insert(fields[0]).second) continue;
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    if (std::sscanf(fields[3].c_str(), "%d-%u-%u", &year, &month, &day) != 3) continue;
    const std::chrono::sys_days due =
        std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
    ScheduleRequest order = order_of(queue, fields[0], due);
    order.key = "northwind:" + order.id;
    order.payload = line;
    orders.push_back(std::move(order));
  }
  return orders;
}

std::vector<ScheduleRequest> orders_to_settle() {
  if (const std::string path = shared_sample(); !path.empty()) return northwind(path);
  std::vector<ScheduleRequest> orders;
  for (int i = 0; i < 1000; ++i) {
    ScheduleRequest order = order_of(queue, "made-up-" + std::to_string(i), Time{Duration{i}});
    order.key = "key-" + std::to_string(i);
    order.payload = std::string(100, 'x');
    orders.push_back(std::move(order));
  }
  return orders;
}

// The program while it runs.
class Settling {
 public:
  explicit Settling(const fs::path& store) {
    int ends[2];
    // A line is a packet, and the pipe holds 16 of them: so far the program can get ahead of who reads.
    REQUIRE(::pipe2(ends, O_DIRECT | O_CLOEXEC) == 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    std::string program = DUELEASE_SETTLE_NORTHWIND;
    std::string folder = store.string();
    std::string name = queue;
    char* const arguments[] = {program.data(), folder.data(), name.data(), nullptr};
    const int error = ::posix_spawn(&pid_, program.c_str(), &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
    REQUIRE(error == 0);
  }
  ~Settling() {
    if (pid_ > 0) kill();
    ::fclose(output_);
  }
  Settling(const Settling&) = delete;
  Settling& operator=(const Settling&) = delete;

  // Reads up to so many lines; answers how many came before the program ended.
  std::size_t read_lines(std::size_t count) {
    std::size_t lines = 0;
    for (int c = 0; lines < count && (c = std::fgetc(output_)) != EOF;) {
      if (c == '\n') ++lines;
    }
    return lines;
  }
  // Answers how many lines were written and not yet read.
  std::size_t kill() {
    ::kill(pid_, SIGKILL);
    wait();
    return read_lines(SIZE_MAX);
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  FILE* output_ = nullptr;
};

// What is in the store. Answers how many orders have taken effect, each of them once.
std::size_t check_effects(const fs::path& store) {
  const std::unique_ptr<Engine> engine = open_live(store);
  CHECK(well(engine->check()).violations() == 0);
  CHECK(engine->mended().empty());
  const std::vector<AppEntry> effects = well(engine->app_list("effect:", "effect;", SIZE_MAX));
  std::size_t wrong = 0;
  for (const AppEntry& effect : effects) {
    const std::optional<Order> order = well(engine->order(queue, effect.key.substr(7)));
    if (effect.value != "1" || !order || order->state != State::success) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(well(engine->stats(queue)).counts.success == effects.size());
  return effects.size();
}

}  // namespace

TEST_CASE("killed ten times at random, a program settles each order once", "[crash]") {
  TemporaryFolder folder;
  const fs::path store = folder / "store";
  std::vector<ScheduleRequest> orders = orders_to_settle();
  const std::size_t count = orders.size();
  REQUIRE(count >= 800);
  for (Result<Answer>& answer : open_live(store)->schedule(std::move(orders))) {
    REQUIRE(well(std::move(answer)).outcome == Outcome::scheduled);
  }

  std::mt19937 random(Catch::rngSeed());
  INFO("reproduce the moments with --rng-seed " << Catch::rngSeed());
  std::size_t acknowledged = 0;
  constexpr std::size_t kills = 10;
  for (std::size_t i = 0; i < kills; ++i) {
    const std::size_t share = (count - acknowledged) / (kills - i + 1);
    Settling program(store);
    // The program runs on while this reads, so the kill meets it at any of its steps.
    const std::size_t lines = random() % (share + 1);
    const std::size_t read = program.read_lines(lines);
    CHECK(read == lines);
    acknowledged += read + program.kill();
    const std::size_t effects = check_effects(store);
    CHECK(effects >= acknowledged);  // Acknowledged, even if there was no time to say so.
    acknowledged = effects;
  }
  CHECK(acknowledged < count);  // All ten kills met it at work.

  Settling last(store);
  last.read_lines(SIZE_MAX);
  CHECK(last.wait() == 0);
  CHECK(check_effects(store) == count);
  CHECK(well(open_live(store)->stats(queue)).counts == Counts{.success = count});
}
