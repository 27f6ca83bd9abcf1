// tools/import_runs.h: what runs of `duelease import` told with --json.
#pragma once

#include "program.h"

namespace duelease::test {

inline nlohmann::json summary_of(const Ran& ran) {
  INFO(ran.out << ran.err);
  const std::vector<nlohmann::json> lines = ran.lines();
  REQUIRE(!lines.empty());
  REQUIRE(lines.back()["event"] == "summary");
  return lines.back();
}

inline void check_counts(const Ran& ran, int rows, int scheduled, int rescheduled, int refused, int bad) {
  const nlohmann::json summary = summary_of(ran);
  CHECK(summary["rows"] == rows);
  CHECK(summary["scheduled"] == scheduled);
  CHECK(summary["rescheduled"] == rescheduled);
  CHECK(summary["refused"] == refused);
  CHECK(summary["bad"] == bad);
}

inline std::vector<nlohmann::json> events_of(const Ran& ran, const char* event) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& line : ran.lines()) {
    if (line["event"] == event) found.push_back(line);
  }
  return found;
}

}  // namespace duelease::test
