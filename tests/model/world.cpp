#include "model/world.h"

#include <algorithm>

#include "base/limits.h"
#include "engine/foresight.h"
#include "engine/reads.h"
#include "model/describe.h"
#include "model/rules.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::model_test {

using namespace std::chrono_literals;

namespace {

// Its first moment must not be all zeros: a monotonic clock starts anywhere.
constexpr Monotonic boot{Duration{123'456'789}};

// Writes the row that holds the order's record again.
void put_order(store::MemoryStore& store, const std::string& queue, const std::string& id,
               const OracleOrder& order) {
  const model::Record& record = order.record;
  const std::string key = store::order_key(queue, id);
  if (record.state == State::wait) {
    const std::string place = store::queue_key(queue, {record.priority, record.due}, id);
    store.table(store::Family::queue)[place] = store::encode_waiting(record);
  } else if (record.state == State::processing) {
    store.table(store::Family::leases)[key] = store::encode_lease(lease_of(order));
  } else {
    store.table(store::Family::orders)[key] = store::encode_ended(record);
  }
}

}  // namespace

World::World(std::uint64_t seed, Mode mode)
    : mode_(mode),
      random_(seed),
      grouping_(random_.next()),
      profile_(draw_profile(random_)),
      commands_(profile_, random_),
      oracle_(profile_.options),
      committed_(profile_.options) {
  now_ = {profile_.start, boot};
  if (profile_.first_sequence > 0) {
    oracle_.start_at(profile_.first_sequence);
    store_.table(store::Family::meta)[std::string(store::sequence_key)] =
        store::encode_sequence(profile_.first_sequence);
  }
  store_.before_write = [this](std::span<const store::Change> changes) { return before_write(changes); };
  if (mode_.faults) failing_write_ = 1 + random_.below(20);
}

void World::run(std::uint64_t steps) {
  open();
  if (profile_.wide) begin_wide();
  for (steps_ = 1; steps_ <= steps; ++steps_) step();
  if (!commit()) commit();
  compare_all();
  drain();
}

void World::begin_wide() {
  const std::string& queue = profile_.queues.front();
  const std::vector<std::string> runs =
      profile_.runs_percent > 0 ? profile_.runs : std::vector<std::string>{};
  for (const std::string& run : runs) apply(RunOpenRequest{.queue = queue, .run = run});
  for (std::uint64_t i = 0; i < Profile::many; ++i) apply(commands_.draw_one_of_many(i, now_));
  if (runs.empty() || random_.one_in(2)) return;
  apply(RunErrorRequest{.queue = queue, .run = runs.front()});
  apply(PopRequest{.queue = queue, .count = 1});
}

void World::step() {
  if (random_.percent(40)) move_clock();
  const std::uint64_t roll = random_.below(1000);
  if (roll < 890) {
    apply(commands_.draw(oracle_, now_));
  } else if (roll < 945) {
    tick();
  } else if (roll < 955) {
    cancel_claim();
  } else if (roll < 993) {
    purge();
  } else if (roll < 995) {
    restart();
  } else if (roll < (profile_.wide ? 996 : 1000)) {
    if (commit()) compare_all();
  }
  check_wake();
  note_heads();
  if (mode_.commits_often || grouping_.percent(25)) commit();
}

// ---- Time ---------------------------------------------------------------------------------------

void World::move_to(Monotonic at) {
  if (at <= now_.monotonic) return;
  // A clock does not leave the calendar.
  const Time last{Duration{limits::time_ms_max}};
  const Duration by = at - now_.monotonic;
  now_.wall = last - now_.wall < by ? last : now_.wall + by;
  now_.monotonic = at;
}

void World::step_wall_clock() {
  Duration by = random_.pick(std::vector<Duration>{1ms, 499ms, 500ms, 10s, 1h, 24h, 24h * 365});
  if (random_.one_in(2)) by = -by;
  const Time first{-24h * 365};
  const Time last{Duration{limits::time_ms_max}};
  now_.wall = std::clamp(now_.wall + by, first, last);
  note("the wall clock steps by " + std::to_string(by.count()));
}

void World::move_clock() {
  const std::uint64_t roll = random_.below(100);
  if (roll < 3) {
    step_wall_clock();
  } else if (roll < 30) {
    move_to(now_.monotonic + 1ms);
  } else if (roll < 60) {
    move_to(now_.monotonic + Duration{random_.between(1, 100)});
  } else if (roll < 80) {
    move_to(now_.monotonic + Duration{random_.between(1, 2000)});
  } else if (roll < 97) {
    // Right at, before or after the next thing to do.
    if (const std::optional<Monotonic> wake = core_->next_wake(now_)) {
      if (*wake < now_.monotonic + 24h) move_to(*wake + Duration{random_.between(-1, 1)});
    }
  } else {
    move_to(now_.monotonic + random_.pick(std::vector<Duration>{1min, 1h, 24h, 24h * 31}));
  }
  if (random_.percent(profile_.ticks_percent)) tick();
}

// ---- What is done, with both --------------------------------------------------------------------

World::Event& World::note(std::string text) {
  if (journal_.size() == mode_.journal) journal_.pop_front();
  return journal_.emplace_back(Event{steps_, now_, std::move(text), {}, {}, {}});
}

// A clock that misbehaves: the core must not be led astray for longer than the command.
Now World::odd_now() {
  if (!profile_.odd_clock || !random_.one_in(100)) return now_;
  if (random_.one_in(20)) return {random_.one_in(2) ? Time::min() : Time::max(), now_.monotonic};
  return {now_.wall, now_.monotonic - Duration{random_.between(1, 1000)}};
}

void World::begin_step() {
  sequence_before_ = Token{core_->sequence()};
  new_tokens_.clear();
}

void World::apply(engine::Body body) {
  engine::Command command{odd_now(), random_.next(), ++last_ticket_, std::move(body)};
  Event& event = note({});
  event.body = command.body;
  begin_step();
  const std::optional<Result<Answer>> foreseen = foresee(command);
  const std::optional<Result<engine::Reply>> expected = oracle_.apply(command);
  const std::optional<Result<engine::Reply>> actual = core_->apply(std::move(command));
  event.reply = actual;
  require(expected.has_value() == actual.has_value(), [&] {
    return "the claim " + std::string(expected ? "waits, it should answer\n  " + describe(*expected)
                                               : "should wait, it answers\n  " + describe(*actual));
  });
  if (actual) {
    require(same(*expected, *actual), [&] {
      return "the answer is  " + describe(*actual) + "\nit should be   " + describe(*expected);
    });
    note_claimed(*actual, false);
  }
  if (foreseen) {
    const Result<engine::Reply> reply =
        *foreseen ? Result<engine::Reply>(**foreseen) : Unexpected{foreseen->error()};
    require(same(*expected, reply), [&] {
      return "what is foreseen is " + describe(reply) + "\nit should be        " + describe(*expected);
    });
    seen_.note("a row was foreseen");
  }
  seen_.note(journal_.back().body->index(), actual);
  check_served();
}

// What a row of a reconcile would be answered, from the store alone. Nothing: it is no row, or the store is behind.
std::optional<Result<Answer>> World::foresee(const engine::Command& command) const {
  const auto* row = std::get_if<ReconcileRequest>(&command.body);
  if (!row || !core_->group_empty()) return std::nullopt;
  return engine::Foresight(store_, model::in_calendar(command.now.wall)).answer(*row);
}

// Tokens rise, and none is above the last sequence. Those that are not new are answered once more, to a claim
// that repeats another.
void World::note_claimed(const Result<engine::Reply>& reply, bool has_waited) {
  if (mode_.takes_digests) replies_digest_.add(describe(reply));
  const auto* claimed = reply ? std::get_if<std::vector<Claimed>>(&*reply) : nullptr;
  if (!claimed) return;
  if (has_waited) {
    seen_.note(claimed->empty() ? "a claim that waited got none" : "a claim that waited got orders");
  }
  for (const Claimed& c : *claimed) {
    if (mode_.takes_digests) replies_digest_.add(describe(c));
    require(c.token <= Token{core_->sequence()}, "a token is above the last sequence");
    const OracleOrder* order = oracle_.find(c.queue, c.id);
    require(order && order->record.token == c.token, "a token is not that of its order");
    const bool is_new = c.token > sequence_before_ && new_tokens_.insert(c.token).second;
    if (is_new && c.run) {
      const RunState state = oracle_.queues().at(c.queue).runs.at(*c.run).state;
      require(state == RunState::creating || state == RunState::running,
              "an order of a run that has ended was handed out");
    }
    if (!is_new) {
      seen_.note(has_waited ? "one of two waiting claims was the other again" : "a claim was repeated");
    }
    commands_.note_token(c.token);
  }
}

void World::check_served() {
  require(core_->sequence() == oracle_.sequence(), [&] {
    return "the last sequence is " + std::to_string(core_->sequence()) + ", not " +
           std::to_string(oracle_.sequence());
  });
  for (const std::string_view mark : oracle_.take_marks()) seen_.note(mark);
  std::vector<engine::Served> expected = oracle_.take_served();
  std::vector<engine::Served> actual = core_->take_served();
  if (expected.empty() && actual.empty()) return;
  std::ranges::sort(expected, {}, &engine::Served::ticket);
  std::ranges::sort(actual, {}, &engine::Served::ticket);
  journal_.back().served = actual;
  const bool is_same =
      std::ranges::equal(expected, actual, [](const engine::Served& a, const engine::Served& b) {
        return a.ticket == b.ticket && same(a.reply, b.reply);
      });
  require(is_same, [&] {
    std::string text = "waiting claims are answered";
    for (const engine::Served& served : actual) text += "\n  " + describe(served);
    text += "\nit should be";
    for (const engine::Served& served : expected) text += "\n  " + describe(served);
    return text;
  });
  for (const engine::Served& served : actual) note_claimed(served.reply, true);
}

void World::tick() {
  if (mode_.sweeps_committed) commit();
  note("tick");
  begin_step();
  const Now now = odd_now();
  oracle_.tick(now);
  core_->tick(now);
  check_served();
  // Which of the lapsed successes were swept out can be seen in the store only.
  const bool may_sweep = (profile_.keeps_for_a_time && oracle_.has_lapsed(now.wall)) ||
                         (profile_.keeps_history && oracle_.has_stale_history(now.wall));
  if (may_sweep && !commit(now.wall)) return;
  // It never spins: there is more to do at once only if the pass was full.
  const std::optional<Monotonic> wake = core_->next_wake(now_);
  const bool was_odd = now.wall != now_.wall || now.monotonic != now_.monotonic;
  if (!wake || *wake > now_.monotonic || was_odd) return;
  const bool has_more = oracle_.next_event(now_) == now_.monotonic;
  const auto& leases = oracle_.leases();
  if (!leases.empty() && leases.begin()->first.first <= now_.monotonic && profile_.options.upkeep) {
    seen_.note("a pass of the reaper was full");
  }
  if (!has_more) seen_.note("a sweep took more than one tick");
  require(has_more || (profile_.keeps_for_a_time && profile_.wide) || profile_.keeps_history,
          "after a tick there is at once another");
}

void World::cancel_claim() {
  const std::vector<std::uint64_t> waiting = oracle_.waiting_tickets();
  // Also one that was answered already, or never was.
  const std::uint64_t ticket =
      waiting.empty() || random_.one_in(4) ? random_.below(last_ticket_ + 2) : random_.pick(waiting);
  note("cancel claim " + std::to_string(ticket));
  oracle_.cancel_claim(ticket);
  core_->cancel_claim(ticket);
  check_served();
}

// As Engine::purge does: a search in the store, then a command that looks again.
void World::purge() {
  if (!commit()) return;
  const PurgeRequest request = commands_.draw_purge();
  compare_ended(oracle_, store_, request, now_.wall);
  std::string& cursor = purge_cursors_[{request.queue, request.state}];
  Result<engine::Ended> ended = engine::find_ended(store_, request.queue, request.state,
                                                   now_.wall - request.older, request.limit, cursor);
  require(ended.has_value(), "a search for ended orders failed");
  cursor = ended->next;
  // Something may come in between.
  if (random_.one_in(2)) apply(commands_.draw(oracle_, now_));
  if (random_.one_in(4)) step_wall_clock();
  apply(engine::PurgeBatch{request.queue, request.state, request.older, std::move(ended->ids)});
}

void World::check_wake() {
  const std::optional<Monotonic> event = oracle_.next_event(now_);
  const std::optional<Monotonic> wake = core_->next_wake(now_);
  const auto text = [](const std::optional<Monotonic>& at) {
    return at ? std::to_string(at->time_since_epoch().count()) : std::string("never");
  };
  const auto what = [&] {
    return "it is " + describe(now_) + "; the next tick is " + text(wake) + ", something happens " +
           text(event);
  };
  require(!wake || *wake >= now_.monotonic, what);
  require(!event || (wake && *wake <= *event), what);
  // Nothing but leases, whose ends are known exactly.
  if (oracle_.claims_waiting() == 0 && !profile_.sweeps()) require(wake == event, what);
}

void World::compare_all() {
  compare_rows(oracle_, store_);
  compare_reads(oracle_, store_, now_, random_);
  require_sound(store_, oracle_);
  require(core_->leases() == oracle_.leases().size(), "the core holds more or fewer leases than it should");
  require(core_->claims_waiting() == oracle_.claims_waiting(), "more or fewer claims wait than should");
}

void World::note_heads() {
  if (!profile_.wide || steps_ % 100 != 0) return;
  for (const auto& [name, queue] : oracle_.queues()) {
    for (const auto& [priority, line] : queue.lines) {
      if (line.size() > engine::QueueHead::known_max) seen_.note("a queue was longer than its head");
    }
  }
}

// ---- The store ----------------------------------------------------------------------------------

Result<> World::before_write(std::span<const store::Change> changes) {
  erased_.clear();
  erased_history_.clear();
  ++writes_;
  for (const store::Change& change : changes) {
    if (change.family == store::Family::orders && !change.value) erased_.push_back(change.key);
    if (change.family == store::Family::history && !change.value) erased_history_.push_back(change.key);
    if (!mode_.takes_digests) continue;
    writes_digest_.add(static_cast<std::uint64_t>(change.family));
    writes_digest_.add(change.key);
    writes_digest_.add(change.value ? *change.value : "-");
  }
  if (writes_ == failing_write_) return fail(Code::storage, "this write was to fail");
  return {};
}

bool World::commit(std::optional<Time> swept_at) {
  const std::uint64_t before = writes_;
  const bool is_to_fail = failing_write_ == before + 1;
  const Result<> written = core_->commit();
  require(writes_ <= before + 1, "a group was more than one write");
  require(core_->group_empty() || !written, "a group was not written");
  if (writes_ == before) return true;
  require(written.has_value() != is_to_fail, "a write failed, or went well, and commit() says otherwise");
  if (!written) {
    require(written.error().code == Code::storage, "the error of a write got lost");
    lose_group();
    return false;
  }
  follow_sweep(swept_at.value_or(now_.wall));
  if (failing_write_ == writes_ + 1) committed_ = oracle_;
  return true;
}

// Successes, and rows of the history, that the engine swept out by itself.
void World::follow_sweep(Time now) {
  if (!profile_.sweeps()) return;
  for (const std::string& key : erased_) {
    const store::OrderName name = *store::parse_order_key(key);
    const Oracle::Name order{name.queue, name.id};
    if (!oracle_.find(order.first, order.second)) continue;
    require(oracle_.sweep(order, now),
            [&] { return "order " + shown(order.first) + " / " + shown(order.second) + " was removed"; });
    seen_.note("a success was swept out");
  }
  // What went with a success is gone there already.
  for (const std::string& key : erased_history_) {
    const store::HistoryName name = *store::parse_history_key(key);
    const std::string queue(name.queue);
    if (!oracle_.queues().at(queue).history.contains({name.id, name.sequence})) continue;
    require(oracle_.sweep_history({queue, name.id}, name.sequence, now),
            [&] { return "history of order " + shown(queue) + " / " + shown(name.id) + " was removed"; });
    seen_.note("history was swept out");
  }
}

// The write failed. What was answered in this group was never acknowledged.
void World::lose_group() {
  note("a write fails");
  seen_.note("a write failed");
  failing_write_ = writes_ + 1 + random_.below(40);
  oracle_ = committed_;
  open();
}

void World::restart() {
  if (!commit()) return;
  if (random_.one_in(2)) {
    note("claims are cancelled");
    const Error closing{Code::closing, "closing"};
    oracle_.cancel_claims(closing);
    core_->cancel_claims(closing);
    check_served();
  }
  // Down for a while; and the monotonic clock starts anew, anywhere.
  now_.wall += random_.pick(std::vector<Duration>{0ms, 0ms, 1ms, 1s, 1min, 24h, -1h, -24h});
  now_.wall = std::min(now_.wall, Time{Duration{limits::time_ms_max}});
  now_.monotonic = Monotonic{Duration{random_.between(0, 2'000'000'000)}};
  if (random_.one_in(2)) plant_unknown_field();
  open();
  compare_rows(oracle_, store_);
}

// As if a newer version had written the row: what this one does not know, it must carry along.
void World::plant_unknown_field() {
  if (oracle_.queues().empty()) return;
  const std::string unknown =
      "\xc0\x3e" + std::string(1, static_cast<char>(random_.below(128)));  // Field 1000.
  const auto& [queue_name, queue] = random_.pick(oracle_.queues());
  store::MemoryStore::Table& meta = store_.table(store::Family::meta);
  const auto settings = meta.find(store::settings_key(queue_name));
  if (settings != meta.end() && random_.one_in(3)) {
    note("queue " + shown(queue_name) + " gets an unknown field");
    oracle_.set_unknown(queue_name, unknown);
    store::SettingsRow row = *store::decode_settings(settings->second);
    row.unknown = unknown;
    settings->second = store::encode_settings(row);
  } else if (!queue.runs.empty() && random_.one_in(3)) {
    const std::string run = random_.pick(queue.runs).first;
    note("run " + shown(queue_name) + " / " + shown(run) + " gets an unknown field");
    oracle_.set_run_unknown(queue_name, run, unknown);
    std::string& row = store_.table(store::Family::runs).at(store::run_key(queue_name, run));
    model::RunRecord record = *store::decode_run(row);
    record.unknown = unknown;
    row = store::encode_run(record);
  } else if (!queue.orders.empty()) {
    const std::string id = random_.pick(queue.orders).first;
    note("order " + shown(queue_name) + " / " + shown(id) + " gets an unknown field");
    oracle_.set_unknown(Oracle::Name{queue_name, id}, unknown);
    put_order(store_, queue_name, id, queue.orders.at(id));
  }
}

void World::open() {
  note("open");
  core_.reset();
  Result<std::unique_ptr<engine::Core>> opened = engine::Core::open(store_, profile_.options, now_);
  require(opened.has_value(), "the store does not open");
  core_ = std::move(*opened);
  require(core_->damage().empty(), "damage was found");
  oracle_.reopen(now_);
  if (!oracle_.leases().empty()) {
    seen_.note("an open found leases");
    const bool has_run_out = oracle_.leases().begin()->first.first <= now_.monotonic;
    if (has_run_out) seen_.note("an open found leases that had run out");
  }
  if (!oracle_.run_sweeps().empty()) seen_.note("an open found a run that was being swept");
  require(core_->sequence() == oracle_.sequence(), "after an open the last sequence is another");
  if (failing_write_ == writes_ + 1) committed_ = oracle_;
}

std::uint64_t World::store_digest() const {
  Digest digest;
  for (std::size_t f = 0; f < store::family_count; ++f) {
    for (const auto& [key, value] : store_.table(static_cast<store::Family>(f))) {
      digest.add(f);
      digest.add(key);
      digest.add(value);
    }
  }
  return digest.value();
}

// Nobody asks for anything any more: from wake to wake, until there is nothing left to do.
void World::drain() {
  failing_write_ = 0;
  // It may wake up in vain for an order that was cancelled, once for each head.
  std::size_t in_vain = 8 * profile_.queues.size();
  for (int i = 0; i < 300; ++i) {
    const std::optional<Monotonic> wake = core_->next_wake(now_);
    if (!wake) break;
    move_to(*wake);
    if (oracle_.next_event(now_) != now_.monotonic && !profile_.sweeps()) {
      require(in_vain-- > 0, "it wakes up in vain again and again");
    }
    tick();
    check_wake();
  }
  if (!core_->next_wake(now_)) {
    require(oracle_.claims_waiting() == 0, "a claim waits for ever");
    require(!profile_.options.upkeep || oracle_.leases().empty(), "a lease never ends");
    require(!oracle_.has_orphans(), "an order waits for ever under a run that has ended");
  }
  // No sweep rests for more than an hour, or a sixteenth of what its history is kept; then it takes as many ticks as
  // it needs. The one that is under way may have passed by some already.
  if (profile_.options.upkeep && profile_.sweeps()) {
    const Duration rest = std::max<Duration>(2h, oracle_.history_kept_longest() / 8);
    for (int sweep = 0; sweep < 2; ++sweep) {
      move_to(now_.monotonic + rest);
      for (int i = 0; i < 100 && core_->next_wake(now_) == now_.monotonic; ++i) tick();
    }
    require(!oracle_.has_lapsed(now_.wall), "a success outlives its retention");
    require(!oracle_.has_stale_history(now_.wall), "history outlives its retention");
  }
  commit();
  compare_all();
}

std::string World::journal() const {
  std::string out;
  for (const Event& event : journal_) {
    out += std::to_string(event.step) + "  " + describe(event.now) + "  ";
    out += event.body ? describe(*event.body) : event.note;
    if (event.reply) out += "\n    -> " + describe(*event.reply);
    if (event.body && !event.reply) out += "\n    -> waits, or no answer yet";
    for (const engine::Served& served : event.served) out += "\n    => " + describe(served);
    out += "\n";
  }
  return out;
}

}  // namespace duelease::model_test
