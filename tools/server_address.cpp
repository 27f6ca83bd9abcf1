#include "server_address.h"

#include <fmt/format.h>

#include <charconv>

#include "text.h"

namespace duelease::tools {
namespace {

Unexpected no_address(std::string_view text) {
  return fail(Code::invalid, fmt::format("{} is not HOST:PORT, such as localhost:7420 or [::1]:7420",
                                         quote(std::string(text))));
}

}  // namespace

Result<ServerAddress> parse_server_address(std::string_view text) {
  ServerAddress address;
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  const std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return no_address(text);
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return no_address(text);
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (colon != std::string_view::npos &&
             text.find(':') == colon) {  // More of them: a bare IPv6 address.
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  address.host = host;
  if (host.empty()) return no_address(text);
  if (!has_port) return address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || end != port.data() + port.size() || address.port == 0) return no_address(text);
  return address;
}

}  // namespace duelease::tools
