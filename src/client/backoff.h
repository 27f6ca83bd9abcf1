// client/backoff.h: how long to wait before the next try of a connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "duelease/types.h"

namespace duelease::client {

// base * 2^(failures - 1), at most the cap, less a random part of up to a half: clients that lost the same
// server at the same moment do not all come back at the same moment. `failures` in a row, at least 1.
inline Duration backoff(Duration base, Duration cap, std::uint32_t failures, std::uint64_t random) {
  Duration full = std::min(base, cap);
  for (std::uint32_t i = 1; i < failures && full < cap; ++i) full = std::min(full * 2, cap);
  const auto half = static_cast<std::uint64_t>(full.count() / 2);
  return full - Duration{static_cast<std::int64_t>(random % (half + 1))};
}

}  // namespace duelease::client
