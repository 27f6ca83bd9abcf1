// duelease check: counts the violations of each invariant of a store, and mends them.
#include <memory>

#include "../json.h"
#include "../table.h"
#include "../text.h"
#include "duelease/repair.h"
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

// ---- Repair -------------------------------------------------------------------------------------

Json repaired_json(const std::vector<Repaired>& invariants) {
  const auto example = [](const std::string& text) { return text.empty() ? Json() : json_bytes(text); };
  Json json = Json::array();
  for (const Repaired& each : invariants) {
    Json entry;
    entry["invariant"] = each.invariant;
    entry["found"] = each.found;
    entry["mended"] = each.mended;
    entry["left"] = each.left;
    entry["mended_example"] = example(each.mended_example);
    entry["left_example"] = example(each.left_example);
    json.push_back(std::move(entry));
  }
  return json;
}

Json lost_json(const std::optional<LostLog>& lost) {
  if (!lost) return {};
  Json json;
  json["file"] = lost->file;
  json["offset"] = lost->offset;
  json["bytes"] = lost->bytes;
  json["writes"] = lost->writes;
  return json;
}

void print_repair_json(const RepairReport& report) {
  Json json;
  json["orders"] = report.orders;
  json["mended"] = report.mended();
  json["left"] = report.left();
  json["invariants"] = repaired_json(report.invariants);
  json["lost"] = lost_json(report.lost);
  json["damaged_records"] = report.damaged_records;
  json["kept_in"] = report.kept_in.empty() ? Json() : json_bytes(report.kept_in.string());
  print_json(json);
}

void print_repair(const RepairReport& report, bool discard_damaged) {
  Table table({{"invariant"},
               {"found", Table::Align::right},
               {"mended", Table::Align::right},
               {"left", Table::Align::right},
               {"one that is left, or was mended", Table::Align::left, 200}});
  for (const Repaired& each : report.invariants) {
    table.add({each.invariant, fmt::format("{}", each.found), fmt::format("{}", each.mended),
               fmt::format("{}", each.left), each.left > 0 ? each.left_example : each.mended_example});
  }
  write_out(table.text() + '\n');
  if (report.lost && report.lost->file.empty()) {
    say("lost: all of the log, which is gone");
  } else if (report.lost) {
    say("lost: what cannot be read of the log from byte {} of {} on, {} bytes with {} writes or more; copied "
        "to {}",
        report.lost->offset, report.lost->file, report.lost->bytes, report.lost->writes,
        printable(report.kept_in.string()));
  }
  if (report.damaged_records > 0) {
    say("{} that cannot be read: in {}/records.jsonl{}", counted(report.damaged_records, "record"),
        printable(report.kept_in.string()),
        discard_damaged ? "" : "; --discard-damaged removes them from the store");
  }
  say("{} looked at, {} mended, {} left", counted(report.orders, "order"), report.mended(), report.left());
  if (report.left() > 0) {
    say("What is left cannot be mended without a guess; a backup may be the better way.");
  }
}

Exit repair(const Session& session, const RepairOptions& options) {
  if (session.server) {
    return failed({Code::invalid,
                   "--repair works on a store that nobody has open: stop the server, and give --store DIR"});
  }
  const Result<std::string> folder = store_folder(session);
  if (!folder) return failed(folder.error());
  const Result<RepairReport> report = duelease::repair(*folder, options);
  if (!report) return failed(store_error(*folder, report.error()));
  if (session.json) {
    print_repair_json(*report);
  } else {
    print_repair(*report, options.discard_damaged);
  }
  return report->left() == 0 ? Exit::ok : Exit::no;
}

// ---- The command --------------------------------------------------------------------------------

struct CheckOptions {
  std::optional<std::string> queue;
  bool repair = false;
  RepairOptions repairs;
};

Exit check_or_repair(const Session& session, CheckOptions& options) {
  if (options.repair && options.queue) {
    return failed(
        {Code::invalid, "--repair is for a whole store: leave out the queue " + quote(*options.queue)});
  }
  if (options.repair) {
    options.repairs.log = one_shot_options(session).log;
    return repair(session, options.repairs);
  }
  for (const auto& [given, name] : {std::pair(options.repairs.discard_damaged, "--discard-damaged"),
                                    std::pair(options.repairs.accept_loss, "--accept-loss")}) {
    if (given) return failed({Code::invalid, std::string(name) + " goes with --repair"});
  }
  return with_target(session, Missing::refuse,
                     [&](Target& target) { return check(session, options.queue, target); });
}

}  // namespace

void declare_check(Arguments& root, const Session& session) {
  const auto options = std::make_shared<CheckOptions>();
  Arguments command =
      root.command("check", "Count violations of the invariants; exit code 1 if there are any");
  command.text("queue,--queue", options->queue, "QUEUE", "only this queue");
  command.flag("--repair", options->repair,
               "mend what can be mended without a guess, in a store that nobody has open; exit code 1 if "
               "something is left");
  command.flag("--discard-damaged", options->repairs.discard_damaged,
               "and remove records that cannot be read; copies go to STORE.damaged first");
  command.flag("--accept-loss", options->repairs.accept_loss,
               "and open a store whose log is damaged, without the changes that cannot be read any more");
  command.run([options, &session] { return check_or_repair(session, *options); });
}

}  // namespace duelease::tools
