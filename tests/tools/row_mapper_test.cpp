// What a row of a file becomes.
#include "row_mapper.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace duelease;
using namespace duelease::tools;

namespace {

ImportPlan plan_of(std::vector<std::string> key = {}) {
  ImportPlan plan;
  plan.queue = "shipping";
  plan.id_column = "OrderID";
  plan.due_column = "Due";
  plan.key_columns = std::move(key);
  return plan;
}

RowMapper mapper_of(const ImportPlan& plan, std::vector<std::string> header) {
  Result<RowMapper> mapper = RowMapper::from_header(plan, std::move(header));
  INFO((mapper ? "" : mapper.error().message));
  REQUIRE(mapper);
  return std::move(*mapper);
}

std::string header_error(const ImportPlan& plan, std::vector<std::string> header) {
  const Result<RowMapper> mapper = RowMapper::from_header(plan, std::move(header));
  REQUIRE(!mapper);
  return mapper.error().message;
}

std::string row_error(const RowMapper& mapper, std::vector<std::string> fields) {
  const Result<ScheduleRequest> request = mapper.map({7, std::move(fields)});
  REQUIRE(!request);
  return request.error().message;
}

}  // namespace

TEST_CASE("a row becomes an order with the row as its payload, in the order of the columns", "[row_mapper]") {
  ImportPlan plan = plan_of();
  plan.priority = std::uint8_t{3};
  plan.tries = 5;
  plan.upsert = true;
  const RowMapper mapper = mapper_of(plan, {"Z", "OrderID", "Due", "A"});
  const Result<ScheduleRequest> request = mapper.map({2, {"z", "10248", "1996-08-01", "say \"hi\"\n"}});
  REQUIRE(request);
  CHECK(request->queue == "shipping");
  CHECK(request->id == "10248");
  CHECK(request->due.time_since_epoch().count() == 838'857'600'000);
  CHECK(request->payload == R"({"Z":"z","OrderID":"10248","Due":"1996-08-01","A":"say \"hi\"\n"})");
  CHECK(!request->key);
  CHECK(request->priority == 3);
  CHECK(request->tries == 5);
  CHECK(request->upsert);
}

TEST_CASE("a value that is not UTF-8 leaves the payload valid JSON", "[row_mapper]") {
  const RowMapper mapper = mapper_of(plan_of(), {"OrderID", "Due", "Name"});
  const Result<ScheduleRequest> request = mapper.map({2, {"1", "1996-08-01", "M\xFCller"}});
  REQUIRE(request);
  CHECK(nlohmann::json::parse(*request->payload)["Name"]["base64"] == "TfxsbGVy");
}

TEST_CASE("keys of several columns are joined so that different values never meet", "[row_mapper]") {
  CHECK(join_key({"a"}) == "a");
  CHECK(join_key({"a|b"}) == "a|b");
  CHECK(join_key({"a", "b"}) == "a|b");
  CHECK(join_key({"a|b", "c"}) != join_key({"a", "b|c"}));
  CHECK(join_key({"a\\", "b"}) != join_key({"a", "\\b"}));
  CHECK(join_key({"a\\|b", ""}) != join_key({"a\\", "b"}));
  CHECK(join_key({"", "b"}) == "|b");
  CHECK(join_key({"b", ""}) == "b|");
  CHECK(!join_key({""}));
  CHECK(!join_key({"", ""}));
  CHECK(!join_key({}));
}

TEST_CASE("no two pairs of short values make the same key", "[row_mapper]") {
  std::vector<std::string> values = {""};
  for (std::size_t i = 0; i < values.size() && values[i].size() < 3; ++i) {
    for (const char c : {'a', '|', '\\'}) values.push_back(values[i] + c);
  }
  std::vector<std::string> keys;
  for (const std::string& first : values) {
    for (const std::string& second : values) {
      if (const auto key = join_key({first, second})) keys.push_back(*key);
    }
  }
  std::sort(keys.begin(), keys.end());
  CHECK(keys.size() == values.size() * values.size() - 1);
  CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST_CASE("key columns are named one by one or with commas between", "[row_mapper]") {
  const std::vector<std::string> header = {"OrderID", "Due", "Site", "Lot", "a,b"};
  const std::vector<std::string> fields = {"1", "1996-08-01", "S", "L", "x"};
  CHECK(mapper_of(plan_of({"Site,Lot"}), header).map({2, fields})->key == "S|L");
  CHECK(mapper_of(plan_of({"Lot", "Site"}), header).map({2, fields})->key == "L|S");
  CHECK(mapper_of(plan_of({"a,b"}), header).map({2, fields})->key == "x");
  CHECK_THAT(header_error(plan_of({"Site,Nope"}), header), Catch::Contains("\"Nope\""));
}

TEST_CASE("a column that is not there is named, with those that are", "[row_mapper]") {
  CHECK_THAT(header_error(plan_of(), {"orderid", "Due"}),
             Catch::Contains("no column \"OrderID\"") && Catch::Contains("\"orderid\""));
  CHECK_THAT(header_error(plan_of(), {"OrderID", "due"}), Catch::Contains("no column \"Due\""));
  CHECK_THAT(header_error(plan_of(), {"OrderID", "Due", "x", "x"}), Catch::Contains("\"x\" twice"));
  CHECK_THAT(header_error(plan_of(), {"OrderID", "Due", "\xFF"}), Catch::Contains("not UTF-8"));
}

TEST_CASE("a bad row says which value is wrong", "[row_mapper]") {
  const RowMapper mapper = mapper_of(plan_of({"Key"}), {"OrderID", "Due", "Key"});
  CHECK_THAT(row_error(mapper, {"1", "1996-08-01"}), Catch::Contains("2 fields where the header has 3"));
  CHECK_THAT(row_error(mapper, {"1", "1996-08-01", "", "x"}), Catch::Contains("4 fields"));
  CHECK_THAT(row_error(mapper, {"", "1996-08-01", ""}), Catch::Contains("OrderID \"\" is 0 bytes"));
  CHECK_THAT(row_error(mapper, {std::string(256, 'x'), "1996-08-01", ""}), Catch::Contains("256 bytes"));
  CHECK_THAT(row_error(mapper, {"1", "soon", ""}), Catch::Contains("Due: \"soon\" is not a time"));
  CHECK_THAT(row_error(mapper, {"1", "", ""}), Catch::Contains("Due: \"\""));
  CHECK_THAT(row_error(mapper, {"1", "1996-08-01", std::string(256, 'x')}), Catch::Contains("key"));
  CHECK(mapper.map({2, {std::string(255, 'x'), "1996-08-01", std::string(255, 'x')}}));
}
