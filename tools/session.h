// tools/session.h: what every command shares: the options of the program, and how a store is opened.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "duelease/engine.h"
#include "output.h"

namespace duelease::tools {

struct Session {
  std::optional<std::string> store;
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

// An error names the folder: `options` must be within their bounds. All are of Exit::store, except that no
// store was named.
Result<std::unique_ptr<Engine>> open_store(const Session& session, Missing missing, Options options);

// Opens the store with one_shot_options, does `action` and closes it.
Exit with_store(const Session& session, Missing missing, const std::function<Exit(Engine&)>& action);

// The one that is named, else all.
Result<std::vector<std::string>> chosen_queues(const Engine& engine, const std::optional<std::string>& named);

}  // namespace duelease::tools
