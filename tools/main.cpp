// tools/main.cpp: the program `duelease`.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <functional>

#include "arguments.h"
#include "commands/registry.h"
#include "duelease/clock.h"
#include "session.h"

namespace duelease::tools {
namespace {

// A store's file must never become descriptor 0, 1 or 2 because the caller had closed them: the next line
// of output would go into it.
void open_standard_files() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) ::close(fd);
}

std::string read_durability(const std::string& text, Durability& into) {
  if (text == "sync") return into = Durability::sync, "";
  if (text == "interval") return into = Durability::interval, "";
  if (text == "none") return into = Durability::none, "";
  return "one of sync, interval, none";
}

void declare_program(Arguments& program, Session& session) {
  program.text("--store", session.store, "DIR", "folder of the store").environment("DUELEASE_STORE");
  program.flag("--json", session.json, "answer in JSON, for scripts");
  const auto durability = [&session](const std::string& text) {
    session.durability_given = true;
    return read_durability(text, session.durability);
  };
  program.value("--durability", durability, "LEVEL",
                "what a change has survived when it is acknowledged: sync (a power cut, the default), "
                "interval or none (kill -9)");
  program.require_command();
  program.footer(
      "\nThe options above may stand before or behind the command; `duelease COMMAND --help` shows the "
      "rest.\n"
      "TIME: milliseconds since 1970, +DURATION, NOW, a date (midnight UTC) or RFC 3339.\n"
      "DURATION: milliseconds, or a number with ms, s, m, h or d.\n"
      "An ID that starts with a dash: --id ID. JSON: bytes that are not UTF-8 are {\"base64\": ...}.\n\n" +
      std::string(exit_code_help));
  for (const DeclareCommand declare : all_commands) declare(program, session);
}

// CLI11 asks for a command before it looks at the word that it could not use.
Exit refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                          std::string_view(error.what()).find("ubcommand") != std::string_view::npos;
  if (no_command && !unknown.empty()) {
    complain("no such command: {} (see duelease --help)", unknown.front());
  } else if (no_command) {
    complain("which command? (see duelease --help)");
  } else {
    complain("{}", error.what());
  }
  return Exit::usage;
}

Exit run(int argc, char** argv) {
  Session session;
  session.now = system_clock()->now().wall;
  std::function<Exit()> chosen;
  CLI::App app("duelease: a scheduler for due orders in a store of its own", "duelease");
  app.set_version_flag("--version", "duelease " DUELEASE_VERSION);
  Arguments program(app, chosen);
  declare_program(program, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    app.exit(help);
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    return refuse(app, error);
  }
  return chosen();
}

}  // namespace
}  // namespace duelease::tools

int main(int argc, char** argv) {
  using duelease::tools::Exit;
  duelease::tools::open_standard_files();
  Exit exit = Exit::store;
  try {
    exit = duelease::tools::run(argc, argv);
  } catch (const std::exception& e) {
    duelease::tools::complain("{}", e.what());
  }
  if (duelease::tools::output_failed()) {
    duelease::tools::complain("cannot write to standard output");
    if (exit == Exit::ok) exit = Exit::store;
  }
  return static_cast<int>(exit);
}
