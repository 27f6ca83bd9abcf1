// The head of a queue against the simplest thing that is right: a sorted map of all orders.
#include "engine/queue_head.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

using namespace duelease;
using namespace duelease::engine;

namespace {

model::Record record_of(int number) {
  model::Record record;
  record.payload = std::to_string(number);
  return record;
}

Spot spot_of(int due, int id) { return Spot{Time{Duration{due}}, std::to_string(id)}; }

// Stands for the store: all orders of one priority.
using Store = std::map<Spot, int>;

// What Core::refill does, with `count` orders at most.
void refill(QueueHead& head, const Store& store, Time now, std::size_t count) {
  QueueHead::Known found;
  auto at = store.lower_bound(*head.rest_from());
  for (; at != store.end() && at->first.due <= now && found.size() < count; ++at) {
    found.emplace(at->first, record_of(at->second));
  }
  head.refill(std::move(found), at == store.end() ? std::nullopt : std::optional<Spot>(at->first));
}

}  // namespace

TEST_CASE("the head of a queue hands out just what a sorted map would", "[queue_head]") {
  const auto seed = GENERATE(take(50, random(0u, ~0u)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  QueueHead head;
  Store store;
  for (int step = 0; step < 3000; ++step) {
    const Time now{Duration{step / 10}};
    switch (below(4)) {
      case 0:
      case 1: {
        const Spot spot = spot_of(step / 10 - 20 + below(60), below(50));
        store[spot] = step;
        head.add(spot, record_of(step), static_cast<std::size_t>(1 + below(20)));
        break;
      }
      case 2: {
        if (store.empty()) break;
        const Spot spot = std::next(store.begin(), below(static_cast<int>(store.size())))->first;
        store.erase(spot);
        head.remove(spot);
        break;
      }
      case 3: {
        std::optional<QueueHead::Taken> taken = head.take(now);
        if (!taken && head.rest_from() && head.rest_from()->due <= now) {
          refill(head, store, now, static_cast<std::size_t>(1 + below(5)));
          taken = head.take(now);
        }
        const bool due = !store.empty() && store.begin()->first.due <= now;
        if (!taken && due) {  // The line was too early by one stretch at most.
          REQUIRE(head.rest_from());
          break;
        }
        REQUIRE(taken.has_value() == due);
        if (!due) break;
        REQUIRE(taken->spot == store.begin()->first);
        REQUIRE(taken->record->payload == std::to_string(store.begin()->second));
        store.erase(store.begin());
        break;
      }
    }
    // Every order before the line is known, and nothing else is.
    const auto line = head.rest_from() ? store.lower_bound(*head.rest_from()) : store.end();
    REQUIRE(head.known().size() == static_cast<std::size_t>(std::distance(store.begin(), line)));
    for (auto at = store.begin(); at != line; ++at) REQUIRE(head.known().contains(at->first));
    if (!store.empty()) REQUIRE(head.earliest_due() <= store.begin()->first.due);
  }
}

TEST_CASE("a head knows no more orders than it may, and leaves large payloads in the store", "[queue_head]") {
  QueueHead head;
  for (int i = 0; i < 10; ++i) head.add(spot_of(i, 0), record_of(i), 4);
  CHECK(head.known().size() == 4);
  CHECK(head.rest_from() == spot_of(4, 0));
  head.add(spot_of(-1, 0), record_of(-1), 4);
  CHECK(head.known().size() == 4);
  CHECK(head.rest_from() == spot_of(3, 0));

  model::Record large;
  large.payload = std::string(QueueHead::kept_payload_bytes_max + 1, 'x');
  head.add(spot_of(-2, 0), large, 4);
  const std::optional<QueueHead::Taken> taken = head.take(Time{});
  REQUIRE(taken);
  CHECK(taken->spot == spot_of(-2, 0));
  CHECK_FALSE(taken->record);
}
