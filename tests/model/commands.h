// model/commands.h: draws the commands of a run. Names come from a small alphabet, so that they meet; values
// sit at the edges of what is allowed, and now and then beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/command.h"
#include "engine/core.h"
#include "model/oracle.h"
#include "model/random.h"

namespace duelease::model_test {

// What a run is like. Drawn from its seed.
struct Profile {
  std::vector<std::string> queues;
  std::vector<std::string> ids;
  std::vector<std::string> keys;
  std::vector<std::string> workers;
  std::vector<std::string> requests;
  std::vector<std::string> runs;
  std::uint64_t runs_percent = 0;  // Of the orders that are scheduled; 0: there are no runs at all.
  engine::CoreOptions options;
  Time start{};
  static constexpr std::uint64_t many = 2500;
  bool wide = false;  // Many orders: a pass of the upkeep does not get through, a head does not hold all.
  bool keeps_for_a_time = false;  // Queues drop their successes.
  bool keeps_history = false;
  std::uint64_t first_sequence = 0;
  bool sweeps() const { return keeps_for_a_time || keeps_history; }
  bool odd_clock = false;           // The clock goes back, or leaves the calendar, for a moment.
  std::uint64_t wait_percent = 0;   // Of the claims.
  std::uint64_t ticks_percent = 0;  // How often a step of the clock is followed by a tick at once.
};
Profile draw_profile(Random& random);

class CommandSource {
 public:
  CommandSource(const Profile& profile, Random& random) : profile_(profile), random_(random) {}

  engine::Body draw(const Oracle& oracle, Now now);
  // Of a wide run, to begin with.
  ScheduleRequest draw_one_of_many(std::uint64_t number, Now now);
  // Orders, for an engine::PurgeBatch made by a search.
  PurgeRequest draw_purge();
  // Tokens that were given out come back later, when they are stale.
  void note_token(Token token);

 private:
  struct Target {
    std::string queue;
    std::string id;
    Token token{};
  };

  engine::Body draw_command(const Oracle& oracle, Now now);
  ScheduleRequest draw_schedule(const Oracle& oracle, Now now);
  engine::Body draw_of_run(const Oracle& oracle);
  engine::Body draw_at_orphan(const Oracle& oracle, Now now);
  std::string draw_run(const Oracle& oracle, const std::string& queue);
  engine::Body draw_adopted(const Oracle& oracle, Now now);
  std::optional<engine::Body> draw_at_grandfathered(const Oracle& oracle);
  ImportRequest draw_import(Now now);
  ReconcileRequest draw_row(const Oracle& oracle, Now now);
  Time draw_past(Now now);
  std::uint64_t draw_since(const Oracle& oracle);
  ClaimRequest draw_claim();
  FailRequest draw_fail(const Oracle& oracle, Now now);
  QueueSetRequest draw_settings();
  engine::PurgeBatch draw_purge_batch();
  Target draw_target(const Oracle& oracle);
  Target draw_target_in(const Oracle& oracle, State state);
  Token draw_token(const Oracle& oracle);
  Time draw_due(Now now);
  Duration draw_lease();
  std::string draw_payload();
  std::vector<AppWrite> draw_app_writes();

  void spoil(engine::Body& body);

  const std::string& queue() { return random_.pick(profile_.queues); }
  const std::string& id() { return random_.pick(profile_.ids); }

  const Profile& profile_;
  Random& random_;
  std::vector<Token> tokens_;
};

}  // namespace duelease::model_test
