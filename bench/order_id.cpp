#include "order_id.h"

#include <charconv>

namespace duelease::bench {

namespace {

// An odd factor permutes the 64-bit numbers: no two orders share an id, and neighbours lie far apart.
constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;

// Newton's iteration doubles the number of right bits; 3 are right at the start.
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
static_assert(factor * inverse_of(factor) == 1);

}  // namespace

std::string order_id(std::uint64_t number) {
  std::string id(16, '0');
  std::uint64_t mixed = number * factor;
  for (std::size_t i = id.size(); i-- > 0; mixed >>= 4) id[i] = "0123456789abcdef"[mixed & 15];
  return id;
}

std::optional<std::uint64_t> order_number(std::string_view id) {
  std::uint64_t mixed = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), mixed, 16);
  if (id.size() != 16 || error != std::errc{} || end != id.data() + id.size()) return std::nullopt;
  return mixed * inverse_of(factor);
}

}  // namespace duelease::bench
