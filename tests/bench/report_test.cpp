#include "report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plot.h"
#include "round_json.h"

namespace {

using namespace duelease::bench;
using Catch::Contains;

Round round_with(double rate) {
  Round round;
  round.figures = {{"lifecycles/s", rate, true}};
  round.completed = 10;
  round.latencies[static_cast<std::size_t>(Call::claim)].add(std::chrono::milliseconds{7});
  round.resident_bytes = 2'000'000;
  return round;
}

Report report_of() {
  Report report;
  report.machine = {{"cpus", "2"}};
  report.targets = {{"server", {"duelease 1", "on disk", ""}}, {"redis:always", {"Redis 7", "AOF", ""}}};
  report.skipped = {{"postgres", "package postgresql is not installed"}};
  Case wanted;
  wanted.workload = "lifecycle";
  wanted.orders = 10;
  report.results = {{wanted,
                     {{"server", {round_with(300), round_with(100), round_with(200)}},
                      {"redis:always", {round_with(50), round_with(50), round_with(80)}}}}};
  return report;
}

}  // namespace

TEST_CASE("the spread of rounds is their median and their ends", "[bench]") {
  const Spread odd = spread_of({300, 100, 200});
  CHECK(odd.median == 200);
  CHECK(odd.lowest == 100);
  CHECK(odd.highest == 300);
  CHECK(spread_of({1, 4}).median == 2.5);
}

TEST_CASE("the table tells versions, what was skipped, and how the first compares", "[bench]") {
  const std::string table = table_of(report_of());
  CHECK_THAT(table, Contains("redis:always: Redis 7; AOF\n"));
  CHECK_THAT(table, Contains("postgres: skipped: package postgresql is not installed\n"));
  CHECK_THAT(table, Contains("lifecycle, batch 1, 1 connection, 10 orders of 64 bytes; 3 rounds in turn"));
  CHECK_THAT(table, Contains("server is"));
  CHECK_THAT(table, Contains("4.00x"));  // 200 to 50.
}

TEST_CASE("where less is better the first is as many times better as it is faster", "[bench]") {
  Report report = report_of();
  for (Measured& measured : report.results[0].targets) {
    for (Round& round : measured.rounds) round.figures[0].more_is_better = false;
  }
  CHECK_THAT(table_of(report), Contains("0.25x"));
}

TEST_CASE("the JSON has each round", "[bench]") {
  const nlohmann::json json = nlohmann::json::parse(json_of(report_of()));
  const nlohmann::json& server = json["results"][0]["targets"][0];
  CHECK(server["figures"][0]["rounds"] == std::vector<double>{300, 100, 200});
  CHECK(server["figures"][0]["median"] == 200);
  CHECK(server["latencies_ms"]["claim"]["count"] == 3);
  CHECK(server["latencies_ms"]["claim"]["max"] == 7);
  CHECK(server["completed"] == std::vector<std::uint64_t>{10, 10, 10});
  CHECK(json["skipped"]["postgres"] == "package postgresql is not installed");
}

TEST_CASE("the JSON tells batch and connections of those workloads alone that go by them", "[bench]") {
  Report report = report_of();
  const auto case_of = [&report](const std::string& workload) {
    report.results[0].wanted.workload = workload;
    return nlohmann::json::parse(json_of(report))["results"][0];
  };
  for (const char* workload : {"lifecycle", "payload", "backlog", "schedule", "claim"}) {
    CHECK(case_of(workload)["batch"] == 1);
    CHECK(case_of(workload)["connections"] == 1);
  }
  for (const char* workload : {"delay", "drain", "open"}) {
    CHECK_FALSE(case_of(workload).contains("batch"));
    CHECK_FALSE(case_of(workload).contains("connections"));
  }
  CHECK(case_of("delay")["workers"] == 1);
}

TEST_CASE("a picture has a bar and a curve for each target", "[bench]") {
  const std::string svg = svg_of(report_of());
  const auto count = [&svg](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = svg.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count("<rect ") == 1 + 2);
  CHECK(count("<polyline ") == 2);
}

TEST_CASE("a round comes out of its text as it went in", "[bench]") {
  const Round round = round_from_text(text_of(round_with(123)));
  CHECK(round.figures.size() == 1);
  CHECK(round.figures[0].name == "lifecycles/s");
  CHECK(round.figures[0].value == 123);
  CHECK(round.completed == 10);
  CHECK(round.resident_bytes == 2'000'000);
  CHECK(round.latencies[static_cast<std::size_t>(Call::claim)].count() == 1);
}
