// Settles the orders of a queue, to be killed at any moment and started again:
//
//     settle_northwind STORE QUEUE
//
// Four threads claim orders and complete each together with its effect: the row "effect:<id>" of the
// application counts how often the order took effect. Whatever happens to this program, each must end at 1.
// Says "settled <id>" for each order, and ends with 0 when none is left.
#include <duelease/engine.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using duelease::Claimed;
using duelease::Engine;
using duelease::Outcome;
using namespace std::chrono_literals;

namespace {

template <class T>
T must(duelease::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "settle_northwind: %s\n", result.error().message.c_str());
    ::_exit(2);
  }
  return std::move(*result);
}

// In one write: it comes out whole or not at all, also when the next instruction is the last.
void say(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(2);
}

void settle(Engine& engine, const Claimed& order) {
  const std::string key = "effect:" + order.id;
  const std::string before = must(engine.app_get(key)).value_or("0");
  duelease::CompleteRequest report{.queue = order.queue, .id = order.id, .token = order.token};
  report.app_writes = {{key, std::to_string(std::stol(before) + 1)}};
  if (must(engine.complete(report)).outcome == Outcome::completed) say("settled " + order.id + "\n");
}

void work(Engine& engine, const std::string& queue, const std::string& name) {
  for (;;) {
    // Short: what a killed process held comes back soon.
    const duelease::ClaimRequest ask{
        .queues = {queue}, .worker = name, .count = 8, .lease = 500ms, .wait = 100ms};
    const std::vector<Claimed> orders = must(engine.claim(ask));
    for (const Claimed& order : orders) settle(engine, order);
    const duelease::Counts counts = must(engine.stats(queue)).counts;
    if (counts.wait + counts.processing == 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: settle_northwind STORE QUEUE\n");
    return 2;
  }
  duelease::Options options;
  options.create_if_missing = false;
  options.restart_grace = 0ms;
  const std::unique_ptr<Engine> engine = must(Engine::open(argv[1], options));
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back(
        [&engine, queue = std::string(argv[2]), i] { work(*engine, queue, "w" + std::to_string(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
