// base/bytes.h: big-endian numbers in keys, so that byte order is number order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"

namespace duelease::base {

inline void append_u64be(std::string& out, std::uint64_t value) {
  char bytes[8];
  for (int i = 7; i >= 0; --i) {
    bytes[i] = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  out.append(bytes, sizeof bytes);
}

inline std::uint64_t read_u64be(std::string_view in) {
  DUELEASE_CHECK(in.size() >= 8);
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i)
    value = value << 8 | static_cast<unsigned char>(in[static_cast<std::size_t>(i)]);
  return value;
}

// Signed numbers with the sign bit flipped: negative ones sort before positive ones.
inline void append_i64be(std::string& out, std::int64_t value) {
  append_u64be(out, static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63));
}

inline std::int64_t read_i64be(std::string_view in) {
  return static_cast<std::int64_t>(read_u64be(in) ^ (std::uint64_t{1} << 63));
}

}  // namespace duelease::base
