// support/world.h: a core on a store of its own, under clocks that a test moves by hand.
//
//     World world(Disk::rocks);
//     world.schedule("a", world.now() + 5s);
//     world.pass(5s);
//     const Claimed claimed = world.claim_one("w1");
//     world.restart();
//     CHECK(world.complete(claimed).outcome == Outcome::completed);
//
// Each command is a commit group of its own, and is followed by a tick and a commit, as in the engine's
// writer; between open_group() and close_group() they share one. After every commit all invariants are
// counted, and a violation is an error. What a test did not ask for (a refused command, a broken
// invariant) is thrown: the test fails with its message.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "duelease/clock.h"
#include "duelease/options.h"
#include "duelease/result.h"
#include "duelease/types.h"
#include "engine/command.h"
#include "engine/core.h"
#include "store/memory_store.h"
#include "store/store.h"
#include "support/temporary_folder.h"

namespace duelease::test {

enum class Disk : std::uint8_t { memory, rocks };

// The queue that the short forms below mean.
inline constexpr const char* the_queue = "q";

// 2026-01-01T00:00:00Z.
inline constexpr Time start_of_2026{Duration{1'767'225'600'000}};

// The store in `folder`, small in memory.
std::unique_ptr<store::Store> open_small_rocks_store(const std::filesystem::path& folder);

class World {
 public:
  // Nothing is reaped or swept unless the test says so.
  static engine::CoreOptions without_upkeep();

  explicit World(Disk disk, engine::CoreOptions options = without_upkeep());
  // Disk::rocks, on a copy of the store in `folder`.
  explicit World(const std::filesystem::path& folder);

  // ---- Time ----

  Time now() const { return now_.wall; }
  Now clocks() const { return now_; }
  // Both clocks; nothing runs meanwhile.
  void pass(Duration duration);
  void step_wall_clock(Duration step) { now_.wall += step; }
  void tick();
  // As the engine's timer does: goes from wake-up to wake-up, at most a second each, for `duration`.
  // Answers how many wake-ups it took.
  int run_for(Duration duration);

  // ---- The store ----

  // Closes and opens everything. The machine is down for `down`; the monotonic clock has another zero then.
  void restart(Duration down = Duration{0});
  // Between these only the store is there.
  void shut();
  void open();
  void put(store::Family family, const std::string& key, const std::string& value);
  void erase(store::Family family, const std::string& key);
  std::optional<std::string> row(store::Family family, std::string_view key) const;
  std::vector<std::string> keys(store::Family family) const;
  // Every row there is: family, key, value. What changes nothing leaves them as they are.
  using Rows = std::vector<std::tuple<std::string, std::string, std::string>>;
  Rows rows() const;
  store::Store& store() { return *store_; }
  // Disk::memory only.
  store::MemoryStore& memory();
  // Disk::rocks only.
  std::filesystem::path store_folder() const { return folder_ / "store"; }
  engine::Core& core() { return *core_; }
  // The test's own, also with Disk::memory.
  std::filesystem::path folder() const { return folder_.path(); }

  // ---- Commands ----

  void open_group();
  // The error of the commit, if it failed: the core is of no further use then.
  Result<> close_group();

  // Nothing: it waits.
  std::optional<Result<engine::Reply>> apply(engine::Body body);
  Result<engine::Reply> ask(engine::Body body);
  Answer tell(engine::Body body);
  Error refusal(engine::Body body);

  Answer schedule(std::string id, Time due);
  Answer schedule(ScheduleRequest request) { return tell(std::move(request)); }
  std::vector<Claimed> claim(ClaimRequest request);
  std::vector<Claimed> claim(std::string worker, std::uint32_t count);
  Claimed claim_one(std::string worker, std::optional<Duration> lease = std::nullopt);
  // A claim that must wait; its ticket.
  std::uint64_t claim_and_wait(ClaimRequest request);
  std::optional<Result<std::vector<Claimed>>> served(std::uint64_t ticket);
  std::vector<Claimed> pop(std::uint32_t count);
  Answer complete(const Claimed& order) { return tell(report_of<CompleteRequest>(order)); }
  Answer fail(const Claimed& order, std::string error = "broken");
  Answer release(const Claimed& order) { return tell(report_of<ReleaseRequest>(order)); }
  Answer extend(const Claimed& order, Duration lease);
  Answer reschedule(std::string id, Time due) {
    return tell(RescheduleRequest{the_queue, std::move(id), due});
  }
  Answer cancel(std::string id, bool force = false) {
    return tell(CancelRequest{the_queue, std::move(id), force});
  }
  Answer retry(std::string id);
  std::uint64_t reap(std::uint32_t limit = 1000);
  std::uint64_t purge(State state, std::vector<std::string> ids, Duration older = Duration{0});
  QueueSettings set_queue(QueueSetRequest request);

  // ---- Reads ----

  std::optional<Order> find(std::string_view id) const;
  Order order(std::string_view id) const;
  State state(std::string_view id) const { return order(id).state; }
  Counts counts() const;
  std::uint64_t last_sequence() const;
  CheckReport check() const;
  // Names of the invariants that are broken.
  std::vector<std::string> broken() const;
  // Throws when an invariant is broken.
  void check_sound() const;
  // After each commit: costs a walk over the store, so large tests turn it off.
  void check_always(bool always) { check_always_ = always; }

  template <class Request>
  static Request report_of(const Claimed& order) {
    Request request;
    request.queue = order.queue;
    request.id = order.id;
    request.token = order.token;
    return request;
  }

 private:
  Result<> commit();
  void open_store();

  const Disk disk_;
  const engine::CoreOptions options_;
  TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<engine::Core> core_;
  Now now_{start_of_2026, Monotonic{Duration{-3'600'000}}};  // Its zero means nothing.
  std::uint64_t last_ticket_ = 0;
  std::uint64_t seed_ = 0;
  bool in_group_ = false;
  bool check_always_ = true;
  std::map<std::uint64_t, Result<std::vector<Claimed>>> served_;
};

}  // namespace duelease::test
