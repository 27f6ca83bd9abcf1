// duelease serve: the server.
//
// The first SIGTERM or SIGINT stops it well (see Server::stop); a second one ends it at once. Either way
// nothing that was acknowledged is lost.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "../service.h"
#include "../settings.h"
#include "../text.h"
#include "duelease/server.h"
#include "registry.h"

namespace duelease::tools {
namespace {

// What the store has open besides the connections, at most about.
constexpr std::size_t files_of_the_store = 1200;
// What a second signal leaves to those who close their files.
constexpr std::chrono::seconds second_signal_grace{2};

struct ServeOptions {
  Settings settings;
  std::vector<Setting> all = all_settings(settings);
  std::set<std::string> given;
  std::optional<std::string> config;
};

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> make_log(LogLevel level) {
  auto log = std::make_shared<spdlog::logger>("duelease", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  log->set_level(level_of(level));
  log->flush_on(spdlog::level::info);
  return log;
}

// A walk over a large store can take minutes, and no server ends before it. What was acknowledged is in the hands of
// the system, so nobody needs to wait for it.
void end_soon(const std::shared_ptr<spdlog::logger>& log) {
  std::this_thread::sleep_for(second_signal_grace);
  log->warn("ended while a read was under way");
  std::_Exit(static_cast<int>(Exit::ok));
}

Exit serve(const Session& session, ServeOptions& options) {
  Settings& settings = options.settings;
  settings.engine.durability = session.durability;
  if (session.store) options.given.insert("store");
  if (session.durability_given) options.given.insert("durability");
  if (options.config) {
    if (Result<> read = read_settings_file(*options.config, options.all, options.given); !read) {
      return failed(read.error());
    }
  }
  const std::shared_ptr<spdlog::logger> log = make_log(settings.log_level);
  const auto log_line = [log](LogLevel level, std::string_view line) {
    log->log(level_of(level), "{}", printable(line));
  };
  settings.engine.log = log_line;
  settings.server.log = log_line;
  StopSignals signals;

  Session with_store = session;
  if (!with_store.store && !settings.store.empty()) with_store.store = settings.store;
  const Result<std::unique_ptr<Engine>> engine = open_store(with_store, Missing::create, settings.engine);
  if (!engine) return failed(engine.error());
  const std::size_t files_wanted = settings.server.connections_max + files_of_the_store;
  if (const std::size_t files = raise_open_files_limit(files_wanted); files < files_wanted) {
    // The store fails for good when it cannot open its next file, so the connections must leave it some.
    const std::size_t most = std::max(files - std::min(files, files_of_the_store), files / 2);
    log->warn("{} open files are allowed, {} connections may take {}: at most {} connections are taken",
              files, settings.server.connections_max, files_wanted, most);
    settings.server.connections_max = std::max<std::size_t>(most, 1);
  }
  const Result<std::unique_ptr<Server>> server = Server::start(**engine, settings.server);
  if (!server) return failed(server.error());
  notify_service_manager("READY=1");
  signals.wait([&server, log] {
    std::thread(end_soon, log).detach();
    (*server)->stop_now();
  });
  notify_service_manager("STOPPING=1");
  (*server)->stop();
  signals.finish();
  (*engine)->close();
  log->info("closed");
  return Exit::ok;
}

}  // namespace

void declare_serve(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ServeOptions>();
  Arguments command = root.command("serve", "Serve the store to the network, until SIGTERM or SIGINT");
  command.text("--config", options->config, "FILE", "settings, by the names below: `port = 7420`; TOML");
  for (const Setting& setting : options->all) {
    if (setting.help.empty()) continue;  // An option of the program.
    const auto read = [&setting, &given = options->given](const std::string& text) {
      given.insert(setting.name);
      return setting.read(text);
    };
    if (setting.type.empty()) {
      command.action(
          "--" + setting.name, [read] { read("yes"); }, setting.help);
    } else {
      command.value("--" + setting.name, read, setting.type, setting.help, setting.repeats);
    }
  }
  command.footer(
      "\nA setting of the command line takes the place of the same one in the file; store and durability may "
      "stand "
      "there too.\n"
      "BYTES: a number, or one with KiB, MiB or GiB.\n"
      "The first SIGTERM or SIGINT: no new connections and claims, waiting claims are answered with nothing, "
      "reports are taken until nobody connected holds an order or the deadline is over. The second ends it "
      "at "
      "once.\n");
  command.run([options, &session] { return serve(session, *options); });
}

}  // namespace duelease::tools
