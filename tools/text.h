// tools/text.h: bytes of unknown content, made safe to show.
//
// Ids, keys and payloads are bytes. A terminal must not be steered by them, and a JSON document must stay
// valid, whatever they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace duelease::tools {

inline constexpr std::size_t width_unlimited = static_cast<std::size_t>(-1);

bool is_utf8(std::string_view bytes);

// For a terminal: printable UTF-8 stays; backslash, LF, CR and TAB become `\\ \n \r \t`; every byte of
// anything else (control characters, marks that turn the direction of writing, broken UTF-8) becomes `\xHH`.
// Longer than `width_max` columns: cut, with "..." as the last three of them.
std::string printable(std::string_view bytes, std::size_t width_max = width_unlimited);

// For a message: printable, in double quotes, cut to what is still one line.
std::string quote(std::string_view bytes);

// Columns that printable UTF-8 takes on a terminal: East Asian wide characters count two, combining marks
// none.
std::size_t display_width(std::string_view text);

// "1 row", "2 rows".
std::string counted(std::uint64_t count, std::string_view noun);

std::string base64(std::string_view bytes);

}  // namespace duelease::tools
