// duelease watch: what goes on in the queues, once a second.
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "../json.h"
#include "../table.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

using Steady = std::chrono::steady_clock;

struct WatchOptions {
  std::optional<std::string> queue;
  std::optional<std::uint64_t> count;
  std::optional<Duration> every;
};

struct Look {
  Steady::time_point at;
  std::map<std::string, Stats> queues;
};

// Orders a second that came into a state since the look before. What was purged meanwhile is not seen.
struct Rates {
  std::optional<double> done;
  std::optional<double> failed;
};

Result<Look> look_at(const WatchOptions& options, Target& target) {
  Result<std::vector<std::string>> names = chosen_queues(target, options.queue);
  if (!names) return Unexpected{names.error()};
  Look look{Steady::now(), {}};
  for (const std::string& name : *names) {
    const Result<Stats> stats = target.stats(name);
    if (!stats) return Unexpected{stats.error()};
    look.queues.emplace(name, *stats);
  }
  return look;
}

Rates rates_since(const std::optional<Look>& before, const Look& now, const std::string& queue) {
  if (!before) return {};
  const auto found = before->queues.find(queue);
  if (found == before->queues.end()) return {};
  const double seconds = std::chrono::duration<double>(now.at - before->at).count();
  const auto rate = [seconds](std::uint64_t then, std::uint64_t later) {
    return later <= then ? 0.0 : static_cast<double>(later - then) / seconds;
  };
  const Counts& then = found->second.counts;
  const Counts& later = now.queues.at(queue).counts;
  return {rate(then.success, later.success), rate(then.failed, later.failed)};
}

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.1f}", *rate) : "-"; }
std::string overdue_text(const Stats& stats) {
  return stats.due == 0 ? "-" : print_duration(stats.oldest_overdue);
}

std::string watch_table(const std::optional<Look>& before, const Look& now) {
  constexpr auto right = Table::Align::right;
  Table table({{"queue"},
               {"waiting", right},
               {"due", right},
               {"oldest overdue", right},
               {"processing", right},
               {"done/s", right},
               {"failed/s", right}});
  for (const auto& [queue, stats] : now.queues) {
    const Rates rates = rates_since(before, now, queue);
    table.add({queue, fmt::format("{}", stats.counts.wait), fmt::format("{}", stats.due), overdue_text(stats),
               fmt::format("{}", stats.counts.processing), rate_text(rates.done), rate_text(rates.failed)});
  }
  return table.text();
}

// For a log: a line a queue, that says what it is about.
void print_lines(Time time, const std::optional<Look>& before, const Look& now) {
  for (const auto& [queue, stats] : now.queues) {
    const Rates rates = rates_since(before, now, queue);
    say("{} {} waiting={} due={} oldest_overdue={} processing={} done/s={} failed/s={}", print_time(time),
        queue, stats.counts.wait, stats.due, overdue_text(stats), stats.counts.processing,
        rate_text(rates.done), rate_text(rates.failed));
  }
}

void print_documents(Time time, const std::optional<Look>& before, const Look& now) {
  for (const auto& [queue, stats] : now.queues) {
    const Rates rates = rates_since(before, now, queue);
    Json json;
    json["time"] = time.time_since_epoch().count();
    json["queue"] = queue;
    json["WAIT"] = stats.counts.wait;
    json["due"] = stats.due;
    json["oldest_overdue_ms"] = stats.oldest_overdue.count();
    json["PROCESSING"] = stats.counts.processing;
    json["done_per_second"] = rates.done ? Json(*rates.done) : Json();
    json["failed_per_second"] = rates.failed ? Json(*rates.failed) : Json();
    print_json(json);
  }
}

void print_look(const Session& session, const std::optional<Look>& before, const Look& now) {
  const Time time = system_clock()->now().wall;
  if (session.json) {
    print_documents(time, before, now);
  } else if (::isatty(STDOUT_FILENO) == 1) {
    constexpr std::string_view clear = "\x1b[H\x1b[2J";
    write_out(fmt::format("{}{}\n\n{}", clear, print_time(time), watch_table(before, now)));
  } else {
    print_lines(time, before, now);
  }
  flush_out();
}

Exit watch(const Session& session, const WatchOptions& options, Target& target) {
  std::optional<Look> before;
  Steady::time_point next = Steady::now();
  for (std::uint64_t looks = 0; !options.count || looks < *options.count; ++looks) {
    std::this_thread::sleep_until(next);
    next += options.every.value_or(std::chrono::seconds{1});
    Result<Look> now = look_at(options, target);
    if (!now) return failed(now.error());
    print_look(session, before, *now);
    before = std::move(*now);
  }
  return Exit::ok;
}

}  // namespace

void declare_watch(Arguments& root, const Session& session) {
  const auto options = std::make_shared<WatchOptions>();
  Arguments command =
      root.command("watch", "Show what goes on in the queues, once a second (no terminal: a line a queue)");
  command.text("queue,--queue", options->queue, "QUEUE", "only this queue");
  command.number("--count", options->count, 1, ~std::uint64_t{0},
                 "end after so many looks, never by default");
  command.duration("--every", options->every, "from one look to the next, 1s by default");
  command.run([options, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return watch(session, *options, target); });
  });
}

}  // namespace duelease::tools
