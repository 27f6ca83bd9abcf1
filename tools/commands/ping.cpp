// duelease ping: whether a server answers.
#include <chrono>
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

Exit ping(const Session& session) {
  if (!session.server) {
    complain("which server? give --server HOST:PORT");
    return Exit::usage;
  }
  const Result<std::unique_ptr<Client>> client = connect_to_server(session);
  if (!client) return failed(client.error());
  const auto start = std::chrono::steady_clock::now();
  const Result<> answered = (*client)->ping();
  if (!answered) return failed(answered.error());
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  print_answer(session, "ping_us", Json(took.count()), fmt::format("PONG in {} us", took.count()));
  return Exit::ok;
}

}  // namespace

void declare_ping(Arguments& root, const Session& session) {
  root.command("ping", "Ask a server for a sign of life").run([&session] { return ping(session); });
}

}  // namespace duelease::tools
