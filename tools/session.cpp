#include "session.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "server_address.h"
#include "text.h"

namespace duelease::tools {
namespace {

void log(LogLevel level, std::string_view line) {
  if (level == LogLevel::info) return;
  complain("{}: {}", level == LogLevel::warning ? "warning" : "error", printable(line));
}

// The first line.
Result<std::string> read_password(const std::string& path) {
  std::ifstream file(path);
  std::string password;
  if (!std::getline(file, password) || password.empty()) {
    return fail(Code::invalid, "no password in " + path);
  }
  return password;
}

// An empty one is none.
Result<std::string> password_of(const Session& session) {
  if (session.password_file) return read_password(*session.password_file);
  const char* const variable = std::getenv("DUELEASE_PASSWORD");
  std::string password = variable != nullptr ? variable : "";
  if (!password.empty() || !session.user) return password;
  return fail(Code::invalid, "user " + *session.user +
                                 " has no password: give --password-file FILE, or set DUELEASE_PASSWORD");
}

}  // namespace

Result<std::unique_ptr<Client>> connect_to_server(const Session& session) {
  const char* const usual = std::getenv("DUELEASE_STORE");
  if (session.store && (usual == nullptr || *session.store != usual)) {
    return fail(Code::invalid, "give --store or --server, not both");
  }
  Result<ServerAddress> address = parse_server_address(*session.server);
  if (!address) return Unexpected{address.error()};
  Result<std::string> password = password_of(session);
  if (!password) return Unexpected{password.error()};
  ClientOptions options;
  options.host = std::move(address->host);
  options.port = address->port;
  options.user = session.user.value_or("");
  options.password = std::move(*password);
  options.tls.enabled = session.tls || session.tls_ca;
  options.tls.ca_file = session.tls_ca.value_or("");
  return Client::connect(std::move(options));
}

Options one_shot_options(const Session& session) {
  Options options;
  options.durability = session.durability;
  options.timer = false;
  options.log = log;
  return options;
}

Result<std::string> store_folder(const Session& session) {
  if (session.server) {
    return fail(Code::invalid, "this command works on a store: give --store DIR, and not --server");
  }
  if (!session.store || session.store->empty()) {
    return fail(Code::invalid, "which store? give --store DIR, or set DUELEASE_STORE; or --server HOST:PORT");
  }
  return *session.store;
}

// To a caller of the program "not found" is an answer about an order; a missing store is not. And a backup or some
// other folder in its place is no wrong word.
Error store_error(const std::string& folder, Error error) {
  if (error.code == Code::not_found) return {Code::storage, "no store at " + folder};
  if (error.code == Code::invalid) error.code = Code::storage;
  return error;
}

Result<std::unique_ptr<Engine>> open_store(const Session& session, Missing missing, Options options) {
  const Result<std::string> folder = store_folder(session);
  if (!folder) return Unexpected{folder.error()};
  options.create_if_missing = missing == Missing::create;
  Result<std::unique_ptr<Engine>> engine = Engine::open(*folder, std::move(options));
  if (engine) return engine;
  return Unexpected{store_error(*folder, engine.error())};
}

Result<std::unique_ptr<Target>> open_target(const Session& session, Missing missing, Options options) {
  if (session.server) {
    Result<std::unique_ptr<Client>> client = connect_to_server(session);
    if (!client) return Unexpected{client.error()};
    return std::unique_ptr<Target>(std::make_unique<TargetOn<Client>>(std::move(*client)));
  }
  Result<std::unique_ptr<Engine>> engine = open_store(session, missing, std::move(options));
  if (!engine) return Unexpected{engine.error()};
  return std::unique_ptr<Target>(std::make_unique<TargetOn<Engine>>(std::move(*engine)));
}

Exit with_target(const Session& session, Missing missing, const std::function<Exit(Target&)>& action) {
  const Result<std::unique_ptr<Target>> target = open_target(session, missing, one_shot_options(session));
  if (!target) return failed(target.error());
  return action(**target);
}

Result<std::vector<std::string>> chosen_queues(Target& target, const std::optional<std::string>& named) {
  if (!named) return target.queues();
  return std::vector<std::string>{*named};
}

}  // namespace duelease::tools
