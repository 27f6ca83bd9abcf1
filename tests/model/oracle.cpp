#include "model/oracle.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "base/limits.h"
#include "model/oracle_parts.h"
#include "model/rules.h"

namespace duelease::model_test {

namespace {

// Base * 2^(n-1), at most the cap, give or take the jitter: the number drawn is the engine's, the bounds are
// worked out here.
Time retry_time(std::uint32_t tries, const QueueSettings& settings, Time now, std::uint64_t seed) {
  const Time drawn = model::retry_time(tries, settings, now, seed);
  const double exact = std::min(static_cast<double>(settings.backoff_base.count()) * std::exp2(tries - 1.0),
                                static_cast<double>(settings.backoff_cap.count()));
  const double reach = exact * settings.backoff_jitter_percent / 100;
  const auto delay = static_cast<double>((drawn - now).count());
  const bool is_last_time = drawn.time_since_epoch().count() == limits::time_ms_max;
  const bool is_in_reach = delay <= exact + reach && (delay >= exact - reach - 1 || is_last_time);
  if (!is_in_reach) {
    throw std::logic_error("a retry is due after " + std::to_string(delay) + " ms, and should be after " +
                           std::to_string(exact) + " give or take " + std::to_string(reach));
  }
  return drawn;
}

}  // namespace

Counts OracleQueue::counts() const {
  Counts sum;
  for (const auto& [id, order] : orders) {
    switch (order.record.state) {
      case State::wait: ++sum.wait; break;
      case State::processing: ++sum.processing; break;
      case State::success: ++sum.success; break;
      case State::failed: ++sum.failed; break;
      case State::aborted: ++sum.aborted; break;
    }
  }
  return sum;
}

std::map<std::string, Counts> OracleQueue::run_counts() const {
  std::map<std::string, Counts> out;
  for (const auto& [id, order] : orders) {
    if (order.record.run) model::count_of(out[*order.record.run], order.record.state) += 1;
  }
  for (const auto& [place, row] : history) {
    if (row.ended && row.ended->run) model::count_of(out[*row.ended->run], row.ended->state) += 1;
  }
  for (const auto& [name, run] : runs) {
    for (const State state : all_states) {
      Counts purged = run.purged;
      model::count_of(out[name], state) += model::count_of(purged, state);
    }
  }
  return out;
}

bool OracleQueue::is_orphan(const model::Record& record) const {
  return record.state == State::wait && record.run && !is_alive(runs.at(*record.run));
}

model::Lease lease_of(const OracleOrder& order) {
  return {.record = order.record,
          .expires_at = order.expires_at,
          .length = order.length,
          .request = order.request,
          .unknown = order.unknown};
}

void Oracle::set_unknown(const Name& name, const std::string& unknown) {
  OracleOrder& order = queues_.at(name.first).orders.at(name.second);
  order.record.unknown = unknown;
  if (order.record.state == State::processing) order.unknown = unknown;
}

// ---- The state, and what follows from it --------------------------------------------------------

const OracleOrder* Oracle::find(const std::string& queue, const std::string& id) const {
  const auto q = queues_.find(queue);
  if (q == queues_.end()) return nullptr;
  const auto order = q->second.orders.find(id);
  return order == q->second.orders.end() ? nullptr : &order->second;
}

void Oracle::set(const Name& name, std::optional<OracleOrder> order) {
  const auto& [queue_name, id] = name;
  OracleQueue& queue = queues_[queue_name];
  if (const auto found = queue.orders.find(id); found != queue.orders.end()) {
    const OracleOrder& old = found->second;
    if (old.record.state == State::wait) queue.lines[old.record.priority].erase({old.record.due, id});
    if (old.record.state == State::processing) leases_.erase({old.deadline, old.record.token});
    if (owns_key(old.record)) queue.owners.erase(*old.record.key);
    queue.orders.erase(found);
  }
  if (!order) return;
  if (order->record.state == State::wait) {
    queue.lines[order->record.priority].emplace(order->record.due, id);
  }
  if (order->record.state == State::processing) {
    leases_.emplace(std::pair{order->deadline, order->record.token}, name);
  }
  if (owns_key(order->record)) {
    const bool is_free = queue.owners.emplace(*order->record.key, id).second;
    if (!is_free) throw std::logic_error("the oracle gave one key to two orders");
  }
  queue.orders.emplace(id, std::move(*order));
}

void Oracle::set(const Name& name, OracleOrder order, HistoryEvent event, const std::string& reason) {
  const OracleOrder* before = find(name.first, name.second);
  const bool was_leased = (before && before->record.state == State::processing) ||
                          order.record.state == State::processing || event == HistoryEvent::popped;
  const model::Record& r = order.record;
  HistoryEntry entry{.event = event, .state = r.state, .at = r.updated_at, .attempt = r.attempt};
  if (r.state == State::wait) entry.due = r.due;
  if (was_leased) entry.worker = r.worker;
  if (was_leased) entry.token = r.token;
  entry.reason = reason.substr(0, 256);
  // Random errors are long runs of one letter with a letter of two bytes at the end: none is cut at 256.
  entry.sequence = r.sequence;
  if (queues_[name.first].settings.keep_history > Duration{0}) {
    queues_[name.first].history[{name.second, r.sequence}].entry = std::move(entry);
  }
  set(name, std::optional<OracleOrder>(std::move(order)));
}

namespace {

Time time_of(const OracleHistory& row) { return row.entry ? row.entry->at : row.ended->updated_at; }

// Generations stay where no history is kept.
bool is_stale(const OracleQueue& queue, const OracleHistory& row, Time now) {
  const Duration keep = queue.settings.keep_history;
  return keep == Duration{0} ? !row.ended : time_of(row) + keep <= now;
}

}  // namespace

bool Oracle::has_stale_history(Time now) const {
  return std::ranges::any_of(queues_, [&](const auto& queue) {
    return std::ranges::any_of(queue.second.history,
                               [&](const auto& row) { return is_stale(queue.second, row.second, now); });
  });
}

Duration Oracle::history_kept_longest() const {
  Duration longest{0};
  for (const auto& [name, queue] : queues_) longest = std::max(longest, queue.settings.keep_history);
  return longest;
}

bool Oracle::sweep_history(const Name& name, std::uint64_t sequence, Time now) {
  OracleQueue& queue = queues_.at(name.first);
  const auto row = queue.history.find({name.second, sequence});
  if (row == queue.history.end() || !is_stale(queue, row->second, now)) return false;
  const std::optional<model::Record>& ended = row->second.ended;
  if (ended && ended->run) model::count_of(queue.runs.at(*ended->run).purged, ended->state) += 1;
  queue.history.erase(row);
  return true;
}

std::vector<HistoryEntry> Oracle::history(const Name& name, Time now) const {
  std::vector<HistoryEntry> out;
  const OracleQueue& queue = queues_.at(name.first);
  for (const auto& [place, row] : queue.history) {
    if (place.first != name.second || is_stale(queue, row, now)) continue;
    if (row.entry) {
      out.push_back(*row.entry);
      continue;
    }
    const model::Record& r = *row.ended;
    out.push_back({HistoryEvent::ended, r.state, r.updated_at, std::nullopt, r.worker, r.token, r.attempt,
                   r.error.substr(0, 256), r.sequence});
  }
  return out;
}

void Oracle::stamp(model::Record& record) {
  record.sequence = ++sequence_;
  record.updated_at = now_.wall;
}

bool Oracle::lapsed(const OracleQueue& queue, const model::Record& record, Time now) const {
  const std::optional<Duration>& keep = queue.settings.keep_success;
  return record.state == State::success && keep && now >= record.updated_at + *keep;
}

bool Oracle::has_lapsed(Time now) const {
  return std::ranges::any_of(queues_, [&](const auto& queue) {
    return queue.second.settings.keep_success &&
           std::ranges::any_of(queue.second.orders, [&](const auto& order) {
             return lapsed(queue.second, order.second.record, now);
           });
  });
}

bool Oracle::sweep(const Name& name, Time now) {
  const OracleOrder* order = find(name.first, name.second);
  if (!order || !lapsed(queues_.at(name.first), order->record, now)) return false;
  purge(name);
  return true;
}

// With its history: the id starts anew. Runs remember how many they had.
void Oracle::purge(const Name& name) {
  OracleQueue& queue = queues_.at(name.first);
  const auto count = [&](const model::Record& record) {
    if (record.run) model::count_of(queue.runs.at(*record.run).purged, record.state) += 1;
  };
  count(queue.orders.at(name.second).record);
  for (const auto& [place, row] : queue.history) {
    if (place.first == name.second && row.ended) count(*row.ended);
  }
  set(name, std::nullopt);
  std::erase_if(queues_.at(name.first).history,
                [&](const auto& row) { return row.first.first == name.second; });
}

void Oracle::write_app(const std::vector<AppWrite>& writes) {
  for (const AppWrite& write : writes) {
    if (write.value) {
      app_[write.key] = *write.value;
    } else {
      app_.erase(write.key);
    }
  }
}

// A wall clock stays in the calendar, a monotonic one does not go back.
Now Oracle::tamed(Now now) const {
  const Time wall =
      std::clamp(now.wall, Time{Duration{limits::time_ms_min}}, Time{Duration{limits::time_ms_max}});
  return {wall, std::max(now_.monotonic, now.monotonic)};
}

// ---- Commands -----------------------------------------------------------------------------------

std::optional<Oracle::Answered> Oracle::apply(const engine::Command& command) {
  now_ = tamed(command.now);
  seed_ = command.seed;
  ticket_ = command.ticket;
  if (const std::optional<Code> code = refusal(command.body)) return fail(*code, "");
  return std::visit([&](const auto& request) -> std::optional<Answered> { return on(request); },
                    command.body);
}

std::optional<std::string> Oracle::key_blocker(const OracleQueue& queue,
                                               const std::optional<std::string>& key,
                                               const std::string& id) const {
  if (!key) return std::nullopt;
  const auto owner = queue.owners.find(*key);
  if (owner == queue.owners.end() || owner->second == id) return std::nullopt;
  return owner->second;
}

Oracle::Answered Oracle::on(const ScheduleRequest& request) {
  const auto known = queues_.find(request.queue);
  const QueueSettings settings = known == queues_.end() ? QueueSettings{} : known->second.settings;
  if (request.run) {
    if (const std::optional<Code> why = dead_run(request.queue, *request.run)) return fail(*why, "");
  }
  if (request.payload && request.payload->size() > settings.payload_bytes_max)
    return fail(Code::too_large, "");

  const Name name{request.queue, request.id};
  const OracleOrder* before = meet(request.queue, request.id);
  if (before && before->record.state == State::wait && request.upsert) {
    // An order keeps its key and its run while it waits.
    if (request.key && request.key != before->record.key) return fail(Code::invalid, "");
    if (request.run && request.run != before->record.run) return fail(Code::invalid, "");
    OracleOrder order = *before;
    order.record.due = request.due;
    order.record.asked_due.reset();
    if (request.payload) order.record.payload = *request.payload;
    if (request.priority) order.record.priority = *request.priority;
    if (request.tries) order.record.tries = *request.tries;
    stamp(order.record);
    set(name, std::move(order), HistoryEvent::rescheduled);
    write_app(request.app_writes);
    return answer_of(Outcome::rescheduled, State::wait, request.due);
  }
  const bool id_lapsed = before && lapsed(known->second, before->record, now_.wall);
  if (before && is_blocking(before->record.state) && !id_lapsed) {
    return answer_of(Outcome::duplicate, before->record.state, {}, request.id);
  }
  if (known != queues_.end()) {
    if (const std::optional<std::string> blocker = key_blocker(known->second, request.key, request.id)) {
      const model::Record& record = meet(request.queue, *blocker)->record;
      if (is_blocking(record.state)) {
        if (!lapsed(known->second, record, now_.wall))
          return answer_of(Outcome::duplicate, record.state, {}, *blocker);
        purge({request.queue, *blocker});
      } else {
        marks_.emplace_back("an orphan gave its key to another order");
      }
    }
  }
  if (id_lapsed) {
    purge(name);
    before = nullptr;
  }
  OracleOrder order;
  if (before) {
    queues_[request.queue].history[{request.id, before->record.sequence}].ended = before->record;
    order.record.generation = before->record.generation + 1;
  }
  order.record.due = request.due;
  order.record.priority = request.priority.value_or(128);
  order.record.tries = request.tries.value_or(settings.tries);
  order.record.key = request.key;
  order.record.run = request.run;
  order.record.payload = request.payload.value_or("");
  order.record.created_at = now_.wall;
  stamp(order.record);
  set(name, std::move(order), HistoryEvent::scheduled);
  write_app(request.app_writes);
  return answer_of(Outcome::scheduled, State::wait, request.due);
}

Oracle::Answered Oracle::on(const RescheduleRequest& request) {
  const OracleOrder* found = meet(request.queue, request.id);
  if (!found) return answer_of(Outcome::not_found);
  if (found->record.state != State::wait) return answer_of(Outcome::refused, found->record.state);
  OracleOrder order = *found;
  order.record.due = request.due;
  order.record.asked_due.reset();
  stamp(order.record);
  set({request.queue, request.id}, std::move(order), HistoryEvent::rescheduled);
  return answer_of(Outcome::rescheduled, State::wait, request.due);
}

Oracle::Answered Oracle::on(const ImportRequest& request) {
  const Time now = now_.wall;
  if (request.created_at.value_or(now) > now || request.ended_at.value_or(now) > now)
    return fail(Code::invalid, "");
  const auto known = queues_.find(request.queue);
  const QueueSettings settings = known == queues_.end() ? QueueSettings{} : known->second.settings;
  if (request.payload && request.payload->size() > settings.payload_bytes_max)
    return fail(Code::too_large, "");
  if (const OracleOrder* there = meet(request.queue, request.id)) {
    return answer_of(Outcome::duplicate, there->record.state, {}, request.id);
  }
  OracleOrder order;
  model::Record& record = order.record;
  record.state = request.state;
  record.key = request.key;
  if (known != queues_.end() && is_blocking(request.state)) {
    if (const std::optional<std::string> blocker = key_blocker(known->second, request.key, request.id)) {
      const model::Record& other = meet(request.queue, *blocker)->record;
      const bool has_lapsed = lapsed(known->second, other, now);
      const bool blocks = is_blocking(other.state) && !has_lapsed;
      if (blocks && !request.grandfather) return answer_of(Outcome::duplicate, other.state, {}, *blocker);
      if (blocks) marks_.emplace_back("an import was grandfathered");
      if (has_lapsed) purge({request.queue, *blocker});
      record.grandfathered = blocks;
    }
  }
  record.due = request.due;
  record.priority = request.priority.value_or(128);
  record.tries = request.tries.value_or(settings.tries);
  record.payload = request.payload.value_or("");
  record.error = cut(request.error, limits::error_bytes_max);
  stamp(record);
  record.updated_at = request.ended_at.value_or(now);
  record.created_at = request.created_at.value_or(record.updated_at);
  const std::uint64_t sequence = record.sequence;
  const std::string reason = record.error;
  set({request.queue, request.id}, std::move(order), HistoryEvent::imported, reason);
  OracleQueue& queue = queues_.at(request.queue);
  if (queue.settings.keep_history > Duration{0}) queue.history.at({request.id, sequence}).entry->at = now;
  return answer_of(Outcome::scheduled, request.state, request.due);
}

Oracle::Answered Oracle::on(const ReconcileRequest& request) {
  if (request.since > sequence_) return fail(Code::invalid, "");
  const auto known = queues_.find(request.queue);
  const QueueSettings unset;
  const QueueSettings& settings = known == queues_.end() ? unset : known->second.settings;
  if (request.payload && request.payload->size() > settings.payload_bytes_max)
    return fail(Code::too_large, "");
  const OracleOrder* found = find(request.queue, request.id);
  const bool was_orphan = found && known->second.is_orphan(found->record);
  if (was_orphan) marks_.emplace_back("a row of a reconcile named an orphan");
  found = meet(request.queue, request.id);
  const bool is_missing = !found || lapsed(known->second, found->record, now_.wall);
  const bool is_newer = found && found->record.sequence > request.since;
  if (is_missing) {
    if (settings.keep_success && now_.wall >= request.read_at + *settings.keep_success)
      return fail(Code::invalid, "");
  } else if (!was_orphan && found->record.state == State::aborted && found->record.vanished) {
    if (is_newer) return answer_of(Outcome::newer, State::aborted);
    marks_.emplace_back("an order that had vanished came back");
  } else if (!was_orphan && found->record.state == State::wait) {
    const std::optional<Time>& asked = found->record.asked_due;
    if (asked && *asked == request.due)
      marks_.emplace_back("a row of a reconcile met another try of its order");
    if ((asked ? *asked : found->record.due) == request.due) {
      return answer_of(Outcome::unchanged, State::wait, request.due);
    }
    if (is_newer) return answer_of(Outcome::newer, State::wait);
    return on(RescheduleRequest{request.queue, request.id, request.due});
  } else if (!was_orphan) {
    return answer_of(Outcome::refused, found->record.state);
  }
  ScheduleRequest schedule{.queue = request.queue, .id = request.id, .due = request.due};
  schedule.payload = request.payload;
  schedule.key = request.key;
  schedule.priority = request.priority;
  schedule.tries = request.tries;
  return on(schedule);
}

Oracle::Answered Oracle::on(const CancelRequest& request) {
  if (request.since && *request.since > sequence_) return fail(Code::invalid, "");
  const OracleOrder* found = meet(request.queue, request.id);
  if (!found) return answer_of(Outcome::not_found);
  const State state = found->record.state;
  const bool is_newer = request.since && found->record.sequence > *request.since;
  if (state == State::aborted) {
    if (!request.since || found->record.vanished) return answer_of(Outcome::aborted, State::aborted);
    return answer_of(is_newer ? Outcome::newer : Outcome::refused, State::aborted);
  }
  if (state != State::wait && !(state == State::processing && request.force)) {
    return answer_of(Outcome::refused, state);
  }
  if (is_newer) return answer_of(Outcome::newer);
  OracleOrder order = *found;
  order.record.state = State::aborted;
  order.record.vanished = request.since.has_value();
  if (request.since) order.record.error = "it was not in the source of a reconcile";
  stamp(order.record);
  const std::string reason = request.since ? order.record.error : "";
  const HistoryEvent event = state != State::wait ? HistoryEvent::revoked
                             : request.since      ? HistoryEvent::vanished
                                                  : HistoryEvent::cancelled;
  set({request.queue, request.id}, std::move(order), event, reason);
  return answer_of(Outcome::aborted, State::aborted);
}

Oracle::Answered Oracle::on(const RetryRequest& request) {
  const OracleOrder* found = meet(request.queue, request.id);
  if (!found) return answer_of(Outcome::not_found);
  if (found->record.state != State::failed) return answer_of(Outcome::refused, found->record.state);
  if (found->record.run) {
    if (const std::optional<Code> why = dead_run(request.queue, *found->record.run)) return fail(*why, "");
  }
  const OracleQueue& queue = queues_.at(request.queue);
  if (const std::optional<std::string> blocker = key_blocker(queue, found->record.key, request.id)) {
    const model::Record& record = meet(request.queue, *blocker)->record;
    if (is_blocking(record.state)) {
      if (!lapsed(queue, record, now_.wall)) return answer_of(Outcome::duplicate, record.state, {}, *blocker);
      purge({request.queue, *blocker});
    }
    found = find(request.queue, request.id);
  }
  OracleOrder order = *found;
  order.record.state = State::wait;
  if (order.record.grandfathered) marks_.emplace_back("a retry took a key properly");
  order.record.grandfathered = false;
  if (!order.record.asked_due) order.record.asked_due = order.record.due;
  order.record.due = request.due.value_or(now_.wall);
  order.record.tries_used = 0;
  stamp(order.record);
  const Time due = order.record.due;
  set({request.queue, request.id}, std::move(order), HistoryEvent::retried);
  return answer_of(Outcome::requeued, State::wait, due);
}

Oracle::Answered Oracle::on(const QueueSetRequest& request) {
  if (!request.create && !queues_.contains(request.queue)) return fail(Code::not_found, "");
  QueueSettings& settings = queues_[request.queue].settings;
  if (request.lease) settings.lease = *request.lease;
  if (request.tries) settings.tries = *request.tries;
  if (request.backoff_base) settings.backoff_base = *request.backoff_base;
  if (request.backoff_cap) settings.backoff_cap = *request.backoff_cap;
  if (request.backoff_jitter_percent) settings.backoff_jitter_percent = *request.backoff_jitter_percent;
  if (request.payload_bytes_max) settings.payload_bytes_max = *request.payload_bytes_max;
  if (request.keep_success) settings.keep_success = *request.keep_success;
  if (request.keep_history) settings.keep_history = *request.keep_history;
  if (request.paused) settings.paused = *request.paused;
  return engine::Reply{settings};
}

Oracle::Answered Oracle::on(const engine::Barrier&) { return engine::Reply{std::uint64_t{0}}; }

Oracle::Answered Oracle::on(const engine::PurgeBatch& request) {
  if (!queues_.contains(request.queue)) return fail(Code::not_found, "");
  std::uint64_t purged = 0;
  for (const std::string& id : request.ids) {
    const OracleOrder* order = meet(request.queue, id);
    if (!order || order->record.state != request.state) continue;
    if (order->record.updated_at > now_.wall - request.older) continue;
    purge({request.queue, id});
    ++purged;
  }
  return engine::Reply{purged};
}

// ---- Reports ------------------------------------------------------------------------------------

const OracleOrder* Oracle::holder(const std::string& queue, const std::string& id, Token token) const {
  const OracleOrder* order = find(queue, id);
  return order && order->record.state == State::processing && order->record.token == token ? order : nullptr;
}

Oracle::Answered Oracle::on(const CompleteRequest& request) {
  const OracleOrder* held = holder(request.queue, request.id, request.token);
  if (!held) {
    const OracleOrder* found = find(request.queue, request.id);
    const bool did_it =
        found && found->record.state == State::success && found->record.token == request.token;
    return did_it ? answer_of(Outcome::already, State::success) : answer_of(Outcome::stale);
  }
  OracleOrder order = *held;
  order.record.state = State::success;
  order.record.result = request.result.value_or("");
  stamp(order.record);
  set({request.queue, request.id}, std::move(order), HistoryEvent::completed);
  write_app(request.app_writes);
  return answer_of(Outcome::completed, State::success);
}

Oracle::Answered Oracle::on(const FailRequest& request) {
  const OracleOrder* held = holder(request.queue, request.id, request.token);
  if (!held) return answer_of(Outcome::stale);
  OracleOrder order = *held;
  model::Record& record = order.record;
  record.failures += 1;
  record.error = cut(request.error, limits::error_bytes_max);
  const bool is_over = request.final || (record.tries != 0 && record.tries_used >= record.tries);
  record.state = is_over ? State::failed : State::wait;
  if (!is_over) {
    if (!record.asked_due) record.asked_due = record.due;
    record.due = request.retry_at
                     ? *request.retry_at
                     : retry_time(record.tries_used, queues_.at(request.queue).settings, now_.wall, seed_);
  }
  keep_from_waiting(request.queue, record);
  stamp(record);
  const Time due = record.due;
  const State state = record.state;
  const std::string reason = record.error;
  set({request.queue, request.id}, std::move(order), HistoryEvent::failed, reason);
  if (state == State::aborted) return answer_of(Outcome::aborted, state);
  return is_over ? answer_of(Outcome::failed, state) : answer_of(Outcome::requeued, state, due);
}

Oracle::Answered Oracle::on(const ReleaseRequest& request) {
  const OracleOrder* held = holder(request.queue, request.id, request.token);
  if (!held) return answer_of(Outcome::stale);
  OracleOrder order = *held;
  order.record.state = State::wait;
  order.record.tries_used -= 1;
  if (request.due && !order.record.asked_due) order.record.asked_due = order.record.due;
  if (request.due) order.record.due = *request.due;
  keep_from_waiting(request.queue, order.record);
  stamp(order.record);
  const Time due = order.record.due;
  const State state = order.record.state;
  const std::string reason = state == State::aborted ? "run " + *order.record.run + " has ended" : "";
  set({request.queue, request.id}, std::move(order), HistoryEvent::released, reason);
  if (state == State::aborted) return answer_of(Outcome::aborted, state);
  return answer_of(Outcome::requeued, state, due);
}

Oracle::Answered Oracle::on(const ExtendRequest& request) {
  const OracleOrder* held = holder(request.queue, request.id, request.token);
  if (!held) return answer_of(Outcome::stale);
  OracleOrder order = *held;
  const Monotonic deadline = now_.monotonic + request.lease;
  if (deadline > order.deadline) {
    order.deadline = deadline;
    order.length = std::max(order.length, request.lease);  // The longest that it was ever given.
    order.expires_at = later(now_.wall, request.lease);
    stamp(order.record);
  }
  const Time at = later(now_.wall, order.deadline - now_.monotonic);
  set({request.queue, request.id}, std::move(order));
  return answer_of(Outcome::extended, State::processing, at);
}

void Oracle::lose_lease(const Name& name) {
  OracleOrder order = *find(name.first, name.second);
  model::Record& record = order.record;
  const bool is_over = record.tries != 0 && record.tries_used >= record.tries;
  record.state = is_over ? State::failed : State::wait;
  if (is_over) record.error = "the lease ran out and no tries are left";
  keep_from_waiting(name.first, record);
  if (record.state == State::aborted) marks_.emplace_back("a lease of a dead run's order ran out");
  stamp(record);
  const std::string reason = record.state == State::aborted  ? "run " + *record.run + " has ended"
                             : record.state == State::failed ? record.error
                                                             : "";
  set(name, std::move(order), HistoryEvent::reaped, reason);
}

// Those that ran out first come first.
std::uint64_t Oracle::reap(std::size_t limit, const std::string* queue) {
  std::vector<Name> over;
  for (const auto& [place, name] : leases_) {
    if (place.first > now_.monotonic || over.size() == limit) break;
    if (!queue || name.first == *queue) over.push_back(name);
  }
  for (const Name& name : over) lose_lease(name);
  return over.size();
}

Oracle::Answered Oracle::on(const ReapRequest& request) {
  if (!queues_.contains(request.queue)) return fail(Code::not_found, "");
  return engine::Reply{reap(request.limit, &request.queue)};
}

// ---- Time ---------------------------------------------------------------------------------------

void Oracle::tick(Now now) {
  now_ = tamed(now);
  if (options_.upkeep) {
    reap(limits::reap_pass_max, nullptr);
    end_silent_runs();
  }
  sweep_runs();
  serve_all();
  for (auto next = waiters_.begin(); next != waiters_.end();) {
    const auto [number, waiter] = *next++;
    if (waiter.deadline <= now_.monotonic) answer(number, engine::Reply{std::vector<Claimed>{}});
  }
}

void Oracle::reopen(Now now) {
  now_ = now;
  waiters_.clear();
  served_.clear();
  leases_.clear();
  run_ends_.clear();
  run_sweeps_.clear();
  marks_.clear();
  for (auto& [queue_name, queue] : queues_) {
    std::map<std::string, Counts> counts = queue.run_counts();
    for (const auto& [name, run] : queue.runs) {
      if (!is_alive(run)) {
        if (counts[name].wait > 0) run_sweeps_[{queue_name, name}] = {"", counts[name].wait};
      } else if (run.ttl) {
        const Duration left = std::min(std::max(run.expires_at - now.wall, options_.restart_grace), *run.ttl);
        run_ends_[{queue_name, name}] = now.monotonic + left;
      }
    }
    for (auto& [id, order] : queue.orders) {
      if (order.record.state != State::processing) continue;
      const Duration left =
          std::min(std::max(order.expires_at - now.wall, options_.restart_grace), order.length);
      order.deadline = now.monotonic + left;
      leases_.emplace(std::pair{order.deadline, order.record.token}, Name{queue_name, id});
    }
  }
}

std::optional<Monotonic> Oracle::next_event(Now now) const {
  std::optional<Monotonic> next;
  const auto note = [&](Monotonic at) {
    at = std::max(at, now.monotonic);
    if (!next || at < *next) next = at;
  };
  if (options_.upkeep && !leases_.empty()) note(leases_.begin()->first.first);
  if (!run_sweeps_.empty()) note(now.monotonic);
  for (const auto& [name, deadline] : run_ends_) {
    if (options_.upkeep) note(deadline);
  }
  for (const auto& [number, waiter] : waiters_) {
    note(waiter.deadline);
    for (const std::string& name : waiter.request.queues) {
      const auto queue = queues_.find(name);
      if (queue == queues_.end() || queue->second.settings.paused) continue;
      for (const auto& [priority, line] : queue->second.lines) {
        if (!line.empty()) note(now.monotonic + (line.begin()->first - now.wall));
      }
    }
  }
  return next;
}

}  // namespace duelease::model_test
