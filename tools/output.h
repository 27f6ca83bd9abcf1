// tools/output.h: what the program writes, and what its exit code means.
//
// Answers go to standard output, everything else to standard error as `duelease: what was wrong`. Writing
// never throws and never fails a command half way: main asks once, at the end, whether all of it went out.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "duelease/result.h"

namespace duelease::tools {

// Documented to the user in exit_code_help: never change a number.
enum class Exit : int {
  ok = 0,
  no = 1,             // The answer is no: duplicate, refused, stale, not found, violations.
  usage = 2,          // Wrong words or a value out of range on the command line.
  bad_input = 3,      // A file or a row that cannot be used, a payload that is too large.
  store = 4,          // The store cannot be opened (none there, locked, corrupt, newer, a backup, something
                      // else), or it failed, or the answer could not be written.
  try_again = 5,      // Overloaded, closing or unreachable: the same command may succeed later.
  interrupted = 130,  // SIGINT or SIGTERM ended an import between two batches.
};

extern const char* const exit_code_help;

void write_out(std::string_view text);
void write_err(std::string_view text);
// Sends on what write_out() still keeps.
void flush_out();
// Flushes; answers the errno with which standard output first refused anything, 0 when all of it went out.
int output_error();

// One line on standard output.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...) + '\n');
}

// One line on standard error, behind "duelease: ".
template <class... Args>
void complain(fmt::format_string<Args...> format, Args&&... args) {
  write_err("duelease: " + fmt::format(format, std::forward<Args>(args)...) + '\n');
}

// Reports an error of a call and answers the exit code for it.
Exit failed(const Error& error);

}  // namespace duelease::tools
