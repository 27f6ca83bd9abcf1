// model/world.h: one run. An engine::Core on a store in memory, the oracle beside it, both given the same
// commands at the same simulated times, and compared after each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.h"
#include "model/commands.h"
#include "model/compare.h"
#include "model/oracle.h"
#include "model/random.h"
#include "model/seen.h"
#include "store/memory_store.h"

namespace duelease::model_test {

struct Mode {
  bool faults = false;            // Writes fail; the core is dropped and opened again on what is there.
  bool commits_often = false;     // Each step is a commit group.
  bool sweeps_committed = false;  // What is swept out is in the store, not in the open group.
  bool takes_digests = false;
  std::size_t journal = 30;  // How many of the last commands are kept.
};

class World {
 public:
  World(std::uint64_t seed, Mode mode);

  // Once. Throws a Mismatch as soon as the core differs from the oracle.
  void run(std::uint64_t steps);

  // The last commands and what was answered.
  std::string journal() const;

  std::uint64_t writes_digest() const { return writes_digest_.value(); }
  std::uint64_t replies_digest() const { return replies_digest_.value(); }
  std::uint64_t store_digest() const;
  const Seen& seen() const { return seen_; }

 private:
  struct Event {
    std::uint64_t step = 0;
    Now now{};
    std::string note;  // Or a command:
    std::optional<engine::Body> body;
    std::optional<Result<engine::Reply>> reply;
    std::vector<engine::Served> served;
  };

  void begin_wide();
  void step();
  void move_clock();
  Now odd_now();
  void move_to(Monotonic at);
  void step_wall_clock();

  void begin_step();
  void apply(engine::Body body);
  std::optional<Result<Answer>> foresee(const engine::Command& command) const;
  void tick();
  void cancel_claim();
  void purge();
  void restart();
  void plant_unknown_field();
  void open();
  void compare_all();
  void drain();

  // Whether the store took it; if not, the core is another one. `swept_at`: of the tick that came just before.
  bool commit(std::optional<Time> swept_at = std::nullopt);
  Result<> before_write(std::span<const store::Change> changes);
  void lose_group();
  void follow_sweep(Time now);
  void check_wake();
  void check_served();
  void note_claimed(const Result<engine::Reply>& reply, bool has_waited);
  void note_heads();
  Event& note(std::string text);

  const Mode mode_;
  Random random_;
  Random grouping_;  // Decides only where a commit group ends.
  const Profile profile_;
  CommandSource commands_;

  Now now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t last_ticket_ = 0;
  Token sequence_before_{};                                             // The step: tokens above are new.
  std::set<Token> new_tokens_;                                          // Of the step.
  std::map<std::pair<std::string, State>, std::string> purge_cursors_;  // Where the next search goes on.

  store::MemoryStore store_;
  std::unique_ptr<engine::Core> core_;
  Oracle oracle_;

  std::vector<std::string> erased_;  // Keys of family orders, by the last write.
  std::vector<std::string> erased_history_;
  std::uint64_t writes_ = 0;
  std::uint64_t failing_write_ = 0;  // 0: none.
  Oracle committed_;  // As of the last write that went well; kept only when the next one fails.

  Seen seen_;
  Digest writes_digest_;
  Digest replies_digest_;
  std::deque<Event> journal_;
};

}  // namespace duelease::model_test
