// The layout of every key, byte for byte, and that byte order is the order that store/keys.h promises.
#include "store/keys.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/limits.h"
#include "support/hex.h"

using namespace duelease;
using namespace duelease::store;
using test::hex;
using test::packed;
using namespace std::string_literals;

namespace {

Time at(std::int64_t ms) { return Time{Duration{ms}}; }

// Values that sit at the edges: of a byte, of the sign, of what is accepted.
std::int64_t draw_ms(std::mt19937_64& random) {
  static const std::vector<std::int64_t> edges = {limits::time_ms_min,
                                                  limits::time_ms_min + 1,
                                                  -256,
                                                  -255,
                                                  -1,
                                                  0,
                                                  1,
                                                  255,
                                                  256,
                                                  65'535,
                                                  65'536,
                                                  (1LL << 32) - 1,
                                                  1LL << 32,
                                                  limits::time_ms_max - 1,
                                                  limits::time_ms_max};
  if (random() % 2 == 0) return edges[random() % edges.size()];
  return std::uniform_int_distribution<std::int64_t>(limits::time_ms_min, limits::time_ms_max)(random);
}

std::string draw_bytes(std::mt19937_64& random, std::size_t size_max) {
  static constexpr char edges[] = {'\x00', '\x01', 'a', 'b', '\x7f', '\x80', '\xfe', '\xff'};
  std::string out(1 + random() % size_max, '\0');
  for (char& c : out) c = edges[random() % std::size(edges)];
  return out;
}

std::string draw_queue(std::mt19937_64& random) {
  static const std::vector<std::string> names = {"-", "0", "a", "a-", "a.", "aa", "ab", "b", "z", "~"};
  return names[random() % names.size()];
}

}  // namespace

TEST_CASE("a queue key is queue, 00, priority, due time, id") {
  CHECK(hex(queue_key("q", {128, at(0)}, "a")) == packed("71 00 80 8000000000000000 61"));
  CHECK(hex(queue_key("q", {0, at(1)}, "a")) == packed("71 00 00 8000000000000001 61"));
  CHECK(hex(queue_key("q", {255, at(-1)}, "\0\xff"s)) == packed("71 00 ff 7fffffffffffffff 00ff"));
  CHECK(hex(queue_key("unpaid", {1, at(1'700'000'000'123)}, "7")) ==
        packed("756e70616964 00 01 8000018bcfe5687b 37"));
  CHECK(hex(queue_key("q", {1, at(limits::time_ms_min)}, "a")) == packed("71 00 01 7fffc77cedd32800 61"));
  CHECK(hex(queue_key("q", {1, at(limits::time_ms_max)}, "a")) == packed("71 00 01 8000e677d21fdbff 61"));
}

TEST_CASE("keys of orders, leases and dedup are queue, 00, name") {
  CHECK(hex(order_key("q", "id")) == packed("71 00 6964"));
  CHECK(hex(order_key("q", "\0"s)) == packed("71 00 00"));
  CHECK(hex(dedup_key("q", "k")) == packed("71 00 6b"));
  CHECK(hex(queue_prefix("q")) == packed("71 00"));
}

TEST_CASE("a history key is queue, 00, escaped id, 00 00, sequence") {
  CHECK(hex(history_key("q", "id", 1)) == packed("71 00 6964 0000 0000000000000001"));
  CHECK(hex(history_key("q", "a\0b"s, limits::sequence_max)) ==
        packed("71 00 6100ff62 0000 7fffffffffffffff"));
  CHECK(hex(history_prefix("q", "\0\0"s)) == packed("71 00 00ff00ff 0000"));
}

TEST_CASE("keys of runs are queue, 00, kind, run, and those of their orders also 00 00, id") {
  CHECK(hex(active_run_key("q", "run")) == packed("71 00 61 72756e"));
  CHECK(hex(active_run_key("q", "\0\xff"s)) == packed("71 00 61 00ff"));
  CHECK(hex(run_key("q", "run")) == packed("71 00 72 72756e"));
  CHECK(hex(run_key("unpaid", "\0"s)) == packed("756e70616964 00 72 00"));
  CHECK(hex(run_order_key("q", "run", "id")) == packed("71 00 6f 72756e 0000 6964"));
  CHECK(hex(run_order_key("q", "a\0b"s, "\0"s)) == packed("71 00 6f 6100ff62 0000 00"));
  CHECK(hex(active_run_prefix("q")) == packed("71 00 61"));
  CHECK(hex(run_prefix("q")) == packed("71 00 72"));
  CHECK(hex(run_orders_prefix("q", "\0\0"s)) == packed("71 00 6f 00ff00ff 0000"));
}

TEST_CASE("keys of meta are words") {
  CHECK(format_key == "format");
  CHECK(sequence_key == "sequence");
  CHECK(settings_key("q") == "settings:q");
  CHECK(counts_key("q") == "counts:q");
}

TEST_CASE("a prefix ends at the smallest string above everything that starts with it") {
  CHECK(hex(prefix_end("a")) == "62");
  CHECK(hex(prefix_end("q\0"s)) == packed("71 01"));
  CHECK(hex(prefix_end("a\xff\xff")) == "62");
  CHECK(hex(prefix_end("a\x7f")) == packed("61 80"));
  CHECK(prefix_end("\xff\xff").empty());
  CHECK(prefix_end("").empty());

  const unsigned seed = GENERATE(range(0U, 20U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const std::string prefix = draw_bytes(random, 4);
    const std::string other = draw_bytes(random, 8);
    const std::string end = prefix_end(prefix);
    INFO("prefix " << hex(prefix) << ", other " << hex(other));
    const bool below = other >= prefix && (end.empty() || other < end);
    CHECK(below == other.starts_with(prefix));
  }
}

TEST_CASE("queue keys sort by queue, priority, due time and id") {
  const unsigned seed = GENERATE(range(0U, 20U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  using Entry = std::tuple<std::string, std::uint8_t, std::int64_t, std::string>;
  const auto draw = [&] {
    return Entry{draw_queue(random), static_cast<std::uint8_t>(random() % 3 * 127), draw_ms(random),
                 draw_bytes(random, 3)};
  };
  const auto key = [](const Entry& e) {
    return queue_key(std::get<0>(e), {std::get<1>(e), at(std::get<2>(e))}, std::get<3>(e));
  };
  for (int i = 0; i < 1000; ++i) {
    const Entry a = draw();
    Entry b = draw();
    if (random() % 2 == 0) std::get<0>(b) = std::get<0>(a);
    if (random() % 2 == 0) std::get<1>(b) = std::get<1>(a);
    if (random() % 2 == 0) std::get<2>(b) = std::get<2>(a);
    INFO(hex(key(a)) << " and " << hex(key(b)));
    CHECK((a < b) == (key(a) < key(b)));
    CHECK((a == b) == (key(a) == key(b)));
  }
}

TEST_CASE("a history key is read back, and nothing else is") {
  for (const std::string& id : {"id"s, "a\0b"s, "\0\xff"s, "\xff"s}) {
    const std::string key = history_key("q", id, limits::sequence_max);
    const std::optional<HistoryName> name = parse_history_key(key);
    REQUIRE(name);
    CHECK(name->queue == "q");
    CHECK(name->id == id);
    CHECK(name->sequence == limits::sequence_max);
    CHECK_FALSE(parse_history_key(key + "x"));
    CHECK_FALSE(parse_history_key(std::string_view(key).substr(0, key.size() - 1)));
  }
  for (const std::string& bytes : {""s, "q"s, "q\0"s, "q\0id"s, history_prefix("q", "id"),
                                   history_key("q", "", 1), history_key("", "id", 1)}) {
    CHECK_FALSE(parse_history_key(bytes));
  }
}

TEST_CASE("order keys sort by queue and id, history keys also by sequence") {
  const unsigned seed = GENERATE(range(0U, 20U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  using Entry = std::tuple<std::string, std::string, std::uint64_t>;
  const auto draw = [&] {
    return Entry{draw_queue(random), draw_bytes(random, 3), random() >> (1 + random() % 63)};
  };
  for (int i = 0; i < 1000; ++i) {
    const Entry a = draw();
    Entry b = draw();
    if (random() % 2 == 0) std::get<0>(b) = std::get<0>(a);
    if (random() % 2 == 0) std::get<1>(b) = std::get<1>(a);
    const auto& [queue_a, id_a, sequence_a] = a;
    const auto& [queue_b, id_b, sequence_b] = b;
    INFO(hex(history_key(queue_a, id_a, sequence_a))
         << " and " << hex(history_key(queue_b, id_b, sequence_b)));
    CHECK((a < b) == (history_key(queue_a, id_a, sequence_a) < history_key(queue_b, id_b, sequence_b)));
    CHECK((std::tie(queue_a, id_a) < std::tie(queue_b, id_b)) ==
          (order_key(queue_a, id_a) < order_key(queue_b, id_b)));
    // The history of one id is exactly what starts with its prefix.
    CHECK(history_key(queue_a, id_a, sequence_a).starts_with(history_prefix(queue_b, id_b)) ==
          (queue_a == queue_b && id_a == id_b));
  }
}

TEST_CASE("keys of a run's orders sort by queue, run and id, and start with the prefix of their run alone") {
  const unsigned seed = GENERATE(range(0U, 20U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  using Entry = std::tuple<std::string, std::string, std::string>;
  const auto draw = [&] { return Entry{draw_queue(random), draw_bytes(random, 3), draw_bytes(random, 3)}; };
  for (int i = 0; i < 1000; ++i) {
    const Entry a = draw();
    Entry b = draw();
    if (random() % 2 == 0) std::get<0>(b) = std::get<0>(a);
    if (random() % 2 == 0) std::get<1>(b) = std::get<1>(a);
    const auto& [queue_a, run_a, id_a] = a;
    const auto& [queue_b, run_b, id_b] = b;
    const std::string key_a = run_order_key(queue_a, run_a, id_a);
    const std::string key_b = run_order_key(queue_b, run_b, id_b);
    INFO(hex(key_a) << " and " << hex(key_b));
    CHECK((a < b) == (key_a < key_b));
    CHECK((a == b) == (key_a == key_b));
    CHECK(key_a.starts_with(run_orders_prefix(queue_b, run_b)) == (queue_a == queue_b && run_a == run_b));
    CHECK((std::tie(queue_a, run_a) < std::tie(queue_b, run_b)) ==
          (run_key(queue_a, run_a) < run_key(queue_b, run_b)));
  }
}

TEST_CASE("a key of family runs that was taken apart gives what it was made of") {
  using Kind = RunEntry::Kind;
  const unsigned seed = GENERATE(range(0U, 20U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    const std::string queue = draw_queue(random);
    const std::string run = draw_bytes(random, limits::run_bytes_max);
    const std::string id = draw_bytes(random, limits::id_bytes_max);
    for (const Kind kind : {Kind::active, Kind::run, Kind::order}) {
      const std::string bytes = kind == Kind::active ? active_run_key(queue, run)
                                : kind == Kind::run  ? run_key(queue, run)
                                                     : run_order_key(queue, run, id);
      INFO(hex(bytes));
      const std::optional<RunEntry> entry = parse_run_key(bytes);
      REQUIRE(entry);
      CHECK((entry->kind == kind));
      CHECK(entry->queue == queue);
      CHECK(entry->run == run);
      CHECK(entry->id == (kind == Kind::order ? id : ""));
    }
  }
}

TEST_CASE("a key that was taken apart gives what it was made of") {
  const unsigned seed = GENERATE(range(0U, 20U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    const std::string queue = draw_queue(random);
    const Place place{static_cast<std::uint8_t>(random()), at(draw_ms(random))};
    const std::string id = draw_bytes(random, limits::id_bytes_max);
    const std::string entry_bytes = queue_key(queue, place, id);
    const std::optional<QueueEntry> entry = parse_queue_key(entry_bytes);
    REQUIRE(entry);
    CHECK(entry->queue == queue);
    CHECK(entry->place == place);
    CHECK(entry->id == id);
    const std::string name_bytes = order_key(queue, id);
    const std::optional<OrderName> name = parse_order_key(name_bytes);
    REQUIRE(name);
    CHECK(name->queue == queue);
    CHECK(name->id == id);
  }
}

TEST_CASE("bytes that are no key are not taken apart") {
  CHECK_FALSE(parse_queue_key(""));
  CHECK_FALSE(parse_queue_key("q"));
  CHECK_FALSE(parse_queue_key("\0"s));
  CHECK_FALSE(parse_queue_key("q\0"s));
  CHECK_FALSE(
      parse_queue_key("\0\x80"
                      "12345678"
                      "id"s));  // No queue.
  CHECK_FALSE(
      parse_queue_key("q\0\x80"
                      "12345678"s));  // No id.
  CHECK(
      parse_queue_key("q\0\x80"
                      "12345678"
                      "i"s));
  CHECK_FALSE(parse_order_key(""));
  CHECK_FALSE(parse_order_key("q"));
  CHECK_FALSE(parse_order_key("q\0"s));
  CHECK_FALSE(parse_run_key(""));
  CHECK_FALSE(parse_run_key("q"));
  CHECK_FALSE(parse_run_key("q\0"s));
  CHECK_FALSE(parse_run_key("\0rrun"s));   // No queue.
  CHECK_FALSE(parse_run_key("q\0xrun"s));  // No such kind.
  CHECK_FALSE(parse_run_key("q\0r"s));     // No run.
  CHECK_FALSE(parse_run_key("q\0a"s));
  CHECK_FALSE(parse_run_key("q\0o\0\0id"s));
  CHECK_FALSE(parse_run_key("q\0orun"s));  // Its end is not marked,
  CHECK_FALSE(parse_run_key("q\0orun\0"s));
  CHECK_FALSE(parse_run_key("q\0oru\0nid"s));  // or is neither an end nor an escaped 00.
  CHECK_FALSE(parse_run_key("q\0orun\0\0"s));  // No id.
  CHECK(parse_run_key("q\0orun\0\0i"s));
  CHECK_FALSE(parse_order_key("\0id"s));
  CHECK(parse_order_key("q\0i"s));
}
