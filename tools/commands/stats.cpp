// duelease stats: how many orders there are in which state.
#include <memory>

#include "../json.h"
#include "../table.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct QueueStats {
  std::string queue;
  Stats stats;
};

Json stats_json(const QueueStats& entry) {
  const Stats& stats = entry.stats;
  Json json;
  json["queue"] = entry.queue;
  json["WAIT"] = stats.counts.wait;
  json["PROCESSING"] = stats.counts.processing;
  json["SUCCESS"] = stats.counts.success;
  json["FAILED"] = stats.counts.failed;
  json["ABORTED"] = stats.counts.aborted;
  json["due"] = stats.due;
  json["oldest_overdue_ms"] = stats.oldest_overdue.count();
  json["leases"] = stats.leases;
  return json;
}

std::string stats_table(const std::vector<QueueStats>& entries) {
  constexpr auto right = Table::Align::right;
  Table table({{"queue"},
               {"WAIT", right},
               {"PROCESSING", right},
               {"SUCCESS", right},
               {"FAILED", right},
               {"ABORTED", right},
               {"due", right},
               {"oldest overdue", right},
               {"leases", right}});
  for (const auto& [queue, stats] : entries) {
    const auto number = [](std::uint64_t n) { return fmt::format("{}", n); };
    const Counts& counts = stats.counts;
    table.add({queue, number(counts.wait), number(counts.processing), number(counts.success),
               number(counts.failed), number(counts.aborted), number(stats.due),
               stats.due == 0 ? "-" : print_duration(stats.oldest_overdue), number(stats.leases)});
  }
  return table.text();
}

Exit show_stats(const Session& session, const std::optional<std::string>& queue, Target& target) {
  const Result<std::vector<std::string>> queues = chosen_queues(target, queue);
  if (!queues) return failed(queues.error());
  std::vector<QueueStats> entries;
  for (const std::string& name : *queues) {
    const Result<Stats> stats = target.stats(name);
    if (!stats) return failed(stats.error());
    entries.push_back({name, *stats});
  }
  if (!session.json) {
    write_out(stats_table(entries));
    return Exit::ok;
  }
  for (const QueueStats& entry : entries) print_json(stats_json(entry));
  return Exit::ok;
}

}  // namespace

void declare_stats(Arguments& root, const Session& session) {
  const auto queue = std::make_shared<std::optional<std::string>>();
  Arguments command = root.command("stats", "Count orders by state (JSON: one line a queue)");
  command.text("queue,--queue", *queue, "QUEUE", "only this queue");
  command.run([queue, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return show_stats(session, *queue, target); });
  });
}

}  // namespace duelease::tools
