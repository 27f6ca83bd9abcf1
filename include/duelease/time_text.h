// duelease/time_text.h: times and durations as a person types and reads them, and as they are on the wire.
//
// A value that does not fit is refused with a message that names it and the limit; nothing is ever clamped.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease {

// The range that the engine accepts: 0001-01-01T00:00:00.000Z - 9999-12-31T23:59:59.999Z.
inline constexpr Time time_first = std::chrono::sys_days{std::chrono::year{1} / 1 / 1};
inline constexpr Time time_last =
    std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} + std::chrono::days{1} - Duration{1};

// "250", "250ms", "30s", "5m", "2h", "7d". Not negative, no fraction, no sign, no compound ("1h30m").
// Error: invalid.
Result<Duration> parse_duration(std::string_view text);

// Milliseconds since the epoch, "+DURATION" from `now`, "NOW" (any case), a date (midnight UTC), or RFC 3339
// ("2026-12-01T17:00:00+08:00"; seconds may be left out, fractions are cut to milliseconds). A date-time
// without zone is refused: it would depend on the reader. Error: invalid.
Result<Time> parse_time(std::string_view text, Time now);

// "2026-12-01T09:00:00Z", with three digits of fraction when there is one; parse_time reads it back. Outside
// the years 1-9999: the number of milliseconds.
std::string print_time(Time time);

// In the largest unit that is exact ("90s", "2h", "1d"); parse_duration reads it back.
std::string print_duration(Duration duration);

}  // namespace duelease
