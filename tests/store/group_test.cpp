// A group of pending changes reads as the store would after they were written.
#include "store/group.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/memory_store.h"
#include "support/hex.h"

using namespace duelease;
using namespace duelease::store;
using test::hex;

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rows_of(const Reader& reader, Family family, std::string_view from, std::string_view to) {
  Rows out;
  const std::unique_ptr<Cursor> cursor = reader.scan(family, from, to);
  for (; cursor->valid(); cursor->next()) out.emplace_back(cursor->key(), cursor->value());
  CHECK(cursor->status());
  return out;
}

// Few and short, so that they meet, and lie close together.
std::string draw_key(std::mt19937_64& random) {
  static constexpr char bytes[] = {'\x00', 'a', 'b', '\xff'};
  std::string out(random() % 3 + 1, '\0');
  for (char& c : out) c = bytes[random() % std::size(bytes)];
  return out;
}

std::string draw_bound(std::mt19937_64& random) { return random() % 4 == 0 ? "" : draw_key(random); }

constexpr Family walked[] = {Family::queue, Family::history};

void compare(const Reader& group, const Reader& oracle, std::mt19937_64& random) {
  for (std::size_t f = 0; f < family_count; ++f) {
    const std::string key = draw_key(random);
    INFO("get " << family_names[f] << " " << hex(key));
    CHECK(*group.get(static_cast<Family>(f), key) == *oracle.get(static_cast<Family>(f), key));
  }
  for (const Family family : walked) {
    const std::string from = draw_bound(random);
    const std::string to = draw_bound(random);
    INFO("scan " << hex(from) << " - " << hex(to));
    CHECK(rows_of(group, family, from, to) == rows_of(oracle, family, from, to));
  }
}

}  // namespace

TEST_CASE("a group over a store reads as a map that holds both") {
  const unsigned seed = GENERATE(range(0U, 100U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  MemoryStore base;
  MemoryStore oracle;  // What `base` would be with the group written.
  Group group(base);
  for (int step = 0; step < 300; ++step) {
    const auto family = static_cast<Family>(random() % family_count);
    const std::string key = draw_key(random);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::string value = std::to_string(step);
        group.put(family, key, value);
        REQUIRE(oracle.write(std::vector{Change{family, key, value}}));
        break;
      }
      case 4:
      case 5:
        group.erase(family, key);
        REQUIRE(oracle.write(std::vector{Change{family, key, std::nullopt}}));
        break;
      case 6: compare(group, oracle, random); break;
      default:
        if (random() % 4 != 0) break;
        REQUIRE(base.write(group.changes()));
        group.clear();
        CHECK(group.empty());
        CHECK(group.bytes() == 0);
        break;
    }
  }
  REQUIRE(base.write(group.changes()));
  for (std::size_t f = 0; f < family_count; ++f) {
    CHECK(base.table(static_cast<Family>(f)) == oracle.table(static_cast<Family>(f)));
  }
}

TEST_CASE("a key changed twice in a group is written once, with its last value") {
  MemoryStore base;
  Group group(base);
  group.put(Family::meta, "a", "1");
  group.put(Family::meta, "b", "2");
  group.erase(Family::meta, "a");
  group.put(Family::app, "a", "3");
  group.put(Family::meta, "a", "4");
  REQUIRE(group.changes().size() == 3);
  CHECK(group.changes()[0].key == "a");
  CHECK(group.changes()[0].value == std::optional<std::string>("4"));
  CHECK(group.changes()[1].key == "b");
  CHECK(group.changes()[2].family == Family::app);
}

TEST_CASE("a key put and erased in one group is still erased from the store") {
  MemoryStore base;
  base.table(Family::queue)["a"] = "old";
  Group group(base);
  group.put(Family::queue, "a", "new");
  group.erase(Family::queue, "a");
  CHECK_FALSE(*group.get(Family::queue, "a"));
  CHECK(rows_of(group, Family::queue, "", "").empty());
  REQUIRE(base.write(group.changes()));
  CHECK(base.table(Family::queue).empty());
}

TEST_CASE("the bytes of a group grow with each change") {
  MemoryStore base;
  Group group(base);
  CHECK(group.bytes() == 0);
  group.put(Family::queue, "key", "value");
  CHECK(group.bytes() >= 8);
  const std::size_t before = group.bytes();
  group.erase(Family::leases, "other");
  CHECK(group.bytes() >= before + 5);
}

namespace {

// Fails at its second row, as a store with a damaged file does.
class BrokenReader final : public Reader {
 public:
  Result<std::optional<std::string>> get(Family, std::string_view) const override {
    return fail(Code::corrupt, "broken");
  }
  std::unique_ptr<Cursor> scan(Family, std::string_view, std::string_view) const override {
    return std::make_unique<BrokenCursor>();
  }

 private:
  class BrokenCursor final : public Cursor {
   public:
    bool valid() const override { return first_; }
    std::string_view key() const override { return "m"; }
    std::string_view value() const override { return "1"; }
    void next() override { first_ = false; }
    Result<> status() const override {
      if (first_) return {};
      return fail(Code::corrupt, "broken");
    }

   private:
    bool first_ = true;
  };
};

}  // namespace

TEST_CASE("an error of the store below shows through the group") {
  const BrokenReader broken;
  Group group(broken);
  group.put(Family::queue, "a", "2");
  group.put(Family::queue, "z", "3");
  CHECK_FALSE(group.get(Family::queue, "b"));
  CHECK(*group.get(Family::queue, "a") == std::optional<std::string>("2"));
  const std::unique_ptr<Cursor> cursor = group.scan(Family::queue, "", "");
  Rows seen;
  for (; cursor->valid(); cursor->next()) seen.emplace_back(cursor->key(), cursor->value());
  CHECK_FALSE(cursor->status());
  CHECK(seen == Rows{{"a", "2"}, {"m", "1"}});  // What lies between m and z is not known.
}
