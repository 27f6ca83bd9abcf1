// A repair of real files: a log or a table that has rotted, or is gone.
#include "duelease/repair.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "base/limits.h"
#include "engine/reads.h"
#include "engine/repair_report.h"
#include "engine/repair_store.h"
#include "store/keys.h"
#include "store/records.h"
#include "store/rocks_store.h"
#include "support/live_engine.h"
#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using store::Family;
using test::mended;
using test::text_of;
using test::World;

namespace {

using Files = std::map<std::string, std::string>;

Files files_of(const fs::path& folder) {
  Files out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    out[entry.path().filename().string()] = text_of(entry.path());
  }
  return out;
}

// With 40 orders, one after the other; answers the last sequence.
std::uint64_t make_store(const fs::path& folder, std::size_t payload_bytes) {
  const std::unique_ptr<Engine> engine = test::open_live(folder);
  for (int i = 0; i < 40; ++i) {
    REQUIRE(engine->schedule({.queue = "q",
                              .id = std::to_string(100 + i),
                              .due = test::start_of_2026,
                              .payload = std::string(payload_bytes, 'x'),
                              .key = std::to_string(i)}));
  }
  REQUIRE(engine->claim({.queues = {"q"}, .worker = "w", .lease = 24h})->size() == 1);
  return *engine->last_sequence();
}

fs::path rot(const fs::path& folder) {
  fs::path log;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".log" && entry.file_size() > fs::file_size(folder / "CURRENT"))
      log = entry;
  }
  std::string bytes = text_of(log);
  REQUIRE(bytes.size() > 1000);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  std::ofstream(log, std::ios::binary | std::ios::trunc) << bytes;
  return log;
}

}  // namespace

TEST_CASE("repair: a log that has rotted is cut off only on request", "[repair]") {
  const test::TemporaryFolder folder;
  const fs::path store = folder / "store";
  const std::uint64_t last = make_store(store, GENERATE(40u, 5000u));
  const fs::path log = rot(store);
  const std::string rotten = text_of(log);
  REQUIRE(Engine::open(store, test::small_options()).error().code == Code::corrupt);

  const Files before = files_of(store);
  const Result<RepairReport> refused = repair(store);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::corrupt);
  for (const char* words : {"its log is damaged from byte ", "writes that were on disk cannot be read",
                            "Nothing was changed", "restore a backup", "--accept-loss"}) {
    CHECK_THAT(refused.error().message, Catch::Contains(words));
  }
  CHECK(files_of(store) == before);
  CHECK_FALSE(fs::exists(folder / "store.damaged"));

  const Result<RepairReport> report = repair(store, {.accept_loss = true});
  REQUIRE(report);
  CHECK(report->left() == 0);
  REQUIRE(report->lost);
  CHECK(report->lost->file == log.filename());
  CHECK(report->lost->offset > 0);
  CHECK(report->lost->offset <= rotten.size() / 2);
  CHECK(report->lost->bytes >= rotten.size() / 2 - 1);
  CHECK(report->lost->writes > 0);
  CHECK(report->kept_in.parent_path() == folder / "store.damaged");
  CHECK(text_of(report->kept_in / log.filename()) == rotten);
  {
    const std::unique_ptr<Engine> engine = test::open_live(store);
    CHECK(engine->check()->violations() == 0);
    CHECK(engine->mended().empty());
    const std::uint64_t orders = engine->check()->orders;
    CHECK(orders > 10);
    CHECK(orders < 30);
    CHECK(*engine->last_sequence() > last + limits::crash_jump / 2);
  }
  const Result<RepairReport> again = repair(store, {.accept_loss = true});
  REQUIRE(again);
  CHECK_FALSE(again->lost);
  CHECK(again->mended() == 0);
  CHECK(again->kept_in.empty());
}

// In a store of many log files some families lie in tables already that are younger than the damage.
TEST_CASE("repair: a log that has rotted behind what lies in tables", "[repair]") {
  const test::TemporaryFolder folder;
  Options options = test::small_options();
  options.memtable_bytes = 256 * 1024;
  {
    const std::unique_ptr<Engine> engine = test::open_live(folder / "sound", options);
    for (int round = 0; round < 40; ++round) {
      std::vector<ScheduleRequest> requests;
      for (int i = 0; i < 50; ++i) {
        const std::string id = std::to_string(round * 50 + i);
        requests.push_back({.queue = "q",
                            .id = id,
                            .due = test::start_of_2026,
                            .payload = std::string(300, 'x'),
                            .key = id});
      }
      const std::vector<Result<Answer>> answers = engine->schedule(std::move(requests));
      for (const Result<Answer>& answer : answers) REQUIRE(answer);
      const std::vector<Claimed> held = *engine->claim({.queues = {"q"}, .worker = "w", .count = 20});
      for (const Claimed& claimed : held) {
        if (round % 2 == 0) REQUIRE(engine->complete(World::report_of<CompleteRequest>(claimed)));
      }
    }
  }
  int damaged = 0;
  for (const fs::directory_entry& log : fs::directory_iterator(folder / "sound")) {
    if (log.path().extension() != ".log" || log.file_size() < 5000) continue;
    fs::remove_all(folder / "store");
    fs::copy(folder / "sound", folder / "store");
    std::string bytes = text_of(log.path());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
    std::ofstream(folder / "store" / log.path().filename(), std::ios::binary | std::ios::trunc) << bytes;
    INFO(log.path().filename());
    if (Engine::open(folder / "store", options)) continue;  // A log that is done with.
    ++damaged;
    CHECK_THAT(repair(folder / "store").error().message, Catch::Contains("its log is damaged from byte "));
    const Result<RepairReport> report = repair(folder / "store", {.accept_loss = true});
    REQUIRE(report);
    CHECK(report->lost);
    CHECK(report->left() == 0);
    const std::unique_ptr<Engine> engine = test::open_live(folder / "store", options);
    CHECK(engine->check()->violations() == 0);
    CHECK(engine->mended().empty());
    CHECK(engine->check()->orders > 1000);
  }
  CHECK(damaged > 0);
}

namespace {

// Flips a byte of `text` in the oldest table file that has it.
void damage_table(const fs::path& folder, const std::string& text) {
  for (const auto& [name, bytes] : files_of(folder)) {
    const std::size_t at = bytes.find(text);
    if (!name.ends_with(".sst") || at == std::string::npos) continue;
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << damaged;
    return;
  }
  FAIL("no table with " + text);
}

}  // namespace

// Its tables are as many as make the next open compact them.
TEST_CASE("repair: what cannot be read is left, and the rest mended", "[repair]") {
  const test::TemporaryFolder folder;
  const fs::path store = folder / "store";
  constexpr int opens = 4;
  store::RocksOptions as_it_is;
  as_it_is.compacts = false;
  for (int i = 0; i < opens; ++i) {
    const std::unique_ptr<Engine> engine = test::open_live(store);
    for (int k = 0; k < 50; ++k) {
      const std::string id = std::to_string(i) + "-" + std::to_string(100 + k);
      REQUIRE(engine->schedule({.queue = "q",
                                .id = id,
                                .due = test::start_of_2026 + std::chrono::seconds(k),
                                .payload = "<payload of " + id + ">",
                                .key = id}));
    }
  }
  {
    const auto opened = store::open_rocks_store(store, as_it_is);
    REQUIRE(opened);
    const std::vector<store::Change> changes = {
        {Family::dedup, store::dedup_key("q", "free"), "nobody"},
        {Family::orders, store::order_key("q", "lost"), store::encode_live({128, test::start_of_2026 + 1h})}};
    REQUIRE((*opened)->write(changes));
  }
  damage_table(store, "<payload of ");

  const Result<RepairReport> report = repair(store);
  REQUIRE(report);
  CHECK(mended(*report, "key_is_owned_by_one_blocking_order") == 1);
  CHECK(report->mended() == 1);
  CHECK(report->left() > 0);
  // The record may lie in what cannot be read.
  CHECK(report->invariants[0].left == 1);
  CHECK_THAT(report->invariants[0].left_example, Catch::Contains("order lost"));
  const std::string& left = report->invariants.back().left_example;
  CHECK_THAT(left, Catch::Contains("a part of family queue cannot be read"));
  CHECK_THAT(left, Catch::EndsWith("; so the counts of queues and runs could not be counted again"));
  CHECK(report->invariants[6].found == 0);

  const auto opened = store::open_rocks_store(store, as_it_is);
  REQUIRE(opened);
  const auto counts = (*opened)->get(Family::meta, store::counts_key("q"));
  REQUIRE(counts);
  CHECK(store::decode_counts(**counts)->wait == 50 * opens);
  const auto lost = (*opened)->get(Family::orders, store::order_key("q", "lost"));
  REQUIRE(lost);
  CHECK(*store::decode_order(**lost) == store::OrderRow{store::Place{128, test::start_of_2026 + 1h}});
}

TEST_CASE("repair: a log that is gone is accepted only on request", "[repair]") {
  const test::TemporaryFolder folder;
  const fs::path store = folder / "store";
  fs::create_directory(store);
  {
    const std::unique_ptr<Engine> engine = test::open_live(folder / "running");
    REQUIRE(engine->schedule({.queue = "q", .id = "a", .due = test::start_of_2026}));
    for (const auto& [name, bytes] : files_of(folder / "running")) {  // As after a kill.
      if (!name.ends_with(".log")) std::ofstream(store / name, std::ios::binary) << bytes;
    }
  }
  const Files before = files_of(store);
  CHECK(Engine::open(store, test::small_options()).error().code == Code::corrupt);
  const Result<RepairReport> refused = repair(store);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("it has no log file any more"));
  CHECK_THAT(refused.error().message, Catch::Contains("--accept-loss"));
  CHECK(files_of(store) == before);
  const Result<RepairReport> report = repair(store, {.accept_loss = true});
  REQUIRE(report);
  CHECK(report->lost);
  CHECK(report->left() == 0);
  CHECK(*test::open_live(store)->last_sequence() >= limits::crash_jump);
}

TEST_CASE("repair: a store that is open, absent or without its CURRENT", "[repair]") {
  const test::TemporaryFolder folder;
  CHECK(repair(folder / "store").error().code == Code::not_found);
  CHECK_FALSE(fs::exists(folder / "store"));
  {
    const std::unique_ptr<Engine> engine = test::open_live(folder / "store");
    CHECK(repair(folder / "store").error().code == Code::locked);
  }
  CHECK(repair(folder / "store")->mended() == 0);
  fs::remove(folder / "store" / "CURRENT");
  CHECK(repair(folder / "store", {true, true}).error().code == Code::corrupt);
}
