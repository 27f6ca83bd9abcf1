// An engine whose disk fails: the failure is final, and loses nothing that was acknowledged.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crash/power_cut.h"
#include "duelease/engine.h"
#include "engine/engine_parts.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

using Fault = FaultyFileSystem::Fault;

namespace {

Options quiet_options(Durability durability) {
  Options options;
  options.durability = durability;
  // A build of RocksDB with assertions ends the process when a sync begins at the moment at which a write fails.
  options.sync_interval = Duration{100};
  options.timer = false;
  options.memtable_bytes = 1024 * 1024;
  return options;
}

template <class T>
T well(Result<T> result) {
  if (!result) FAIL(code_name(result.error().code) << ": " << result.error().message);
  return std::move(*result);
}

ScheduleRequest order_of(std::string id) {
  ScheduleRequest request;
  request.queue = "q";
  request.app_writes.push_back({"row-" + id, "scheduled"});
  request.id = std::move(id);
  return request;
}

// One of every kind of change; none of them may be answered but by the error.
std::vector<std::pair<const char*, std::function<Result<>(Engine&)>>> every_change(const Claimed& held) {
  const auto outcome = [](const auto& result) -> Result<> {
    if (!result) return Unexpected{result.error()};
    return {};
  };
  const std::string& id = held.id;
  const Token token = held.token;
  return {
      {"schedule", [=](Engine& e) { return outcome(e.schedule(order_of("late"))); }},
      {"schedule many",
       [=](Engine& e) {
         return outcome(e.schedule(std::vector{order_of("late"), order_of("later")})[1]);
       }},
      {"schedule a duplicate", [=](Engine& e) { return outcome(e.schedule(order_of(id))); }},
      {"reschedule",
       [=](Engine& e) {
         return outcome(e.reschedule({"q", "0", Time{5s}}));
       }},
      {"cancel",
       [=](Engine& e) {
         return outcome(e.cancel({"q", "0", false}));
       }},
      {"retry",
       [=](Engine& e) {
         return outcome(e.retry({"q", "0", {}}));
       }},
      {"claim",
       [=](Engine& e) {
         return outcome(e.claim({.queues = {"q"}, .worker = "w", .lease = {}, .request = ""}));
       }},
      {"claim that would wait",
       [=](Engine& e) {
         return outcome(
             e.claim({.queues = {"none"}, .worker = "w", .lease = {}, .wait = Duration{24h}, .request = ""}));
       }},
      {"pop",
       [=](Engine& e) {
         return outcome(e.pop({"q", 1}));
       }},
      {"complete",
       [=](Engine& e) {
         return outcome(e.complete({"q", id, token, {}, {}}));
       }},
      {"complete, stale",
       [=](Engine& e) {
         return outcome(e.complete({"q", id, Token{1}, {}, {}}));
       }},
      {"fail",
       [=](Engine& e) {
         return outcome(e.fail({"q", id, token, "error", {}, false}));
       }},
      {"release",
       [=](Engine& e) {
         return outcome(e.release({"q", id, token, {}}));
       }},
      {"extend",
       [=](Engine& e) {
         return outcome(e.extend({"q", id, token, Duration{1h}}));
       }},
      {"reap",
       [=](Engine& e) {
         return outcome(e.reap({"q", 10}));
       }},
      {"pause", [=](Engine& e) { return outcome(e.pause("q")); }},
  };
}

void check_final(const Error& error) {
  INFO(code_name(error.code) << ": " << error.message);
  CHECK(error.code == Code::storage);
  CHECK(error.message.find("until it is opened again") != std::string::npos);
  CHECK(error.message.find("planned by the test") != std::string::npos);
}

// An engine on a faulty disk, from its opening to what is found after the next one.
class FailingEngine {
 public:
  explicit FailingEngine(Durability durability) : durability_(durability) {
    store::RocksOptions options = small_rocks_options();
    options.memtable_bytes = 1024 * 1024;
    options.file_system = disk_;
    engine_ =
        well(engine::open_engine(well(store::open_rocks_store(path(), options)), quiet_options(durability)));
    schedule("held");
    held_ =
        well(engine_->claim({.queues = {"q"}, .worker = "w", .lease = Duration{1h}, .request = ""})).at(0);
  }

  void fail_after(std::uint64_t operations, Fault fault) {
    fault.at = disk_->operations() + operations;
    disk_->plan(fault);
    std::optional<Error> error;
    for (int i = 0; i < 10'000 && !error; ++i) {
      const Result<Answer> answer = engine_->schedule(order_of(std::to_string(i)));
      if (answer) acknowledged_.push_back(std::to_string(i));
      if (!answer) error = answer.error();
    }
    REQUIRE(error);
    REQUIRE(disk_->fired());
    check_final(*error);
  }

  void check_changes_refused() {
    for (const auto& [what, change] : every_change(held_)) {
      INFO(what);
      const Result<> result = change(*engine_);
      REQUIRE_FALSE(result);
      check_final(result.error());
    }
  }

  void check_reads() {
    for (const std::string& id : acknowledged_) check_order(*engine_, id);
    CHECK(well(engine_->order("q", "held"))->state == State::processing);
    CHECK(well(engine_->stats("q")).counts.wait >= acknowledged_.size() - 1);
    CHECK(well(engine_->check()).violations() == 0);
    CHECK(well(engine_->list({.queue = "q", .state = {}, .after = ""})).ids.size() >= 1);
    CHECK(well(engine_->app_get("row-held")) == std::optional<std::string>("scheduled"));
  }

  void restart(bool power_lost) {
    engine_->close();
    engine_.reset();
    if (power_lost) disk_->drop_unsynced({.tail = PowerCut::Tail::mixed, .seed = 1});
    engine_ = well(Engine::open(path(), quiet_options(durability_)));
    check_reads();
    // The lease went on.
    CHECK(well(engine_->complete({"q", "held", held_.token, {}, {}})).outcome == Outcome::completed);
    CHECK(well(engine_->schedule(order_of("after"))).outcome == Outcome::scheduled);
    CHECK(well(engine_->check()).violations() == 0);
  }

 private:
  std::filesystem::path path() const { return folder_ / "store"; }

  void schedule(const std::string& id) {
    well(engine_->schedule(order_of(id)));
    acknowledged_.push_back(id);
  }

  static void check_order(const Engine& engine, const std::string& id) {
    INFO("order " << id);
    CHECK(well(engine.order("q", id)));
    CHECK(well(engine.app_get("row-" + id)) == std::optional<std::string>("scheduled"));
  }

  const Durability durability_;
  const TemporaryFolder folder_;
  const std::shared_ptr<FaultyFileSystem> disk_ = std::make_shared<FaultyFileSystem>(path());
  std::unique_ptr<Engine> engine_;
  Claimed held_;
  std::vector<std::string> acknowledged_;
};

}  // namespace

TEST_CASE("a failed write or sync is final until the store is opened again, and loses nothing acknowledged") {
  const std::uint64_t operations = GENERATE(1, 2, 3, 4, 25, 26);
  const Fault::Kind kind = GENERATE(Fault::Kind::once, Fault::Kind::from_then_on, Fault::Kind::power_cut);
  const bool power_lost = kind == Fault::Kind::power_cut || operations % 2 == 0;
  INFO("operation " << operations << ", kind " << static_cast<int>(kind) << ", power lost " << power_lost);
  FailingEngine engine(Durability::sync);
  engine.fail_after(operations,
                    {.kind = kind, .short_write = operations % 4 == 3, .disk_full = operations == 25});
  engine.check_changes_refused();
  engine.check_reads();
  engine.restart(power_lost);
}

TEST_CASE("at levels without a sync a failed write is final too, and the process may end") {
  const Durability durability = GENERATE(Durability::interval, Durability::none);
  const std::uint64_t operations = GENERATE(1, 2, 25);
  INFO("level " << static_cast<int>(durability) << ", operation " << operations);
  FailingEngine engine(durability);
  engine.fail_after(operations, {.kind = Fault::Kind::from_then_on});
  engine.check_changes_refused();
  engine.check_reads();
  engine.restart(false);
}

TEST_CASE("a claim that waits when the disk fails is told so") {
  const TemporaryFolder folder;
  const auto disk = std::make_shared<FaultyFileSystem>(folder / "store");
  const std::unique_ptr<Engine> engine =
      well(engine::open_engine(open_store(folder / "store", disk), quiet_options(Durability::sync)));
  std::promise<Result<std::vector<Claimed>>> promise;
  engine->claim({.queues = {"other"}, .worker = "w", .lease = {}, .wait = Duration{24h}, .request = ""},
                [&](Result<std::vector<Claimed>> claimed) { promise.set_value(std::move(claimed)); });
  disk->plan({.at = disk->operations() + 1, .kind = Fault::Kind::from_then_on});
  CHECK_FALSE(engine->schedule(order_of("a")));
  std::future<Result<std::vector<Claimed>>> reply = promise.get_future();
  REQUIRE(reply.wait_for(120s) == std::future_status::ready);
  const Result<std::vector<Claimed>> claimed = reply.get();
  REQUIRE_FALSE(claimed);
  check_final(claimed.error());
}
