// tools/session.h: what every command shares: the options of the program, and how a store is opened or a server
// asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "duelease/engine.h"
#include "output.h"
#include "target.h"

namespace duelease::tools {

struct Session {
  std::optional<std::string> store;
  std::optional<std::string> server;  // HOST:PORT. Then it is asked, and no store is opened.
  std::optional<std::string> user;
  std::optional<std::string> password_file;  // Else the variable DUELEASE_PASSWORD, where it is set.
  bool tls = false;
  std::optional<std::string> tls_ca;
  // An answer of a server has no due time in it.
  bool is_remote() const { return server.has_value(); }
  bool json = false;
  Durability durability = Durability::sync;
  bool durability_given = false;
  Time now{};  // Read once at the start: what "+30m" counts from.
};

// What to do when there is no store at that place. Only what writes new orders or settings makes one: a
// typing error in --store must not answer "no such order" and leave an empty store behind.
enum class Missing : std::uint8_t { create, refuse };

// Options of a command that does one thing: no timer, and log lines of warnings and errors on standard error.
Options one_shot_options(const Session& session);

// For commands that need the store itself. An error names the folder: `options` must be within their bounds. All
// are of Exit::store, except that no store was named, or a server was.
Result<std::unique_ptr<Engine>> open_store(const Session& session, Missing missing, Options options);

// The folder of the store. Error: invalid, when none was named, or a server was.
Result<std::string> store_folder(const Session& session);
// The error of an open, in the words and with the exit code of a program.
Error store_error(const std::string& folder, Error error);

// For commands that need a server. Errors: invalid (the words), unreachable, denied.
Result<std::unique_ptr<Client>> connect_to_server(const Session& session);

// Opens the store, or connects to the server. `options` and `missing` are for a store.
Result<std::unique_ptr<Target>> open_target(const Session& session, Missing missing, Options options);

// Opens the target with one_shot_options, does `action` and closes it.
Exit with_target(const Session& session, Missing missing, const std::function<Exit(Target&)>& action);

// The one that is named, else all.
Result<std::vector<std::string>> chosen_queues(Target& target, const std::optional<std::string>& named);

}  // namespace duelease::tools
