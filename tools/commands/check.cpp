// duelease check: counts the violations of each invariant of a store.
#include <memory>

#include "../json.h"
#include "../table.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

Json violations_json(const std::vector<Violation>& violations) {
  Json json = Json::array();
  for (const Violation& violation : violations) {
    Json entry;
    entry["invariant"] = violation.invariant;
    entry["violations"] = violation.count;
    entry["example"] = violation.example.empty() ? Json() : json_bytes(violation.example);
    json.push_back(std::move(entry));
  }
  return json;
}

std::string violations_table(const char* title, const std::vector<Violation>& violations) {
  Table table({{title}, {"violations", Table::Align::right}, {"first one found", Table::Align::left, 200}});
  for (const Violation& violation : violations) {
    table.add({violation.invariant, fmt::format("{}", violation.count), violation.example});
  }
  return table.text();
}

// Opening a store mends what it meets; that too was a violation, and whoever watches the exit code must
// hear of it once.
Exit check(const Session& session, const std::optional<std::string>& queue, Target& target) {
  if (queue) {
    // A queue that is not there has no violations; but whoever mistypes a name must not be told all is well.
    const Result<QueueSettings> known = target.queue_settings(*queue);
    if (!known) return failed(known.error());
  }
  const Result<CheckReport> report = target.check(queue.value_or(""));
  if (!report) return failed(report.error());
  const std::vector<Violation> mended = target.mended();
  bool sound = report->violations() == 0;
  for (const Violation& violation : mended) sound = sound && violation.count == 0;

  if (session.json) {
    Json json;
    json["orders"] = target.is_remote() ? Json() : Json(report->orders);
    json["violations"] = report->violations();
    json["invariants"] = violations_json(report->invariants);
    json["mended"] = violations_json(mended);
    print_json(json);
  } else {
    write_out(violations_table("invariant", report->invariants));
    if (!mended.empty()) write_out('\n' + violations_table("mended at open", mended));
    const std::string looked_at = target.is_remote() ? "" : counted(report->orders, "order") + " looked at, ";
    say("\n{}{}", looked_at, counted(report->violations(), "violation"));
  }
  return sound ? Exit::ok : Exit::no;
}

}  // namespace

void declare_check(Arguments& root, const Session& session) {
  const auto queue = std::make_shared<std::optional<std::string>>();
  Arguments command =
      root.command("check", "Count violations of the invariants; exit code 1 if there are any");
  command.text("queue,--queue", *queue, "QUEUE", "only this queue");
  command.run([queue, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return check(session, *queue, target); });
  });
}

}  // namespace duelease::tools
