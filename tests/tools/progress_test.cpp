// The progress line of an import.
#include "progress.h"

#include <catch2/catch.hpp>

#include "text.h"

using namespace duelease::tools;
using std::chrono::milliseconds;

TEST_CASE("the line tells share, rate and the time that is left", "[progress]") {
  CHECK(progress_line({45'000, 450, 1'000, milliseconds{9'000}}) ==
        " 45 % [#########           ] 45000 rows, 5000/s, 11 s left");
  CHECK(progress_line({100, 1'000, 1'000, milliseconds{1'000}}) ==
        "100 % [####################] 100 rows, 100/s, 0 ms left");
}

TEST_CASE("without a size or a rate it tells what it knows", "[progress]") {
  CHECK(progress_line({0, 0, 1'000, milliseconds{0}}) == "  0 % [                    ] 0 rows, 0/s");
  CHECK(progress_line({7, 10, std::nullopt, milliseconds{1'000}}) == "7 rows, 7/s");
  CHECK(progress_line({7, 10, 0, milliseconds{1'000}}) == "7 rows, 7/s");
  CHECK(progress_line({1, 10, 0, milliseconds{1'000}}) == "1 row, 1/s");
  CHECK(progress_line({7, 11, 10, milliseconds{1'000}}) == "7 rows, 7/s");
}

TEST_CASE("the line fits a terminal", "[progress]") {
  const ProgressState huge{9'999'999'999, 1, 100'000'000'000, milliseconds{86'400'000}};
  CHECK(display_width(progress_line(huge)) <= 79);
}
