#include <duelease/engine.h>

#include <chrono>
#include <cstdio>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  auto engine = duelease::Engine::open(argc > 1 ? argv[1] : "orders.store", {});
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;

  // Due in a second. It is on disk when schedule() returns: kill -9 or a power cut cannot lose it.
  const auto now = std::chrono::floor<duelease::Duration>(std::chrono::system_clock::now());
  auto scheduled =
      (*engine)->schedule({.queue = "unpaid", .id = "4711", .due = now + 1s, .payload = "2 sacks of rice"});
  if (!scheduled) return 1;
  if (scheduled->outcome == duelease::Outcome::duplicate) std::puts("4711 was scheduled before");

  // Waits until an order is due. It is then this worker's alone, for as long as its lease runs.
  auto claimed = (*engine)->claim({.queues = {"unpaid"}, .worker = "w1", .wait = 3s});
  if (!claimed) return 1;
  for (const duelease::Claimed& order : *claimed) {
    std::printf("nobody paid %s: cancelling %s\n", order.id.c_str(), order.payload.c_str());
    // Takes effect once, and only with the token of the current lease.
    auto done = (*engine)->complete({.queue = order.queue, .id = order.id, .token = order.token});
    if (!done) return 1;
  }
}
