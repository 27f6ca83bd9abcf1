#include "source_address.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "text.h"

namespace duelease::tools {
namespace {

struct Scheme {
  std::string_view name;
  SourceKind kind;
  std::uint16_t port;
};

constexpr Scheme schemes[] = {
    {"sqlite", SourceKind::sqlite, 0},  {"postgresql", SourceKind::postgresql, 5432},
    {"mysql", SourceKind::mysql, 3306}, {"mariadb", SourceKind::mysql, 3306},
    {"redis", SourceKind::redis, 6379}, {"postgres", SourceKind::postgresql, 5432},
};

Unexpected wrong(std::string_view what) { return fail(Code::invalid, fmt::format("--from: {}", what)); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Of %XX. Empty: one that is none.
std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return bytes;
}

// Of "HOST", "HOST:PORT", "[::1]:PORT", or several with commas between.
bool ports_are_numbers(std::string_view hosts) {
  while (true) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    const std::size_t bracket = host.starts_with('[') ? host.find(']') : std::string_view::npos;
    const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos &&
        host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) {
      return false;
    }
    if (host.size() == hosts.size()) return true;
    hosts.remove_prefix(host.size() + 1);
  }
}

// What is not where it belongs may be a part of a password: nothing of it may be shown, here or by the library of the
// database. A `/` or `?` in a password ends the authority, and then the @ behind the password comes in the tail.
Result<> check_login_is_plain(std::string_view authority, std::string_view tail, SourceKind kind) {
  const std::size_t at = authority.find('@');
  // Ours is the last @ of the authority, that of PostgreSQL the first one.
  const bool is_split = kind == SourceKind::postgresql && at != authority.rfind('@');
  if (is_split || tail.find('@') != std::string_view::npos) {
    return wrong("in a user, a password, a name or an option write %2F for /, %3F for ? and %40 for @");
  }
  if (at == std::string_view::npos && !ports_are_numbers(authority)) {
    return wrong(
        "behind the : of the host comes no port from 1 to 65535 (behind a user and a password comes @HOST)");
  }
  return {};
}

// "HOST", "HOST:PORT", "[::1]:PORT".
Result<> read_host(std::string_view text, SourceAddress& address) {
  std::string_view host = text;
  std::string_view port;
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc{} || end != port.data() + port.size() || address.port == 0) {
      return wrong(fmt::format("port {} is not a number from 1 to 65535", quote(port)));
    }
  }
  if (bracket != std::string_view::npos) {
    if (host.size() != bracket + 1) return wrong(fmt::format("{} is no host", quote(host)));
    host = host.substr(1, bracket - 1);
  }
  if (host.empty()) return wrong("no host is named");
  address.host = host;
  return {};
}

// Behind the "://".
Result<> read_authority(std::string_view rest, SourceAddress& address, std::string_view scheme) {
  const std::size_t slash = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, slash);
  const std::string_view tail = slash == std::string_view::npos ? "" : rest.substr(slash);
  const Result<> plain = check_login_is_plain(authority, tail, address.kind);
  if (!plain) return plain;
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view login = authority.substr(0, at);
    const std::size_t colon = login.find(':');
    const auto user = decoded(login.substr(0, colon));
    const auto password = decoded(colon == std::string_view::npos ? "" : login.substr(colon + 1));
    if (!user || !password) return wrong("in user or password, a % that is not followed by two hex digits");
    address.user = *user;
    address.password = *password;
    authority.remove_prefix(at + 1);
  }
  address.shown = fmt::format("{}://{}{}", scheme, authority, tail.substr(0, tail.find('?')));
  if (address.kind == SourceKind::postgresql) return {};

  if (tail.find('?') != std::string_view::npos) return wrong(fmt::format("{} takes no ?options", scheme));
  const auto path = decoded(tail.empty() ? tail : tail.substr(1));
  if (!path) return wrong("in the path, a % that is not followed by two hex digits");
  address.path = *path;
  return read_host(authority, address);
}

}  // namespace

Result<SourceAddress> parse_source_address(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  for (const Scheme& scheme : schemes) {
    if (name != scheme.name || name.size() == text.size()) continue;
    SourceAddress address{.kind = scheme.kind, .text = std::string(text), .port = scheme.port};
    std::string_view rest = text.substr(name.size() + 1);
    if (scheme.kind == SourceKind::sqlite) {
      if (rest.empty()) return wrong("no file is named behind sqlite:");
      address.path = rest;
      address.shown = text;
      return address;
    }
    if (!rest.starts_with("//")) return wrong(fmt::format("behind {}: come // and a host", name));
    const Result<> read = read_authority(rest.substr(2), address, name);
    if (!read) return Unexpected{read.error()};
    return address;
  }
  return wrong("one of sqlite:FILE, postgresql://USER:PASSWORD@HOST:PORT/DATABASE, mysql://..., redis://...");
}

}  // namespace duelease::tools
