#include "scenarios/scale.h"

#include <rocksdb/perf_context.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "duelease/engine.h"
#include "engine/engine_parts.h"
#include "support/counting_store.h"
#include "support/printing.h"
#include "support/temporary_folder.h"
#include "support/world.h"

namespace duelease::test {

using namespace std::chrono_literals;
using Clocked = std::chrono::steady_clock;

namespace {

double seconds_since(Clocked::time_point start) {
  return std::chrono::duration<double>(Clocked::now() - start).count();
}

template <class T>
T percentile(std::vector<T> values, std::size_t percent) {
  std::sort(values.begin(), values.end());
  return values.at((values.size() - 1) * percent / 100);
}

Times times_of(const std::vector<double>& seconds) {
  return {percentile(seconds, 50), percentile(seconds, 99)};
}

// ---- tombstones ---------------------------------------------------------------------------------

constexpr int claims_measured = 2000;

// Deleted and overwritten entries that RocksDB steps over.
template <class Action>
std::uint64_t skipped_by(Action action) {
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  perf.Reset();
  action();
  return perf.internal_delete_skipped_count + perf.internal_key_skipped_count;
}

void live_through(World& world, std::uint32_t orders) {
  constexpr std::uint32_t batch = 1000;
  for (std::uint32_t first = 0; first < orders; first += batch) {
    world.open_group();
    for (std::uint32_t i = 0; i < batch; ++i) world.schedule("o" + std::to_string(first + i), world.now());
    REQUIRE(world.close_group());
    const std::vector<Claimed> claimed = world.claim("w", batch);
    REQUIRE(claimed.size() == batch);
    world.open_group();
    for (const Claimed& order : claimed) world.complete(order);
    REQUIRE(world.close_group());
    world.pass(1ms);
  }
}

Times measure_empty(World& world) {
  std::vector<double> seconds;
  for (int i = 0; i < claims_measured; ++i) {
    world.pass(1ms);
    const auto start = Clocked::now();
    const bool none = world.claim("w", 1).empty();
    seconds.push_back(seconds_since(start));
    REQUIRE(none);
  }
  return times_of(seconds);
}

// Ids start with `name`: they must be new.
Times measure_ten(World& world, const std::string& name, std::vector<std::uint64_t>& skipped) {
  for (int i = 0; i < 10; ++i) world.schedule(name + "-" + std::to_string(i), world.now());
  std::vector<double> seconds;
  for (int i = 0; i < claims_measured; ++i) {
    world.pass(1ms);
    Claimed claimed;
    skipped.push_back(skipped_by([&] {
      const auto start = Clocked::now();
      claimed = world.claim_one("w");
      seconds.push_back(seconds_since(start));
    }));
    world.complete(claimed);
    world.schedule(name + std::to_string(i), world.now());
  }
  return times_of(seconds);
}

}  // namespace

Tombstones measure_tombstones(std::uint32_t completes) {
  Tombstones out;
  std::vector<std::uint64_t> skipped;
  World fresh(Disk::rocks);
  fresh.check_always(false);
  out.fresh_empty = measure_empty(fresh);
  out.fresh_ten = measure_ten(fresh, "fresh", skipped);

  skipped.clear();
  World used(Disk::rocks);
  used.check_always(false);
  live_through(used, completes);
  out.skipped_from_start =
      skipped_by([&] { REQUIRE_FALSE(used.store().scan(store::Family::queue, "", "")->valid()); });
  out.used_empty = measure_empty(used);
  out.used_ten = measure_ten(used, "used", skipped);
  out.skipped_p99 = percentile(skipped, 99);

  // After a restart the marks are found anew.
  used.complete(used.claim("w", 10).front());
  used.restart();
  skipped.clear();
  measure_ten(used, "restarted", skipped);
  out.skipped_p99 = std::max(out.skipped_p99, percentile(skipped, 99));
  return out;
}

// ---- purge_is_linear and overdue_backlog --------------------------------------------------------

namespace {

// A real engine on RocksDB, whose reads are counted.
struct CountedEngine {
  CountedEngine() { open(); }
  void open() {
    engine.reset();
    Options options;
    options.durability = Durability::none;
    auto opened = engine::open_engine(
        std::make_unique<CountingStore>(open_small_rocks_store(folder / "store"), counts), options);
    REQUIRE(opened);
    engine = std::move(*opened);
  }
  // `due_of(i)` for each i.
  template <class DueOf>
  void schedule(std::uint32_t orders, DueOf due_of) {
    constexpr std::uint32_t batch = 5000;
    for (std::uint32_t first = 0; first < orders; first += batch) {
      std::vector<ScheduleRequest> requests;
      for (std::uint32_t i = first; i < std::min(orders, first + batch); ++i) {
        requests.push_back({.queue = "q", .id = "o" + std::to_string(i), .due = due_of(i)});
      }
      for (const Result<Answer>& answer : engine->schedule(std::move(requests))) REQUIRE(answer);
    }
  }

  // Closes the engine.
  bool family_is_empty(store::Family family) {
    engine.reset();
    return !open_small_rocks_store(folder / "store")->scan(family, "", "")->valid();
  }

  TemporaryFolder folder;
  ReadCounts counts;
  std::unique_ptr<Engine> engine;
};

}  // namespace

void run_purge_is_linear(std::uint32_t orders, std::uint32_t batch, bool has_history) {
  CountedEngine counted;
  if (has_history) {
    QueueSetRequest keep{.queue = "q"};
    keep.keep_history = 24h;
    REQUIRE(counted.engine->set_queue(keep));
  }
  counted.schedule(orders, [](std::uint32_t) { return Time{0ms}; });
  for (std::uint32_t popped = 0; popped < orders;) {
    const Result<std::vector<Claimed>> claimed = counted.engine->pop({.queue = "q", .count = 5000});
    REQUIRE(claimed);
    REQUIRE_FALSE(claimed->empty());
    popped += static_cast<std::uint32_t>(claimed->size());
  }

  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> skipped;
  std::uint64_t purged = 0;
  while (purged < orders) {
    const std::uint64_t before = counted.counts.rows();
    skipped.push_back(skipped_by([&] {
      const Result<std::uint64_t> done =
          counted.engine->purge({.queue = "q", .state = State::success, .limit = batch});
      REQUIRE(done);
      REQUIRE(*done == batch);
      purged += *done;
    }));
    rows.push_back(counted.counts.rows() - before);
    // Something new at the front does not send it back there.
    REQUIRE(counted.engine->schedule({.queue = "q", .id = "a" + std::to_string(purged), .due = Time{0ms}}));
    REQUIRE(counted.engine->pop({.queue = "q"}));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i, rows[0], rows[i], skipped[i]);
    // Each order is found once, and looked at once again; its entries are walked over.
    CHECK(rows[i] <= (has_history ? 4 : 2) * batch + (has_history ? 200 + limits::purge_pass_max : 200));
    CHECK(skipped[i] <= 3 * batch);  // Each was overwritten a few times.
  }
  const Result<std::uint64_t> rest = counted.engine->purge({.queue = "q", .state = State::success});
  REQUIRE(rest);
  CHECK(*rest == rows.size());
  CHECK(counted.engine->stats("q")->counts == Counts{});
  CHECK(counted.engine->check()->violations() == 0);
  CHECK(counted.engine->history("q", "o1")->empty());
  CHECK(counted.family_is_empty(store::Family::history));
}

Times run_overdue_backlog(std::uint32_t orders) {
  CountedEngine counted;
  std::mt19937_64 random(20);
  const Time start = system_clock()->now().wall;
  const Duration down = 2h;
  counted.schedule(orders, [&](std::uint32_t) {
    return start - Duration{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(down.count()))};
  });
  counted.open();

  std::atomic<bool> drained = false;
  std::vector<double> seconds;
  std::thread other([&] {
    for (int i = 0; !drained; ++i) {
      const auto begin = Clocked::now();
      if (!counted.engine->schedule({.queue = "other", .id = std::to_string(i), .due = start + 1h})) return;
      seconds.push_back(seconds_since(begin));
    }
  });
  const std::uint64_t before = counted.counts.rows();
  Time last_due{};
  bool in_order = true;
  std::uint32_t done = 0;
  std::uint64_t claims = 0;
  while (done < orders) {
    Result<std::vector<Claimed>> claimed =
        counted.engine->claim({.queues = {"q"}, .worker = "w", .count = 500});
    if (!claimed || claimed->empty()) break;
    ++claims;
    std::vector<CompleteRequest> reports;
    for (const Claimed& order : *claimed) {
      in_order = in_order && order.due >= last_due;
      last_due = order.due;
      reports.push_back(World::report_of<CompleteRequest>(order));
    }
    for (const Result<Answer>& answer : counted.engine->complete(std::move(reports))) {
      if (answer && answer->outcome == Outcome::completed) ++done;
    }
  }
  const std::uint64_t rows = counted.counts.rows() - before;
  drained = true;
  other.join();

  CHECK(done == orders);
  CHECK(in_order);
  CHECK(rows <= orders + 10 * claims + 10 * seconds.size());
  REQUIRE_FALSE(seconds.empty());
  const Times others = times_of(seconds);
  CHECK(others.p50 < 0.1);
  CHECK(others.p99 < 1.0);
  CHECK(counted.engine->stats("q")->counts == Counts{.success = orders});
  return others;
}

}  // namespace duelease::test
