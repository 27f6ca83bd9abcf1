#include "workloads.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "child.h"
#include "order_id.h"
#include "round_json.h"

namespace duelease::bench {

namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration day{86'400'000};
constexpr Duration a_second{1000};

std::size_t payload_bytes(const Case& wanted, const Target& target) {
  return target.keeps_payloads() ? wanted.payload_bytes : 0;
}

// Due before now, all of them.
Time past() { return now() - Duration{10'000}; }

// While none is handed out.
void require_waiting(Target& target, std::uint64_t wanted) {
  const std::uint64_t waiting = target.connect()->not_completed();
  if (waiting != wanted) {
    throw Fault("orders were lost, or doubled: " + std::to_string(waiting) +
                " wait or are handed out, and it should be " + std::to_string(wanted));
  }
}

Round round_of(Target& target, Loaded loaded, std::uint64_t orders, std::vector<Figure> figures) {
  Round round;
  round.figures = std::move(figures);
  round.completed = orders;
  round.latencies = std::move(loaded.latencies);
  round.resident_bytes = target.resident_bytes();
  round.disk_bytes = target.disk_bytes();
  return round;
}

std::vector<Figure> rate_of(const char* name, std::uint64_t orders, double seconds) {
  return {{name, static_cast<double>(orders) / seconds, true}};
}

// Counts the orders that went all the way (of `claim`: that were handed out). Safe from any thread.
class Progress {
 public:
  explicit Progress(const Case& wanted, Duration until_first = Duration{0})
      : patience_(wanted.patience), last_((Steady::now() + until_first).time_since_epoch().count()) {}

  std::uint64_t count() const { return count_; }
  // 0: this time none was. Throws Fault when there was none for too long.
  void add(std::uint64_t orders) {
    const std::int64_t at = Steady::now().time_since_epoch().count();
    if (orders > 0) {
      count_ += orders;
      last_ = at;
    } else if (Steady::duration{at - last_} > patience_) {
      throw Fault("orders were lost: after " + std::to_string(count_) + " no more was handed out for " +
                  std::to_string(patience_.count()) + " ms");
    }
  }

 private:
  const Duration patience_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::int64_t> last_;
};

// What the lanes of a lifecycle have in common.
class Cycle {
 public:
  Cycle(std::uint64_t first, const Case& wanted, const Target& target)
      : first_(first),
        orders_(wanted.orders),
        until_(wanted.seconds_max > 0 ? Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                                            std::chrono::duration<double>(wanted.seconds_max))
                                      : Steady::time_point::max()),
        lanes_that_schedule_(target.is_limit() ? 1 : wanted.connections),
        completed_(wanted),
        ledger_(first, wanted.orders, payload_bytes(wanted, target)) {}

  // Each lane schedules a batch, claims one and completes it, until nothing is left of what all have scheduled.
  void run(Lane& lane) {
    bool schedules = true;
    while (!lane.failed) {
      if (schedules && !schedule_batch(lane)) {
        schedules = false;
        --lanes_that_schedule_;
      }
      const std::vector<Handed> orders = lane.claim();
      ledger_.handed(orders);
      if (!orders.empty()) lane.complete(orders);
      ledger_.completed(orders);
      completed_.add(orders.size());
      if (lanes_that_schedule_ == 0 && completed_.count() == scheduled_) return;
    }
  }

  std::uint64_t finish() const {
    ledger_.finish(scheduled_);
    return completed_.count();
  }

 private:
  bool schedule_batch(Lane& lane) {
    if (Steady::now() >= until_) return false;
    const std::uint64_t number = next_.fetch_add(lane.batch);
    if (number >= orders_) return false;
    const std::uint64_t count = std::min<std::uint64_t>(lane.batch, orders_ - number);
    scheduled_ += count;  // First: as soon as it is scheduled, another lane may complete it.
    lane.schedule(new_orders(first_ + number, count, due_, a_second, ledger_.payloads()));
    return true;
  }

  const std::uint64_t first_;
  const std::uint64_t orders_;
  const Steady::time_point until_;
  const Time due_ = past();
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> scheduled_{0};
  std::atomic<unsigned> lanes_that_schedule_;
  Progress completed_;
  Ledger ledger_;
};

Round cycle(const Case& wanted, Target& target, std::uint64_t first) {
  Cycle all(first, wanted, target);
  Loaded loaded = run_lanes(target, wanted.connections, wanted.batch, [&all](Lane& lane) { all.run(lane); });
  const std::uint64_t orders = all.finish();
  const double seconds = loaded.seconds;
  Round round = round_of(target, std::move(loaded), orders, rate_of("lifecycles/s", orders, seconds));
  require_waiting(target, wanted.waiting);
  return round;
}

Round lifecycle(const Case& wanted, Target& target) { return cycle(wanted, target, 0); }

Round backlog(const Case& wanted, Target& target) {
  fill(target, 0, wanted.waiting, now() + day, day, Payloads(payload_bytes(wanted, target)));
  return cycle(wanted, target, wanted.waiting);
}

// Claims and completes all that a ledger knows, not measured.
void settle(const Case& wanted, Target& target, Ledger& ledger) {
  Progress completed(wanted);
  run_lanes(target, 4, 1000, [&](Lane& lane) {
    while (completed.count() < wanted.orders && !lane.failed) {
      const std::vector<Handed> some = lane.connection.claim(lane.batch);
      ledger.handed(some);
      if (!some.empty()) lane.connection.complete(some);
      ledger.completed(some);
      completed.add(some.size());
    }
  });
  ledger.finish(wanted.orders);
  require_waiting(target, 0);
}

Round schedule(const Case& wanted, Target& target) {
  Ledger ledger(0, wanted.orders, payload_bytes(wanted, target));
  std::atomic<std::uint64_t> next{0};
  const Time due = past();
  Loaded loaded = run_lanes(target, wanted.connections, wanted.batch, [&](Lane& lane) {
    for (std::uint64_t i = 0; (i = next.fetch_add(lane.batch)) < wanted.orders && !lane.failed;) {
      const std::uint64_t count = std::min<std::uint64_t>(lane.batch, wanted.orders - i);
      lane.schedule(new_orders(i, count, due, a_second, ledger.payloads()));
    }
  });
  const double seconds = loaded.seconds;
  Round round =
      round_of(target, std::move(loaded), wanted.orders, rate_of("scheduled/s", wanted.orders, seconds));
  require_waiting(target, wanted.orders);
  settle(wanted, target, ledger);
  return round;
}

Round claim(const Case& wanted, Target& target) {
  Ledger ledger(0, wanted.orders, payload_bytes(wanted, target));
  fill(target, 0, wanted.orders, past(), a_second, ledger.payloads());
  Progress claimed(wanted);
  Loaded loaded = run_lanes(target, wanted.connections, wanted.batch, [&](Lane& lane) {
    std::vector<std::vector<Handed>> held;
    while (claimed.count() < wanted.orders && !lane.failed) {
      held.push_back(lane.claim());
      ledger.handed(held.back());
      claimed.add(held.back().size());
    }
    lane.connection.flush();
    lane.measured_until = Steady::now();
    for (const std::vector<Handed>& orders : held) {
      if (!orders.empty()) lane.connection.complete(orders);  // By who holds them, as some targets want it.
      ledger.completed(orders);
    }
  });
  ledger.finish(wanted.orders);
  loaded.latencies[static_cast<std::size_t>(Call::complete)] = {};
  const double seconds = loaded.seconds;
  Round round =
      round_of(target, std::move(loaded), wanted.orders, rate_of("claimed/s", wanted.orders, seconds));
  require_waiting(target, 0);
  return round;
}

std::vector<Figure> percentiles_of(const Latencies& latencies, Call call, const std::string& what) {
  const Histogram& histogram = latencies[static_cast<std::size_t>(call)];
  return {{what + " p99, ms", histogram.percentile_ms(0.99), false},
          {what + " p50, ms", histogram.percentile_ms(0.5), false}};
}

Round delay(const Case& wanted, Target& target) {
  Ledger ledger(0, wanted.orders, payload_bytes(wanted, target));
  const Duration spread{static_cast<std::int64_t>(wanted.orders * 1000 / wanted.rate)};
  // Time to schedule them all before the first is due.
  const Time earliest = now() + Duration{1000 + static_cast<std::int64_t>(wanted.orders / 2)};
  fill(target, 0, wanted.orders, earliest, spread, ledger.payloads());
  if (now() > earliest) throw Fault("too slow: orders fell due before all were scheduled");
  Progress completed(wanted, earliest - now());
  Loaded loaded = run_lanes(target, wanted.connections, 1, [&](Lane& lane) {
    while (completed.count() < wanted.orders && !lane.failed) {
      const std::vector<Handed> orders = lane.connection.claim_one(Duration{500});
      const auto delivered = std::chrono::system_clock::now();
      ledger.handed(orders);
      if (orders.empty()) {
        if (completed.count() < wanted.orders) completed.add(0);
        continue;
      }
      completed.add(orders.size());
      const Time due = due_of(*order_number(orders[0].id), earliest, spread);
      if (delivered < due) throw Fault("order " + orders[0].id + " was delivered before it was due");
      lane.add(Call::delay, delivered - due);
      lane.complete(orders);
      ledger.completed(orders);
    }
  });
  ledger.finish(wanted.orders);
  std::vector<Figure> figures = percentiles_of(loaded.latencies, Call::delay, "due to delivered");
  Round round = round_of(target, std::move(loaded), wanted.orders, std::move(figures));
  require_waiting(target, 0);
  return round;
}

Round drain(const Case& wanted, Target& target) {
  constexpr std::uint64_t in_queue = 10;
  Case before = wanted;
  before.orders = wanted.completes;
  before.connections = 4;
  before.batch = 100;
  if (wanted.completes > 0) cycle(before, target, 0);

  const std::uint64_t orders = wanted.orders + in_queue;
  Ledger ledger(wanted.completes, orders, payload_bytes(wanted, target));
  const Time due = past();
  Loaded loaded = run_lanes(target, 1, 1, [&](Lane& lane) {
    std::uint64_t number = wanted.completes;
    lane.connection.schedule(new_orders(number, in_queue, due, a_second, ledger.payloads()));
    number += in_queue;
    for (std::uint64_t i = 0; i < orders; ++i) {
      const std::vector<Handed> one = lane.claim();
      if (one.empty()) throw Fault("orders are due, and none was handed out");
      ledger.handed(one);
      lane.complete(one);
      ledger.completed(one);
      if (i < wanted.orders) lane.schedule(new_orders(number++, 1, due, a_second, ledger.payloads()));
    }
  });
  ledger.finish(orders);
  std::vector<Figure> figures = percentiles_of(loaded.latencies, Call::claim, "claim");
  Round round = round_of(target, std::move(loaded), wanted.completes + orders, std::move(figures));
  require_waiting(target, 0);
  return round;
}

// ---- open ----

struct Opened {
  double seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t disk_bytes = 0;
};

// From the start of the target to the answer to a first claim.
Opened open_once(const Case& wanted, const TargetChoice& choice, const std::filesystem::path& folder) {
  const std::string text = in_child([&] {
    const std::unique_ptr<Target> target = make_target(choice, folder);
    const auto began = Steady::now();
    target->start();
    if (!target->connect()->claim(1).empty()) throw Fault("an order was handed out before it was due");
    const std::chrono::duration<double> time = Steady::now() - began;
    require_waiting(*target, wanted.orders);
    const nlohmann::json opened = {time.count(), target->resident_bytes(), target->disk_bytes()};
    target->stop();
    return opened.dump();
  });
  const nlohmann::json opened = nlohmann::json::parse(text);
  return {opened[0], opened[1], opened[2]};
}

Round open(const Case& wanted, const TargetChoice& choice, const std::filesystem::path& folder) {
  std::unique_ptr<Target> filled;
  in_child(
      [&] {
        filled = make_target(choice, folder);
        filled->start();
        fill(*filled, 0, wanted.orders, now() + day, day, Payloads(payload_bytes(wanted, *filled)));
        return std::string();
      },
      [&] {
        filled->kill();
        ::kill(::getpid(), SIGKILL);
      });
  const Opened killed = open_once(wanted, choice, folder);
  const Opened again = open_once(wanted, choice, folder);
  Round round;
  round.figures = {{"open after kill -9, s", killed.seconds, false},
                   {"open once more, s", again.seconds, false}};
  round.resident_bytes = killed.resident_bytes;
  round.disk_bytes = killed.disk_bytes;
  return round;
}

using Run = Round (*)(const Case&, Target&);

struct Workload {
  WorkloadInfo info;
  Run run;
};

const std::vector<Workload>& all_workloads() {
  static const std::vector<Workload> all = {
      {{"lifecycle", "schedule, claim, complete", true}, lifecycle},
      {{"payload", "the same with payloads of several sizes", true}, lifecycle},
      {{"backlog", "the same while other orders wait, due tomorrow", true}, backlog},
      {{"schedule", "schedule alone", true}, schedule},
      {{"claim", "claim alone, of orders that are due", true}, claim},
      {{"delay", "from due to delivered, to workers that wait", false, false}, delay},
      {{"drain", "a claim on a queue of 10 orders, after many were completed", false, false}, drain},
      {{"open", "from start to the first answer, with orders waiting: after kill -9, and after a good end",
        false, false},
       nullptr},
  };
  return all;
}

const Workload& workload(const std::string& name) {
  return *std::ranges::find(all_workloads(), name, [](const Workload& one) { return one.info.name; });
}

}  // namespace

const std::vector<WorkloadInfo>& workloads() {
  static const std::vector<WorkloadInfo> infos = [] {
    std::vector<WorkloadInfo> all;
    for (const Workload& one : all_workloads()) all.push_back(one.info);
    return all;
  }();
  return infos;
}

const WorkloadInfo& workload_named(const std::string& name) { return workload(name).info; }

Round run_started(const Case& wanted, Target& target) {
  return workload(wanted.workload).run(wanted, target);
}

Round run_round(const Case& wanted, const TargetChoice& choice, const std::filesystem::path& folder) {
  if (wanted.workload == "open") return open(wanted, choice, folder);
  return round_from_text(in_child([&] {
    const std::unique_ptr<Target> target = make_target(choice, folder);
    target->start();
    const Round round = run_started(wanted, *target);
    target->stop();
    return text_of(round);
  }));
}

}  // namespace duelease::bench
