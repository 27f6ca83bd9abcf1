#include "text.h"

#include <cstdint>

namespace duelease::tools {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t size = 0;  // Bytes; 0: not UTF-8.
};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The first character of `bytes`, which must not be empty. Overlong forms, surrogates and codes above
// U+10FFFF are not UTF-8.
Character decode(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) return {first, 1};
  std::size_t size = 0;
  char32_t code = 0;
  char32_t smallest = 0;
  if ((first & 0xE0) == 0xC0) {
    size = 2, code = first & 0x1F, smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    size = 3, code = first & 0x0F, smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    size = 4, code = first & 0x07, smallest = 0x10000;
  }
  if (size == 0 || bytes.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(bytes[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || code > 0x10FFFF || surrogate) return {};
  return {code, size};
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool within(const Range (&ranges)[N], char32_t code) {
  for (const Range& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

// C0 and C1 controls, line separators, and the marks that can make a terminal show text in another order
// than it has.
constexpr Range not_printable[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
                                   {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};

// The blocks that terminals draw two columns wide; coarse, for it only aligns tables.
constexpr Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xAC00, 0xD7A3},
                          {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6},
                          {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range combining[] = {{0x0300, 0x036F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};

std::size_t width_of(char32_t code) {
  if (within(combining, code)) return 0;
  return within(wide, code) ? 2 : 1;
}

constexpr std::size_t quoted_width_max = 60;

constexpr char hex_digits[] = "0123456789abcdef";

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  out += "\\x";
  out += hex_digits[byte >> 4];
  out += hex_digits[byte & 15];
}

// One character of the input as it is shown, and how much of the input that was.
struct Shown {
  std::string text;
  std::size_t width = 0;
  std::size_t size = 1;
};

Shown shown(std::string_view bytes) {
  const Character character = decode(bytes);
  Shown result;
  const bool escape = character.size == 0 || character.code == '\\' || within(not_printable, character.code);
  if (!escape) {
    result.text = bytes.substr(0, character.size);
    result.width = width_of(character.code);
    result.size = character.size;
    return result;
  }
  result.size = character.size == 0 ? 1 : character.size;
  for (const char c : bytes.substr(0, result.size)) append_escaped(result.text, c);
  result.width = result.text.size();
  return result;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = decode(bytes).size;
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string printable(std::string_view bytes, std::size_t width_max) {
  constexpr std::string_view dots = "...";
  std::string out;
  std::size_t width = 0;
  std::size_t cut_at = 0;  // Where `out` must end so that the dots still fit.
  while (!bytes.empty()) {
    const Shown next = shown(bytes);
    if (width + dots.size() <= width_max) cut_at = out.size();
    if (width + next.width > width_max) {
      out.resize(cut_at);
      out += dots.substr(0, width_max);
      return out;
    }
    out += next.text;
    width += next.width;
    bytes.remove_prefix(next.size);
  }
  return out;
}

std::string quote(std::string_view bytes) { return '"' + printable(bytes, quoted_width_max) + '"'; }

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = decode(text);
    width += character.size == 0 ? 1 : width_of(character.code);
    text.remove_prefix(character.size == 0 ? 1 : character.size);
  }
  return width;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const std::size_t size = bytes.size() < 3 ? bytes.size() : 3;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < size ? static_cast<unsigned char>(bytes[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= size ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    bytes.remove_prefix(size);
  }
  return out;
}

}  // namespace duelease::tools
