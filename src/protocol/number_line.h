// protocol/number_line.h: a number that is a line of its own, as heads of frames are.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace duelease::protocol {

// The most that a number line can have: a sign, 19 digits, CRLF.
inline constexpr std::size_t number_line_bytes_max = 22;

struct NumberLine {
  enum class State : std::uint8_t { whole, partial, broken };
  State state = State::partial;
  std::int64_t value = 0;  // whole
  std::size_t size = 0;    // Whole: of the line, CRLF included. Broken: as far as it was read.
};

// Reads "-?digits CRLF" from the start of `bytes`: no plus, no leading zeros, no -0. A line that is broken is so
// from its first wrong byte on, whatever follows, so the answer does not depend on how much has come.
inline NumberLine read_number_line(std::string_view bytes) {
  using State = NumberLine::State;
  constexpr std::size_t digits_max = 19;
  const std::size_t first = bytes.starts_with('-') ? 1 : 0;
  std::size_t end = first;
  while (end < bytes.size() && end <= first + digits_max && bytes[end] >= '0' && bytes[end] <= '9') ++end;
  if (end > first + digits_max) return {State::broken, 0, end};
  if (end == bytes.size()) return {};
  const bool leading_zero = bytes[first] == '0' && (first == 1 || end > 1);
  if (bytes[end] != '\r' || end == first || leading_zero) return {State::broken, 0, end + 1};
  if (end + 1 == bytes.size()) return {};
  if (bytes[end + 1] != '\n') return {State::broken, 0, end + 2};
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + end, value);
  if (error != std::errc{}) return {State::broken, 0, end};
  return {State::whole, value, end + 2};
}

}  // namespace duelease::protocol
