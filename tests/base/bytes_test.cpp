// Numbers in keys: they come back as they were, and byte order is number order.
#include "base/bytes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/hex.h"

using namespace duelease;

namespace {

std::string u64be(std::uint64_t value) {
  std::string out;
  base::append_u64be(out, value);
  return out;
}

std::string i64be(std::int64_t value) {
  std::string out;
  base::append_i64be(out, value);
  return out;
}

// Around every power of two, and around the ends.
std::vector<std::uint64_t> edges() {
  std::vector<std::uint64_t> out = {0, std::numeric_limits<std::uint64_t>::max()};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    out.insert(out.end(), {power - 1, power, power + 1, ~power, ~power + 1});
  }
  return out;
}

std::vector<std::uint64_t> edges_and_random_numbers() {
  std::vector<std::uint64_t> out = edges();
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) out.push_back(random() >> (random() % 64));
  return out;
}

}  // namespace

TEST_CASE("big-endian bytes are these", "[bytes]") {
  CHECK(test::hex(u64be(0)) == "0000000000000000");
  CHECK(test::hex(u64be(0x0102030405060708)) == "0102030405060708");
  CHECK(test::hex(u64be(std::numeric_limits<std::uint64_t>::max())) == "ffffffffffffffff");
  CHECK(test::hex(i64be(0)) == "8000000000000000");
  CHECK(test::hex(i64be(1)) == "8000000000000001");
  CHECK(test::hex(i64be(-1)) == "7fffffffffffffff");
  CHECK(test::hex(i64be(std::numeric_limits<std::int64_t>::min())) == "0000000000000000");
  CHECK(test::hex(i64be(std::numeric_limits<std::int64_t>::max())) == "ffffffffffffffff");
}

TEST_CASE("numbers come back as they were, and what stands around them stays", "[bytes]") {
  for (const std::uint64_t value : edges_and_random_numbers()) {
    CHECK(base::read_u64be(u64be(value)) == value);
    const auto with_sign = static_cast<std::int64_t>(value);
    CHECK(base::read_i64be(i64be(with_sign)) == with_sign);
    std::string text = "before";
    base::append_u64be(text, value);
    CHECK(text.substr(0, 6) == "before");
    CHECK(base::read_u64be(std::string_view(text + "after").substr(6)) == value);
  }
}

TEST_CASE("byte order is number order", "[bytes]") {
  const std::vector<std::uint64_t> values = edges_and_random_numbers();
  bool unsigned_order = true, signed_order = true;
  for (const std::uint64_t a : values) {
    for (const std::uint64_t b : values) {
      unsigned_order = unsigned_order && (a < b) == (u64be(a) < u64be(b));
      const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
      signed_order = signed_order && (x < y) == (i64be(x) < i64be(y));
    }
  }
  CHECK(unsigned_order);
  CHECK(signed_order);
}
