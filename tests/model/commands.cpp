#include "model/commands.h"

#include <algorithm>
#include <type_traits>

#include "base/limits.h"

namespace duelease::model_test {

using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

constexpr Time first_time{Duration{limits::time_ms_min}};
constexpr Time last_time{Duration{limits::time_ms_max}};

// One name that starts as another, all orders of bytes around the separator of keys, and the longest.
const std::vector<std::string> all_queues = {"a", "a:", "ab",  "a.",
                                             "b", "A-", "a::", "a"s + std::string(127, 'b')};
const std::vector<std::string> all_ids = {
    "\0"s,      "\xff"s, "a", "\0\xff"s, "a\0"s, "b",       std::string(255, '\xff'), "\0\0"s,
    "a\0\xff"s, "ab",    "1", "2",       "3",    "\xff\0"s, "\0\0\0\0\0\0\0\0\0"s,    std::string(255, '\0'),
    "4",        "5",     "6", "7",       "8",    "9"};
const std::vector<std::string> all_keys = {"k", "\0"s, "\xff\xff"s, "1", "a\0"s, std::string(255, 'k'), "K"};
// Joined without care, worker and request would be the same for some of these.
const std::vector<std::string> all_workers = {"w", "w\0"s, "w1", "w\0r"s, std::string(128, 'w'), "\xff"s};
const std::vector<std::string> all_requests = {"", "", "r", "\0r"s, "1", "1\0r"s, std::string(128, 'r')};
// An ended run does not come back, so there must be many.
const std::vector<std::string> all_runs = {"r", "\0"s, "r\0"s, "\xff"s, "\0\xff"s, std::string(127, '\0')};
constexpr std::uint64_t runs_of_a_name = 20;
const std::vector<std::string> app_keys = {"x", "\0"s, "\xff\xff"s, "y",
                                           std::string(limits::app_key_bytes_max, 'z')};

std::vector<std::string> some_of(const std::vector<std::string>& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()))};
}

}  // namespace

Profile draw_profile(Random& random) {
  Profile profile;
  profile.wide = random.one_in(10);
  profile.queues = some_of(all_queues, profile.wide ? 2 : 1 + random.below(all_queues.size()));
  profile.ids = some_of(all_ids, 2 + random.below(all_ids.size()));
  if (profile.wide) {
    for (std::uint64_t i = 0; i < Profile::many; ++i) profile.ids.push_back("order " + std::to_string(i));
  }
  profile.keys = some_of(all_keys, 1 + random.below(all_keys.size()));
  profile.workers = some_of(all_workers, 1 + random.below(all_workers.size()));
  profile.requests = some_of(all_requests, 1 + random.below(all_requests.size()));
  profile.runs = some_of(all_runs, 1 + random.below(all_runs.size()));
  profile.runs_percent = random.pick(std::vector<std::uint64_t>{0, 10, 50, 90});
  profile.options.upkeep = !random.one_in(5);
  profile.options.restart_grace = random.pick(std::vector<Duration>{0ms, 1ms, 5s, 1h});
  profile.options.claims_waiting_max = random.pick(std::vector<std::size_t>{0, 1, 3, 100'000, 100'000});
  if (random.one_in(4))
    profile.options.claim_reply_bytes_max = random.pick(std::vector<std::size_t>{0, 1, 1024, 3000});
  if (random.one_in(2))
    profile.options.heads_known_max = random.pick(std::vector<std::size_t>{0, 2, 8, 20, 100});
  // Mostly today; a machine whose clock lost its battery; one that is about to leave the calendar.
  const std::int64_t start = random.pick(std::vector<std::int64_t>{
      1'790'000'000'000, 1'790'000'000'000, 1'790'000'000'000, 0, limits::time_ms_max - 3600'000});
  profile.start = Time{Duration{start}};
  profile.keeps_for_a_time = random.percent(profile.wide ? 60 : 40);
  profile.keeps_history = random.percent(40);
  // As after restores: far above what the clock or the count of orders would give.
  profile.first_sequence =
      random.pick(std::vector<std::uint64_t>{0, 0, limits::restore_jump, std::uint64_t{1} << 62});
  profile.odd_clock = random.one_in(6);
  profile.wait_percent = random.pick(std::vector<std::uint64_t>{0, 20, 50});
  profile.ticks_percent = random.pick(std::vector<std::uint64_t>{0, 50, 90, 100});
  return profile;
}

// ---- Values -------------------------------------------------------------------------------------

void CommandSource::note_token(Token token) {
  constexpr std::size_t kept_max = 64;
  if (tokens_.size() < kept_max) {
    tokens_.push_back(token);
  } else {
    tokens_[random_.below(kept_max)] = token;
  }
}

Time CommandSource::draw_due(Now now) {
  Time due = now.wall;
  switch (random_.below(20)) {
    case 0: return first_time;
    case 1: return last_time;
    case 2: return Time{Duration{random_.between(-1, 1)}};
    case 3: due += Duration{random_.between(-1, 1)}; break;
    case 4: due -= Duration{random_.between(0, 100'000'000)}; break;
    case 5: due += Duration{random_.between(0, 100'000'000)}; break;
    case 6:
    case 7:
    case 8: break;
    default: due += Duration{random_.between(-2000, 2000)};
  }
  return std::clamp(due, first_time, last_time);
}

Duration CommandSource::draw_lease() {
  switch (random_.below(12)) {
    case 0: return 1ms;
    case 1: return Duration{limits::lease_ms_max};
    case 2: return 30s;
    case 3: return 1h;
    default: return Duration{random_.between(1, 3000)};
  }
}

std::string CommandSource::draw_payload() {
  // Around the size up to which the engine keeps a payload in memory, too.
  switch (random_.below(24)) {
    case 0: return {};
    case 1: return std::string(1024, 'p');
    case 2: return std::string(1025, 'p');
    case 3: return std::string(static_cast<std::size_t>(random_.below(3000)), '\0');
    default: return "p" + std::to_string(random_.below(100));
  }
}

std::vector<AppWrite> CommandSource::draw_app_writes() {
  std::vector<AppWrite> out;
  if (!random_.one_in(6)) return out;
  for (std::uint64_t i = random_.below(4); i-- > 0;) {
    const std::string& key = random_.one_in(8) ? random_.pick(app_keys) : app_keys[random_.below(3)];
    out.push_back({.key = key, .value = std::nullopt});
    if (!random_.one_in(3)) out.back().value = "v" + std::to_string(random_.below(10));
  }
  return out;
}

Token CommandSource::draw_token(const Oracle& oracle) {
  const std::uint64_t last = oracle.sequence();
  switch (random_.below(8)) {
    case 0: return Token{0};
    case 1: return Token{last + 1};
    case 2: return Token{last};
    case 3: return Token{random_.next()};
    case 4: return Token{~std::uint64_t{0}};
    default: return tokens_.empty() ? Token{1} : random_.pick(tokens_);
  }
}

// Mostly an order in processing with its token.
CommandSource::Target CommandSource::draw_target(const Oracle& oracle) {
  Target target{queue(), id(), Token{}};
  const auto& leases = oracle.leases();
  if (!leases.empty() && !random_.one_in(5)) {
    const std::size_t reach = std::min<std::size_t>(leases.size(), 50);
    const auto& [place, name] = *std::next(leases.begin(), static_cast<std::ptrdiff_t>(random_.below(reach)));
    target = {name.first, name.second, place.second};
    if (!random_.one_in(8)) return target;
  } else if (const OracleOrder* order = oracle.find(target.queue, target.id); order && random_.one_in(2)) {
    target.token = order->record.token;  // Of an order that has ended, or waits again.
    return target;
  }
  target.token = draw_token(oracle);
  return target;
}

// An order in this state, if there are enough of them.
CommandSource::Target CommandSource::draw_target_in(const Oracle& oracle, State state) {
  Target target;
  for (int i = 0; i < 4; ++i) {
    target = {queue(), id(), Token{}};
    const OracleOrder* order = oracle.find(target.queue, target.id);
    if (order && order->record.state == state) break;
  }
  return target;
}

// ---- Commands -----------------------------------------------------------------------------------

ScheduleRequest CommandSource::draw_one_of_many(std::uint64_t number, Now now) {
  ScheduleRequest out{.queue = profile_.queues.front(), .id = "order " + std::to_string(number)};
  out.due = now.wall - Duration{random_.between(-1000, 10'000)};
  out.payload = draw_payload();
  if (random_.one_in(4)) out.priority = 127;
  if (random_.percent(profile_.runs_percent)) {
    const bool is_first = !random_.one_in(3);
    out.run = is_first ? profile_.runs.front() : random_.pick(profile_.runs);
    if (is_first) out.priority = 126;  // Many of one run in a row.
  }
  return out;
}

ScheduleRequest CommandSource::draw_schedule(const Oracle& oracle, Now now) {
  ScheduleRequest out{.queue = queue(), .id = id(), .due = draw_due(now)};
  if (!random_.one_in(3)) out.payload = draw_payload();
  if (random_.one_in(3)) out.key = random_.pick(profile_.keys);
  if (random_.percent(profile_.runs_percent)) out.run = draw_run(oracle, out.queue);
  if (random_.one_in(3)) out.priority = random_.pick(std::vector<std::uint8_t>{0, 1, 127, 128, 129, 255});
  if (random_.one_in(3))
    out.tries = random_.pick(std::vector<std::uint32_t>{0, 1, 1, 2, 3, limits::tries_max});
  out.upsert = random_.one_in(4);
  out.app_writes = draw_app_writes();
  return out;
}

ClaimRequest CommandSource::draw_claim() {
  ClaimRequest out;
  for (std::uint64_t i = random_.one_in(3) ? 1 + random_.below(5) : 1; i-- > 0;)
    out.queues.push_back(queue());
  if (random_.one_in(20)) out.queues.insert(out.queues.begin(), "nobody.knows");
  if (random_.one_in(500)) out.queues.resize(limits::claim_queues_max, out.queues.front());
  out.worker = random_.pick(profile_.workers);
  const std::uint32_t many = profile_.wide ? limits::claim_count_max : 5;
  out.count = random_.pick(std::vector<std::uint32_t>{1, 1, 1, 2, 3, many, limits::claim_count_max});
  if (!random_.one_in(3)) out.lease = draw_lease();
  if (random_.percent(profile_.wait_percent)) {
    out.wait = random_.pick(std::vector<Duration>{0ms, 1ms, 100ms, 2s, 10s, Duration{limits::wait_ms_max}});
  }
  out.request = random_.pick(profile_.requests);
  return out;
}

FailRequest CommandSource::draw_fail(const Oracle& oracle, Now now) {
  const Target target = draw_target(oracle);
  FailRequest out{.queue = target.queue, .id = target.id, .token = target.token};
  switch (random_.below(12)) {
    case 0: out.error = std::string(limits::error_bytes_max, 'e'); break;
    case 1: out.error = std::string(limits::error_bytes_max - 1, 'e') + "\xc3\xa9"; break;
    case 2: out.error = "\0\xff and\nmore"s; break;
    case 3: break;
    default: out.error = "no stock";
  }
  if (random_.one_in(3)) out.retry_at = draw_due(now);
  out.final = random_.one_in(6);
  return out;
}

QueueSetRequest CommandSource::draw_settings() {
  QueueSetRequest out{.queue = queue()};
  if (random_.one_in(4)) out.lease = draw_lease();
  if (random_.one_in(4)) out.tries = random_.pick(std::vector<std::uint32_t>{0, 1, 2, 25, limits::tries_max});
  const std::vector<Duration> backoffs = {0ms, 1ms, 10ms, 1s, 60s, Duration{limits::backoff_ms_max}};
  if (random_.one_in(4)) out.backoff_base = random_.pick(backoffs);
  if (random_.one_in(4)) out.backoff_cap = random_.pick(backoffs);
  if (random_.one_in(4))
    out.backoff_jitter_percent = random_.pick(std::vector<std::uint32_t>{0, 10, 50, 100});
  if (random_.one_in(6))
    out.payload_bytes_max = random_.pick(
        std::vector<std::uint32_t>{0, 2, 1024, 1024, 1024, 1024 * 1024, 1024 * 1024, 1024 * 1024});
  if (profile_.keeps_for_a_time && random_.one_in(3)) {
    out.keep_success = random_.pick(std::vector<std::optional<Duration>>{std::nullopt, 0ms, 1ms, 500ms, 5s,
                                                                         1h, Duration{limits::keep_ms_max}});
  }
  if (profile_.keeps_history && random_.one_in(3)) {
    out.keep_history =
        random_.pick(std::vector<Duration>{0ms, 1ms, 500ms, 5s, 1h, 1h, Duration{limits::keep_ms_max}});
  }
  // More often on than off: a paused queue shows little.
  if (random_.one_in(3)) out.paused = random_.one_in(4);
  out.create = !random_.one_in(3);
  return out;
}

PurgeRequest CommandSource::draw_purge() {
  PurgeRequest out{.queue = queue()};
  // Mostly successes, and at once: nothing else gets out of the way of new orders.
  out.state = random_.pick(std::vector<State>{State::success, State::success, State::failed, State::aborted});
  out.older = random_.pick(std::vector<Duration>{0ms, 0ms, 0ms, 1ms, 1s, 1h, Duration{limits::keep_ms_max}});
  out.limit = random_.pick(std::vector<std::uint32_t>{1, 2, 5, 1000, 1000});
  return out;
}

engine::PurgeBatch CommandSource::draw_purge_batch() {
  const PurgeRequest request = draw_purge();
  engine::PurgeBatch out{request.queue, request.state, request.older, {}};
  for (std::uint64_t i = random_.below(4); i-- > 0;) out.ids.push_back(id());
  return out;
}

// Mostly one that is alive; of those that have ended, and of those that never were, some.
std::string CommandSource::draw_run(const Oracle& oracle, const std::string& queue) {
  const auto found = oracle.queues().find(queue);
  if (found != oracle.queues().end() && !found->second.runs.empty() && !random_.one_in(20)) {
    for (int i = 0; i < 4; ++i) {
      const auto& [name, run] = random_.pick(found->second.runs);
      const bool is_alive = run.state == RunState::creating || run.state == RunState::running;
      if (is_alive || random_.one_in(30)) return name;
    }
  }
  const std::string name = random_.pick(profile_.runs);
  const std::uint64_t number = random_.below(runs_of_a_name);
  return number == 0 ? name : name + static_cast<char>('a' + number);
}

engine::Body CommandSource::draw_of_run(const Oracle& oracle) {
  const std::string& in = queue();
  const std::string run = draw_run(oracle, in);
  const std::uint64_t roll = random_.below(100);
  if (roll < 45) {
    RunOpenRequest out{.queue = in, .run = random_.one_in(4) ? run : draw_run(Oracle({}), in)};
    if (random_.one_in(2)) {
      out.ttl =
          random_.pick(std::vector<Duration>{1ms, 100ms, 2s, 10s, 1min, 1h, Duration{limits::lease_ms_max}});
    }
    return out;
  }
  if (roll < 60) return RunStartRequest{.queue = in, .run = run};
  if (roll < 75) return RunBeatRequest{.queue = in, .run = run};
  if (roll < 88) return RunDoneRequest{.queue = in, .run = run, .force = random_.one_in(4)};
  RunErrorRequest out{.queue = in, .run = run};
  if (random_.one_in(2)) out.reason = std::string(random_.below(2 * limits::error_bytes_max), 'e');
  return out;
}

// Whoever comes between the end of a run and its sweep.
engine::Body CommandSource::draw_at_orphan(const Oracle& oracle, Now now) {
  const auto& [run, sweep] = *oracle.run_sweeps().begin();
  const OracleQueue& in = oracle.queues().at(run.first);
  const auto is_orphan = [&](const auto& order) { return in.is_orphan(order.second.record); };
  const auto first = in.orders.lower_bound(sweep.from);
  const auto orphan = std::find_if(first, in.orders.end(), is_orphan);
  const std::string& orphan_id = orphan->first;
  ScheduleRequest out = draw_schedule(oracle, now);
  out.queue = run.first;
  if (out.run) out.run = draw_run(oracle, out.queue);
  switch (random_.below(10)) {
    case 0:
    case 1: out.id = orphan_id; return out;
    case 2:
    case 3: {
      const auto has_key = [&](const auto& order) { return is_orphan(order) && order.second.record.key; };
      const auto owner = std::find_if(first, in.orders.end(), has_key);
      if (owner != in.orders.end()) out.key = owner->second.record.key;
      out.id = "heir " + std::to_string(random_.below(20));
      return out;
    }
    case 4:
      if (random_.one_in(2)) {
        return ReconcileRequest{.queue = out.queue, .id = orphan_id, .due = out.due, .key = out.key};
      }
      return CancelRequest{.queue = out.queue, .id = orphan_id, .force = random_.one_in(2)};
    case 5: return RescheduleRequest{.queue = out.queue, .id = orphan_id, .due = out.due};
    case 6: return RetryRequest{.queue = out.queue, .id = orphan_id};
    case 7: return engine::PurgeBatch{out.queue, State::aborted, Duration{0}, {orphan_id, id()}};
    case 8: return PopRequest{.queue = out.queue, .count = 1};
    default: {
      ClaimRequest claim = draw_claim();
      claim.queues.front() = out.queue;
      return claim;
    }
  }
}

ImportRequest CommandSource::draw_import(Now now) {
  ImportRequest out{.queue = queue(), .id = id(), .due = draw_due(now)};
  if (!random_.one_in(3)) out.payload = draw_payload();
  if (!random_.one_in(3)) out.key = random_.pick(profile_.keys);
  if (random_.one_in(4)) out.priority = random_.pick(std::vector<std::uint8_t>{0, 127, 255});
  if (random_.one_in(4)) out.tries = random_.pick(std::vector<std::uint32_t>{0, 1, limits::tries_max});
  out.state = random_.pick(
      std::vector<State>{State::wait, State::wait, State::success, State::failed, State::aborted});
  if (random_.one_in(3)) out.created_at = draw_past(now);
  if (out.state != State::wait && random_.one_in(2)) out.ended_at = draw_past(now);
  if (random_.one_in(4)) out.error = std::string(random_.below(2 * limits::error_bytes_max), 'e');
  out.grandfather = random_.one_in(2);
  return out;
}

// Seldom in the future, which is refused.
Time CommandSource::draw_past(Now now) {
  if (random_.one_in(20)) return std::min(now.wall + Duration{1 + random_.between(0, 5000)}, last_time);
  return std::max(now.wall - random_.pick(std::vector<Duration>{0ms, 1ms, 700ms, 10s, 2h}), first_time);
}

std::uint64_t CommandSource::draw_since(const Oracle& oracle) {
  const std::uint64_t last = oracle.sequence();
  switch (random_.below(12)) {
    case 0: return 0;
    case 1: return last + 1;
    case 2:
    case 3:
    case 4: return last;
    default: return last - std::min(last, random_.below(60));
  }
}

// Mostly of an order that waits, and often with its due time.
ReconcileRequest CommandSource::draw_row(const Oracle& oracle, Now now) {
  const Target target =
      random_.one_in(3) ? Target{queue(), id(), Token{}} : draw_target_in(oracle, State::wait);
  ReconcileRequest out{.queue = target.queue, .id = target.id, .due = draw_due(now)};
  const OracleOrder* order = oracle.find(target.queue, target.id);
  if (order && random_.one_in(3)) out.due = order->record.due;
  if (order && order->record.asked_due && random_.one_in(3)) out.due = *order->record.asked_due;
  if (random_.one_in(2)) out.payload = draw_payload();
  if (random_.one_in(3)) out.key = random_.pick(profile_.keys);
  if (random_.one_in(4)) out.priority = random_.pick(std::vector<std::uint8_t>{0, 127, 255});
  if (random_.one_in(4)) out.tries = random_.pick(std::vector<std::uint32_t>{0, 1, limits::tries_max});
  out.since = draw_since(oracle);
  out.read_at = draw_past(now);
  return out;
}

// The next step on the way of an order that does not own its key to a retry, by which it does. Nothing: there is none.
std::optional<engine::Body> CommandSource::draw_at_grandfathered(const Oracle& oracle) {
  const auto in = oracle.queues().find(queue());
  if (in == oracle.queues().end()) return std::nullopt;
  const auto& [name, found] = *in;
  for (const auto& [id, order] : found.orders) {
    const model::Record& record = order.record;
    if (!record.grandfathered) continue;
    if (record.state == State::processing) {
      return FailRequest{.queue = name, .id = id, .token = record.token, .final = true};
    }
    if (record.state != State::failed) continue;
    const auto owner = found.owners.find(*record.key);
    if (owner == found.owners.end()) return RetryRequest{.queue = name, .id = id};
    if (found.orders.at(owner->second).record.state == State::success)
      return engine::PurgeBatch{name, State::success, Duration{0}, {owner->second}};
    return CancelRequest{.queue = name, .id = owner->second, .force = true};
  }
  return std::nullopt;
}

engine::Body CommandSource::draw_adopted(const Oracle& oracle, Now now) {
  if (random_.one_in(8)) {
    if (std::optional<engine::Body> step = draw_at_grandfathered(oracle)) return std::move(*step);
  }
  const std::uint64_t roll = random_.below(10);
  if (roll < 4) return draw_import(now);
  if (roll < 8) return draw_row(oracle, now);
  const Target target = draw_target_in(oracle, State::wait);
  CancelRequest out{.queue = target.queue, .id = target.id};
  out.since = draw_since(oracle);
  return out;
}

engine::Body CommandSource::draw_command(const Oracle& oracle, Now now) {
  if (random_.one_in(8)) return draw_adopted(oracle, now);
  if (!oracle.run_sweeps().empty() && random_.one_in(3)) return draw_at_orphan(oracle, now);
  if (profile_.runs_percent > 0 && random_.one_in(15)) return draw_of_run(oracle);
  const std::uint64_t roll = random_.below(100);
  // Who has nothing in hand asks for something, mostly.
  if (roll >= 69 && oracle.leases().empty() && !random_.one_in(4)) {
    if (random_.one_in(2)) return draw_schedule(oracle, now);
    return draw_claim();
  }
  if (roll < 28) return draw_schedule(oracle, now);
  if (roll < 47) return draw_claim();
  if (roll < 50) {
    return PopRequest{.queue = queue(), .count = random_.pick(std::vector<std::uint32_t>{1, 2, 10'000})};
  }
  if (roll < 54) {
    const Target target = draw_target_in(oracle, State::wait);
    return CancelRequest{.queue = target.queue, .id = target.id, .force = random_.one_in(2)};
  }
  if (roll < 58) {
    const Target target = draw_target_in(oracle, State::wait);
    return RescheduleRequest{.queue = target.queue, .id = target.id, .due = draw_due(now)};
  }
  if (roll < 62) {
    const Target target = draw_target_in(oracle, State::failed);
    RetryRequest out{.queue = target.queue, .id = target.id};
    if (random_.one_in(2)) out.due = draw_due(now);
    return out;
  }
  if (roll < 65) {
    return ReapRequest{.queue = queue(),
                       .limit = random_.pick(std::vector<std::uint32_t>{1, 2, 1000, 10'000})};
  }
  if (roll < 68) return draw_settings();
  if (roll < 69) return draw_purge_batch();
  if (roll < 79) return draw_fail(oracle, now);
  const Target target = draw_target(oracle);
  if (roll < 90) {
    CompleteRequest out{.queue = target.queue, .id = target.id, .token = target.token};
    if (random_.one_in(3)) out.result = random_.one_in(2) ? "" : "r" + std::to_string(random_.below(10));
    out.app_writes = draw_app_writes();
    return out;
  }
  if (roll < 95) {
    ReleaseRequest out{.queue = target.queue, .id = target.id, .token = target.token};
    if (random_.one_in(2)) out.due = draw_due(now);
    return out;
  }
  return ExtendRequest{.queue = target.queue, .id = target.id, .token = target.token, .lease = draw_lease()};
}

engine::Body CommandSource::draw(const Oracle& oracle, Now now) {
  engine::Body body = draw_command(oracle, now);
  if (random_.one_in(40)) spoil(body);
  return body;
}

// ---- Beyond the limits --------------------------------------------------------------------------

namespace {

Time bad_time(Random& random) {
  return random.pick(std::vector<Time>{first_time - 1ms, last_time + 1ms, Time::min(), Time::max()});
}

Duration bad_lease(Random& random) {
  return random.pick(
      std::vector<Duration>{0ms, -1ms, Duration{limits::lease_ms_max + 1}, Duration::min(), Duration::max()});
}

std::string too_short_or_long(std::size_t bytes_max, Random& random) {
  return random.one_in(2) ? std::string() : std::string(bytes_max + 1, 'x');
}

std::uint32_t too_few_or_many(std::uint32_t max, Random& random) { return random.one_in(2) ? 0 : max + 1; }

std::vector<AppWrite> bad_app_writes(Random& random) {
  const auto one = [](std::string key, std::optional<std::string> value) {
    return std::vector<AppWrite>{{.key = std::move(key), .value = std::move(value)}};
  };
  switch (random.below(12)) {
    case 0:
    case 1: return std::vector<AppWrite>(limits::app_write_count_max + 1, {.key = "x", .value = "v"});
    case 2: return one("x", std::string(limits::app_write_bytes_max, 'v'));
    case 3:
    case 4: return one(std::string(limits::app_key_bytes_max + 1, 'z'), "v");
    case 5: return one("", std::nullopt);
    default: return one("", "v");
  }
}

void spoil_one(ScheduleRequest& request, Random& random) {
  switch (random.below(6)) {
    case 0: request.due = bad_time(random); break;
    case 1: request.key = too_short_or_long(limits::key_bytes_max, random); break;
    case 2: request.tries = limits::tries_max + 1; break;
    case 3: request.run = too_short_or_long(limits::run_bytes_max, random); break;
    case 4: request.app_writes = bad_app_writes(random); break;
    default: request.payload = std::string(random.one_in(20) ? 1024 * 1024 + 1 : 1025, 'p');
  }
}

void spoil_one(ClaimRequest& request, Random& random) {
  switch (random.below(5)) {
    case 0: request.worker = too_short_or_long(limits::worker_bytes_max, random); break;
    case 1: request.count = too_few_or_many(limits::claim_count_max, random); break;
    case 2: request.lease = bad_lease(random); break;
    case 3:
      request.wait =
          random.pick(std::vector<Duration>{-1ms, Duration{limits::wait_ms_max + 1}, Duration::min()});
      break;
    default: request.request = std::string(limits::request_bytes_max + 1, 'r');
  }
}

void spoil_one(QueueSetRequest& request, Random& random) {
  const Duration bad_backoff = random.one_in(2) ? -1ms : Duration{limits::backoff_ms_max + 1};
  switch (random.below(7)) {
    case 0: request.lease = bad_lease(random); break;
    case 1: request.tries = limits::tries_max + 1; break;
    case 2: request.backoff_base = bad_backoff; break;
    case 3: request.backoff_cap = bad_backoff; break;
    case 4: request.backoff_jitter_percent = 101; break;
    case 5: request.payload_bytes_max = limits::payload_bytes_ceiling + 1; break;
    default: request.keep_success = random.one_in(2) ? -1ms : Duration{limits::keep_ms_max + 1};
  }
}

void spoil_one(CompleteRequest& request, Random& random) {
  if (random.one_in(20)) {
    request.result = std::string(limits::result_bytes_max + 1, 'r');
  } else {
    request.app_writes = bad_app_writes(random);
  }
}

void spoil_one(PopRequest& request, Random& random) {
  request.count = too_few_or_many(limits::claim_count_max, random);
}
void spoil_one(ReapRequest& request, Random& random) {
  request.limit = too_few_or_many(limits::reap_count_max, random);
}
void spoil_one(ExtendRequest& request, Random& random) { request.lease = bad_lease(random); }
void spoil_one(FailRequest& request, Random& random) { request.retry_at = bad_time(random); }
void spoil_one(ReleaseRequest& request, Random& random) { request.due = bad_time(random); }
void spoil_one(RescheduleRequest& request, Random& random) { request.due = bad_time(random); }
void spoil_one(RetryRequest& request, Random& random) { request.due = bad_time(random); }

void spoil_one(CancelRequest& request, Random&) {
  request.force = true;
  request.since = 0;
}
void spoil_one(ImportRequest& request, Random& random) {
  switch (random.below(6)) {
    case 0: request.due = bad_time(random); break;
    case 1: request.key = too_short_or_long(limits::key_bytes_max, random); break;
    case 2: request.tries = limits::tries_max + 1; break;
    case 3: request.created_at = bad_time(random); break;
    case 4:
      if (request.state == State::wait) {
        request.ended_at = Time{};
      } else {
        request.ended_at = bad_time(random);
      }
      break;
    default: request.state = random.pick(std::vector<State>{State::processing, State{0}, State{17}});
  }
}
void spoil_one(ReconcileRequest& request, Random& random) {
  switch (random.below(5)) {
    case 0: request.due = bad_time(random); break;
    case 1: request.key = too_short_or_long(limits::key_bytes_max, random); break;
    case 2: request.tries = limits::tries_max + 1; break;
    case 3: request.read_at = bad_time(random); break;
    default: request.payload = std::string(1025, 'p');
  }
}
// Has no value to spoil but its names.
void spoil_one(engine::PurgeBatch&, Random&) {}
void spoil_one(engine::Barrier&, Random&) {}

void spoil_one(RunOpenRequest& request, Random& random) { request.ttl = bad_lease(random); }
template <class Request>
requires requires(Request& request) { request.run.size(); }
void spoil_one(Request& request, Random& random) {
  request.run = too_short_or_long(limits::run_bytes_max, random);
}

// The name of the queue or of the order.
template <class Request>
void spoil_name(Request& request, Random& random) {
  const std::vector<std::string> bad_queues = {"",   "a b", "a\0"s, "\xc3\xa9", std::string(129, 'a'),
                                               "a/", "a\n"};
  if constexpr (requires { request.id; }) {
    if (random.one_in(2)) {
      request.id = too_short_or_long(limits::id_bytes_max, random);
      return;
    }
  }
  if constexpr (requires { request.queues; }) {
    if (random.one_in(3)) {
      request.queues.resize(random.one_in(2) ? 0 : limits::claim_queues_max + 1, "a");
    } else {
      request.queues.push_back(random.pick(bad_queues));
    }
  } else if constexpr (!std::is_same_v<Request, engine::PurgeBatch> &&
                       !std::is_same_v<Request, engine::Barrier>) {
    request.queue = random.pick(bad_queues);
  }
}

}  // namespace

// One value only: with two the core might name either.
void CommandSource::spoil(engine::Body& body) {
  std::visit(
      [&](auto& request) {
        if (random_.one_in(3)) {
          spoil_name(request, random_);
        } else {
          spoil_one(request, random_);
        }
      },
      body);
}

}  // namespace duelease::model_test
