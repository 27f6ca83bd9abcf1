// protocol/word_values.h: one word of a request, read into a member of it and written back.
//
// read_word() answers what is wrong with the value, as the end of a sentence that begins with its name; empty:
// nothing. print_word() calls `put` with the word's text.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "duelease/types.h"

namespace duelease::protocol {

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// In any case.
constexpr bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (upper(a[i]) != upper(b[i])) return false;
  }
  return true;
}

// ---- Reading ----

std::string read_number(std::string_view word, std::uint64_t max, std::uint64_t& out);

inline std::string read_word(std::string_view word, Time, std::string& out) {
  out = word;
  return {};
}
std::string read_word(std::string_view word, Time now, Time& out);
std::string read_word(std::string_view word, Time now, Duration& out);
std::string read_word(std::string_view word, Time now, Token& out);
std::string read_word(std::string_view word, Time now, std::uint64_t& out);  // A sequence.
std::string read_word(std::string_view word, Time now, State& out);
std::string read_word(std::string_view word, Time now, bool& out);  // yes, no
std::string read_word(std::string_view word, Time now,
                      std::vector<std::string>& out);  // With commas between.

template <class T>
concept Number = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint32_t>;

std::string read_word(std::string_view word, Time, Number auto& out) {
  std::uint64_t value = 0;
  std::string wrong =
      read_number(word, std::numeric_limits<std::remove_reference_t<decltype(out)>>::max(), value);
  out = static_cast<std::remove_reference_t<decltype(out)>>(value);
  return wrong;
}

// For ever, or for so long.
std::string read_word(std::string_view word, Time now, std::optional<std::optional<Duration>>& out);

template <class T>
std::string read_word(std::string_view word, Time now, std::optional<T>& out) {
  return read_word(word, now, out.emplace());
}

// ---- Writing ----

template <class Put>
void print_number(std::int64_t value, const Put& put) {
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

template <class Put>
void print_word(const std::string& value, const Put& put) {
  put(std::string_view(value));
}
template <class Put>
void print_word(Time value, const Put& put) {
  print_number(value.time_since_epoch().count(), put);
}
template <class Put>
void print_word(Duration value, const Put& put) {
  print_number(value.count(), put);
}
template <class Put>
void print_word(Token value, const Put& put) {
  print_number(static_cast<std::int64_t>(value), put);
}
template <class Put>
void print_word(std::uint64_t value, const Put& put) {
  print_number(static_cast<std::int64_t>(value), put);
}
template <class Put>
void print_word(State value, const Put& put) {
  put(state_name(value));
}
template <class Put>
void print_word(bool value, const Put& put) {
  put(value ? std::string_view("yes") : std::string_view("no"));
}
template <class Put>
void print_word(Number auto value, const Put& put) {
  print_number(value, put);
}
template <class Put>
void print_word(const std::optional<Duration>& value, const Put& put) {
  if (value) {
    print_word(*value, put);
  } else {
    put(std::string_view("forever"));
  }
}
template <class Put>
void print_word(const std::vector<std::string>& values, const Put& put) {
  std::string joined;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) joined += ',';
    joined += values[i];
  }
  put(std::string_view(joined));
}

}  // namespace duelease::protocol
