// Groups and durability: what is written together, what a reply waits for, and what may wait.
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/held_engine.h"
#include "support/live_engine.h"
#include "support/printing.h"
#include "support/temporary_folder.h"
#include "support/watched_store.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

constexpr Duration long_wait{3'600'000};

AppWrite put(std::string key, std::string value) { return AppWrite{std::move(key), std::move(value)}; }

}  // namespace

TEST_CASE("what waits while the disk is busy becomes one group with one sync", "[engine]") {
  TemporaryFolder folder;
  HeldEngine engine(folder / "store");
  const std::uint64_t writes = engine.watch->writes();
  const std::uint64_t syncs = engine.watch->syncs();
  std::vector<Reply<Answer>> replies(1000);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    engine->schedule(order_of("q", std::to_string(i)), replies[i].callback());
  }
  engine.run();
  for (Reply<Answer>& reply : replies) CHECK(well(reply.get()).outcome == Outcome::scheduled);
  CHECK(engine.watch->writes() == writes + 1);
  CHECK(engine.watch->syncs() == syncs + 1);
}

TEST_CASE("a reply waits for its sync, and the next group is written meanwhile", "[engine]") {
  TemporaryFolder folder;
  HeldEngine engine(folder / "store");
  engine.run();
  engine.watch->hold_syncs();
  const std::uint64_t writes = engine.watch->writes();
  const std::uint64_t syncs = engine.watch->syncs();
  Reply<Answer> first;
  engine->schedule(order_of("q", "a"), first.callback());
  engine.watch->await_syncs(syncs + 1);
  Reply<Answer> second;
  engine->schedule(order_of("q", "b"), second.callback());
  Reply<Answer> nothing_new;  // Changes nothing, but rests on what is not on disk yet.
  engine->schedule(order_of("q", "a"), nothing_new.callback());
  engine.watch->await_writes(writes + 2);
  CHECK_FALSE(first.arrived());
  CHECK_FALSE(second.arrived());
  engine.watch->release_syncs();
  CHECK(well(first.get()).outcome == Outcome::scheduled);
  CHECK(well(second.get()).outcome == Outcome::scheduled);
  CHECK(well(nothing_new.get()).outcome == Outcome::duplicate);
}

namespace {

constexpr std::size_t large_group = 100;  // Commands: too many to be written on the strand.

std::vector<ScheduleRequest> orders_named(const std::string& prefix) {
  std::vector<ScheduleRequest> out;
  for (std::size_t i = 0; i < large_group; ++i) out.push_back(order_of("q", prefix + std::to_string(i)));
  return out;
}

}  // namespace

TEST_CASE("while a group is written the next one is applied, on top of it", "[engine]") {
  TemporaryFolder folder;
  Options options = small_options();
  options.commands_waiting_max = large_group;
  HeldEngine engine(folder / "store", options);
  engine.run();
  const std::uint64_t writes = engine.watch->writes();
  engine.watch->hold_writes();
  std::promise<std::vector<Result<Answer>>> first;
  engine->schedule(orders_named("a"), [&](auto answers) { first.set_value(std::move(answers)); });
  engine.watch->await_writes(writes + 1);

  // The inbox takes one such batch. So the second of these gets in when the first has been applied.
  std::promise<std::vector<Result<Answer>>> again;
  engine->schedule(orders_named("a"), [&](auto answers) { again.set_value(std::move(answers)); });
  const auto give_up_at = std::chrono::steady_clock::now() + patience;
  Reply<Answer> last;
  engine->schedule(order_of("q", "last"), last.callback());
  while (last.arrived() &&
         std::chrono::steady_clock::now() < give_up_at) {  // An answer now is Code::overloaded.
    std::this_thread::sleep_for(1ms);
    last = {};
    engine->schedule(order_of("q", "last"), last.callback());
  }
  CHECK_FALSE(last.arrived());
  CHECK(engine.watch->writes() == writes + 1);
  engine.watch->release_writes();
  for (const Result<Answer>& answer : first.get_future().get())
    CHECK(well(answer).outcome == Outcome::scheduled);
  for (const Result<Answer>& answer : again.get_future().get())
    CHECK(well(answer).outcome == Outcome::duplicate);
  CHECK(well(last.get()).outcome == Outcome::scheduled);
  CHECK(well(engine->stats("q")).counts.wait == large_group + 1);
}

TEST_CASE("after a failed write what was applied on top of it is not acknowledged", "[engine]") {
  const std::size_t size =
      GENERATE(std::size_t{100}, std::size_t{1});  // Written by its thread, or on the strand.
  TemporaryFolder folder;
  HeldEngine engine(folder / "store");
  engine.run();
  Reply<std::vector<Claimed>> waiting;
  ClaimRequest claim = claim_of("other", "w");
  claim.wait = long_wait;
  engine->claim(claim, waiting.callback());
  CHECK(well(engine->schedule(order_of("q", "before"))).outcome == Outcome::scheduled);
  const std::uint64_t writes = engine.watch->writes();
  engine.watch->hold_writes();
  engine.watch->fail_writes({Code::storage, "no disk"});
  std::vector<ScheduleRequest> group = orders_named("a");
  group.resize(size);
  std::promise<std::vector<Result<Answer>>> first;
  engine->schedule(group, [&](auto answers) { first.set_value(std::move(answers)); });
  engine.watch->await_writes(writes + 1);
  std::promise<std::vector<Result<Answer>>> second;
  engine->schedule(orders_named("b"), [&](auto answers) { second.set_value(std::move(answers)); });
  engine.watch->release_writes();
  for (const Result<Answer>& answer : first.get_future().get()) CHECK(answer.error().code == Code::storage);
  for (const Result<Answer>& answer : second.get_future().get()) CHECK(answer.error().code == Code::storage);
  CHECK(waiting.get().error().code == Code::storage);  // At once, and not when its wait is over.
  CHECK(well(engine->stats("q")).counts == Counts{.wait = 1});
}

namespace {

// An engine with a thread of its own for its strand, on a store that is watched.
struct OwnThread {
  OwnThread() {
    std::unique_ptr<store::Store> store = well(store::open_rocks_store(folder / "store", {}));
    store = std::make_unique<WatchedStore>(std::move(store), watch);
    engine = well(engine::open_engine(std::move(store), small_options()));
  }
  ~OwnThread() { watch->release_syncs(); }
  Engine* operator->() { return engine.get(); }

  const TemporaryFolder folder;
  const std::shared_ptr<StoreWatch> watch = std::make_shared<StoreWatch>();
  std::unique_ptr<Engine> engine;
};

}  // namespace

TEST_CASE("an engine with a thread of its own syncs a small group on it, and a large one beside it",
          "[engine]") {
  OwnThread engine;
  CHECK(well(engine->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
  const std::thread::id strand = engine.watch->written_by();
  CHECK(engine.watch->synced_by() == strand);
  for (const Result<Answer>& answer : engine->schedule(orders_named("b"))) {
    CHECK(well(answer).outcome == Outcome::scheduled);
  }
  CHECK(engine.watch->written_by() != strand);
  CHECK(engine.watch->synced_by() != strand);
  // A strand that belongs to others does not wait for the disk.
  const TemporaryFolder folder;
  HeldEngine shared(folder / "store");
  shared.run();
  CHECK(well(shared->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
  CHECK(shared.watch->synced_by() != shared.watch->written_by());
}

TEST_CASE("what comes while the strand syncs waits for the next group, and then for its own sync",
          "[engine]") {
  OwnThread engine;
  CHECK(well(engine->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
  const std::uint64_t syncs = engine.watch->syncs();
  const std::uint64_t writes = engine.watch->writes();
  engine.watch->hold_syncs();
  Reply<Answer> first;
  engine->schedule(order_of("q", "b"), first.callback());
  engine.watch->await_syncs(syncs + 1);
  std::vector<Reply<Answer>> rest(50);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    engine->schedule(order_of("q", std::to_string(i % 40)), rest[i].callback());
  }
  CHECK_FALSE(first.arrived());
  engine.watch->release_syncs();
  CHECK(well(first.get()).outcome == Outcome::scheduled);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    CHECK(well(rest[i].get()).outcome == (i < 40 ? Outcome::scheduled : Outcome::duplicate));
  }
  CHECK(engine.watch->writes() == writes + 2);
  CHECK(engine.watch->syncs() == syncs + 2);
}

TEST_CASE("after a failed sync on the strand nothing is acknowledged, and reads go on", "[engine]") {
  OwnThread engine;
  CHECK(well(engine->schedule(order_of("q", "a"))).outcome == Outcome::scheduled);
  Reply<std::vector<Claimed>> waiting;
  engine->claim(claim_of("empty", "w", 1, long_wait), waiting.callback());
  engine.watch->fail_syncs({Code::storage, "the disk has caught fire"});
  const std::uint64_t syncs = engine.watch->syncs();
  for (const char* id : {"b", "c"}) {
    const Result<Answer> answer = engine->schedule(order_of("q", id));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::storage);
    CHECK(answer.error().message.find("the disk has caught fire") != std::string::npos);
  }
  CHECK(engine.watch->syncs() == syncs + 1);
  CHECK(waiting.get().error().code == Code::storage);  // At once.
  CHECK(well(engine->order("q", "a"))->state == State::wait);
  engine->close();
}

TEST_CASE("what a group may take is limited in commands", "[engine]") {
  TemporaryFolder folder;
  Options options = small_options();
  options.group_commands_max = 10;
  HeldEngine engine(folder / "store", options);
  const std::uint64_t writes = engine.watch->writes();
  std::vector<Reply<Answer>> replies(100);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    engine->schedule(order_of("q", std::to_string(i)), replies[i].callback());
  }
  engine.run();
  for (Reply<Answer>& reply : replies) CHECK(well(reply.get()).outcome == Outcome::scheduled);
  CHECK(engine.watch->writes() == writes + 10);
}

TEST_CASE("at the levels interval and none a reply does not wait for the disk", "[engine]") {
  const Durability level = GENERATE(Durability::interval, Durability::none);
  TemporaryFolder folder;
  {
    Options options = small_options();
    options.durability = level;
    options.sync_interval = Duration{1};
    HeldEngine engine(folder / "store", options);
    engine.watch->hold_syncs();
    engine.run();
    schedule_many(*engine, "q", 3000);
    const std::vector<Claimed> claimed = well(engine->claim(claim_of("q", "w")));
    CHECK(well(engine->complete(report_on<CompleteRequest>(claimed.at(0)))).outcome == Outcome::completed);
    CHECK(well(engine->order("q", claimed[0].id))->state == State::success);
    if (level == Durability::interval) {
      engine.watch->release_syncs();
      engine.watch->await_syncs(engine.watch->syncs() + 1);  // By itself.
    }
  }
  const std::unique_ptr<Engine> again = open_live(folder / "store");
  CHECK(well(again->stats("q")).counts == Counts{.wait = 2999, .success = 1});
}

TEST_CASE("after a failed sync nothing is acknowledged, and reads go on", "[engine]") {
  TemporaryFolder folder;
  HeldEngine engine(folder / "store");
  engine.run();
  schedule_many(*engine, "q", 10);
  Reply<std::vector<Claimed>> waiting;
  engine->claim(claim_of("empty", "w", 1, long_wait), waiting.callback());
  engine.watch->fail_syncs({Code::storage, "the disk has caught fire"});
  for (int i = 0; i < 3; ++i) {
    const Result<Answer> answer = engine->schedule(order_of("q", "late-" + std::to_string(i)));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::storage);
    CHECK(answer.error().message.find("the disk has caught fire") != std::string::npos);
  }
  const Result<std::vector<Claimed>> ended = waiting.get();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::storage);
  CHECK(well(engine->order("q", "3"))->state == State::wait);
  engine->close();
}

TEST_CASE("more commands than may wait are refused, and nothing else happens to them", "[engine]") {
  TemporaryFolder folder;
  Options options = small_options();
  options.commands_waiting_max = 100;
  HeldEngine engine(folder / "store", options);
  std::vector<Reply<Answer>> accepted(100);
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    engine->schedule(order_of("q", std::to_string(i)), accepted[i].callback());
  }
  const Result<Answer> refused = engine->schedule(order_of("q", "one-too-many"));  // Answers at once.
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::overloaded);
  CHECK(refused.error().message.find("100") != std::string::npos);
  for (const Result<Answer>& answer : engine->schedule(std::vector{order_of("q", "x"), order_of("q", "y")})) {
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Code::overloaded);
  }
  engine.run();
  for (Reply<Answer>& reply : accepted) CHECK(well(reply.get()).outcome == Outcome::scheduled);
  CHECK(well(engine->schedule(order_of("q", "one-too-many"))).outcome == Outcome::scheduled);
  CHECK_FALSE(well(engine->order("q", "x")));
}

TEST_CASE("the bytes of the commands that wait are limited, and one alone always fits", "[engine]") {
  TemporaryFolder folder;
  Options options = small_options();
  options.command_bytes_waiting_max = 100'000;
  HeldEngine engine(folder / "store", options);
  const auto sized = [](std::string id, std::size_t bytes) {
    ScheduleRequest request = order_of("q", std::move(id));
    request.payload = std::string(bytes, 'x');
    return request;
  };
  std::vector<Reply<Answer>> accepted(10);
  for (std::size_t i = 0; i < 9; ++i) {
    engine->schedule(sized(std::to_string(i), 10'000), accepted[i].callback());
  }
  const Result<Answer> refused = engine->schedule(sized("too large by now", 10'000));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::overloaded);
  CHECK(refused.error().message.find("the limit of 100000") != std::string::npos);
  ScheduleRequest with_app = order_of("q", "app");  // All bytes count, not those of payloads alone.
  with_app.app_writes = {put("k", std::string(10'000, 'x'))};
  CHECK(engine->schedule(with_app).error().code == Code::overloaded);
  engine->schedule(sized("9", 100), accepted[9].callback());
  engine.run();
  for (Reply<Answer>& reply : accepted) CHECK(well(reply.get()).outcome == Outcome::scheduled);
  CHECK(well(engine->schedule(sized("huge", 500'000))).outcome == Outcome::scheduled);
  for (const Result<Answer>& answer : engine->schedule(std::vector{sized("x", 90'000), sized("y", 90'000)})) {
    CHECK(well(answer).outcome == Outcome::scheduled);
  }
}

TEST_CASE("a group takes no more out of the inbox than it may write at once", "[engine]") {
  TemporaryFolder folder;
  HeldEngine engine(folder / "store");
  const std::uint64_t writes = engine.watch->writes();
  std::vector<Reply<Answer>> replies(40);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ScheduleRequest request = order_of("q", std::to_string(i));
    request.payload = std::string(1024 * 1024, 'x');
    engine->schedule(request, replies[i].callback());
  }
  engine.watch->hold_syncs();  // Their replies would let the inbox go on.
  engine.run();
  engine.watch->await_writes(writes + 3);  // 16 MiB each.
  engine.watch->release_syncs();
  for (Reply<Answer>& reply : replies) CHECK(well(reply.get()).outcome == Outcome::scheduled);
  CHECK(engine.watch->writes() == writes + 3);
}
