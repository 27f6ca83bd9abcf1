// Schedules, claims and completes one order in a new store, in the folder given.
#include <cstdio>
#include <string>
#include <string_view>

#include <duelease/engine.h>

using duelease::Outcome;

static int complain(std::string_view step, const duelease::Error& error) {
  std::fprintf(stderr, "%s: %s\n", std::string(step).c_str(), error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto engine = duelease::Engine::open(argv[1], {});
  if (!engine) return complain("open", engine.error());

  auto scheduled = (*engine)->schedule({.queue = "loans", .id = "4711", .payload = "a book"});
  if (!scheduled) return complain("schedule", scheduled.error());
  if (scheduled->outcome != Outcome::scheduled) return 1;

  auto claimed = (*engine)->claim({.queues = {"loans"}, .worker = "desk"});
  if (!claimed) return complain("claim", claimed.error());
  if (claimed->size() != 1) return 1;

  const duelease::Claimed& order = claimed->front();
  auto completed = (*engine)->complete({.queue = order.queue, .id = order.id, .token = order.token});
  if (!completed) return complain("complete", completed.error());
  if (completed->outcome != Outcome::completed) return 1;

  std::printf("order %s with payload '%s' is done\n", order.id.c_str(), order.payload.c_str());
  return 0;
}
