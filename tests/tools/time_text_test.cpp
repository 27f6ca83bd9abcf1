// Times and durations as text: what is accepted, what it means, and that nothing else is.
#include "time_text.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

using namespace duelease;
using namespace duelease::tools;

namespace {

constexpr std::int64_t first_ms = -62'135'596'800'000;
constexpr std::int64_t last_ms = 253'402'300'799'999;
constexpr Time now{Duration{1'700'000'000'000}};

std::int64_t due_ms(std::string_view text) {
  const Result<Time> time = parse_due(text, now);
  INFO(text << ": " << (time ? "" : time.error().message));
  REQUIRE(time);
  return time->time_since_epoch().count();
}

std::int64_t cell_ms(std::string_view text, EpochUnit unit = EpochUnit::automatic) {
  const Result<Time> time = parse_timestamp(text, unit);
  INFO(text << ": " << (time ? "" : time.error().message));
  REQUIRE(time);
  return time->time_since_epoch().count();
}

std::string due_error(std::string_view text) {
  const Result<Time> time = parse_due(text, now);
  INFO(text);
  REQUIRE(!time);
  CHECK(time.error().code == Code::invalid);
  return time.error().message;
}

bool is_refused_as_cell(std::string_view text, EpochUnit unit = EpochUnit::automatic) {
  return !parse_timestamp(text, unit);
}

}  // namespace

TEST_CASE("the range of times is that of the years 1 to 9999", "[time_text]") {
  CHECK(time_first.time_since_epoch().count() == first_ms);
  CHECK(time_last.time_since_epoch().count() == last_ms);
  CHECK(print_time(time_first) == "0001-01-01T00:00:00Z");
  CHECK(print_time(time_last) == "9999-12-31T23:59:59.999Z");
}

TEST_CASE("a duration is a number with a suffix", "[time_text]") {
  CHECK(parse_duration("0ms")->count() == 0);
  CHECK(parse_duration("250ms")->count() == 250);
  CHECK(parse_duration("30s")->count() == 30'000);
  CHECK(parse_duration("5m")->count() == 300'000);
  CHECK(parse_duration("2h")->count() == 7'200'000);
  CHECK(parse_duration("7d")->count() == 604'800'000);
  CHECK(parse_duration("007d")->count() == 604'800'000);
}

TEST_CASE("nothing else is a duration", "[time_text]") {
  for (const char* text : {"", " ", "s", "-1", "-1s", "+1s", "1.5h", "1h30m", "1 s", " 1s", "1s ", "1S", "1w",
                           "1e3", "0x10", "NOW", "\xFF"}) {
    const Result<Duration> duration = parse_duration(text);
    INFO(text);
    REQUIRE(!duration);
    CHECK(duration.error().code == Code::invalid);
  }
}

TEST_CASE("a bare number is asked for its unit", "[time_text]") {
  CHECK(parse_duration("5").error().message == "give a unit: 5s or 5ms");
  CHECK(parse_duration("0").error().message == "give a unit: 0s or 0ms");
  CHECK(due_error("+30") == "give a unit: 30s or 30ms");
}

TEST_CASE("a duration up to 64 bits fits, one more is refused with the limit", "[time_text]") {
  CHECK(parse_duration("9223372036854775807ms")->count() == std::numeric_limits<std::int64_t>::max());
  CHECK(parse_duration("106751991167d")->count() == 106'751'991'167 * 86'400'000);
  for (const char* text : {"9223372036854775808ms", "106751991168d", "9223372036854775807s",
                           "99999999999999999999999999ms", "2562047788016h"}) {
    const Result<Duration> duration = parse_duration(text);
    INFO(text);
    REQUIRE(!duration);
    CHECK_THAT(duration.error().message, Catch::Contains(text) && Catch::Contains("9223372036854775807"));
  }
}

TEST_CASE("a duration shows its two largest units, or all", "[time_text]") {
  CHECK(print_duration(Duration{0}) == "0 ms");
  CHECK(print_duration(Duration{999}) == "999 ms");
  CHECK(print_duration(Duration{1'999}) == "1 s 999 ms");
  CHECK(print_duration(Duration{90'000}) == "1 min 30 s");
  CHECK(print_duration(Duration{3'600'000}) == "1 h");
  CHECK(print_duration(Duration{86'400'000 * 2 + 3'600'000 * 3 + 5'000}) == "2 d 3 h");
  CHECK(print_duration(Duration{86'400'000 + 60'000}) == "1 d");
  CHECK(print_duration(Duration{86'400'000 + 60'000}, all_units) == "1 d 1 min");
  CHECK(print_duration(Duration{93'784'005}, all_units) == "1 d 2 h 3 min 4 s 5 ms");
  CHECK(print_duration(Duration{-5'000}) == "-5 s");
  CHECK(print_duration(Duration::min()) == "-106751991167 d 7 h");
}

TEST_CASE("a due time in milliseconds is taken from year 1 to year 9999", "[time_text]") {
  CHECK(due_ms("0") == 0);
  CHECK(due_ms("-1") == -1);
  CHECK(due_ms("1700000000000") == 1'700'000'000'000);
  CHECK(due_ms("-62135596800000") == first_ms);
  CHECK(due_ms("253402300799999") == last_ms);
  for (const char* text :
       {"-62135596800001", "253402300800000", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "-9223372036854775809", "100000000000000000000000000"}) {
    CHECK_THAT(due_error(text), Catch::Contains(text) && Catch::Contains("9999-12-31"));
  }
}

TEST_CASE("a due time may be relative to now", "[time_text]") {
  CHECK(due_ms("NOW") == now.time_since_epoch().count());
  CHECK(due_ms("now") == now.time_since_epoch().count());
  CHECK(due_ms("+0s") == now.time_since_epoch().count());
  CHECK(due_ms("+30m") == 1'700'001'800'000);
  CHECK(due_ms("+251702300799999ms") == last_ms);
  for (const char* text : {"+251702300800000ms", "+9223372036854775807ms", "+106751991167d"}) {
    CHECK_THAT(due_error(text), Catch::Contains("out of range"));
  }
  for (const char* text : {"+", "+-1s", "++1s", "+NOW", "NOW+1s", "-1s", "nowadays"}) due_error(text);
}

TEST_CASE("a due time may be a date, which is midnight UTC, or RFC 3339", "[time_text]") {
  CHECK(due_ms("1970-01-01") == 0);
  CHECK(due_ms("2026-12-01") == 1'796'083'200'000);
  CHECK(due_ms("2026-12-01T09:00:00Z") == 1'796'115'600'000);
  CHECK(due_ms("2026-12-01t09:00:00z") == 1'796'115'600'000);
  CHECK(due_ms("2026-12-01 09:00:00Z") == 1'796'115'600'000);
  CHECK(due_ms("2026-12-01T17:00:00+08:00") == 1'796'115'600'000);
  CHECK(due_ms("2026-12-01T05:30:00-03:30") == 1'796'115'600'000);
  CHECK(due_ms("2026-12-01T09:00:00-00:00") == 1'796'115'600'000);
  CHECK(due_ms("2026-12-01T09:00Z") == 1'796'115'600'000);
  CHECK(due_ms("1969-12-31T23:59:59.999Z") == -1);
}

TEST_CASE("fractions of a second are cut to milliseconds", "[time_text]") {
  CHECK(due_ms("1970-01-01T00:00:00.5Z") == 500);
  CHECK(due_ms("1970-01-01T00:00:00.05Z") == 50);
  CHECK(due_ms("1970-01-01T00:00:00.123456789Z") == 123);
  CHECK(due_ms("1970-01-01T00:00:00.9999999999999999999999Z") == 999);
}

TEST_CASE("leap days exist in leap years only", "[time_text]") {
  CHECK(due_ms("2024-02-29") == 1'709'164'800'000);
  CHECK(due_ms("2000-02-29") == 951'782'400'000);
  CHECK(due_ms("0004-02-29") == -62'035'891'200'000);
  for (const char* text : {"2023-02-29", "1900-02-29", "2100-02-29", "2024-02-30", "2026-04-31", "2026-13-01",
                           "2026-00-10", "2026-01-00", "2026-01-32"}) {
    CHECK_THAT(due_error(text), Catch::Contains(text) && Catch::Contains("no such day"));
  }
}

TEST_CASE("the year limits count after the offset", "[time_text]") {
  CHECK(due_ms("0001-01-01T00:00:00Z") == first_ms);
  CHECK(due_ms("0001-01-01T08:00:00+08:00") == first_ms);
  CHECK(due_ms("9999-12-31T23:59:59.999Z") == last_ms);
  CHECK(due_ms("9999-12-31T15:59:59.999-08:00") == last_ms);
  for (const char* text : {"0000-12-31", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"}) {
    CHECK_THAT(due_error(text), Catch::Contains("out of range"));
  }
}

TEST_CASE("a time is refused when a part of it is out of range or something is left over", "[time_text]") {
  for (const char* text : {"",
                           " ",
                           "tomorrow",
                           "2026",
                           "x2026-12-01",
                           "2026-12",
                           "2026-12-1",
                           "26-12-01",
                           "2026/12/01",
                           "2026-12-01T",
                           "2026-12-01Z",
                           "2026-12-01T24:00:00Z",
                           "2026-12-01T09:60:00Z",
                           "2026-12-01T09:00:60Z",
                           "2026-12-01T9:00:00Z",
                           "2026-12-01T09:00:00.Z",
                           "2026-12-01T09:00:00,5Z",
                           "2026-12-01T09:00:00+0800",
                           "2026-12-01T09:00:00+08",
                           "2026-12-01T09:00:00+24:00",
                           "2026-12-01T09:00:00+08:60",
                           "2026-12-01T09:00:00ZZ",
                           "2026-12-01T09:00:00Z ",
                           "2026-12-01  09:00:00Z",
                           "10000-01-01",
                           "-001-01-01",
                           "12026-12-01T00:00:00Z",
                           "1e12",
                           "1.5",
                           "0x7f",
                           "--1",
                           "-",
                           "2026-12-01T09:00:00 Z"}) {
    INFO(text);
    if (std::string_view(text) == "2026") {
      CHECK(due_ms(text) == 2026);  // Digits alone are milliseconds.
    } else {
      due_error(text);
    }
  }
  CHECK_THAT(due_error("2026-12-01T09:00:00"), Catch::Contains("no zone"));
  CHECK_THAT(due_error(std::string("2026-12-01\0", 11)), Catch::Contains("\\x00"));
}

TEST_CASE("a cell may name no zone and is UTC then", "[time_text]") {
  CHECK(cell_ms("2026-12-01") == 1'796'083'200'000);
  CHECK(cell_ms("2026-12-01 09:00") == 1'796'115'600'000);
  CHECK(cell_ms("2026-12-01 09:00:00") == 1'796'115'600'000);
  CHECK(cell_ms("2026-12-01 09:00:00.250") == 1'796'115'600'250);
  CHECK(cell_ms("2026-12-01T09:00:00") == 1'796'115'600'000);
  CHECK(cell_ms("2026-12-01T17:00:00+08:00") == 1'796'115'600'000);
  for (const char* text : {"", "NOW", "+1h", "01/12/2026", "2026-02-30", "0000-01-01", "n/a"}) {
    INFO(text);
    CHECK(is_refused_as_cell(text));
  }
}

TEST_CASE("a number in a cell is seconds or milliseconds by its size, unless told", "[time_text]") {
  CHECK(cell_ms("0") == 0);
  CHECK(cell_ms("1796115600") == 1'796'115'600'000);
  CHECK(cell_ms("1796115600000") == 1'796'115'600'000);
  CHECK(cell_ms("-1") == -1'000);
  CHECK(cell_ms("99999999999") == 99'999'999'999'000);
  CHECK(cell_ms("100000000000") == 100'000'000'000);
  CHECK(cell_ms("-100000000000") == -100'000'000'000);
  CHECK(cell_ms("1796115600", EpochUnit::milliseconds) == 1'796'115'600);
  CHECK(cell_ms("253402300799", EpochUnit::seconds) == 253'402'300'799'000);
  CHECK(is_refused_as_cell("-99999999999"));  // Seconds before year 1.
  CHECK(is_refused_as_cell("253402300800", EpochUnit::seconds));
  CHECK(is_refused_as_cell("9223372036854775807", EpochUnit::seconds));
  CHECK(is_refused_as_cell("-9223372036854775808", EpochUnit::seconds));
  CHECK(is_refused_as_cell("9223372036854775808"));
}

TEST_CASE("a number in a cell may have a fraction, cut to milliseconds", "[time_text]") {
  CHECK(cell_ms("1796115600.5") == 1'796'115'600'500);
  CHECK(cell_ms("1796115600.0009") == 1'796'115'600'000);
  CHECK(cell_ms("1796115600000.75") == 1'796'115'600'000);
  CHECK(cell_ms("-0.5") == -500);
  CHECK(cell_ms("-1.25") == -1'250);
  CHECK(cell_ms("1.9", EpochUnit::milliseconds) == 1);
  for (const char* text : {"1.", ".5", "1.2.3", "1.-2", "1e9", "1.5e9", "-", "-.5", "inf", "nan", "1.5 "}) {
    INFO(text);
    CHECK(is_refused_as_cell(text));
  }
  CHECK(is_refused_as_cell("9223372036854775.9", EpochUnit::seconds));
}

TEST_CASE("a time is printed as RFC 3339 and reads back", "[time_text]") {
  CHECK(print_time(Time{Duration{0}}) == "1970-01-01T00:00:00Z");
  CHECK(print_time(Time{Duration{-1}}) == "1969-12-31T23:59:59.999Z");
  CHECK(print_time(Time{Duration{1'796'115'600'250}}) == "2026-12-01T09:00:00.250Z");
  for (const std::int64_t ms :
       {first_ms, first_ms + 1, std::int64_t{-1}, std::int64_t{0}, last_ms - 1, last_ms}) {
    CHECK(due_ms(print_time(Time{Duration{ms}})) == ms);
  }
}

TEST_CASE("a time that no calendar here can write is printed as its number", "[time_text]") {
  CHECK(print_time(Time::max()) == "9223372036854775807");
  CHECK(print_time(Time::min()) == "-9223372036854775808");
  CHECK(print_time(time_last + Duration{1}) == "253402300800000");
}
