#include "time_text.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "text.h"

namespace duelease::tools {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits with an optional minus, nothing else.
bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Empty when it does not fit in 64 bits. Requires is_whole_number.
std::optional<std::int64_t> to_int64(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

Unexpected out_of_range(std::string_view text) {
  return fail(Code::invalid,
              fmt::format("time {} is out of range: {} - {} ({} - {} ms)", quote(text),
                          print_time(time_first), print_time(time_last),
                          time_first.time_since_epoch().count(), time_last.time_since_epoch().count()));
}

Result<Time> checked_time(std::optional<std::int64_t> ms, std::string_view text) {
  if (!ms || *ms < time_first.time_since_epoch().count() || *ms > time_last.time_since_epoch().count()) {
    return out_of_range(text);
  }
  return Time{Duration{*ms}};
}

// Walks over a fixed-width text; once something did not fit, `ok` stays false.
class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  // Exactly `width` digits.
  int number(std::size_t width) {
    if (rest_.size() < width) return refuse();
    int value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (!is_digit(rest_[i])) return refuse();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(width);
    return value;
  }

  // One of `accepted`; answers which, or '\0'.
  char one_of(std::string_view accepted) {
    if (rest_.empty() || accepted.find(rest_.front()) == std::string_view::npos) {
      ok_ = false;
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }

  // One or more digits after the point, cut to milliseconds.
  Duration fraction() {
    int ms = 0;
    int digits = 0;
    for (; !rest_.empty() && is_digit(rest_.front()); ++digits, rest_.remove_prefix(1)) {
      if (digits < 3) ms = ms * 10 + (rest_.front() - '0');
    }
    if (digits == 0) ok_ = false;
    for (; digits < 3; ++digits) ms *= 10;
    return Duration{ms};
  }

 private:
  int refuse() {
    ok_ = false;
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

enum class Zone : std::uint8_t { required, utc_when_absent };

Unexpected not_a_time(std::string_view text, Zone zone) {
  const std::string_view accepted =
      zone == Zone::required
          ? "milliseconds since 1970, +DURATION, NOW, 2026-12-01, 2026-12-01T09:00:00Z or ...+08:00"
          : "a number, 2026-12-01, 2026-12-01 09:00[:00[.000]] (UTC) or 2026-12-01T09:00:00+08:00";
  return fail(Code::invalid, fmt::format("{} is not a time ({})", quote(text), accepted));
}

// "Z", "+08:00", "-03:30": what local time is ahead of UTC.
minutes scan_offset(Scanner& scan) {
  const char sign = scan.one_of("Zz+-");
  if (sign != '+' && sign != '-') return minutes{0};
  const int h = scan.number(2);
  scan.one_of(":");
  const int m = scan.number(2);
  if (h > 23 || m > 59) scan.one_of("");
  const minutes offset = hours{h} + minutes{m};
  return sign == '+' ? offset : -offset;
}

// "HH:MM[:SS[.fff]]". A leap second (":60") is refused: no millisecond of the epoch stands for it.
Duration scan_clock(Scanner& scan) {
  const int h = scan.number(2);
  scan.one_of(":");
  const int m = scan.number(2);
  Duration clock = hours{h} + minutes{m};
  int s = 0;
  if (scan.next_is(':')) {
    scan.one_of(":");
    s = scan.number(2);
    clock += seconds{s};
    if (scan.next_is('.')) {
      scan.one_of(".");
      clock += scan.fraction();
    }
  }
  if (h > 23 || m > 59 || s > 59) scan.one_of("");
  return clock;
}

Result<Time> parse_calendar(std::string_view text, Zone zone) {
  Scanner scan(text);
  const int year = scan.number(4);
  scan.one_of("-");
  const int month = scan.number(2);
  scan.one_of("-");
  const int day = scan.number(2);
  if (!scan.ok()) return not_a_time(text, zone);

  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return fail(Code::invalid, fmt::format("{}: there is no such day", quote(text)));
  Time time = std::chrono::sys_days{date};

  if (!scan.at_end()) {
    scan.one_of("Tt ");
    time += scan_clock(scan);
    if (scan.ok() && scan.at_end()) {
      if (zone == Zone::required) {
        return fail(Code::invalid,
                    fmt::format("time {} has no zone: add Z or an offset such as +08:00", quote(text)));
      }
    } else {
      time -= scan_offset(scan);
    }
    if (!scan.ok() || !scan.at_end()) return not_a_time(text, zone);
  }
  if (time < time_first || time > time_last) return out_of_range(text);
  return time;
}

bool is_now(std::string_view text) {
  return text.size() == 3 && (text[0] | 0x20) == 'n' && (text[1] | 0x20) == 'o' && (text[2] | 0x20) == 'w';
}

struct Unit {
  std::string_view suffix;  // As it is typed.
  std::string_view name;    // As it is shown.
  std::int64_t ms;
};

// Largest first.
constexpr Unit units[all_units] = {
    {"d", "d", 86'400'000}, {"h", "h", 3'600'000}, {"m", "min", 60'000}, {"s", "s", 1'000}, {"ms", "ms", 1}};

std::optional<std::int64_t> unit_ms(std::string_view suffix) {
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) return unit.ms;
  }
  return std::nullopt;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits > 0 && digits == text.size()) {
    return fail(Code::invalid, fmt::format("give a unit: {0}s or {0}ms", printable(text, 30)));
  }
  const std::optional<std::int64_t> unit = unit_ms(text.substr(digits));
  if (digits == 0 || !unit) {
    return fail(Code::invalid,
                fmt::format("{} is not a duration (a number with ms, s, m, h or d)", quote(text)));
  }
  const std::optional<std::int64_t> count = to_int64(text.substr(0, digits));
  if (!count || *count > Duration::max().count() / *unit) {
    return fail(Code::invalid,
                fmt::format("duration {} does not fit: at most {} ms", quote(text), Duration::max().count()));
  }
  return Duration{*count * *unit};
}

Result<Time> parse_due(std::string_view text, Time now) {
  if (is_now(text)) return now;
  if (text.starts_with('+')) {
    const Result<Duration> ahead = parse_duration(text.substr(1));
    if (!ahead) return Unexpected{ahead.error()};
    if (*ahead > time_last - now) return out_of_range(text);
    return now + *ahead;
  }
  if (is_whole_number(text)) return checked_time(to_int64(text), text);
  return parse_calendar(text, Zone::required);
}

Result<Time> parse_timestamp(std::string_view text, EpochUnit unit) {
  const std::string_view whole = text.substr(0, text.find('.'));
  const std::string_view fraction = text.substr(std::min(whole.size() + 1, text.size()));
  const bool digits = fraction.find_first_not_of("0123456789") == std::string_view::npos &&
                      (whole.size() == text.size() || !fraction.empty());
  if (!is_whole_number(whole) || !digits) return parse_calendar(text, Zone::utc_when_absent);
  std::optional<std::int64_t> value = to_int64(whole);
  constexpr std::int64_t first_ms = 100'000'000'000;
  if (value && unit == EpochUnit::automatic) {
    const bool small = *value > -first_ms && *value < first_ms;
    unit = small ? EpochUnit::seconds : EpochUnit::milliseconds;
  }
  if (value && unit == EpochUnit::seconds) {
    constexpr std::int64_t seconds_max = Duration::max().count() / 1000 - 1;
    if (*value > seconds_max || *value < -seconds_max) return out_of_range(text);
    const std::int64_t ms = fraction.empty() ? 0 : Scanner(fraction).fraction().count();
    value = *value * 1000 + (whole.starts_with('-') ? -ms : ms);
  }
  return checked_time(value, text);
}

std::string print_time(Time time) {
  if (time < time_first || time > time_last) return fmt::format("{}", time.time_since_epoch().count());
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (clock.subseconds().count() != 0) text += fmt::format(".{:03}", clock.subseconds().count());
  return text + 'Z';
}

std::string print_duration(Duration duration, std::size_t units_max) {
  std::int64_t ms = duration.count();
  if (ms < 0) {
    return '-' + print_duration(duration == Duration::min() ? Duration::max() : -duration, units_max);
  }
  std::string text;
  for (const Unit& unit : units) {
    const std::int64_t count = ms / unit.ms;
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " ", count, unit.name);
    ms %= unit.ms;
    if (!text.empty() && --units_max == 0) break;
  }
  return text.empty() ? "0 ms" : text;
}

}  // namespace duelease::tools
