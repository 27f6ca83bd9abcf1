#include "output.h"

#include <cstdio>

#include "text.h"

namespace duelease::tools {

const char* const exit_code_help =
    "Exit codes:\n"
    "  0    done\n"
    "  1    the answer is no: duplicate, refused, not found, violations found\n"
    "  2    wrong words or a value out of range on the command line\n"
    "  3    bad input: a file or a row that cannot be used, a payload that is too large\n"
    "  4    the store cannot be opened (none there, locked, corrupt, newer), or it failed\n"
    "  5    overloaded or closing: try again later\n"
    "  130  interrupted\n";

void write_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write_err(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

bool output_failed() {
  const bool flushed = std::fflush(stdout) == 0;
  return !flushed || std::ferror(stdout) != 0;
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
