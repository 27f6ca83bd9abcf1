// tools/time_text.h: times and durations as a person types and reads them.
//
// The words are those of the line protocol: a duration is a whole number with a suffix `ms s m h d`; a time is
// milliseconds since the epoch, `+DURATION`, `NOW` or RFC 3339. Only that a person must name the unit: whoever
// types `--lease 5` does not mean the milliseconds that a bare number is on the wire. A value that does not fit
// is refused with a message that names it and the limit; nothing is ever clamped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease::tools {

// The range that the engine accepts: 0001-01-01T00:00:00.000Z - 9999-12-31T23:59:59.999Z.
inline constexpr Time time_first = std::chrono::sys_days{std::chrono::year{1} / 1 / 1};
inline constexpr Time time_last =
    std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} + std::chrono::days{1} - Duration{1};

// "250ms", "30s", "5m", "2h", "7d". Not negative, no fraction, no sign, no compound ("1h30m").
Result<Duration> parse_duration(std::string_view text);

// For an option such as --due: milliseconds since the epoch, "+DURATION" from `now`, "NOW" (any case), a date
// (midnight UTC), or RFC 3339. A date-time without zone is refused here: it would depend on the reader.
Result<Time> parse_due(std::string_view text, Time now);

// What a bare number in a data file counts.
enum class EpochUnit : std::uint8_t {
  automatic,  // By magnitude: with up to 11 digits seconds (until the year 5138), with 12 or more
              // milliseconds. The price: milliseconds from 1966-10-31 to 1973-03-03 need the unit named.
  seconds,
  milliseconds,
};

// For a cell of a data file: a number by `unit`, a date, RFC 3339, or a date-time without zone, which is
// taken as UTC ("2026-12-01 09:00", "2026-12-01T09:00:00.250"). Fractions are cut to milliseconds, those of a
// number too ("1796115600.25"). "+DURATION" and "NOW" are not data.
Result<Time> parse_timestamp(std::string_view text, EpochUnit unit);

// "2026-12-01T09:00:00Z", with three digits of fraction when there is one. Outside the years 1-9999: the
// number of milliseconds.
std::string print_time(Time time);

// As the engine says it, too: "2 d 3 h", "1 min 30 s", "350 ms". The largest unit and, of the `units_max - 1`
// below it, those that are not zero; what is left is cut.
std::string print_duration(Duration duration, std::size_t units_max = 2);
inline constexpr std::size_t all_units = 5;

}  // namespace duelease::tools
