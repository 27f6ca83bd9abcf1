// Handing out what is due: claim, pop, and claims that wait.
//
// A claim that finds nothing and may wait becomes a waiter. Nothing polls for it: tick() serves waiters
// from what fell due, next_wake() names the time of the next due order that somebody waits for. Both go by
// awaited_, which has that time of each queue; each command that changes it touches the queue.
#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "engine/core.h"
#include "model/transitions.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

namespace {

// How much of the store a refill of a queue's head reads at least, and at most.
constexpr std::size_t refill_min = 256;
constexpr std::size_t refill_bytes_max = 1024 * 1024;

Time add(Time time, Duration duration) {
  return std::min(time + duration, Time{Duration{limits::time_ms_max}});
}

bool names(const ClaimRequest& request, std::string_view queue) {
  return std::find(request.queues.begin(), request.queues.end(), queue) != request.queues.end();
}

}  // namespace

bool Core::ReplyBudget::spend(std::size_t payload_bytes) {
  const std::size_t bytes = payload_bytes + order_overhead_bytes;
  is_used_up_ = is_used_up_ || (bytes > left_ && !is_first_);
  if (is_used_up_) return false;
  left_ -= std::min(left_, bytes);
  is_first_ = false;
  return true;
}

std::optional<Core::Answered> Core::on(ClaimRequest request, const Command& command) {
  for (const bool served : {false, true}) {
    if (served) serve(request.queues, command.now);  // Older claims first; this one again may be among them.
    Result<std::optional<std::vector<Claimed>>> again = repeat_claim(request, command.now);
    if (!again) return Unexpected{again.error()};
    if (*again) return Reply{std::move(**again)};
  }
  Result<std::vector<Claimed>> orders = hand_out(request, command.now);
  if (!orders) return Unexpected{orders.error()};
  if (!orders->empty()) answer_repeats(request, *orders);
  if (!orders->empty() || request.wait == Duration{0}) return Reply{std::move(*orders)};
  if (waiters_.size() >= options_.claims_waiting_max) {
    return fail(Code::overloaded,
                std::to_string(waiters_.size()) + " claims are waiting already, which is the limit");
  }
  const std::uint64_t number = ++last_waiter_;
  const Monotonic deadline = command.now.monotonic + request.wait;
  for (const std::string& name : request.queues) {
    waiting_for_[name].insert(number);
    if (QueueState* queue = find_queue(name)) touch(*queue);
  }
  if (!request.request.empty()) waiting_as_[{request.worker, request.request}].insert(number);
  wait_ends_.emplace(deadline, number);
  waiter_of_ticket_.emplace(command.ticket, number);
  waiters_.emplace(number, Waiter{command.ticket, std::move(request), deadline});
  return std::nullopt;
}

Core::Answered Core::on(const PopRequest& request, const Command& command) {
  serve({request.queue}, command.now);
  std::vector<Claimed> out;
  QueueState* queue = find_queue(request.queue);
  if (queue == nullptr || queue->settings().paused) return Reply{std::move(out)};
  ReplyBudget budget(options_.claim_reply_bytes_max);
  Result<std::vector<DueEntry>> entries = take_due(*queue, command.now.wall, request.count, budget);
  if (!entries) return Unexpected{entries.error()};
  for (DueEntry& entry : *entries) {
    const std::uint64_t sequence = next_sequence();
    model::Record& record = entry.record;
    model::hand_out(record, Token{sequence}, "", command.now.wall);
    model::succeed(record, "", command.now.wall);
    record.sequence = sequence;
    group_.erase(Family::queue, std::move(entry.key));
    end(*queue, entry.id, record, HistoryEvent::popped);
    moved(*queue, State::wait, State::success);
    count_in_run(*queue, record.run, State::wait, State::success);
    out.push_back(Claimed{queue->name, std::move(entry.id), Token{sequence}, record.attempt, command.now.wall,
                          record.due, std::move(record.payload), std::move(record.key), std::move(record.run),
                          Duration{0}});
  }
  return Reply{std::move(out)};
}

Result<std::vector<Claimed>> Core::hand_out(const ClaimRequest& request, Now now) {
  std::vector<Claimed> out;
  ReplyBudget budget(options_.claim_reply_bytes_max);
  for (const std::string& name : request.queues) {
    QueueState* queue = find_queue(name);
    if (queue == nullptr || queue->settings().paused) continue;
    if (out.size() >= request.count || budget.is_used_up()) break;
    Result<std::vector<DueEntry>> entries = take_due(*queue, now.wall, request.count - out.size(), budget);
    if (!entries) {
      if (out.empty()) return Unexpected{entries.error()};
      break;  // What was taken from other queues is theirs already.
    }
    for (DueEntry& entry : *entries) out.push_back(lease_out(*queue, std::move(entry), request, now));
  }
  return out;
}

Claimed Core::lease_out(QueueState& queue, DueEntry entry, const ClaimRequest& request, Now now) {
  const Duration length = request.lease.value_or(queue.settings().lease);
  model::Lease lease;
  lease.record = std::move(entry.record);
  lease.record.sequence = next_sequence();
  model::hand_out(lease.record, Token{lease.record.sequence}, request.worker, now.wall);
  lease.expires_at = add(now.wall, length);
  lease.length = length;
  lease.request = request.request;

  std::string key = store::order_key(queue.name, entry.id);
  group_.erase(Family::queue, std::move(entry.key));
  group_.put(Family::leases, key, store::encode_lease(lease));
  note(queue, entry.id, lease.record, HistoryEvent::claimed);
  moved(queue, State::wait, State::processing);
  count_in_run(queue, lease.record.run, State::wait, State::processing);
  const model::Record& record = lease.record;
  Claimed claimed{queue.name, std::move(entry.id), record.token, record.attempt, lease.expires_at,
                  record.due, record.payload,      record.key,   record.run,     length,
                  length};
  leases_.add(std::move(key), std::move(lease), now.monotonic + length);
  return claimed;
}

// The same worker asking with the same request id lost the reply, not the orders. It gets those of the queues that it
// names: a name and an id are no secret, and whoever may not use a queue must not come by its orders with them.
Result<std::optional<std::vector<Claimed>>> Core::repeat_claim(const ClaimRequest& request, Now now) {
  std::vector<Claimed> out;
  for (const std::string& key : leases_.of_request(request.worker, request.request)) {
    const HeldLease& held = *leases_.find(key);
    const store::OrderName name = *store::parse_order_key(held.key);
    if (!names(request, name.queue)) continue;
    Result<model::Record> record = whole_record(held);
    if (!record) return Unexpected{record.error()};
    const Duration left = held.deadline - now.monotonic;
    out.push_back(Claimed{std::string(name.queue), std::string(name.id), record->token, record->attempt,
                          add(now.wall, left), record->due, std::move(record->payload),
                          std::move(record->key), std::move(record->run), std::max(left, Duration{0}),
                          held.lease.length});
  }
  if (out.empty()) return std::optional<std::vector<Claimed>>{};
  return std::optional<std::vector<Claimed>>{std::move(out)};
}

// Takes due orders out of the heads, most urgent priority first. The caller takes their entries out of
// family queue.
Result<std::vector<Core::DueEntry>> Core::take_due(QueueState& queue, Time now, std::size_t count,
                                                   ReplyBudget& budget) {
  touch(queue);
  std::vector<std::uint8_t> priorities;
  for (const auto& [priority, head] : queue.heads) {
    if (!head.empty() && head.earliest_due() <= now) priorities.push_back(priority);
  }
  std::vector<DueEntry> out;
  for (const std::uint8_t priority : priorities) {
    if (Result<> taken = take_due_of(queue, priority, now, count, budget, out); !taken) {
      if (out.empty()) return Unexpected{taken.error()};
      break;
    }
    const auto head = queue.heads.find(priority);
    if (head->second.empty()) queue.heads.erase(head);
  }
  return out;
}

Result<> Core::take_due_of(QueueState& queue, std::uint8_t priority, Time now, std::size_t count,
                           ReplyBudget& budget, std::vector<DueEntry>& out) {
  QueueHead& head = queue.heads.find(priority)->second;
  std::uint32_t orphans = 0;
  while (out.size() < count && !budget.is_used_up() && orphans < limits::orphan_pass_max) {
    std::optional<QueueHead::Taken> taken = head.take(now);
    if (!taken) {
      if (!head.rest_from() || head.rest_from()->due > now) break;
      if (Result<> read = refill(queue, priority, now, count - out.size()); !read) return read;
      continue;
    }
    std::string key = store::queue_key(queue.name, {priority, taken->spot.due}, taken->spot.id);
    const bool is_known = taken->record.has_value();
    std::optional<model::Record> record = std::move(taken->record);
    if (!is_known) {
      const Result<std::optional<std::string>> bytes = group_.get(Family::queue, key);
      if (!bytes) {  // The disk's trouble, not the order's: it stays where it is.
        head.put_back({std::move(taken->spot), std::nullopt});
        return Unexpected{bytes.error()};
      }
      Result<model::Record> read =
          *bytes ? store::decode_waiting(**bytes) : Result<model::Record>(fail(Code::corrupt, "it is gone"));
      if (!read) {
        note_damage("undecodable queue entry", queue.name, taken->spot.id);
        continue;
      }
      keep_above(*read);
      record = std::move(*read);
    }
    if (is_orphan(queue, *record)) {
      abort_orphan(queue, taken->spot.id, {priority, taken->spot.due}, *record, now);
      ++orphans;
      continue;
    }
    if (!budget.spend(record->payload.size())) {
      head.put_back({std::move(taken->spot), is_known ? std::move(record) : std::nullopt});
      break;
    }
    out.push_back(DueEntry{std::move(key), std::move(taken->spot.id), std::move(*record)});
  }
  return {};
}

// Whether something is due. The heads may take for due what was cancelled; who is served must not hang on
// that, for it differs between two cores on the same store.
Result<bool> Core::has_due(QueueState& queue, Time now) {
  for (const auto& [priority, head] : queue.heads) {
    while (!head.empty() && head.earliest_due() <= now) {
      if (!head.known().empty()) return true;
      if (Result<> read = refill(queue, priority, now, 1); !read) return Unexpected{read.error()};
    }
  }
  return false;
}

// Reads the next stretch of due orders from the store into the head. What does not decode is passed over,
// so that it does not hold up those behind it; check() goes on naming it.
Result<> Core::refill(QueueState& queue, std::uint8_t priority, Time now, std::size_t count) {
  QueueHead& head = queue.heads.find(priority)->second;
  const std::string from =
      store::queue_key(queue.name, {priority, head.rest_from()->due}, head.rest_from()->id);
  const std::string end = store::prefix_end(std::string_view(from).substr(0, queue.name.size() + 2));
  const std::unique_ptr<store::Cursor> cursor = group_.scan(Family::queue, from, end);
  const std::size_t wanted = std::min(std::max(count, refill_min), head_limit(queue));
  QueueHead::Known found;
  std::optional<Spot> rest;
  std::vector<std::string> ghosts;
  for (std::size_t bytes = 0; cursor->valid(); cursor->next()) {
    const std::optional<store::QueueEntry> entry = store::parse_queue_key(cursor->key());
    if (!entry) {
      note_damage("queue entry under a key that does not parse", queue.name, "?");
      continue;
    }
    Spot spot{entry->place.due, std::string(entry->id)};
    if (spot.due > now || found.size() == wanted || bytes > refill_bytes_max) {
      rest = std::move(spot);
      break;
    }
    Result<model::Record> record = store::decode_waiting(cursor->value());
    if (!record) {
      note_damage("undecodable queue entry", queue.name, entry->id);
      continue;
    }
    if (leases_.find(store::order_key(queue.name, entry->id)) != nullptr) {
      note_damage("queue entry of an order under a lease", queue.name, entry->id);
      ghosts.emplace_back(cursor->key());
      continue;
    }
    keep_above(*record);
    record->due = entry->place.due;
    record->priority = priority;
    bytes += record->payload.size();
    found.emplace_hint(found.end(), std::move(spot), std::move(*record));
  }
  if (!rest) {
    if (Result<> read = cursor->status(); !read) return read;
  }
  head.refill(std::move(found), std::move(rest));
  touch(queue);
  for (std::string& key : ghosts) group_.erase(Family::queue, std::move(key));
  return {};
}

void Core::serve_all(Now now) {
  look_at_touched();
  std::vector<std::string> names;
  for (auto next = awaited_.begin(); next != awaited_.end() && next->first <= now.wall; ++next) {
    names.emplace_back(next->second);
  }
  serve(names, now);
}

// Gives what is due in these queues to the claims that wait for it, the oldest first: a claim that waits for
// several queues takes from all of them, so each turn goes to the oldest of all, not to the oldest of a queue.
void Core::serve(const std::vector<std::string>& queues, Now now) {
  std::set<std::pair<std::uint64_t, std::string_view>> turns;  // The oldest waiter of each queue.
  const auto note = [&](std::string_view name) {
    QueueState* queue = find_queue(name);
    const auto waiting = waiting_for_.find(name);
    if (queue == nullptr || queue->settings().paused || waiting == waiting_for_.end()) return;
    const Result<bool> due = has_due(*queue, now.wall);
    if (!due || *due) turns.emplace(*waiting->second.begin(), name);  // It will meet the error itself.
  };
  for (const std::string& name : queues) note(name);
  while (!turns.empty()) {
    const auto [number, name] = turns.extract(turns.begin()).value();
    // Gone: answered at the turn of another of its queues. Given nothing: its entries cannot be read.
    if (!waiters_.contains(number) || serve_waiter(number, now)) note(name);
  }
}

// Whether it was answered.
bool Core::serve_waiter(std::uint64_t number, Now now) {
  const ClaimRequest request = waiters_.at(number).request;
  Result<std::vector<Claimed>> orders = hand_out(request, now);
  if (!orders) {
    answer_waiter(number, Unexpected{orders.error()});
    return true;
  }
  if (orders->empty()) return false;
  answer_repeats(request, *orders);
  if (request.request.empty()) answer_waiter(number, Reply{std::move(*orders)});
  return true;
}

// The orders are out under this request: whoever waits with the same one gets the same, of the queues it waits for.
void Core::answer_repeats(const ClaimRequest& request, const std::vector<Claimed>& orders) {
  if (request.request.empty()) return;
  const auto found = waiting_as_.find({request.worker, request.request});
  if (found == waiting_as_.end()) return;
  for (const std::uint64_t number : std::set<std::uint64_t>(found->second)) {
    std::vector<Claimed> its_own = orders;
    std::erase_if(its_own, [&waiter = waiters_.at(number)](const Claimed& order) {
      return !names(waiter.request, order.queue);
    });
    if (!its_own.empty()) answer_waiter(number, Reply{std::move(its_own)});
  }
}

void Core::answer_waiter(std::uint64_t number, Answered reply) {
  const auto found = waiters_.find(number);
  const Waiter& waiter = found->second;
  for (const std::string& queue : waiter.request.queues) {
    const auto waiting = waiting_for_.find(queue);
    if (waiting == waiting_for_.end()) continue;  // Named twice.
    waiting->second.erase(number);
    if (!waiting->second.empty()) continue;
    waiting_for_.erase(waiting);
    if (QueueState* state = find_queue(queue)) touch(*state);
  }
  if (!waiter.request.request.empty()) {
    const auto same = waiting_as_.find({waiter.request.worker, waiter.request.request});
    same->second.erase(number);
    if (same->second.empty()) waiting_as_.erase(same);
  }
  wait_ends_.erase({waiter.deadline, number});
  waiter_of_ticket_.erase(waiter.ticket);
  served_.push_back(Served{waiter.ticket, std::move(reply)});
  waiters_.erase(found);
}

void Core::end_waits(Now now) {
  while (!wait_ends_.empty() && wait_ends_.begin()->first <= now.monotonic) {
    answer_waiter(wait_ends_.begin()->second, Reply{std::vector<Claimed>{}});
  }
}

void Core::cancel_claim(std::uint64_t ticket) {
  const auto found = waiter_of_ticket_.find(ticket);
  if (found != waiter_of_ticket_.end()) answer_waiter(found->second, Reply{std::vector<Claimed>{}});
}

void Core::cancel_claims(const Error& error) {
  while (!waiters_.empty()) answer_waiter(waiters_.begin()->first, Unexpected{error});
}

std::vector<Served> Core::take_served() { return std::exchange(served_, {}); }

}  // namespace duelease::engine
