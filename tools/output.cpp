#include "output.h"

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "text.h"

namespace duelease::tools {

const char* const exit_code_help =
    "Exit codes:\n"
    "  0    done\n"
    "  1    the answer is no: duplicate, refused, stale, not found, denied, violations found\n"
    "  2    wrong words or a value out of range on the command line\n"
    "  3    bad input: a file or a row that cannot be used, a payload that is too large\n"
    "  4    the store cannot be opened (none there, locked, corrupt, newer, a backup, something else), or\n"
    "       it failed, or the answer could not be written to standard output\n"
    "  5    overloaded, closing, or a server that cannot be reached: try again later\n"
    "  130  interrupted\n";

namespace {

std::atomic<int> first_output_error{0};

void note_output_error() {
  int none = 0;
  first_output_error.compare_exchange_strong(none, errno);
}

}  // namespace

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) note_output_error();
}

void write_err(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void flush_out() {
  if (std::fflush(stdout) != 0) note_output_error();
}

int output_error() {
  flush_out();
  return first_output_error;
}

Exit failed(const Error& error) {
  complain("{}", printable(error.message));
  switch (error.code) {
    case Code::invalid: return Exit::usage;
    case Code::too_large: return Exit::bad_input;
    case Code::not_found:
    case Code::not_alive:
    case Code::busy:
    case Code::denied: return Exit::no;
    case Code::locked:
    case Code::newer_format:
    case Code::corrupt:
    case Code::storage: return Exit::store;
    case Code::overloaded:
    case Code::closing:
    case Code::unreachable: return Exit::try_again;
  }
  return Exit::store;
}

}  // namespace duelease::tools
