#include "payloads.h"

namespace duelease::bench {

namespace {

// So many payloads are there. Orders that lie in one block of a table must not have pieces of the same.
constexpr std::uint64_t places = 1U << 20;

std::string random_text(std::size_t bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text(bytes, '\0');
  std::uint64_t state = 1;
  for (char& letter : text) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX; its upper bits are good.
    letter = letters[state >> 58];
  }
  return text;
}

}  // namespace

Payloads::Payloads(std::size_t bytes) : bytes_(bytes), text_(random_text(bytes == 0 ? 0 : places + bytes)) {}

std::string_view Payloads::of(std::uint64_t number) const {
  if (bytes_ == 0) return {};
  constexpr std::uint64_t stride = 65'537;  // Odd: each place is one of 2^20 orders in a row.
  return std::string_view(text_).substr(number * stride % places, bytes_);
}

}  // namespace duelease::bench
