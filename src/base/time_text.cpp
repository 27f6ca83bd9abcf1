#include "duelease/time_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/quote.h"

namespace duelease {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits with an optional minus, nothing else.
bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Empty when it does not fit in 64 bits. Requires is_whole_number.
std::optional<std::int64_t> to_int64(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string ms_text(Time time) { return std::to_string(time.time_since_epoch().count()); }

Unexpected out_of_range(std::string_view text) {
  return fail(Code::invalid, "time " + base::quote(text) + " is out of range: " + print_time(time_first) +
                                 " - " + print_time(time_last) + " (" + ms_text(time_first) + " - " +
                                 ms_text(time_last) + " ms)");
}

Unexpected not_a_time(std::string_view text) {
  return fail(Code::invalid, base::quote(text) +
                                 " is not a time (milliseconds since 1970, +DURATION, NOW, 2026-12-01, "
                                 "2026-12-01T09:00:00Z or ...+08:00)");
}

// Walks over a fixed-width text; once something did not fit, `ok` stays false.
class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  void refuse() { ok_ = false; }

  // Exactly `width` digits.
  int number(std::size_t width) {
    int value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (rest_.empty() || !is_digit(rest_.front())) {
        refuse();
        return 0;
      }
      value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  // One of `accepted`; answers which, or '\0'.
  char one_of(std::string_view accepted) {
    if (rest_.empty() || accepted.find(rest_.front()) == std::string_view::npos) {
      refuse();
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  // One or more digits after the point, cut to milliseconds.
  Duration fraction() {
    int ms = 0;
    int digits = 0;
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1)) {
      if (digits == 3) continue;
      ms = ms * 10 + (rest_.front() - '0');
      ++digits;
    }
    if (digits == 0) refuse();
    for (; digits < 3; ++digits) ms *= 10;
    return Duration{ms};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// "Z", "+08:00", "-03:30": what local time is ahead of UTC.
minutes scan_offset(Scanner& scan) {
  const char sign = scan.one_of("Zz+-");
  if (sign != '+' && sign != '-') return minutes{0};
  const int h = scan.number(2);
  scan.one_of(":");
  const int m = scan.number(2);
  if (h > 23 || m > 59) scan.refuse();
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
  if (h > 23 || m > 59 || s > 59) scan.refuse();
  return clock;
}

Result<Time> parse_calendar(std::string_view text) {
  Scanner scan(text);
  const int year = scan.number(4);
  scan.one_of("-");
  const int month = scan.number(2);
  scan.one_of("-");
  const int day = scan.number(2);
  if (!scan.ok()) return not_a_time(text);

  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return fail(Code::invalid, base::quote(text) + ": there is no such day");
  Time time = std::chrono::sys_days{date};

  if (!scan.at_end()) {
    scan.one_of("Tt ");
    time += scan_clock(scan);
    if (scan.ok() && scan.at_end()) {
      return fail(Code::invalid,
                  "time " + base::quote(text) + " has no zone: add Z or an offset such as +08:00");
    }
    time -= scan_offset(scan);
    if (!scan.ok() || !scan.at_end()) return not_a_time(text);
  }
  if (time < time_first || time > time_last) return out_of_range(text);
  return time;
}

bool is_now(std::string_view text) {
  return text.size() == 3 && (text[0] | 0x20) == 'n' && (text[1] | 0x20) == 'o' && (text[2] | 0x20) == 'w';
}

struct Unit {
  std::string_view suffix;
  std::int64_t ms;
};

// Largest first.
constexpr Unit units[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

std::optional<std::int64_t> unit_ms(std::string_view suffix) {
  if (suffix.empty()) return 1;
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) return unit.ms;
  }
  return std::nullopt;
}

void append_padded(std::string& out, std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto digits =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  const std::optional<std::int64_t> unit = unit_ms(text.substr(digits));
  if (digits == 0 || !unit) {
    return fail(Code::invalid,
                base::quote(text) + " is not a duration (milliseconds, or a number with ms, s, m, h or d)");
  }
  const std::optional<std::int64_t> count = to_int64(text.substr(0, digits));
  if (!count || *count > Duration::max().count() / *unit) {
    return fail(Code::invalid, "duration " + base::quote(text) + " does not fit: at most " +
                                   std::to_string(Duration::max().count()) + " ms");
  }
  return Duration{*count * *unit};
}

Result<Time> parse_time(std::string_view text, Time now) {
  if (is_now(text)) return now;
  if (text.starts_with('+')) {
    const Result<Duration> ahead = parse_duration(text.substr(1));
    if (!ahead) return Unexpected{ahead.error()};
    if (*ahead > time_last - now) return out_of_range(text);
    return now + *ahead;
  }
  if (!is_whole_number(text)) return parse_calendar(text);
  const std::optional<std::int64_t> ms = to_int64(text);
  if (!ms || Duration{*ms} < time_first.time_since_epoch() || Duration{*ms} > time_last.time_since_epoch())
    return out_of_range(text);
  return Time{Duration{*ms}};
}

std::string print_time(Time time) {
  if (time < time_first || time > time_last) return ms_text(time);
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::string out;
  append_padded(out, static_cast<int>(date.year()), 4);
  append_padded(out += '-', static_cast<unsigned>(date.month()), 2);
  append_padded(out += '-', static_cast<unsigned>(date.day()), 2);
  append_padded(out += 'T', clock.hours().count(), 2);
  append_padded(out += ':', clock.minutes().count(), 2);
  append_padded(out += ':', clock.seconds().count(), 2);
  if (clock.subseconds().count() != 0) append_padded(out += '.', clock.subseconds().count(), 3);
  return out += 'Z';
}

std::string print_duration(Duration duration) {
  const std::int64_t ms = duration.count();
  if (ms == 0) return "0s";
  for (const Unit& unit : units) {
    if (ms % unit.ms == 0) return std::to_string(ms / unit.ms) + std::string(unit.suffix);
  }
  return std::to_string(ms) + "ms";
}

}  // namespace duelease
