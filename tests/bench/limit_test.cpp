// The limits write as many bytes as the engine does for the same orders.
#include "limit.h"

#include <catch2/catch.hpp>

#include "store/keys.h"
#include "store/records.h"
#include "support/world.h"

namespace {

using namespace duelease;
using namespace duelease::bench;
using store::Family;

// In a record a number takes 3 bytes from 16,384 on and 4 from 2,097,152 on: a round of the bench sees both.
constexpr std::uint64_t usual_sequence = 1'000'000;
constexpr std::size_t tolerance = 2;

bool is_about(std::size_t wanted, std::size_t actual) {
  return actual + tolerance >= wanted && actual <= wanted + tolerance;
}

}  // namespace

TEST_CASE("keys and values of the limits are as long as the engine's", "[bench]") {
  const std::string queue = "bench";
  const std::string id(16, 'i');
  const std::string payload(64, 'p');
  test::World world(test::Disk::memory);
  world.shut();
  world.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(usual_sequence));
  world.open();
  const auto value_bytes = [&world](Family family) {
    const std::vector<std::string> keys = world.keys(family);
    REQUIRE(keys.size() == 1);
    return world.row(family, keys[0])->size();
  };
  const auto checks = [](const char* what, std::size_t wanted, std::size_t actual) {
    INFO(what << ": " << wanted << ", the engine's has " << actual);
    CHECK(is_about(wanted, actual));
  };

  const Time due = world.now() - Duration{10'000};
  world.schedule({.queue = queue, .id = id, .due = due, .payload = payload});
  CHECK(world.keys(Family::queue)[0].size() == queue_key(id, due).size());
  CHECK(world.keys(Family::orders)[0].size() == order_key(id).size());
  checks("waiting", waiting_overhead, value_bytes(Family::queue) - payload.size());
  checks("live", live_bytes, value_bytes(Family::orders));

  const std::vector<Claimed> claimed =
      world.claim({.queues = {queue}, .worker = "bench", .lease = lease_length});
  REQUIRE(claimed.size() == 1);
  CHECK(world.keys(Family::leases)[0].size() == order_key(id).size());
  checks("lease", lease_overhead, value_bytes(Family::leases) - payload.size());

  world.complete(claimed[0]);
  checks("ended", ended_overhead, value_bytes(Family::orders) - payload.size());
}
