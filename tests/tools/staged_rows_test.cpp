// Conflicts among the rows of an import.
#include "staged_rows.h"

#include <catch2/catch.hpp>

using namespace duelease;
using namespace duelease::tools;

namespace {

struct Row {
  std::uint64_t number;
  std::string id;
  std::optional<std::string> key;
  State state = State::wait;
  std::optional<int> created{};
};

struct Staged {
  std::unique_ptr<StagedRows> rows;

  explicit Staged(const std::vector<Row>& all) {
    Result<std::unique_ptr<StagedRows>> made = StagedRows::make();
    REQUIRE(made);
    rows = std::move(*made);
    for (const Row& row : all) {
      OrderRow order;
      order.id = row.id;
      order.key = row.key;
      order.state = row.state;
      order.due = Time{Duration{row.number}};
      order.payload = "payload of " + row.id;
      if (row.created) order.created = Time{Duration{*row.created}};
      REQUIRE(rows->add(row.number, order));
    }
    REQUIRE(rows->seal());
    CHECK(rows->rows() == all.size());
  }

  std::vector<Conflict> settle(Duplicates policy) {
    std::vector<Conflict> conflicts;
    REQUIRE(rows->settle(policy, [&](const Conflict& conflict) { conflicts.push_back(conflict); }));
    return conflicts;
  }
  std::vector<OrderRow> all() {
    std::vector<OrderRow> orders;
    for (const Fate fate : {Fate::kept, Fate::voided, Fate::grandfathered}) {
      REQUIRE(rows->each(fate, [&](std::uint64_t, OrderRow row) {
        orders.push_back(std::move(row));
        return true;
      }));
    }
    return orders;
  }
};

using States = std::vector<State>;

States states_of(const std::vector<OrderRow>& orders) {
  States states;
  for (const OrderRow& order : orders) states.push_back(order.state);
  return states;
}

}  // namespace

TEST_CASE("staged rows come back as they were, in their order", "[staged_rows]") {
  const std::string bytes("\0\xFF'\n", 4);
  Staged staged({{7, "b", bytes, State::success, 5}, {9, "a", std::nullopt, State::failed}, {10, bytes, ""}});
  CHECK(staged.settle(Duplicates::keep_one).empty());
  const std::vector<OrderRow> orders = staged.all();
  REQUIRE(orders.size() == 3);
  CHECK(orders[0].id == "b");
  CHECK(orders[0].key == bytes);
  CHECK(orders[0].state == State::success);
  CHECK(orders[0].due == Time{Duration{7}});
  CHECK(orders[0].created == Time{Duration{5}});
  CHECK(!orders[0].ended);
  CHECK(orders[0].payload == "payload of b");
  CHECK(!orders[1].key);
  CHECK(orders[1].state == State::failed);
  CHECK(!orders[1].created);
  CHECK(orders[2].id == bytes);
  CHECK(orders[2].key == "");
  CHECK(!orders[2].grandfather);
  CHECK(orders[2].error.empty());
}

TEST_CASE("keep-one keeps the SUCCESS, and the rest that wait become void", "[staged_rows]") {
  Staged staged({{1, "a", "k"},
                 {2, "b", "k", State::success},
                 {3, "c", "k"},
                 {4, "d", "k", State::failed},
                 {5, "e", "other"}});
  const std::vector<Conflict> conflicts = staged.settle(Duplicates::keep_one);
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].key == "k");
  CHECK(conflicts[0].rows == 4);
  CHECK(conflicts[0].by_state[static_cast<std::size_t>(State::wait)] == 2);
  CHECK(conflicts[0].owner.id == "b");
  CHECK(conflicts[0].voided == 2);
  CHECK(conflicts[0].grandfathered == 0);
  REQUIRE(conflicts[0].members.size() == 4);
  CHECK(conflicts[0].members[0].fate == Fate::voided);
  CHECK(conflicts[0].members[0].state == State::wait);
  CHECK(conflicts[0].members[3].fate == Fate::kept);
  const std::vector<OrderRow> orders = staged.all();
  CHECK(states_of(orders) ==
        States{State::success, State::failed, State::wait, State::aborted, State::aborted});
  CHECK_THAT(orders[3].error, Catch::Contains("duplicate of b (SUCCESS)"));
  CHECK(orders[0].error.empty());
}

TEST_CASE("keep-one keeps the newest that waits where there is no SUCCESS", "[staged_rows]") {
  CHECK(Staged({{1, "a", "k"}, {2, "b", "k"}}).settle(Duplicates::keep_one)[0].owner.id == "b");
  CHECK(Staged({{1, "a", "k", State::wait, 9}, {2, "b", "k", State::wait, 3}})
            .settle(Duplicates::keep_one)[0]
            .owner.id == "a");
  CHECK(Staged({{1, "a", "k", State::wait, -9}, {2, "b", "k"}}).settle(Duplicates::keep_one)[0].owner.id ==
        "a");
  CHECK(Staged({{1, "a", "k", State::wait, 3}, {2, "b", "k", State::wait, 3}})
            .settle(Duplicates::keep_one)[0]
            .owner.id == "b");
}

TEST_CASE("a SUCCESS is never made void: of several the newest owns the key", "[staged_rows]") {
  Staged staged({{1, "a", "k", State::success, 1},
                 {2, "b", "k", State::success, 9},
                 {3, "c", "k"},
                 {4, "d", "k", State::success, 5}});
  const std::vector<Conflict> conflicts = staged.settle(Duplicates::keep_one);
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].owner.id == "b");
  CHECK(conflicts[0].voided == 1);
  CHECK(conflicts[0].grandfathered == 2);
  const std::vector<OrderRow> orders = staged.all();
  // Those without the key come last, when its owner has it.
  std::string ids;
  for (const OrderRow& order : orders) ids += order.id + (order.grandfather ? "+" : "");
  CHECK(ids == "bca+d+");
  CHECK(states_of(orders) == States{State::success, State::aborted, State::success, State::success});
}

TEST_CASE("nothing is done to a row because of an owner that was not taken", "[staged_rows]") {
  for (const Duplicates policy : {Duplicates::keep_one, Duplicates::grandfather}) {
    Staged staged({{1, "a", "k"}, {2, "b", "k"}, {3, "c", "l"}, {4, "d", "l"}, {5, "e", "k"}});
    staged.settle(policy);
    REQUIRE(staged.rows->not_taken(5));
    std::string left;
    REQUIRE(
        staged.rows->each_left([&](std::uint64_t number, const std::string& id, const std::string& owner) {
          left += std::to_string(number) + id + owner + " ";
        }));
    CHECK(left == "1ae 2be ");
    std::string others;
    const Fate fate = policy == Duplicates::keep_one ? Fate::voided : Fate::grandfathered;
    REQUIRE(staged.rows->each(fate, [&](std::uint64_t, OrderRow row) {
      others += row.id;
      return true;
    }));
    CHECK(others == "c");
  }
}

TEST_CASE("grandfather leaves all as they are, and refuse decides nothing", "[staged_rows]") {
  const std::vector<Row> rows = {{1, "a", "k"}, {2, "b", "k", State::success}, {3, "c", "k", State::aborted}};
  Staged staged(rows);
  const std::vector<Conflict> conflicts = staged.settle(Duplicates::grandfather);
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].owner.id == "b");
  CHECK(conflicts[0].grandfathered == 1);
  const std::vector<OrderRow> orders = staged.all();
  CHECK(states_of(orders) == States{State::success, State::aborted, State::wait});
  CHECK(!orders[0].grandfather);
  CHECK(!orders[1].grandfather);
  CHECK(orders[2].grandfather);

  Staged refused(rows);
  CHECK(refused.settle(Duplicates::refuse).size() == 1);
  CHECK(!refused.all()[0].grandfather);
}

TEST_CASE("rows that do not block, and rows without a key, are no conflict", "[staged_rows]") {
  Staged staged({{1, "a", "k", State::failed},
                 {2, "b", "k"},
                 {3, "c", "k", State::aborted},
                 {4, "d", std::nullopt},
                 {5, "e", std::nullopt}});
  CHECK(staged.settle(Duplicates::keep_one).empty());
}

TEST_CASE("an id that several rows have is named with the first two of them", "[staged_rows]") {
  Staged staged({{3, "z", std::nullopt},
                 {4, "a", "k"},
                 {8, "a", std::nullopt, State::failed},
                 {9, "z", "l"},
                 {11, "z", "m"}});
  std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>> repeated;
  REQUIRE(staged.rows->repeated_ids(
      [&](const std::string& id, std::uint64_t rows, std::uint64_t first, std::uint64_t second) {
        repeated.emplace_back(id, rows, first, second);
      }));
  REQUIRE(repeated.size() == 2);
  CHECK(repeated[0] == std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>{"z", 3, 3, 9});
  CHECK(repeated[1] == std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>{"a", 2, 4, 8});
}

TEST_CASE("a conflict of many rows tells of the first of them", "[staged_rows]") {
  std::vector<Row> rows;
  for (std::uint64_t i = 1; i <= 5'000; ++i) rows.push_back({i, std::to_string(i), "k"});
  Staged staged(rows);
  const std::vector<Conflict> conflicts = staged.settle(Duplicates::keep_one);
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].rows == 5'000);
  CHECK(conflicts[0].voided == 4'999);
  CHECK(conflicts[0].owner.id == "5000");
  CHECK(conflicts[0].members.size() == Conflict::members_max);
  CHECK(states_of(staged.all())[4'998] == State::aborted);
}
