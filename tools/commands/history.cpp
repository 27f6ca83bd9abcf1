// duelease history: says what happened to an order.
#include <memory>

#include "../answer.h"
#include "../table.h"
#include "../text.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct HistoryOptions {
  OrderName name;
  std::optional<std::uint64_t> limit;
};

void print_entries(const Session& session, const OrderName& name, const std::vector<HistoryEntry>& entries) {
  if (session.json) {
    for (const HistoryEntry& entry : entries) {
      Json json;
      json["queue"] = json_bytes(name.queue);
      json["id"] = json_bytes(name.id);
      json["at"] = entry.at.time_since_epoch().count();
      json["event"] = history_event_name(entry.event);
      json["state"] = state_name(entry.state);
      json["due"] = entry.due ? Json(entry.due->time_since_epoch().count()) : Json();
      json["worker"] = json_bytes(entry.worker);
      json["token"] = static_cast<std::uint64_t>(entry.token);
      json["attempt"] = entry.attempt;
      json["reason"] = json_bytes(entry.reason);
      json["sequence"] = entry.sequence;
      print_json(json);
    }
    return;
  }
  Table table(
      {{"time"}, {"event"}, {"state"}, {"due"}, {"worker"}, {"token", Table::Align::right}, {"reason"}});
  for (const HistoryEntry& entry : entries) {
    const auto token = static_cast<std::uint64_t>(entry.token);
    table.add({print_time(entry.at), std::string(history_event_name(entry.event)),
               std::string(state_name(entry.state)), entry.due ? print_time(*entry.due) : "", entry.worker,
               token == 0 ? "" : fmt::format("{}", token), entry.reason});
  }
  write_out(table.text());
}

Exit history(const Session& session, const HistoryOptions& options, Target& target) {
  const OrderName& name = options.name;
  const auto limit = static_cast<std::uint32_t>(options.limit.value_or(1000));
  const Result<std::vector<HistoryEntry>> entries = target.history(name.queue, name.id, limit);
  if (!entries) return failed(entries.error());
  const Result<QueueSettings> settings = target.queue_settings(name.queue);
  if (!settings) return failed(settings.error());
  if (!entries->empty()) print_entries(session, name, *entries);
  if (settings->keep_history == Duration{0}) {
    complain("queue {0} keeps no history; from now on it does with: queue set {0} --keep-history 30d",
             printable(name.queue));
  } else if (entries->empty()) {
    complain("nothing has happened to order {} of queue {} within {}", printable(name.id),
             printable(name.queue), print_duration(settings->keep_history, all_units));
  }
  return entries->empty() ? Exit::no : Exit::ok;
}

}  // namespace

void declare_history(Arguments& root, const Session& session) {
  const auto options = std::make_shared<HistoryOptions>();
  Arguments command = root.command("history", "Say what happened to an order, if its queue keeps a history");
  declare_order_name(command, options->name);
  command.number("--limit", options->limit, 1, 10000, "only the newest so many, 1000 by default");
  command.run([options, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return history(session, *options, target); });
  });
}

}  // namespace duelease::tools
