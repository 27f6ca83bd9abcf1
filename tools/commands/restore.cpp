// duelease restore: makes a store from a backup.
#include <memory>

#include "../answer.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct RestoreOptions {
  std::string from;
  std::string to;
  std::optional<std::uint64_t> tokens_above;
};

Exit restore_store(const Session& session, const RestoreOptions& options) {
  if (session.server) {
    complain("restore makes a store, and asks no server: leave out --server");
    return Exit::usage;
  }
  const Result<> done = restore(options.from, options.to, Token{options.tokens_above.value_or(0)});
  if (!done && done.error().code == Code::not_found) {
    complain("no backup at {}", printable(options.from));
    return Exit::store;
  }
  if (!done) return failed(done.error());
  print_answer(session, "store", json_bytes(options.to), "restored to " + printable(options.to));
  return Exit::ok;
}

}  // namespace

void declare_restore(Arguments& root, const Session& session) {
  const auto options = std::make_shared<RestoreOptions>();
  Arguments command = root.command("restore", "Make a store from a backup (which is written to: a counter)");
  command.text("--from", options->from, "DIR", "the backup").required();
  command.text("--to", options->to, "DIR", "the store to make").required();
  constexpr std::uint64_t token_max = 0x7FFFFFFFFFFFFFFF;
  command.number("--tokens-above", options->tokens_above, 0, token_max,
                 "a token known from outside: new ones start above it, too");
  command.run([options, &session] { return restore_store(session, *options); });
}

}  // namespace duelease::tools
