// server/rules.h: what the server must know of each verb: who may say it, and where it runs. One table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/request.h"
#include "server/users.h"

namespace duelease::server {

enum class Needs : std::uint8_t {
  nothing,  // Also before AUTH.
  login,
  read,
  produce,
  work,
  admin,
};

enum class Runs : std::uint8_t {
  here,    // Answered by the session at once.
  change,  // Goes to the engine; those behind it need not wait.
  read,    // On the threads for reads, after all before it and before all behind it.
  walk,    // The same on threads of its own: it may take long.
  login,   // On a thread for passwords where there is one to check; those behind it wait.
};

struct Rule {
  std::string_view verb;
  Needs needs;
  Runs runs;
};

const Rule& rule_of(const protocol::Request& request);

// Why this user must not ask this; empty: it may. `user` is nobody before AUTH.
std::optional<protocol::Refusal> forbidden(const User* user, const protocol::Request& request);

}  // namespace duelease::server
