// duelease run: runs, the parents of orders: open, start, beat, done, error; show and list.
#include <memory>

#include "../answer.h"
#include "../table.h"
#include "../text.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct RunName {
  std::string queue;
  std::string run;
};

void declare_run_name(Arguments& command, RunName& name) {
  command.text("queue,--queue", name.queue, "QUEUE", "the run's queue").required();
  command.text("run,--run", name.run, "RUN", "the run's name").required();
}

// ---- Changes: each answers the state ----

Exit report_state(const Session& session, const RunName& name, const Result<RunState>& state) {
  if (!state) return failed(state.error());
  if (session.json) {
    Json json;
    json["queue"] = json_bytes(name.queue);
    json["run"] = json_bytes(name.run);
    json["state"] = run_state_name(*state);
    print_json(json);
  } else {
    say("{} {} {}", run_state_name(*state), printable(name.queue), printable(name.run));
  }
  return Exit::ok;
}

using Change = std::function<Result<RunState>(Target&)>;

Exit change(const Session& session, const RunName& name, Missing missing, const Change& action) {
  return with_target(session, missing,
                     [&](Target& target) { return report_state(session, name, action(target)); });
}

struct OpenOptions {
  RunName name;
  std::optional<Duration> ttl;
};

void declare_open(Arguments& root, const Session& session) {
  const auto options = std::make_shared<OpenOptions>();
  Arguments command =
      root.command("open", "Make a run: CREATING (makes the queue, and the store if need be)");
  declare_run_name(command, options->name);
  command.duration("--ttl", options->ttl, "without a beat for so long it ends in ERROR; no limit by default");
  command.run([options, &session] {
    return change(session, options->name, Missing::create, [&](Target& target) {
      return target.run_open({options->name.queue, options->name.run, options->ttl});
    });
  });
}

void declare_start(Arguments& root, const Session& session) {
  const auto name = std::make_shared<RunName>();
  Arguments command = root.command("start", "All its orders are there: RUNNING");
  declare_run_name(command, *name);
  command.run([name, &session] {
    return change(session, *name, Missing::refuse, [&](Target& target) {
      return target.run_start({name->queue, name->run});
    });
  });
}

void declare_beat(Arguments& root, const Session& session) {
  const auto name = std::make_shared<RunName>();
  Arguments command = root.command("beat", "It is alive: its time to live begins again");
  declare_run_name(command, *name);
  command.run([name, &session] {
    return change(session, *name, Missing::refuse, [&](Target& target) {
      return target.run_beat({name->queue, name->run});
    });
  });
}

struct DoneOptions {
  RunName name;
  bool force = false;
};

void declare_done(Arguments& root, const Session& session) {
  const auto options = std::make_shared<DoneOptions>();
  Arguments command = root.command("done", "End it well: DONE; refused while orders wait or are processed");
  declare_run_name(command, options->name);
  command.flag("--force", options->force, "all the same: those that wait are ABORTED");
  command.run([options, &session] {
    return change(session, options->name, Missing::refuse, [&](Target& target) {
      return target.run_done({options->name.queue, options->name.run, options->force});
    });
  });
}

struct ErrorOptions {
  RunName name;
  std::string reason;
};

void declare_error(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ErrorOptions>();
  Arguments command = root.command("error", "End it in ERROR: its orders that wait are ABORTED");
  declare_run_name(command, options->name);
  command.text("--reason", options->reason, "TEXT", "kept with the run");
  command.run([options, &session] {
    return change(session, options->name, Missing::refuse, [&](Target& target) {
      return target.run_error({options->name.queue, options->name.run, options->reason});
    });
  });
}

// ---- Reads ----

Json optional_time(const std::optional<Time>& time) {
  return time ? Json(time->time_since_epoch().count()) : Json();
}

Json run_json(const Run& run) {
  Json json;
  json["queue"] = run.queue;
  json["run"] = json_bytes(run.run);
  json["state"] = run_state_name(run.state);
  json["ttl"] = run.ttl ? Json(run.ttl->count()) : Json();
  json["expires_at"] = optional_time(run.expires_at);
  json["opened_at"] = run.opened_at.time_since_epoch().count();
  json["started_at"] = optional_time(run.started_at);
  json["ended_at"] = optional_time(run.ended_at);
  json["reason"] = json_bytes(run.reason);
  json["WAIT"] = run.counts.wait;
  json["PROCESSING"] = run.counts.processing;
  json["SUCCESS"] = run.counts.success;
  json["FAILED"] = run.counts.failed;
  json["ABORTED"] = run.counts.aborted;
  json["purged_SUCCESS"] = run.purged.success;
  json["purged_FAILED"] = run.purged.failed;
  json["purged_ABORTED"] = run.purged.aborted;
  return json;
}

// "5", or "5 (2 of them purged)".
std::string count_text(std::uint64_t count, std::uint64_t purged) {
  return purged == 0 ? fmt::format("{}", count) : fmt::format("{} ({} of them purged)", count, purged);
}

// For a person: what is not there is not listed.
std::string run_table(const Run& run, Time now) {
  Table table({{""}, {"", Table::Align::left, 2000}});
  table.add({"queue", run.queue});
  table.add({"run", run.run});
  table.add({"state", std::string(run_state_name(run.state))});
  if (!run.reason.empty()) table.add({"reason", run.reason});
  if (run.ttl) table.add({"time to live", print_duration(*run.ttl, all_units)});
  if (run.expires_at) table.add({"beat before", time_seen_from(*run.expires_at, now)});
  table.add({"opened", time_seen_from(run.opened_at, now)});
  if (run.started_at) table.add({"started", time_seen_from(*run.started_at, now)});
  if (run.ended_at) table.add({"ended", time_seen_from(*run.ended_at, now)});
  table.add({"WAIT", count_text(run.counts.wait, 0)});
  table.add({"PROCESSING", count_text(run.counts.processing, 0)});
  table.add({"SUCCESS", count_text(run.counts.success, run.purged.success)});
  table.add({"FAILED", count_text(run.counts.failed, run.purged.failed)});
  table.add({"ABORTED", count_text(run.counts.aborted, run.purged.aborted)});
  return table.text();
}

Exit show(const Session& session, const RunName& name, Target& target) {
  const Result<Run> run = target.run(name.queue, name.run);
  if (!run) return failed(run.error());
  if (session.json) {
    print_json(run_json(*run));
  } else {
    write_out(run_table(*run, session.now));
  }
  return Exit::ok;
}

Exit list(const Session& session, const std::string& queue, Target& target) {
  const Result<std::vector<std::string>> runs = target.runs(queue);
  if (!runs) return failed(runs.error());
  if (session.json) {
    Json json;
    json["queue"] = queue;
    json["runs"] = Json::array();
    for (const std::string& run : *runs) json["runs"].push_back(json_bytes(run));
    print_json(json);
    return Exit::ok;
  }
  for (const std::string& run : *runs) say("{}", printable(run));
  return Exit::ok;
}

void declare_show(Arguments& root, const Session& session) {
  const auto name = std::make_shared<RunName>();
  Arguments command = root.command("show", "Show it, with its orders counted by where they stand");
  declare_run_name(command, *name);
  command.run([name, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return show(session, *name, target); });
  });
}

void declare_run_list(Arguments& root, const Session& session) {
  const auto queue = std::make_shared<std::string>();
  Arguments command = root.command("list", "Name all runs of a queue, also those that have ended");
  command.text("queue,--queue", *queue, "QUEUE", "the queue").required();
  command.run([queue, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return list(session, *queue, target); });
  });
}

}  // namespace

void declare_run(Arguments& root, const Session& session) {
  Arguments command =
      root.command("run", "Runs, the parents of orders: open, start, beat, done, error, show, list");
  command.require_command();
  declare_open(command, session);
  declare_start(command, session);
  declare_beat(command, session);
  declare_done(command, session);
  declare_error(command, session);
  declare_show(command, session);
  declare_run_list(command, session);
  command.footer(
      "\nOrders join a run that is alive (schedule --run, import --run). When it ends in ERROR, or its time "
      "to "
      "live\n"
      "lapses, those that wait are ABORTED and their ids and keys are free; those that are processed may "
      "still\n"
      "succeed. A time to live is counted while a program has the store open.\n");
}

}  // namespace duelease::tools
