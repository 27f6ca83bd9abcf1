// The workloads over a target that can be told to do wrong: each wrong is found out.
#include "workloads.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "child.h"
#include "order_id.h"

namespace {

using namespace duelease::bench;
using Catch::Contains;
using duelease::Time;

enum class Wrong {
  nothing,
  loses,            // One order is never handed out.
  doubles,          // One is handed out to two.
  invents,          // One is handed out that nobody has scheduled.
  cuts,             // A payload is not what it was.
  swaps,            // An order has the payload of another one.
  is_early,         // Hands out what is not due.
  refuses,          // A complete.
  completes_less,   // A complete of one order changes nothing, and says that it did.
  keeps_one,        // An order still waits when all are completed.
  forgets_silently  // A schedule does nothing.
};

struct Memory {
  std::mutex mutex;
  Wrong wrong = Wrong::nothing;
  std::deque<NewOrder> waiting;
  std::map<std::string, std::string> payloads;
  std::uint64_t handed = 0;
  std::uint64_t held = 0;
  bool has_skipped = false;
};

class MemoryConnection final : public Connection {
 public:
  explicit MemoryConnection(Memory& memory) : memory_(memory) {}

  void schedule(std::span<const NewOrder> orders) override {
    const std::lock_guard lock(memory_.mutex);
    if (memory_.wrong == Wrong::forgets_silently) return;
    for (const NewOrder& order : orders) {
      memory_.payloads[order.id] = order.payload;
      memory_.waiting.push_back(order);
    }
  }

  std::vector<Handed> claim(unsigned count) override {
    const std::lock_guard lock(memory_.mutex);
    std::vector<Handed> orders;
    for (auto it = memory_.waiting.begin(); it != memory_.waiting.end() && orders.size() < count;) {
      if (it->due > now() && memory_.wrong != Wrong::is_early) {
        ++it;
        continue;
      }
      const Handed order{it->id, memory_.payloads[it->id]};
      it = memory_.waiting.erase(it);
      ++memory_.held;
      if (++memory_.handed == 5) {
        spoil(order, orders);
      } else {
        orders.push_back(order);
      }
    }
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    if (memory_.wrong == Wrong::refuses) throw Fault("the lease is over");
    const std::lock_guard lock(memory_.mutex);
    const bool skips_one =
        memory_.wrong == Wrong::completes_less && !std::exchange(memory_.has_skipped, true);
    memory_.held -= orders.size() - (skips_one ? 1 : 0);
  }

  std::uint64_t not_completed() override {
    const std::lock_guard lock(memory_.mutex);
    return memory_.waiting.size() + memory_.held + (memory_.wrong == Wrong::keeps_one ? 1 : 0);
  }

 private:
  void spoil(const Handed& order, std::vector<Handed>& orders) {
    if (memory_.wrong == Wrong::loses) return;
    orders.push_back(order);
    if (memory_.wrong == Wrong::doubles) orders.push_back(order);
    if (memory_.wrong == Wrong::invents) orders.push_back({order_id(1'000'000), order.payload});
    if (memory_.wrong == Wrong::cuts) orders.back().payload.pop_back();
    if (memory_.wrong == Wrong::swaps) {
      const auto first = memory_.payloads.begin();
      orders.back().payload = (first->first == order.id ? std::next(first) : first)->second;
    }
  }

  Memory& memory_;
};

class MemoryTarget final : public Target {
 public:
  explicit MemoryTarget(Wrong wrong) : Target("/nowhere") { memory_.wrong = wrong; }
  void start() override {}
  std::unique_ptr<Connection> connect() override { return std::make_unique<MemoryConnection>(memory_); }
  void stop() override {}
  std::uint64_t resident_bytes() const override { return 1; }

 private:
  Memory memory_;
};

Round run(const std::string& workload, Wrong wrong) {
  Case wanted;
  wanted.workload = workload;
  wanted.orders = 20;
  wanted.connections = 3;
  wanted.batch = 4;
  wanted.rate = 100;
  wanted.waiting = workload == "backlog" ? 10 : 0;
  wanted.completes = workload == "drain" ? 30 : 0;
  if (wrong == Wrong::loses || wrong == Wrong::forgets_silently) wanted.patience = duelease::Duration{200};
  MemoryTarget target(wrong);
  return run_started(wanted, target);
}

}  // namespace

TEST_CASE("each order has a payload of its own", "[bench]") {
  const Payloads payloads(64);
  std::set<std::string_view> seen;
  for (std::uint64_t number = 0; number < 10'000; ++number) {
    const std::string_view payload = payloads.of(number);
    CHECK(payload.size() == 64);
    seen.insert(payload);
  }
  CHECK(seen.size() == 10'000);
  CHECK(Payloads(64).of(7) == payloads.of(7));
  CHECK(Payloads(65'536).of(1'000'000'000).size() == 65'536);
  CHECK(Payloads(0).of(7).empty());
}

TEST_CASE("each workload completes every order of a target that does right", "[bench]") {
  for (const char* workload : {"lifecycle", "payload", "backlog", "schedule", "claim", "delay"}) {
    INFO(workload);
    CHECK(run(workload, Wrong::nothing).completed == 20);
  }
  CHECK(run("drain", Wrong::nothing).completed == 30 + 10 + 20);
}

TEST_CASE("a target that does wrong is found out", "[bench]") {
  for (const char* workload : {"lifecycle", "payload", "backlog", "schedule", "claim", "delay", "drain"}) {
    INFO(workload);
    CHECK_THROWS_WITH(run(workload, Wrong::doubles), Contains("was handed out twice"));
    CHECK_THROWS_WITH(run(workload, Wrong::invents), Contains("no order has that id"));
    CHECK_THROWS_WITH(run(workload, Wrong::cuts), Contains("another payload"));
    CHECK_THROWS_WITH(run(workload, Wrong::swaps), Contains("another payload"));
    CHECK_THROWS_WITH(run(workload, Wrong::refuses), Contains("the lease is over"));
    CHECK_THROWS_AS(run(workload, Wrong::keeps_one), Fault);
    CHECK_THROWS_WITH(run(workload, Wrong::completes_less),
                      Contains("1 wait or are handed out") || Contains("11 wait or are handed out"));
    CHECK_THROWS_AS(run(workload, Wrong::forgets_silently), Fault);
  }
}

TEST_CASE("a lost order is found out, and ends the round", "[bench]") {
  for (const char* workload : {"lifecycle", "claim", "delay"}) {
    INFO(workload);
    CHECK_THROWS_WITH(run(workload, Wrong::loses), Contains("orders were lost"));
  }
}

TEST_CASE("an order that comes before it is due is found out", "[bench]") {
  CHECK_THROWS_WITH(run("delay", Wrong::is_early), Contains("before it was due"));
  CHECK_THROWS_WITH(run("backlog", Wrong::is_early), Contains("it was not due"));
}

TEST_CASE("an id tells its number", "[bench]") {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{123'456'789}, ~std::uint64_t{0}}) {
    CHECK(order_id(number).size() == 16);
    CHECK(order_number(order_id(number)) == number);
  }
  CHECK(order_id(1) != order_id(2));
  CHECK(!order_number("000000000000000"));
  CHECK(!order_number("00000000000000zz"));
}

TEST_CASE("work in a child answers, or tells its fault or its end", "[bench]") {
  CHECK(in_child([] { return std::string(100'000, 'x'); }) == std::string(100'000, 'x'));
  CHECK_THROWS_WITH(in_child([]() -> std::string { throw Fault("it was lost"); }), "it was lost");
  CHECK_THROWS_WITH(in_child([]() -> std::string { ::_exit(3); }), Contains("exit 3"));
  // What was answered counts, however it ends then.
  CHECK(in_child([] { return std::string("filled"); }, [] { ::_exit(3); }) == "filled");
}

TEST_CASE("a signal to stop that comes between two pieces of work ends the next one", "[bench]") {
  CHECK_THROWS_WITH(in_child([]() -> std::string {
                      stop_well_when_interrupted();
                      ::raise(SIGTERM);
                      return in_child([]() -> std::string {
                        ::pause();
                        return "";
                      });
                    }),
                    "interrupted");
}
