// duelease password: a line for a users file.
#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "duelease/server.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct PasswordOptions {
  std::string name;
  std::string role;
  std::string queues;
};

// Shows nothing of what is typed, as long as it lives.
class NoEcho {
 public:
  NoEcho() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
  }
  ~NoEcho() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

Exit password(const PasswordOptions& options) {
  std::string typed;
  if (::isatty(STDIN_FILENO) != 0) write_err("password: ");
  {
    const NoEcho no_echo;
    std::getline(std::cin, typed);
  }
  if (::isatty(STDIN_FILENO) != 0) write_err("\n");
  const Result<std::string> line = make_user_line(options.name, options.role, options.queues, typed);
  if (!line) return failed(line.error());
  say("{}", *line);
  return Exit::ok;
}

}  // namespace

void declare_password(Arguments& root, const Session&) {
  const auto options = std::make_shared<PasswordOptions>();
  Arguments command = root.command("password", "Make a line for the users file of `duelease serve`");
  command.text("user", options->name, "USER", "who logs in; \"default\" is who gives a password alone")
      .required();
  command.text("role", options->role, "ROLE", "producer, worker, read-only or admin").required();
  command.text("queues", options->queues, "QUEUES", "* or names and beginnings of names: unpaid,shop.*")
      .required();
  command.footer(
      "\nThe password is read from standard input, its first line. The file keeps only its hash.\n");
  command.run([options] { return password(*options); });
}

}  // namespace duelease::tools
