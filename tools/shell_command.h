// tools/shell_command.h: runs one command of the shell, feeds it and listens to it until it ends.
//
// The command gets its input on standard input; its standard output is kept up to a limit, its standard
// error goes on to ours. It runs in a process group of its own, so that a signal reaches what it started,
// and Ctrl-C in a terminal reaches only us. Input and outputs are served at the same time: neither a command
// that does not read nor one that writes much can block the other way.
//
// Safe from any number of threads (posix_spawn, every descriptor O_CLOEXEC). The caller must have SIGPIPE
// ignored, for a command need not read its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/types.h"

namespace duelease::tools {

struct ShellCommand {
  std::string text;                      // For /bin/sh -c.
  std::string_view input;                // Must outlive the run.
  std::vector<std::string> environment;  // "NAME=value": on top of, and instead of, our own.
  std::size_t output_bytes_max = 64 * 1024;
  // Once `give_up` answers true (asked ten times a second) the command gets SIGTERM, and SIGKILL when it is
  // still there after this long.
  Duration kill_after{5000};
};

struct ShellEnd {
  enum class How : std::uint8_t { exited, signalled, not_started };

  How how = How::not_started;
  int code = 0;            // The exit code, the signal, or the errno.
  bool given_up = false;   // `give_up` had answered true.
  std::string output;      // The first bytes of standard output.
  std::string error_line;  // The last line of standard error that was not blank, cut.

  bool succeeded() const { return how == How::exited && code == 0; }
};

ShellEnd run_shell_command(const ShellCommand& command, const std::function<bool()>& give_up);

// "exit 3: no such customer", "killed by SIGTERM", "cannot start /bin/sh: ...".
std::string describe(const ShellEnd& end);

// Keeps the last line of a text that comes in pieces.
class LastLine {
 public:
  static constexpr std::size_t bytes_max = 1000;

  void feed(std::string_view piece);
  // Without its end and without blanks around; lines of blanks do not count.
  std::string text() const;

 private:
  std::string line_;      // The line that is coming in, cut to bytes_max.
  std::string complete_;  // The last whole line that was not blank.
};

}  // namespace duelease::tools
