// support/hex.h: bytes as a person can read and write them, for golden tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace duelease::test {

inline std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 0xf]);
  }
  return out;
}

// Without the spaces that make it readable.
inline std::string packed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ') out.push_back(c);
  }
  return out;
}

// Requires an even number of lower-case digits.
inline std::string unhex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1])));
  }
  return out;
}

}  // namespace duelease::test
