// duelease queue: settings of a queue: set, show, pause, resume; and the list of queues.
#include <memory>

#include "../json.h"
#include "../table.h"
#include "../text.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

Json settings_json(const std::string& queue, const QueueSettings& settings) {
  Json json;
  json["queue"] = queue;
  json["lease"] = settings.lease.count();
  json["tries"] = settings.tries;
  json["backoff_base"] = settings.backoff_base.count();
  json["backoff_cap"] = settings.backoff_cap.count();
  json["backoff_jitter_percent"] = settings.backoff_jitter_percent;
  json["payload_bytes_max"] = settings.payload_bytes_max;
  json["keep_success"] = settings.keep_success ? Json(settings.keep_success->count()) : Json();
  json["keep_history"] = settings.keep_history.count();
  json["paused"] = settings.paused;
  return json;
}

std::string settings_table(const std::string& queue, const QueueSettings& settings) {
  Table table({{""}, {""}});
  table.add({"queue", queue});
  table.add({"lease", print_duration(settings.lease, all_units)});
  table.add({"tries", settings.tries == 0 ? "no limit" : fmt::format("{}", settings.tries)});
  table.add({"backoff base", print_duration(settings.backoff_base, all_units)});
  table.add({"backoff cap", print_duration(settings.backoff_cap, all_units)});
  table.add({"backoff jitter", fmt::format("{} %", settings.backoff_jitter_percent)});
  table.add({"payload max", counted(settings.payload_bytes_max, "byte")});
  table.add({"keep success",
             settings.keep_success ? print_duration(*settings.keep_success, all_units) : "forever"});
  table.add({"keep history", settings.keep_history == Duration{0}
                                 ? "none"
                                 : print_duration(settings.keep_history, all_units)});
  table.add({"paused", settings.paused ? "yes" : "no"});
  return table.text();
}

Exit report_settings(const Session& session, const std::string& queue,
                     const Result<QueueSettings>& settings) {
  if (!settings) return failed(settings.error());
  if (session.json) {
    print_json(settings_json(queue, *settings));
  } else {
    write_out(settings_table(queue, *settings));
  }
  return Exit::ok;
}

struct SetOptions {
  QueueSetRequest request;
  std::optional<std::uint64_t> tries;
  std::optional<std::uint64_t> jitter;
  std::optional<std::uint64_t> payload_bytes_max;
};

std::optional<std::uint32_t> narrowed(const std::optional<std::uint64_t>& number) {
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

Exit set(const Session& session, const SetOptions& options) {
  QueueSetRequest request = options.request;
  request.tries = narrowed(options.tries);
  request.backoff_jitter_percent = narrowed(options.jitter);
  request.payload_bytes_max = narrowed(options.payload_bytes_max);
  return with_target(session, Missing::create, [&](Target& target) {
    const std::string queue = request.queue;
    return report_settings(session, queue, target.set_queue(std::move(request)));
  });
}

std::string read_keep_history(const std::string& text, QueueSetRequest& request) {
  const Result<Duration> keep = text == "none" ? Result<Duration>(Duration{0}) : parse_duration(text);
  if (!keep) return keep.error().message + " (or \"none\")";
  request.keep_history = *keep;
  return {};
}

std::string read_keep(const std::string& text, QueueSetRequest& request) {
  if (text == "forever") {
    request.keep_success = std::optional<Duration>();
    return {};
  }
  const Result<Duration> keep = parse_duration(text);
  if (!keep) return keep.error().message + " (or \"forever\")";
  request.keep_success = std::optional<Duration>(*keep);
  return {};
}

void declare_set(Arguments& root, const Session& session) {
  const auto options = std::make_shared<SetOptions>();
  QueueSetRequest& request = options->request;
  Arguments command = root.command("set", "Change settings; what is not given stays (makes the queue)");
  command.text("queue,--queue", request.queue, "QUEUE", "the queue").required();
  command.duration("--lease", request.lease, "how long a worker has, 30s by default");
  command.number("--tries", options->tries, 0, 0xFFFFFFFF,
                 "hand-outs until FAILED, 0: no limit; 25 by default");
  command.duration("--backoff-base", request.backoff_base, "until the first retry, 1s by default");
  command.duration("--backoff-cap", request.backoff_cap, "the longest until a retry, 1h by default");
  command.number("--backoff-jitter", options->jitter, 0, 100, "give or take so many percent, 10 by default");
  command.number("--payload-max", options->payload_bytes_max, 0, 64 * 1024 * 1024,
                 "bytes of a payload, 1048576 by default");
  const auto keep = [options](const std::string& text) { return read_keep(text, options->request); };
  command.value("--keep-success", keep, "DURATION", "how long a SUCCESS is kept and blocks, or \"forever\"");
  const auto history = [options](const std::string& text) {
    return read_keep_history(text, options->request);
  };
  command.value("--keep-history", history, "DURATION",
                "how long to keep what happened to each order, or \"none\", the default");
  command.run([options, &session] { return set(session, *options); });
}

using OnQueue = std::function<Result<QueueSettings>(Target&, const std::string&)>;

void declare_on_queue(Arguments& root, const Session& session, const char* name, const char* help,
                      const OnQueue& action) {
  const auto queue = std::make_shared<std::string>();
  Arguments command = root.command(name, help);
  command.text("queue,--queue", *queue, "QUEUE", "the queue").required();
  command.run([queue, action, &session] {
    return with_target(session, Missing::refuse, [&](Target& target) {
      return report_settings(session, *queue, action(target, *queue));
    });
  });
}

Exit list_queues(const Session& session, Target& target) {
  const Result<std::vector<std::string>> queues = target.queues();
  if (!queues) return failed(queues.error());
  if (session.json) {
    Json json;
    json["queues"] = *queues;
    print_json(json);
    return Exit::ok;
  }
  for (const std::string& queue : *queues) say("{}", queue);
  return Exit::ok;
}

}  // namespace

void declare_queue(Arguments& root, const Session& session) {
  Arguments command = root.command("queue", "Settings of a queue: set, show, pause, resume; list of queues");
  command.require_command();
  declare_set(command, session);
  declare_on_queue(command, session, "show", "Show the settings",
                   [](Target& target, const std::string& queue) { return target.queue_settings(queue); });
  declare_on_queue(command, session, "pause", "Hand nothing out; everything else goes on",
                   [](Target& target, const std::string& queue) { return target.pause(queue); });
  declare_on_queue(command, session, "resume", "Hand out again",
                   [](Target& target, const std::string& queue) { return target.resume(queue); });
  Arguments list = command.command("list", "Name all queues");
  list.run([&session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return list_queues(session, target); });
  });
}

}  // namespace duelease::tools
