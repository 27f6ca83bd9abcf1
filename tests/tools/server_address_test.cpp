#include "server_address.h"

#include <catch2/catch.hpp>

using duelease::Result;
using duelease::tools::parse_server_address;
using duelease::tools::ServerAddress;

TEST_CASE("HOST:PORT in all its forms", "[cli]") {
  const auto parsed = [](const char* text) {
    INFO(text);
    const Result<ServerAddress> address = parse_server_address(text);
    REQUIRE(address);
    return address->host + " " + std::to_string(address->port);
  };
  CHECK(parsed("shop.internal") == "shop.internal 7420");
  CHECK(parsed("shop.internal:1") == "shop.internal 1");
  CHECK(parsed("10.0.0.1:65535") == "10.0.0.1 65535");
  CHECK(parsed("[::1]:7421") == "::1 7421");
  CHECK(parsed("[::1]") == "::1 7420");
  CHECK(parsed("::1") == "::1 7420");
  for (const char* wrong : {"", ":7420", "host:", "host:0", "host:65536", "host:x", "host:1x", "[::1", "[]:1",
                            "[::1]x", "[::1]:"}) {
    INFO(wrong);
    const Result<ServerAddress> address = parse_server_address(wrong);
    REQUIRE_FALSE(address);
    CHECK_THAT(address.error().message, Catch::Contains("HOST:PORT"));
  }
}
