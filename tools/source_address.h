// tools/source_address.h: what `--from` names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "duelease/result.h"

namespace duelease::tools {

enum class SourceKind : std::uint8_t { sqlite, postgresql, mysql, redis };

struct SourceAddress {
  SourceKind kind = SourceKind::sqlite;
  std::string text{};   // As it was given. Has a password in it: never for a message.
  std::string shown{};  // For messages: without user and password.
  std::string user{};
  std::string password{};
  std::string host{};
  std::uint16_t port = 0;
  std::string path{};  // The file, or the name or number of the database.
};

// "sqlite:FILE", and of "postgresql", "mysql" and "redis": "postgresql://USER:PASSWORD@HOST:PORT/NAME", of which all
// but HOST can be left out. User, password and name may have %XX in them. Of an address of PostgreSQL its own library
// knows more than this, so only user, password and what is shown are taken from it.
//
// Error: invalid. It names no part that could be a password.
Result<SourceAddress> parse_source_address(std::string_view text);

}  // namespace duelease::tools
