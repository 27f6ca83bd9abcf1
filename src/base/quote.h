// base/quote.h: bytes of unknown content in a message for a person.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace duelease::base {

// In single quotes, on one line, plain ASCII: every other byte is `\xHH`. Longer than `bytes_max`: cut, with
// "..." at the end.
inline std::string quote(std::string_view bytes, std::size_t bytes_max = 64) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : bytes.substr(0, bytes_max)) {
    if (c >= ' ' && c < 0x7f) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return out += bytes.size() > bytes_max ? "...'" : "'";
}

}  // namespace duelease::base
