// The repair of stores that are broken on purpose: afterwards all invariants hold, what could be kept is there,
// and a second repair finds nothing to do.
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
using test::Disk;
using test::mended;
using test::text_of;
using test::World;

namespace {

std::string row_key(const std::string& id) { return store::order_key("q", id); }

// A store with orders in each state, with keys, in a run, and with some history. Its core is not used until it is
// opened anew.
class Broken {
 public:
  explicit Broken(Disk disk = GENERATE(Disk::memory, Disk::rocks)) : world(disk) {
    REQUIRE(world.ask(RunOpenRequest{"q", "run"}));
    for (const char* id : {"aborted", "failed", "processing", "success", "wait"}) add(id);
    world.cancel("aborted");
    for (const char* id : {"failed", "processing", "success"}) {
      const Claimed claimed = world.claim_one("w", 1h);
      REQUIRE(claimed.id == id);
      if (claimed.id == "success") world.complete(claimed);
      if (claimed.id == "failed") {
        auto report = World::report_of<FailRequest>(claimed);
        report.final = true;
        world.tell(report);
      }
    }
    add("aborted");
    world.cancel("aborted");
    world.schedule("plain", world.now());
    world.set_queue({.tries = 7});
    REQUIRE(world.broken().empty());
    world.check_always(false);
  }

  void add(const std::string& id) {
    world.schedule(
        {.queue = "q", .id = id, .due = world.now(), .payload = "p", .key = "key of " + id, .run = "run"});
  }

  std::string entry_key(const std::string& id) const { return store::queue_key("q", {128, world.now()}, id); }
  model::Record waiting(const std::string& id = "wait") const {
    return *store::decode_waiting(*world.row(Family::queue, entry_key(id)));
  }
  model::Lease lease() const {
    return *store::decode_lease(*world.row(Family::leases, row_key("processing")));
  }

  RepairReport repair(bool discard = false, std::size_t batch_changes = 1000) {
    store::DamagedFolder damaged(world.folder() / "store", world.now());
    Result<RepairReport> report =
        engine::repair_store(world.store(), damaged, {discard, batch_changes}, world.now());
    REQUIRE(report);
    report->damaged_records = damaged.records();
    report->kept_in = damaged.folder();
    return std::move(*report);
  }

  // Nothing is left, the next finds nothing, and the store opens without a word.
  RepairReport repair_all(bool discard = false) {
    CHECK_FALSE(world.broken().empty());
    RepairReport report = repair(discard);
    CHECK(report.mended() > 0);
    CHECK(report.left() == 0);
    CHECK(world.broken().empty());
    const World::Rows rows = world.rows();
    CHECK(repair(discard).mended() == 0);
    CHECK(world.rows() == rows);
    world.restart();
    CHECK(world.core().damage().empty());
    world.check_sound();
    return report;
  }

  World world;
};

// A store of which the list of a run breaks off once the check has been over it.
class BreakingStore final : public store::Store {
 public:
  explicit BreakingStore(store::Store& store) : store_(store) {}

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return store_.get(family, key);
  }
  std::unique_ptr<store::Cursor> scan(Family family, std::string_view from,
                                      std::string_view to) const override {
    return store_.scan(family, from, to);
  }
  Result<> write(std::span<const store::Change> changes) override { return store_.write(changes); }
  Result<> sync() override { return store_.sync(); }
  std::unique_ptr<store::Reader> snapshot() const override {
    return std::make_unique<Snapshot>(store_.snapshot());
  }
  Result<> backup(const fs::path& folder) const override { return store_.backup(folder); }

 private:
  struct Broken final : store::Cursor {
    bool valid() const override { return false; }
    std::string_view key() const override { return {}; }
    std::string_view value() const override { return {}; }
    void next() override {}
    Result<> status() const override { return fail(Code::storage, "the disk is gone"); }
  };
  struct Snapshot final : store::Reader {
    explicit Snapshot(std::unique_ptr<store::Reader> of) : reader(std::move(of)) {}
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
      return reader->get(family, key);
    }
    std::unique_ptr<store::Cursor> scan(Family family, std::string_view from,
                                        std::string_view to) const override {
      if (from == store::run_orders_prefix("q", "run")) return std::make_unique<Broken>();
      return reader->scan(family, from, to);
    }
    const std::unique_ptr<store::Reader> reader;
  };

  store::Store& store_;
};

}  // namespace

TEST_CASE("repair: a sound store is left as it is", "[repair]") {
  Broken s;
  const World::Rows rows = s.world.rows();
  const RepairReport report = s.repair(true);
  CHECK(report.mended() == 0);
  CHECK(report.left() == 0);
  CHECK(report.orders == 6);
  CHECK(report.invariants.size() == 11);
  CHECK(report.kept_in.empty());
  CHECK(s.world.rows() == rows);
}

TEST_CASE("repair: an order whose row is lost gets it back from its record", "[repair]") {
  Broken s;
  const std::string id = GENERATE("wait", "processing");
  s.world.erase(Family::orders, row_key(id));
  const RepairReport report = s.repair_all();
  CHECK(s.world.order(id).payload == "p");
  CHECK(s.world.order(id).key == "key of " + id);
  CHECK(mended(report, id == "wait" ? "queue_entry_is_a_waiting_order" : "lease_is_a_processing_order") == 1);
}

TEST_CASE("repair: an order whose record is lost is ABORTED, and its key and run know", "[repair]") {
  Broken s;
  const std::string id = GENERATE("wait", "plain", "processing");
  if (id == "processing") {
    s.world.erase(Family::leases, row_key(id));
  } else {
    s.world.erase(Family::queue, s.entry_key(id));
  }
  const RepairReport report = s.repair_all();
  CHECK(mended(report, "waiting_order_has_one_queue_entry") == 1);
  CHECK(report.invariants[0].mended_example.find("order " + id) != std::string::npos);
  CHECK(report.invariants[0].mended_example.find("its record is lost, so it is ABORTED") !=
        std::string::npos);
  CHECK(s.world.state(id) == State::aborted);
  CHECK(s.world.order(id).error == "the record of this order was lost: the store was damaged");
  CHECK(s.world.schedule({.queue = "q", .id = id, .due = s.world.now(), .key = "key of " + id}).outcome ==
        Outcome::scheduled);
}

TEST_CASE("repair: an order whose record is lost keeps its run, its generations and its history",
          "[repair]") {
  Broken s;
  s.world.set_queue({.keep_history = 24h});
  s.add("aborted");
  const std::size_t generations = *engine::count_generations(s.world.store(), "q", "aborted");
  REQUIRE(generations == 2);
  s.world.erase(Family::queue, s.entry_key("aborted"));
  s.repair_all();
  const model::Record record =
      std::get<model::Record>(*store::decode_order(*s.world.row(Family::orders, row_key("aborted"))));
  CHECK(record.generation == 3);
  CHECK(record.run == "run");
  CHECK_FALSE(s.world.row(Family::runs, store::run_order_key("q", "run", "aborted")));
  CHECK(engine::read_run(s.world.store(), "q", "run")->counts.aborted == 3);
  const std::vector<HistoryEntry> history =
      *engine::read_history(s.world.store(), "q", "aborted", 10, s.world.now());
  REQUIRE(!history.empty());
  CHECK(history.back().event == HistoryEvent::lost);
  CHECK(history.back().reason == record.error);
}

TEST_CASE("repair: of two records of an order the later change counts", "[repair]") {
  Broken s;
  SECTION("a queue entry of an order that has ended goes") {
    model::Record record = s.waiting();
    record.key = "key of success";
    record.run.reset();
    s.world.put(Family::queue, s.entry_key("success"), store::encode_waiting(record));
    model::Record ended =
        std::get<model::Record>(*store::decode_order(*s.world.row(Family::orders, row_key("success"))));
    REQUIRE(ended.sequence > record.sequence);
    s.repair_all();
    CHECK(s.world.state("success") == State::success);
  }
  SECTION("and one that came after the end stays, with the end in the history") {
    model::Record record = s.waiting();
    record.key = "key of failed";
    record.sequence = s.world.last_sequence();
    s.world.put(Family::queue, s.entry_key("failed"), store::encode_waiting(record));
    const std::size_t history = s.world.keys(Family::history).size();
    s.repair_all();
    CHECK(s.world.state("failed") == State::wait);
    CHECK(s.world.keys(Family::history).size() == history + 1);
  }
  SECTION("a second queue entry goes") {
    model::Record record = s.waiting();
    record.due += 1s;
    const bool later = GENERATE(false, true);
    if (later) record.sequence = s.world.last_sequence();
    s.world.put(Family::queue, store::queue_key("q", {128, record.due}, "wait"),
                store::encode_waiting(record));
    s.repair_all();
    CHECK(s.world.order("wait").due == s.world.now() + (later ? 1s : 0s));
  }
  SECTION("of a queue entry and a lease, both ways") {
    model::Record record = s.lease().record;
    record.state = State::wait;
    const bool later = GENERATE(false, true);
    if (later) record.sequence = s.world.last_sequence();
    s.world.put(Family::queue, s.entry_key("processing"), store::encode_waiting(record));
    if (GENERATE(false, true)) s.world.erase(Family::orders, row_key("processing"));
    s.repair_all();
    CHECK(s.world.state("processing") == (later ? State::wait : State::processing));
  }
  SECTION("a lease of an order that has ended goes, and one that came after stays") {
    model::Record ended = s.lease().record;
    ended.state = State::success;
    const bool later = GENERATE(false, true);
    ended.sequence += later ? 1 : 0;
    if (!later) --ended.sequence;
    s.world.put(Family::orders, row_key("processing"), store::encode_ended(ended));
    s.repair_all();
    CHECK(s.world.state("processing") == (later ? State::success : State::processing));
  }
}

TEST_CASE("repair: of the three places of a waiting order two count against the third", "[repair]") {
  Broken s;
  const Time here = s.world.now();
  model::Record record = s.waiting();
  SECTION("the record") {
    record.due += 1s;
    s.world.put(Family::queue, s.entry_key("wait"), store::encode_waiting(record));
    s.repair_all();
  }
  SECTION("the row") {
    s.world.put(Family::orders, row_key("wait"), store::encode_live({128, here + 1s}));
    s.repair_all();
  }
  SECTION("the queue entry") {
    s.world.erase(Family::queue, s.entry_key("wait"));
    s.world.put(Family::queue, store::queue_key("q", {128, here + 1s}, "wait"),
                store::encode_waiting(record));
    s.repair_all();
  }
  CHECK(s.world.order("wait").due == here);
  CHECK(s.world.claim("w", 10).size() == 2);
}

TEST_CASE("repair: a waiting order under a dead run is ABORTED", "[repair]") {
  Broken s;
  model::RunRecord run = *store::decode_run(*s.world.row(Family::runs, store::run_key("q", "run")));
  run.state = RunState::error;
  s.world.put(Family::runs, store::run_key("q", "run"), store::encode_run(run));
  s.world.erase(Family::runs, store::active_run_key("q", "run"));
  s.world.set_queue({.keep_history = 24h});
  const RepairReport report = s.repair_all();
  CHECK(engine::read_history(s.world.store(), "q", "wait", 10, s.world.now())->back().event ==
        HistoryEvent::orphaned);
  CHECK(mended(report, "no_waiting_order_under_a_dead_run") == 1);
  CHECK(s.world.state("wait") == State::aborted);
  CHECK(s.world.order("wait").error == "run run has ended");
  CHECK(s.world.state("processing") == State::processing);
}

TEST_CASE("repair: a run that is lost", "[repair]") {
  Broken s;
  const std::string key = store::run_key("q", "run");
  s.world.erase(Family::runs, key);
  SECTION("with orders that are alive is left, until somebody opens it again") {
    const RepairReport report = s.repair();
    CHECK(report.left() > 0);
    CHECK(report.invariants[4].left_example == "queue q, order wait: WAIT under run run, which is not there");
    CHECK(s.world.find("wait")->state == State::wait);
    CHECK(s.repair().mended() == 0);
    s.world.restart();
    REQUIRE(s.world.ask(RunOpenRequest{"q", "run"}));
    s.repair_all();
    CHECK(s.world.state("wait") == State::wait);
  }
  SECTION("without them is put back as ERROR") {
    s.world.erase(Family::orders, row_key("wait"));
    s.world.erase(Family::orders, row_key("processing"));
    s.world.erase(Family::queue, s.entry_key("wait"));
    s.world.erase(Family::leases, row_key("processing"));
    s.repair_all();
    const Run run = *engine::read_run(s.world.store(), "q", "run");
    CHECK(run.state == RunState::error);
    CHECK(run.counts == Counts{.success = 1, .failed = 1, .aborted = 2});
  }
}

TEST_CASE("repair: a run lists its live orders, and no others", "[repair]") {
  Broken s;
  SECTION("one too few") { s.world.erase(Family::runs, store::run_order_key("q", "run", "wait")); }
  SECTION("too many") {
    for (const char* id : {"nobody", "success", "plain"}) {
      s.world.put(Family::runs, store::run_order_key("q", "run", id), "");
    }
  }
  SECTION("both") {
    s.world.erase(Family::runs, store::run_order_key("q", "run", "wait"));
    s.world.put(Family::runs, store::run_order_key("q", "run", "nobody"), "");
  }
  SECTION("and is listed as active itself") {
    s.world.erase(Family::runs, store::active_run_key("q", "run"));
  }
  CHECK(mended(s.repair_all(), "run_lists_its_live_orders") >= 1);
  CHECK(s.world.row(Family::runs, store::run_order_key("q", "run", "wait")));
}

TEST_CASE("repair: the list of a run that breaks off is no list that was put right", "[repair]") {
  Broken s(Disk::memory);
  s.world.put(Family::runs, store::run_order_key("q", "run", "nobody"), "");
  BreakingStore store(s.world.store());
  store::DamagedFolder damaged(s.world.folder() / "store", s.world.now());
  const Result<RepairReport> report = engine::repair_store(store, damaged, {}, s.world.now());
  REQUIRE_FALSE(report);
  CHECK(report.error().message == "the disk is gone");
}

TEST_CASE("repair: keys", "[repair]") {
  Broken s;
  const auto key_of = [](const std::string& id) { return store::dedup_key("q", "key of " + id); };
  SECTION("a key that is free goes back to the order that has it") {
    s.world.erase(Family::dedup, key_of(GENERATE("wait", "processing", "success")));
    CHECK(mended(s.repair_all(), "key_is_owned_by_one_blocking_order") == 1);
  }
  SECTION("so does one whose owner does not block, or is not there, or has another") {
    const std::string id = GENERATE("wait", "processing", "success");
    s.world.put(Family::dedup, key_of(id), GENERATE("failed", "nobody", "plain"));
    CHECK(mended(s.repair_all(), "key_is_owned_by_one_blocking_order") == 1);
    CHECK(s.world.row(Family::dedup, key_of(id)) == id);
  }
  SECTION("a key of no blocking order is free") {
    s.world.put(Family::dedup, key_of(GENERATE("failed", "nobody")), GENERATE("failed", "nobody", "wait"));
    s.repair_all();
    CHECK_FALSE(s.world.row(Family::dedup, key_of("failed")));
    CHECK_FALSE(s.world.row(Family::dedup, key_of("nobody")));
  }
  SECTION("an order that was taken in beside the owner of its key owns none") {
    model::Record record = s.waiting("plain");
    record.key = "key of wait";
    record.grandfathered = true;
    s.world.put(Family::queue, s.entry_key("plain"), store::encode_waiting(record));
    const World::Rows rows = s.world.rows();
    CHECK(s.repair(true).mended() == 0);
    CHECK(s.world.rows() == rows);
    s.world.put(Family::dedup, store::dedup_key("q", "key of wait"), "plain");
    CHECK(s.repair(true).mended() > 0);
    CHECK(s.world.row(Family::dedup, store::dedup_key("q", "key of wait")) == "wait");
  }
  SECTION("two blocking orders with one key are told, and left") {
    model::Record record = s.waiting("plain");
    record.key = "key of wait";
    s.world.put(Family::queue, s.entry_key("plain"), store::encode_waiting(record));
    const World::Rows rows = s.world.rows();
    const RepairReport report = s.repair(true);
    CHECK(report.mended() == 0);
    CHECK(report.left() == 1);
    CHECK(report.invariants[5].left_example ==
          "queue q, order plain: its key belongs to another order: wait");
    CHECK(s.world.rows() == rows);
  }
}

TEST_CASE("repair: counts of queues and runs are counted again", "[repair]") {
  Broken s;
  SECTION("of a queue, wrong") {
    s.world.put(Family::meta, store::counts_key("q"), store::encode_counts({.wait = 5}));
  }
  SECTION("gone") { s.world.erase(Family::meta, store::counts_key("q")); }
  SECTION("that do not decode") { s.world.put(Family::meta, store::counts_key("q"), "garbage"); }
  SECTION("of a run") {
    model::RunRecord run = *store::decode_run(*s.world.row(Family::runs, store::run_key("q", "run")));
    run.counts = {.failed = 9};
    s.world.put(Family::runs, store::run_key("q", "run"), store::encode_run(run));
  }
  CHECK(s.repair_all().mended() == 1);
  CHECK(s.world.counts() == Counts{.wait = 2, .processing = 1, .success = 1, .failed = 1, .aborted = 1});
}

TEST_CASE("repair: counts that do not decode are copied before they are counted again", "[repair]") {
  Broken s;
  s.world.put(Family::meta, store::counts_key("q"), "garbage");
  const RepairReport report = s.repair_all(GENERATE(false, true));
  CHECK(report.damaged_records == 1);
  CHECK(text_of(report.kept_in / "records.jsonl").find("\"value\":\"67617262616765\"}") != std::string::npos);
}

TEST_CASE("repair: tokens and changes above the last sequence raise it", "[repair]") {
  Broken s;
  const std::uint64_t last = s.world.last_sequence();
  SECTION("once, far above the highest") {
    s.world.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(3));
    CHECK(mended(s.repair_all(), "tokens_not_above_last_sequence") == 1);
    CHECK(s.world.last_sequence() >= last + limits::crash_jump - 1);
  }
  SECTION("as high as numbers go") {
    model::Record record = s.waiting();
    record.sequence = limits::sequence_max;
    s.world.put(Family::queue, s.entry_key("wait"), store::encode_waiting(record));
    s.repair_all();
    CHECK(s.world.last_sequence() == limits::sequence_max);
  }
}

TEST_CASE("repair: a last sequence that is lost goes on above all that is left", "[repair]") {
  Broken s(Disk::rocks);
  const std::uint64_t last = s.world.last_sequence();
  const std::string key(store::sequence_key);
  SECTION("gone") {
    s.world.erase(Family::meta, key);
    s.repair_all();
  }
  SECTION("that does not decode is kept and replaced, once it may be discarded") {
    s.world.put(Family::meta, key, "garbage");
    const World::Rows rows = s.world.rows();
    CHECK(s.repair().left() == 1);
    CHECK(s.world.rows() == rows);
    const RepairReport report = s.repair_all(true);
    CHECK(report.damaged_records == 1);
  }
  CHECK(s.world.last_sequence() > last);
}

TEST_CASE("repair: records that do not decode are kept, and removed only on request", "[repair]") {
  Broken s;
  const std::string garbage("\xff\0garbage", 9);
  Family family{};
  std::string key;
  SECTION("orders, queue entries and leases") {
    family = GENERATE(Family::orders, Family::queue, Family::leases);
    key = family == Family::orders  ? row_key(GENERATE("wait", "processing", "success"))
          : family == Family::queue ? s.entry_key("wait")
                                    : row_key("processing");
  }
  SECTION("history") {
    family = Family::history;
    key = s.world.keys(family).front();
  }
  SECTION("settings") {
    family = Family::meta;
    key = store::settings_key("q");
  }
  SECTION("under a key that does not parse") {
    family = GENERATE(Family::orders, Family::queue, Family::leases, Family::dedup, Family::runs);
    key = "no key";
  }
  s.world.put(family, key, garbage);
  const World::Rows rows = s.world.rows();
  const RepairReport left = s.repair();
  CHECK(left.left() > 0);
  CHECK(s.world.rows() == rows);
  CHECK(left.damaged_records == 1);

  const RepairReport report = s.repair_all(true);
  CHECK(report.damaged_records == 1);
  CHECK(report.kept_in != left.kept_in);
  for (const fs::path& folder : {left.kept_in, report.kept_in}) {
    const std::string text = text_of(folder / "records.jsonl");
    CHECK(text.find("\"family\":\"" + std::string(store::family_names[static_cast<std::size_t>(family)]) +
                    "\"") != std::string::npos);
    CHECK(text.find("\"value\":\"ff0067617262616765\"}\n") != std::string::npos);
  }
}

TEST_CASE("repair: an order outlives a damaged row, but not a damaged record", "[repair]") {
  Broken s;
  s.world.put(Family::orders, row_key("wait"), "garbage");
  s.world.put(Family::queue, s.entry_key("plain"), "garbage");
  s.world.put(Family::orders, row_key("success"), "garbage");
  s.repair_all(true);
  CHECK(s.world.state("wait") == State::wait);
  CHECK(s.world.order("wait").payload == "p");
  CHECK(s.world.state("plain") == State::aborted);
  CHECK_FALSE(s.world.find("success"));
}

TEST_CASE("repair: a damaged run is not guessed at", "[repair]") {
  Broken s;
  s.world.put(Family::runs, store::run_key("q", "run"), "garbage");
  CHECK(s.repair().left() > 0);
  const RepairReport report = s.repair(true);
  CHECK(report.left() > 0);  // Its orders may not be dropped, nor handed out.
  CHECK(s.world.find("wait")->state == State::wait);
}

// As in a store that has lost some files of its tables.
TEST_CASE("repair: all rows of a family gone", "[repair]") {
  Broken s;
  const Family family =
      GENERATE(Family::queue, Family::leases, Family::orders, Family::dedup, Family::history);
  for (const std::string& key : s.world.keys(family)) s.world.erase(family, key);
  if (family == Family::history) {
    s.repair_all();
  } else {
    s.repair_all(true);
  }
}

TEST_CASE("repair: one that was interrupted is finished by the next", "[repair]") {
  for (int writes = 0;; ++writes) {
    Broken s(Disk::memory);
    s.world.erase(Family::orders, row_key("wait"));
    s.world.erase(Family::leases, row_key("processing"));
    s.world.put(Family::orders, row_key("success"), "garbage");
    s.world.put(Family::runs, store::run_order_key("q", "run", "nobody"), "");
    s.world.put(Family::dedup, store::dedup_key("q", "free"), "nobody");
    s.world.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(1));
    int left = writes;
    s.world.memory().before_write = [&left](std::span<const store::Change>) -> Result<> {
      if (left-- > 0) return {};
      return fail(Code::storage, "power cut");
    };
    store::DamagedFolder damaged(s.world.folder() / "store", s.world.now());
    const Result<RepairReport> report =
        engine::repair_store(s.world.store(), damaged, {true, 1}, s.world.now());
    s.world.memory().before_write = nullptr;
    if (report) {
      CHECK(writes > 6);
      break;
    }
    CHECK(report.error().message == "power cut");
    INFO("after " << writes << " writes");
    s.repair_all(true);
    CHECK(s.world.state("wait") == State::wait);
    CHECK(s.world.state("processing") == State::aborted);
  }
}

// ---- A log that has rotted ----------------------------------------------------------------------
