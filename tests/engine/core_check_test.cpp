// The check against stores that are broken on purpose: each breach is reported, under its own name alone
// where it breaks nothing else.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/reads.h"
#include "store/keys.h"
#include "store/records.h"
#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using store::Family;
using test::Disk;
using test::World;

namespace {

using Names = std::vector<std::string>;

std::string row_key(const std::string& id) { return store::order_key("q", id); }

// A store with an order in each state, each with a key, and some history.
class Sound {
 public:
  Sound() : world(GENERATE(Disk::memory, Disk::rocks)) {
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
    world.schedule({.queue = "other", .id = "x", .due = world.now(), .key = "k"});
    REQUIRE(world.broken().empty());
    world.check_always(false);
  }

  void add(const std::string& id) {
    world.schedule({.queue = "q", .id = id, .due = world.now(), .payload = "p", .key = "key of " + id});
  }

  // The queue entry of "wait".
  std::string entry_key() const { return store::queue_key("q", {128, world.now()}, "wait"); }
  model::Record waiting() const { return *store::decode_waiting(*world.row(Family::queue, entry_key())); }
  model::Record ended(const std::string& id) const {
    return std::get<model::Record>(*store::decode_order(*world.row(Family::orders, row_key(id))));
  }
  model::Lease lease() const {
    return *store::decode_lease(*world.row(Family::leases, row_key("processing")));
  }

  World world;
};

// Breaks a sound store and names what is broken then.
Names broken_by(const std::function<void(Sound&)>& breach) {
  Sound sound;
  breach(sound);
  const CheckReport report = *engine::check_store(sound.world.store(), "q");
  CHECK(report.violations() > 0);
  for (const Violation& violation : report.invariants) {
    CHECK((violation.count > 0) == !violation.example.empty());
  }
  // Of the other queue all is well.
  CHECK(engine::check_store(sound.world.store(), "other")->violations() == 0);
  return sound.world.broken();
}

}  // namespace

TEST_CASE("check: a sound store breaks nothing, and all is looked at", "[check]") {
  Sound sound;
  const CheckReport all = *engine::check_store(sound.world.store(), "");
  CHECK(all.violations() == 0);
  CHECK(all.orders == 6);
  CHECK(all.invariants.size() == 11);
  CHECK(engine::check_store(sound.world.store(), "q")->orders == 5);
  const Result<CheckReport> absent = engine::check_store(sound.world.store(), "nothing-here");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == Code::not_found);
  CHECK(absent.error().message == "no queue nothing-here");
  CHECK(engine::check_store(sound.world.store(), "no queue").error().code == Code::invalid);
}

TEST_CASE("check: waiting_order_has_one_queue_entry", "[check]") {
  CHECK(broken_by([](Sound& s) {
          s.world.schedule("plain", s.world.now());
          s.world.erase(Family::queue, store::queue_key("q", {128, s.world.now()}, "plain"));
        }) == Names{"waiting_order_has_one_queue_entry"});
  // With the record goes the knowledge which key was its own.
  CHECK(broken_by([](Sound& s) { s.world.erase(Family::queue, s.entry_key()); }) ==
        Names{"waiting_order_has_one_queue_entry", "key_is_owned_by_one_blocking_order"});
}

TEST_CASE("check: queue_entry_is_a_waiting_order", "[check]") {
  const Names expected = {"queue_entry_is_a_waiting_order"};
  SECTION("an entry of no order") {
    CHECK(broken_by([](Sound& s) {
            model::Record record = s.waiting();
            record.key.reset();
            s.world.put(Family::queue, store::queue_key("q", {128, record.due}, "ghost"),
                        store::encode_waiting(record));
          }) == expected);
  }
  SECTION("a second entry of an order") {
    CHECK(broken_by([](Sound& s) {
            model::Record record = s.waiting();
            record.due += 1s;
            s.world.put(Family::queue, store::queue_key("q", {128, record.due}, "wait"),
                        store::encode_waiting(record));
          }) == expected);
  }
  SECTION("an entry of an order that has ended") {
    CHECK(broken_by([](Sound& s) {
            model::Record record = s.waiting();
            record.key = "key of success";
            s.world.put(Family::queue, store::queue_key("q", {128, record.due}, "success"),
                        store::encode_waiting(record));
          }) == expected);
  }
  SECTION("an entry at another place than its record says") {
    CHECK(broken_by([](Sound& s) {
            model::Record record = s.waiting();
            record.due += 1s;
            s.world.put(Family::queue, s.entry_key(), store::encode_waiting(record));
          }) == expected);
  }
}

TEST_CASE("check: processing_order_has_one_lease", "[check]") {
  CHECK(broken_by([](Sound& s) {
          model::Record record = s.lease().record;
          record.state = State::wait;
          s.world.put(Family::queue, store::queue_key("q", {record.priority, record.due}, "processing"),
                      store::encode_waiting(record));
        }) == Names{"processing_order_has_one_lease"});
}

TEST_CASE("check: lease_is_a_processing_order", "[check]") {
  const Names expected = {"lease_is_a_processing_order"};
  CHECK(broken_by([](Sound& s) { s.world.erase(Family::orders, row_key("processing")); }) ==
        Names{"lease_is_a_processing_order", "key_is_owned_by_one_blocking_order"});
  // A key is looked up by way of the orders row, so without a key nothing else is broken.
  CHECK(broken_by([](Sound& s) {
          model::Lease lease = s.lease();
          s.world.erase(Family::dedup, store::dedup_key("q", *lease.record.key));
          lease.record.key.reset();
          s.world.put(Family::leases, row_key("processing"), store::encode_lease(lease));
          s.world.erase(Family::orders, row_key("processing"));
        }) == expected);
}

TEST_CASE("check: no_waiting_order_under_a_dead_run", "[check]") {
  CHECK(broken_by([](Sound& s) {
          model::Record record = s.waiting();
          record.run = "r";
          s.world.put(Family::queue, s.entry_key(), store::encode_waiting(record));
        }) == Names{"no_waiting_order_under_a_dead_run", "run_counts_equal_a_recount",
                    "run_lists_its_live_orders"});  // There is no such run at all; see runs_test.cpp.
}

TEST_CASE("check: key_is_owned_by_one_blocking_order", "[check]") {
  const Names expected = {"key_is_owned_by_one_blocking_order"};
  const auto key_of = [](const std::string& id) { return store::dedup_key("q", "key of " + id); };
  SECTION("a blocking order without its key") {
    const std::string id = GENERATE("wait", "processing", "success");
    CHECK(broken_by([&](Sound& s) { s.world.erase(Family::dedup, key_of(id)); }) == expected);
  }
  SECTION("a key of another order") {
    const std::string id = GENERATE("wait", "processing", "success");
    CHECK(broken_by([&](Sound& s) { s.world.put(Family::dedup, key_of(id), "failed"); }) == expected);
  }
  SECTION("a key of no order") {
    CHECK(broken_by([&](Sound& s) { s.world.put(Family::dedup, key_of("nobody"), "nobody"); }) == expected);
  }
  SECTION("a key of an order that does not block") {
    const std::string id = GENERATE("failed", "aborted");
    CHECK(broken_by([&](Sound& s) { s.world.put(Family::dedup, key_of(id), id); }) == expected);
  }
  SECTION("two keys of one order") {
    CHECK(broken_by([&](Sound& s) { s.world.put(Family::dedup, key_of("second"), "wait"); }) == expected);
  }
}

TEST_CASE("check: counts_equal_a_recount", "[check]") {
  const Names expected = {"counts_equal_a_recount"};
  const std::string key = store::counts_key("q");
  CHECK(broken_by([&](Sound& s) { s.world.erase(Family::meta, key); }) == expected);
  const Counts right = {.wait = 1, .processing = 1, .success = 1, .failed = 1, .aborted = 1};
  for (std::uint64_t Counts::*count :
       {&Counts::wait, &Counts::processing, &Counts::success, &Counts::failed, &Counts::aborted}) {
    for (const std::uint64_t wrong : {0u, 2u}) {
      Counts counts = right;
      counts.*count = wrong;
      CHECK(broken_by([&](Sound& s) { s.world.put(Family::meta, key, store::encode_counts(counts)); }) ==
            expected);
    }
  }
}

TEST_CASE("check: tokens_not_above_last_sequence", "[check]") {
  const Names expected = {"tokens_not_above_last_sequence"};
  constexpr std::uint64_t above = 1'000'000;
  CHECK(broken_by([](Sound& s) {
          model::Record record = s.waiting();
          record.sequence = above;
          s.world.put(Family::queue, s.entry_key(), store::encode_waiting(record));
        }) == expected);
  CHECK(broken_by([](Sound& s) {
          model::Lease lease = s.lease();
          lease.record.token = Token{above};
          s.world.put(Family::leases, row_key("processing"), store::encode_lease(lease));
        }) == expected);
  for (const char* id : {"success", "failed", "aborted"}) {
    CHECK(broken_by([&](Sound& s) {
            model::Record record = s.ended(id);
            record.token = Token{above};
            s.world.put(Family::orders, row_key(id), store::encode_ended(record));
          }) == expected);
  }
  CHECK(broken_by([](Sound& s) {
          const std::string key = s.world.keys(Family::history).front();
          model::Record record = *store::decode_history(*s.world.row(Family::history, key))->ended;
          record.sequence = above;
          s.world.put(Family::history, key, store::encode_generation("", record));
        }) == expected);
}

TEST_CASE("check: the history knows no change above the last sequence", "[check]") {
  CHECK(broken_by([](Sound& s) {
          s.world.put(Family::history, store::history_key("q", "success", s.world.last_sequence() + 1),
                      store::encode_entry({.event = HistoryEvent::claimed}));
        }) == Names{"tokens_not_above_last_sequence"});
}

TEST_CASE("check: every_record_decodes", "[check]") {
  const Names expected = {"every_record_decodes"};
  SECTION("history, counts and settings break nothing else") {
    CHECK(broken_by([](Sound& s) {
            s.world.put(Family::history, s.world.keys(Family::history).front(), "garbage");
          }) == expected);
    CHECK(broken_by([](Sound& s) { s.world.put(Family::meta, store::counts_key("q"), "garbage"); }) ==
          expected);
    CHECK(broken_by([](Sound& s) { s.world.put(Family::meta, store::settings_key("q"), "garbage"); }) ==
          expected);
  }
  SECTION("orders, queue, leases") {
    const Family family = GENERATE(Family::orders, Family::queue, Family::leases);
    const Names names = broken_by([&](Sound& s) {
      for (const std::string& key : s.world.keys(family)) {
        if (key.starts_with("q")) s.world.put(family, key, "garbage");
      }
    });
    CHECK(names.back() == "every_record_decodes");
  }
  SECTION("keys that do not parse") {
    for (const Family family :
         {Family::orders, Family::queue, Family::leases, Family::dedup, Family::history}) {
      Sound sound;
      sound.world.put(family, "no key", "value");
      CHECK(sound.world.broken() == expected);
    }
  }
}

namespace {

// A store of which a part cannot be read: the keys of `family` from `from` on.
class Unreadable final : public store::Reader {
 public:
  Unreadable(const store::Reader& base, Family family, std::string from)
      : base_(base), family_(family), from_(std::move(from)) {}

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    if (family == family_ && key >= from_) return fail(code, "block checksum mismatch");
    return base_.get(family, key);
  }
  std::unique_ptr<store::Cursor> scan(Family family, std::string_view from,
                                      std::string_view to) const override {
    std::unique_ptr<store::Cursor> cursor = base_.scan(family, from, to);
    if (family != family_ || (!to.empty() && to <= from_)) return cursor;
    return std::make_unique<Broken>(std::move(cursor), from_);
  }

  static constexpr Code code = Code::storage;

 private:
  class Broken final : public store::Cursor {
   public:
    Broken(std::unique_ptr<store::Cursor> base, std::string from)
        : base_(std::move(base)), from_(std::move(from)) {}
    bool valid() const override { return base_->valid() && base_->key() < from_; }
    std::string_view key() const override { return base_->key(); }
    std::string_view value() const override { return base_->value(); }
    void next() override { base_->next(); }
    Result<> status() const override { return fail(code, "block checksum mismatch"); }

   private:
    const std::unique_ptr<store::Cursor> base_;
    const std::string from_;
  };

  const store::Reader& base_;
  const Family family_;
  const std::string from_;
};

}  // namespace

TEST_CASE("check: what cannot be read is counted, and the rest is looked at still", "[check]") {
  World world(Disk::memory);
  for (const char* id : {"a", "b", "c", "d"}) {
    world.schedule({.queue = "q",
                    .id = id,
                    .due = world.now(),
                    .key = std::string("key of ") + id,
                    .app_writes = {{std::string("app ") + id, "1"}}});
  }
  REQUIRE(world.claim("w", 2).size() == 2);
  world.cancel("d");
  world.schedule("d", world.now());
  world.set_queue({.tries = 3});
  world.check_always(false);
  // Something else is broken, behind the part that cannot be read.
  world.put(Family::meta, store::counts_key("z"), "garbage");

  const Family family = GENERATE(Family::queue, Family::leases, Family::orders, Family::dedup, Family::runs,
                                 Family::history, Family::app);
  const Unreadable damaged(world.store(), family,
                           family == Family::queue  ? store::queue_key("q", {128, world.now()}, "c")
                           : family == Family::app  ? "app b"
                           : family == Family::runs ? ""
                                                    : store::order_key("q", "b"));
  const Result<CheckReport> report = engine::check_store(damaged, "");
  REQUIRE(report);
  const Violation& unread = report->invariants.back();
  CHECK(unread.invariant == "every_record_decodes");
  CHECK(unread.count >= 2);
  CHECK(unread.example.find("block checksum mismatch") != std::string::npos);
  // Nothing is said of what was not seen: neither of counts, nor of what the broken part would show.
  for (const Violation& violation : report->invariants) {
    const bool is_quiet = violation.count == 0 || &violation == &unread;
    CHECK(is_quiet);
  }
  const bool tells_uncounted = unread.example.find("could not be counted again") != std::string::npos;
  CHECK(tells_uncounted == (family != Family::dedup && family != Family::app));
}

TEST_CASE("check: a run that cannot be read is not taken for one that is not there", "[check]") {
  World world(Disk::memory);
  REQUIRE(world.ask(RunOpenRequest{"q", "run"}));
  world.schedule({.queue = "q", .id = "a", .due = world.now(), .run = "run"});
  const Unreadable damaged(world.store(), Family::runs, "");
  const Result<CheckReport> report = engine::check_store(damaged, "");
  REQUIRE(report);
  CHECK(report->violations() == report->invariants.back().count);
  CHECK_THAT(report->invariants.back().example,
             Catch::EndsWith("; so the counts of runs could not be counted again"));
}

TEST_CASE("check: each breach is counted, and the first one told", "[check]") {
  World world(Disk::memory);
  for (int i = 0; i < 10; ++i) world.schedule("o" + std::to_string(i), world.now());
  world.check_always(false);
  for (int i = 3; i < 8; ++i) {
    world.erase(Family::queue, store::queue_key("q", {128, world.now()}, "o" + std::to_string(i)));
  }
  const CheckReport report = world.check();
  CHECK(report.orders == 10);
  CHECK(report.violations() == 5);
  const Violation& first = report.invariants.front();
  CHECK(first.invariant == "waiting_order_has_one_queue_entry");
  CHECK(first.count == 5);
  CHECK(first.example == "queue q, order o3: alive, but neither in the queue nor under a lease");
}
