// tools/server_address.h: HOST:PORT, as a person types it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "duelease/result.h"

namespace duelease::tools {

struct ServerAddress {
  std::string host;
  std::uint16_t port = 7420;
};

// "shop.internal", "shop.internal:7420", "10.0.0.1:7420", "[::1]:7420", "::1". Without a port: 7420.
Result<ServerAddress> parse_server_address(std::string_view text);

}  // namespace duelease::tools
