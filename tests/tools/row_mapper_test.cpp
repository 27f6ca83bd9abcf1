// What a row of a file becomes.
#include "row_mapper.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "import_plan.h"

using namespace duelease;
using namespace duelease::tools;

namespace {

ColumnPlan plan_of(std::vector<std::string> key = {}) {
  ColumnPlan plan;
  plan.id = "OrderID";
  plan.due = "Due";
  plan.key = std::move(key);
  return plan;
}

SourceRow row_of(std::vector<std::optional<std::string>> values) {
  return {.number = 2, .values = std::move(values)};
}

RowMapper mapper_of(const ColumnPlan& plan, std::vector<std::string> header) {
  Result<RowMapper> mapper = RowMapper::from_header(plan, std::move(header));
  INFO((mapper ? "" : mapper.error().message));
  REQUIRE(mapper);
  return std::move(*mapper);
}

std::string header_error(const ColumnPlan& plan, std::vector<std::string> header) {
  const Result<RowMapper> mapper = RowMapper::from_header(plan, std::move(header));
  REQUIRE(!mapper);
  return mapper.error().message;
}

std::string row_error(const RowMapper& mapper, std::vector<std::optional<std::string>> values) {
  const Result<OrderRow> order = mapper.map(row_of(std::move(values)));
  REQUIRE(!order);
  return order.error().message;
}

}  // namespace

TEST_CASE("a row becomes an order with the row as its payload, in the order of the columns", "[row_mapper]") {
  const RowMapper mapper = mapper_of(plan_of(), {"Z", "OrderID", "Due", "A"});
  const Result<OrderRow> order = mapper.map(row_of({"z", "10248", "1996-08-01", "say \"hi\"\n"}));
  REQUIRE(order);
  CHECK(order->id == "10248");
  CHECK(order->due.time_since_epoch().count() == 838'857'600'000);
  CHECK(order->payload == R"({"Z":"z","OrderID":"10248","Due":"1996-08-01","A":"say \"hi\"\n"})");
  CHECK(!order->key);
  CHECK(order->state == State::wait);

  ImportPlan plan;
  plan.queue = "shipping";
  plan.priority = std::uint8_t{3};
  plan.tries = 5;
  plan.upsert = true;
  const ScheduleRequest request = schedule_request(plan, *order);
  CHECK(request.queue == "shipping");
  CHECK(request.id == "10248");
  CHECK(request.due == order->due);
  CHECK(request.payload == order->payload);
  CHECK(request.priority == 3);
  CHECK(request.tries == 5);
  CHECK(request.upsert);
}

TEST_CASE("null is null in the payload, and no id, no due time, no part of a key", "[row_mapper]") {
  const RowMapper mapper = mapper_of(plan_of({"Site,Lot"}), {"OrderID", "Due", "Site", "Lot"});
  const Result<OrderRow> order = mapper.map(row_of({"1", "1996-08-01", std::nullopt, std::nullopt}));
  REQUIRE(order);
  CHECK(order->payload == R"({"OrderID":"1","Due":"1996-08-01","Site":null,"Lot":null})");
  CHECK(!order->key);
  CHECK(mapper.map(row_of({"1", "1996-08-01", std::nullopt, "L"}))->key == "|L");
  CHECK(row_error(mapper, {std::nullopt, "1996-08-01", "", ""}) == "OrderID is null");
  CHECK(row_error(mapper, {"1", std::nullopt, "", ""}) == "Due is null");
}

TEST_CASE("a source can bring the payload, and say that a row cannot be used", "[row_mapper]") {
  const RowMapper mapper = mapper_of(plan_of(), {"OrderID", "Due"});
  SourceRow row = row_of({"1", "1996-08-01"});
  row.payload = "as it is";
  CHECK(mapper.map(row)->payload == "as it is");
  const Result<OrderRow> order = mapper.map({.number = 3, .fault = "torn"});
  REQUIRE(!order);
  CHECK(order.error().message == "torn");
}

TEST_CASE("a status column says the state, in our words or in those of its table", "[row_mapper]") {
  ColumnPlan plan = plan_of();
  plan.status = "Status";
  plan.states = {{"open", State::wait}, {"success", State::failed}, {"", State::aborted}};
  const RowMapper mapper = mapper_of(plan, {"OrderID", "Due", "Status"});
  const auto state = [&](std::optional<std::string> word) {
    const Result<OrderRow> order = mapper.map(row_of({"1", "1996-08-01", std::move(word)}));
    REQUIRE(order);
    return order->state;
  };
  CHECK(state("WAIT") == State::wait);
  CHECK(state("Success") == State::success);
  CHECK(state("FAILED") == State::failed);
  CHECK(state("aborted") == State::aborted);
  CHECK(state("open") == State::wait);
  CHECK(state("success") == State::failed);  // The map goes first.
  CHECK(state(std::nullopt) == State::aborted);
  for (const char* word : {"PROCESSING", "Open", "done"}) {
    CHECK_THAT(row_error(mapper, {"1", "1996-08-01", word}),
               Catch::Contains(word) && Catch::Contains("--status-map"));
  }
}

TEST_CASE("times of creation and end may be missing, but not wrong", "[row_mapper]") {
  ColumnPlan plan = plan_of();
  plan.created = "Made";
  plan.ended = "Done";
  const RowMapper mapper = mapper_of(plan, {"OrderID", "Due", "Made", "Done"});
  const Result<OrderRow> order = mapper.map(row_of({"1", "1996-08-01", "1996-07-01", std::nullopt}));
  REQUIRE(order);
  CHECK(order->created->time_since_epoch().count() == 836'179'200'000);
  CHECK(!order->ended);
  CHECK(!mapper.map(row_of({"1", "1996-08-01", "", ""}))->created);
  CHECK_THAT(row_error(mapper, {"1", "1996-08-01", "", "later"}), Catch::Contains("Done: \"later\""));
  plan.ended = "Nope";
  CHECK_THAT(header_error(plan, {"OrderID", "Due", "Made"}), Catch::Contains("\"Nope\""));
}

TEST_CASE("the columns that are named are told once each", "[row_mapper]") {
  ColumnPlan plan = plan_of({"Site,Lot", "OrderID"});
  plan.created = "Due";
  CHECK(plan.names() == std::vector<std::string>{"Due", "Lot", "OrderID", "Site"});
}

TEST_CASE("a value that is not UTF-8 leaves the payload valid JSON", "[row_mapper]") {
  const RowMapper mapper = mapper_of(plan_of(), {"OrderID", "Due", "Name"});
  const Result<OrderRow> order = mapper.map(row_of({"1", "1996-08-01", "M\xFCller"}));
  REQUIRE(order);
  CHECK(nlohmann::json::parse(order->payload)["Name"]["base64"] == "TfxsbGVy");
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
  const std::vector<std::optional<std::string>> fields = {"1", "1996-08-01", "S", "L", "x"};
  CHECK(mapper_of(plan_of({"Site,Lot"}), header).map(row_of(fields))->key == "S|L");
  CHECK(mapper_of(plan_of({"Lot", "Site"}), header).map(row_of(fields))->key == "L|S");
  CHECK(mapper_of(plan_of({"a,b"}), header).map(row_of(fields))->key == "x");
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
  CHECK(mapper.map(row_of({std::string(255, 'x'), "1996-08-01", std::string(255, 'x')})));
}
