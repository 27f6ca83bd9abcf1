// A fixed piece of work, in commit groups, and what the store holds after each of them.
//
// The script is made once, on a core over a store in memory. Since the same commands give the same
// changes, its commands can then be run again on any store, from any group on, and the states recorded on
// the way are the oracle: a store that lived through a crash must hold exactly one of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "duelease/types.h"
#include "engine/command.h"
#include "engine/core.h"
#include "engine/reads.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/records.h"
#include "store/store.h"
#include "support/hex.h"

namespace duelease::test {

// Every row of a store.
using Contents = std::array<store::MemoryStore::Table, store::family_count>;

inline Contents contents_of(const store::Reader& reader) {
  Contents out;
  for (std::size_t f = 0; f < store::family_count; ++f) {
    const std::unique_ptr<store::Cursor> cursor = reader.scan(static_cast<store::Family>(f), "", "");
    for (; cursor->valid(); cursor->next()) {
      // They say how the store was left and made, not what is in it.
      if (cursor->key() == store::closed_key || cursor->key() == store::log_secret_key) continue;
      out[f].emplace(cursor->key(), cursor->value());
    }
    if (Result<> read = cursor->status(); !read) throw std::runtime_error(read.error().message);
  }
  return out;
}

inline store::MemoryStore memory_store_with(const Contents& contents) {
  store::MemoryStore out;
  for (std::size_t f = 0; f < store::family_count; ++f)
    out.table(static_cast<store::Family>(f)) = contents[f];
  return out;
}

// The first difference, for a person.
inline std::string difference(const Contents& found, const Contents& expected) {
  for (std::size_t f = 0; f < store::family_count; ++f) {
    const std::string family = store::family_names[f];
    for (const auto& [key, value] : expected[f]) {
      const auto row = found[f].find(key);
      if (row == found[f].end()) return family + ": " + hex(key) + " is missing";
      if (row->second != value)
        return family + ": " + hex(key) + " is " + hex(row->second) + ", not " + hex(value);
    }
    for (const auto& [key, value] : found[f]) {
      if (!expected[f].contains(key)) return family + ": " + hex(key) + " should not be there";
    }
  }
  return "none";
}

inline engine::CoreOptions script_core_options() {
  engine::CoreOptions options;
  options.upkeep = false;  // The script reaps by command.
  options.restart_grace = Duration{0};
  return options;
}

inline std::unique_ptr<engine::Core> open_core(store::Store& store, Now now) {
  Result<std::unique_ptr<engine::Core>> core = engine::Core::open(store, script_core_options(), now);
  if (!core) throw std::runtime_error("open core: " + core.error().message);
  return std::move(*core);
}

using CommandGroup = std::vector<engine::Command>;

struct Script {
  std::vector<CommandGroup> groups;
  std::vector<Contents> states;          // states[k]: after the first k groups.
  std::vector<std::uint64_t> sequences;  // The same, the last sequence used.
  std::vector<Now> times;                // times[k]: when group k begins; one more for the end.
  std::set<Outcome> outcomes;            // All that were answered.
};

// Applies a group and writes it; the caller syncs.
inline Result<> write_group(engine::Core& core, const CommandGroup& group) {
  for (const engine::Command& command : group) {
    const auto reply = core.apply(command);
    if (reply && !*reply) return Unexpected{reply->error()};
    core.tick(command.now);
    core.take_served();
  }
  return core.commit();
}

class ScriptWriter {
 public:
  ScriptWriter() : store_(first_rows()), core_(open_core(store_, now_)) { end_state(); }

  template <class Body>
  engine::Reply run(Body body) {
    group_.push_back(engine::Command{now_, ++seed_, seed_, std::move(body)});
    std::optional<Result<engine::Reply>> reply = core_->apply(group_.back());
    core_->tick(now_);
    std::vector<engine::Served> served = core_->take_served();
    if (!reply && served.empty()) return {};  // A claim that waits.
    Result<engine::Reply> answer = reply ? std::move(*reply) : std::move(served.front().reply);
    if (!answer) throw std::runtime_error("script: " + answer.error().message);
    if (const auto* one = std::get_if<Answer>(&*answer)) script_.outcomes.insert(one->outcome);
    return std::move(*answer);
  }

  void pass(Duration time) {
    now_.wall += time;
    now_.monotonic += time;
  }

  void end_group() {
    if (Result<> written = core_->commit(); !written) throw std::runtime_error(written.error().message);
    script_.groups.push_back(std::exchange(group_, {}));
    end_state();
  }

  Time due(Duration later) const { return now_.wall + later; }
  Script finish() { return std::move(script_); }

 private:
  // What a new store begins with.
  static store::MemoryStore first_rows() {
    store::MemoryStore out;
    out.table(store::Family::meta)[std::string(store::format_key)] =
        store::encode_format(store::format_version);
    out.table(store::Family::meta)[std::string(store::sequence_key)] = store::encode_sequence(0);
    return out;
  }

  void end_state() {
    script_.states.push_back(contents_of(store_));
    script_.sequences.push_back(core_->sequence());
    script_.times.push_back(now_);
  }

  store::MemoryStore store_;
  Now now_{Time{Duration{1'800'000'000'000}}, Monotonic{Duration{1'000'000}}};
  std::unique_ptr<engine::Core> core_;
  std::uint64_t seed_ = 0;
  CommandGroup group_;
  Script script_;
};

// One round of the script: every command, with payloads large enough to fill memtables.
class ScriptRound {
 public:
  ScriptRound(ScriptWriter& writer, int round) : w_(writer), round_(round) {}

  void run() {
    schedule();
    claim();
    report();
    lose_leases();
    revive();
    clean_up();
    work_a_run();
  }

 private:
  using Orders = std::vector<Claimed>;

  std::string id(const char* name) const { return name + std::to_string(round_); }
  std::string payload(std::size_t size) const {
    return std::string(size, static_cast<char>('a' + round_ % 26));
  }
  Orders claimed(engine::Reply reply) const { return std::get<Orders>(std::move(reply)); }

  void schedule() {
    for (const char* name : {"complete", "fail", "release", "extend", "lose", "force"}) {
      w_.run(ScheduleRequest{.queue = "work",
                             .id = id(name),
                             .due = w_.due(Duration{0}),
                             .payload = payload(1500),
                             .key = id(name) + "-key",
                             .tries = 2,
                             .app_writes = {{"row-" + id(name), "scheduled"}, {"last", id(name)}}});
    }
    w_.end_group();
    for (const char* name : {"cancel", "move", "upsert"}) {
      w_.run(ScheduleRequest{
          .queue = "later", .id = id(name), .due = w_.due(Duration{60'000}), .payload = payload(3000)});
    }
    w_.run(ScheduleRequest{.queue = "later", .id = id("cancel"), .due = w_.due(Duration{0})});  // DUPLICATE.
    w_.run(ScheduleRequest{
        .queue = "later", .id = id("upsert"), .due = w_.due(Duration{5}), .priority = 3, .upsert = true});
    w_.end_group();
  }

  void claim() {
    w_.pass(Duration{10});
    orders_ = claimed(w_.run(ClaimRequest{
        .queues = {"work"}, .worker = "w", .count = 4, .lease = Duration{1000}, .request = id("r")}));
    w_.run(RescheduleRequest{"later", id("move"), w_.due(Duration{90'000})});
    w_.end_group();
    const Orders rest =
        claimed(w_.run(ClaimRequest{.queues = {"work"}, .worker = "v", .count = 10, .lease = Duration{500}}));
    orders_.insert(orders_.end(), rest.begin(), rest.end());
    w_.run(CancelRequest{"later", id("cancel")});
    w_.run(ClaimRequest{.queues = {"waited"}, .worker = "u", .lease = Duration{50}, .wait = Duration{1000}});
    w_.run(ScheduleRequest{
        .queue = "waited", .id = id("waited"), .due = w_.due(Duration{0}), .payload = payload(10)});
    w_.end_group();
  }

  const Claimed& order(const char* name) const {
    for (const Claimed& claimed : orders_) {
      if (claimed.id == id(name)) return claimed;
    }
    throw std::runtime_error("script: order " + id(name) + " was not claimed");
  }

  void report() {
    w_.run(ExtendRequest{"work", id("extend"), order("extend").token, Duration{5000}});
    w_.run(CompleteRequest{.queue = "work",
                           .id = id("complete"),
                           .token = order("complete").token,
                           .result = payload(700),
                           .app_writes = {{"row-" + id("complete"), "done"}}});
    w_.end_group();
    w_.run(
        FailRequest{.queue = "work", .id = id("fail"), .token = order("fail").token, .error = "once more"});
    w_.run(ReleaseRequest{"work", id("release"), order("release").token, w_.due(Duration{40'000})});
    w_.run(CompleteRequest{
        .queue = "work", .id = id("complete"), .token = order("complete").token});             // ALREADY.
    w_.run(CompleteRequest{.queue = "work", .id = id("fail"), .token = order("fail").token});  // STALE.
    w_.end_group();
    w_.run(CancelRequest{"work", id("force"), true});
    w_.run(CompleteRequest{.queue = "work",
                           .id = id("extend"),
                           .token = order("extend").token,
                           .app_writes = {{"row-" + id("extend"), std::nullopt}}});
    w_.end_group();
  }

  void lose_leases() {
    w_.pass(Duration{2000});
    for (const char* queue : {"work", "waited"}) w_.run(ReapRequest{queue, 100});
    w_.end_group();
    // "lose" once more, for the last time; and the one that failed.
    const Orders again =
        claimed(w_.run(ClaimRequest{.queues = {"work"}, .worker = "w", .count = 10, .lease = Duration{100}}));
    w_.run(PopRequest{"waited", 1});
    w_.end_group();
    for (const Claimed& claimed : again) {
      if (claimed.id != id("fail")) continue;
      w_.run(FailRequest{
          .queue = "work", .id = claimed.id, .token = claimed.token, .error = "for good", .final = true});
    }
    w_.pass(Duration{200});
    w_.run(ReapRequest{"work", 100});
    w_.end_group();
  }

  void revive() {
    w_.run(ScheduleRequest{.queue = "work",
                           .id = id("lose"),
                           .due = w_.due(Duration{30'000}),
                           .payload = payload(2000),
                           .key = id("other-key")});  // After FAILED: a new generation.
    w_.run(RetryRequest{.queue = "work", .id = id("fail")});
    w_.end_group();
    w_.run(QueueSetRequest{
        .queue = "work", .backoff_base = Duration{100 + round_}, .keep_history = Duration{3'600'000}});
    w_.run(RetryRequest{.queue = "work", .id = id("complete")});  // REFUSED.
    w_.run(CancelRequest{"work", "nobody"});                      // NOT_FOUND.
    w_.run(ScheduleRequest{
        .queue = "work", .id = id("force"), .due = w_.due(Duration{30'000}), .payload = payload(500)});
    w_.end_group();
  }

  void clean_up() {
    w_.run(CancelRequest{"work", id("lose")});
    w_.run(engine::PurgeBatch{"later", State::aborted, Duration{0}, {id("cancel"), id("move")}});
    w_.end_group();
    w_.run(engine::PurgeBatch{"work", State::aborted, Duration{0}, {id("lose"), id("force"), "nobody"}});
    w_.run(engine::PurgeBatch{"waited", State::success, Duration{0}, {id("waited")}});
    w_.end_group();
    w_.pass(Duration{100'000});  // What was put off, and what was retried, is done.
    for (const Claimed& claimed :
         claimed(w_.run(ClaimRequest{.queues = {"work", "later"}, .worker = "w", .count = 100}))) {
      w_.run(CompleteRequest{.queue = claimed.queue, .id = claimed.id, .token = claimed.token});
    }
    w_.end_group();
  }

  void work_a_run() {
    w_.run(RunOpenRequest{"batch", id("r"), Duration{3'600'000}});
    for (const char* name : {"first", "second", "third", "fourth"}) {
      w_.run(ScheduleRequest{.queue = "batch",
                             .id = id(name),
                             .due = w_.due(Duration{0}),
                             .payload = payload(300),
                             .key = id(name) + "-key",
                             .run = id("r"),
                             .priority = 1});
    }
    w_.end_group();
    orders_ = claimed(
        w_.run(ClaimRequest{.queues = {"batch"}, .worker = "w", .count = 2, .lease = Duration{60'000}}));
    w_.run(RunStartRequest{"batch", id("r")});
    w_.end_group();
    w_.pass(Duration{1000});
    w_.run(RunBeatRequest{"batch", id("r")});
    w_.end_group();
    w_.run(RunErrorRequest{"batch", id("r"), "the machine died"});
    w_.end_group();
    w_.run(CompleteRequest{.queue = "batch", .id = orders_[0].id, .token = orders_[0].token});
    w_.run(FailRequest{.queue = "batch", .id = orders_[1].id, .token = orders_[1].token});  // ABORTED.
    w_.end_group();
    w_.run(RunOpenRequest{.queue = "batch", .run = id("s")});
    w_.run(ScheduleRequest{.queue = "batch",
                           .id = id("heir"),
                           .due = w_.due(Duration{0}),
                           .key = id("third") + "-key",
                           .run = id("s")});
    w_.run(engine::PurgeBatch{"batch", State::aborted, Duration{0}, {id("third"), id("fourth")}});
    w_.end_group();
    w_.run(PopRequest{"batch", 1});
    w_.run(RunDoneRequest{"batch", id("s")});
    w_.end_group();
  }

  ScriptWriter& w_;
  const int round_;
  Orders orders_;
};

// A run with more orders than a few passes of its sweep take, and what comes while it is swept: from its end on
// there are several groups before the last order has left WAIT.
inline Script make_sweep_script() {
  constexpr int count = 5 * limits::orphan_pass_max;
  ScriptWriter writer;
  const auto name = [](int i) { return "order " + std::to_string(1000 + i); };
  writer.run(RunOpenRequest{.queue = "batch", .run = "r"});
  for (int i = 0; i < count; ++i) {
    const bool has_key = i % 8 == 0;
    writer.run(ScheduleRequest{.queue = "batch",
                               .id = name(i),
                               .due = writer.due(Duration{i}),
                               .key = has_key ? std::optional(name(i) + "-key") : std::nullopt,
                               .run = "r"});
    if (i % 100 == 99) writer.end_group();
  }
  writer.run(ScheduleRequest{.queue = "batch", .id = "alone", .due = writer.due(Duration{count})});
  writer.run(RunOpenRequest{.queue = "batch", .run = "s"});
  writer.pass(Duration{2 * count});
  const auto held = std::get<std::vector<Claimed>>(
      writer.run(ClaimRequest{.queues = {"batch"}, .worker = "w", .count = 2, .lease = Duration{60'000}}));
  writer.end_group();
  writer.run(RunErrorRequest{"batch", "r", "the machine died"});  // With the first pass.
  writer.end_group();
  writer.run(ScheduleRequest{.queue = "batch",
                             .id = name(count - 8),
                             .due = writer.due(Duration{0}),
                             .run = "s"});  // An orphan's id,
  writer.end_group();
  writer.run(ScheduleRequest{.queue = "batch",
                             .id = "heir",
                             .due = writer.due(Duration{0}),
                             .key = name(count - 16) + "-key",
                             .run = "s"});  // and the key of another.
  writer.run(CompleteRequest{.queue = "batch", .id = held[0].id, .token = held[0].token});
  writer.end_group();
  writer.run(ReleaseRequest{"batch", held[1].id, held[1].token, std::nullopt});  // ABORTED.
  writer.run(ClaimRequest{.queues = {"batch"}, .worker = "w", .count = 10});
  writer.end_group();
  return writer.finish();
}

inline Script make_script(int rounds) {
  ScriptWriter writer;
  for (int round = 0; round < rounds; ++round) ScriptRound(writer, round).run();
  return writer.finish();
}

}  // namespace duelease::test
