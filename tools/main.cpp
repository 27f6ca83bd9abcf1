// tools/main.cpp: the program `duelease`.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstring>
#include <exception>
#include <functional>
#include <sstream>

#include "arguments.h"
#include "commands/registry.h"
#include "duelease/clock.h"
#include "session.h"
#include "usage_error.h"

namespace duelease::tools {
namespace {

// A store's file must never become descriptor 0, 1 or 2 because the caller had closed them: the next line
// of output would go into it. What was closed is opened the wrong way round, so that using it still fails.
void open_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Those below are open, so an open answers this one.
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A reader that went away and a limit on the size of files are errors of a write, which is then reported;
// they must not end the program between two batches.
void ignore_signals_of_writes() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

std::string read_durability(const std::string& text, Durability& into) {
  if (text == "sync") return into = Durability::sync, "";
  if (text == "interval") return into = Durability::interval, "";
  if (text == "none") return into = Durability::none, "";
  return "one of sync, interval, none";
}

void declare_program(Arguments& program, Session& session) {
  program.text("--store", session.store, "DIR", "folder of the store").environment("DUELEASE_STORE");
  program.text("--server", session.server, "HOST:PORT", "ask a server instead of opening a store");
  program.text("--user", session.user, "NAME", "of the server; the password is in DUELEASE_PASSWORD");
  program.text("--password-file", session.password_file, "FILE", "or in the first line of this file");
  program.flag("--tls", session.tls, "speak TLS to the server");
  program.text("--tls-ca", session.tls_ca, "FILE", "with these authorities (PEM), and not the system's");
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
      "DURATION: a number with ms, s, m, h or d, such as 30s.\n"
      "An ID that starts with a dash: --id ID. JSON: bytes that are not UTF-8 are {\"base64\": ...}.\n\n" +
      std::string(exit_code_help));
  for (const DeclareCommand declare : all_commands) declare(program, session);
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
    std::ostringstream text;
    app.exit(help, text, text);
    write_out(text.str());
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    complain("{}", usage_error(app, error));
    return Exit::usage;
  }
  return chosen();
}

}  // namespace
}  // namespace duelease::tools

int main(int argc, char** argv) {
  using duelease::tools::Exit;
  duelease::tools::open_standard_files();
  duelease::tools::ignore_signals_of_writes();
  Exit exit = Exit::store;
  try {
    exit = duelease::tools::run(argc, argv);
  } catch (const std::exception& e) {
    duelease::tools::complain("{}", e.what());
  }
  if (const int error = duelease::tools::output_error(); error != 0) {
    duelease::tools::complain("cannot write to standard output: {}", std::strerror(error));
    exit = Exit::store;
  }
  return static_cast<int>(exit);
}
