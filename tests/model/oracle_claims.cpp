// The oracle: what is due is handed out, and claims wait for it.
#include <algorithm>

#include "base/limits.h"
#include "model/oracle.h"
#include "model/oracle_parts.h"
#include "model/rules.h"

namespace duelease::model_test {

bool Oracle::is_due(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found != queues_.end() && !found->second.settings.paused &&
         std::ranges::any_of(found->second.lines, [&](const auto& line) {
           return !line.second.empty() && line.second.begin()->first <= now_.wall;
         });
}

// The most urgent priority first; within it the earliest due, then by id.
std::vector<Oracle::Name> Oracle::take_due(const std::string& queue_name, std::size_t count, Room& room) {
  std::vector<Name> out;
  if (!is_due(queue_name)) return out;
  OracleQueue& queue = queues_.at(queue_name);
  for (auto& [priority, line] : queue.lines) {
    std::uint32_t orphans = 0;
    for (auto next = line.begin(); next != line.end() && next->first <= now_.wall && out.size() < count;) {
      const Name name{queue_name, (next++)->second};
      const model::Record& record = queue.orders.at(name.second).record;
      if (queue.is_orphan(record)) {
        abort_orphan(name);
        marks_.emplace_back("a claim came across an orphan");
        if (++orphans == limits::orphan_pass_max) break;
        continue;
      }
      room.bytes += reply_bytes(record);
      room.is_full = room.bytes > options_.claim_reply_bytes_max && !room.is_first;
      if (room.is_full) return out;
      room.is_first = false;
      out.push_back(name);
    }
    if (orphans == limits::orphan_pass_max) marks_.emplace_back("a claim came across too many orphans");
  }
  return out;
}

std::vector<Claimed> Oracle::hand_out(const ClaimRequest& request) {
  std::vector<Claimed> out;
  Room room;
  for (const std::string& queue : request.queues) {
    if (room.is_full || out.size() == request.count) break;
    for (const Name& name : take_due(queue, request.count - out.size(), room)) {
      OracleOrder order = *find(name.first, name.second);
      order.record.state = State::processing;
      order.record.attempt += 1;
      order.record.tries_used += 1;
      order.record.worker = request.worker;
      stamp(order.record);
      order.record.token = Token{sequence_};
      order.length = request.lease.value_or(queues_.at(queue).settings.lease);
      order.expires_at = later(now_.wall, order.length);
      order.deadline = now_.monotonic + order.length;
      order.request = request.request;
      order.unknown.clear();
      out.push_back(claimed_of(queue, name.second, order.record, order.expires_at, order.length));
      set(name, std::move(order), HistoryEvent::claimed);
    }
  }
  return out;
}

// In the order they were given: that of the tokens.
std::vector<Claimed> Oracle::still_held(const ClaimRequest& request) const {
  std::vector<Claimed> out;
  if (request.request.empty()) return out;
  for (const auto& [place, name] : leases_) {
    const OracleOrder& order = *find(name.first, name.second);
    if (order.record.worker != request.worker || order.request != request.request) continue;
    if (std::ranges::count(request.queues, name.first) == 0) continue;
    const Duration left = order.deadline - now_.monotonic;
    out.push_back(claimed_of(name.first, name.second, order.record, later(now_.wall, left),
                             std::max(left, Duration{0})));
  }
  std::ranges::sort(out, {}, &Claimed::token);
  return out;
}

// Older claims come first; and one of them may be this very one, whose reply got lost.
std::optional<Oracle::Answered> Oracle::on(const ClaimRequest& request) {
  std::vector<Claimed> claimed = still_held(request);
  if (claimed.empty()) {
    serve(request.queues);
    claimed = still_held(request);
  }
  if (claimed.empty()) {
    claimed = hand_out(request);
    if (!claimed.empty()) answer_same(request, claimed);
  }
  if (!claimed.empty() || request.wait == Duration{0}) return engine::Reply{std::move(claimed)};
  if (waiters_.size() >= options_.claims_waiting_max) return fail(Code::overloaded, "");
  waiters_.emplace(++last_waiter_, Waiter{ticket_, request, now_.monotonic + request.wait});
  return std::nullopt;
}

Oracle::Answered Oracle::on(const PopRequest& request) {
  serve({request.queue});
  std::vector<Claimed> out;
  Room room;
  for (const Name& name : take_due(request.queue, request.count, room)) {
    OracleOrder order = *find(name.first, name.second);
    order.record.state = State::success;
    order.record.attempt += 1;
    order.record.tries_used += 1;
    order.record.worker.clear();
    stamp(order.record);
    order.record.token = Token{sequence_};
    // Its lease ends as it begins.
    out.push_back(claimed_of(request.queue, name.second, order.record, now_.wall, Duration{0}));
    set(name, std::move(order), HistoryEvent::popped);
  }
  return engine::Reply{std::move(out)};
}

void Oracle::answer(std::uint64_t number, Answered reply) {
  served_.push_back({waiters_.at(number).ticket, std::move(reply)});
  waiters_.erase(number);
}

// Whoever waits with the same request gets the same orders, of its queues.
void Oracle::answer_same(const ClaimRequest& request, const std::vector<Claimed>& orders) {
  if (request.request.empty()) return;
  for (auto next = waiters_.begin(); next != waiters_.end();) {
    const auto [number, waiter] = *next++;
    const bool is_same = waiter.request.worker == request.worker && waiter.request.request == request.request;
    if (!is_same) continue;
    std::vector<Claimed> its_own;
    for (const Claimed& order : orders) {
      if (std::ranges::count(waiter.request.queues, order.queue) > 0) its_own.push_back(order);
    }
    if (!its_own.empty()) answer(number, engine::Reply{std::move(its_own)});
  }
}

// The oldest claim that waits for one of these queues comes first. A queue that gave nothing, because there
// were too many orphans, must wait for the next tick: then it is the oldest claim's turn again.
void Oracle::serve(const std::vector<std::string>& queues) {
  std::set<std::pair<std::uint64_t, std::string>> turns;  // The oldest claim of each queue.
  const auto note = [&](const std::string& queue) {
    if (!is_due(queue)) return;
    const auto oldest = std::ranges::find_if(waiters_, [&](const auto& waiter) {
      return std::ranges::count(waiter.second.request.queues, queue) > 0;
    });
    if (oldest != waiters_.end()) turns.emplace(oldest->first, queue);
  };
  for (const std::string& queue : queues) note(queue);
  while (!turns.empty()) {
    const auto [number, queue] = turns.extract(turns.begin()).value();
    if (!waiters_.contains(number) || serve_waiter(number)) note(queue);
  }
}

bool Oracle::serve_waiter(std::uint64_t number) {
  const ClaimRequest request = waiters_.at(number).request;
  const std::vector<Claimed> claimed = hand_out(request);
  if (claimed.empty()) return false;
  answer_same(request, claimed);
  if (request.request.empty()) answer(number, engine::Reply{claimed});
  return true;
}

void Oracle::serve_all() {
  if (waiters_.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, queue] : queues_) names.push_back(name);
  serve(names);
}

void Oracle::cancel_claim(std::uint64_t ticket) {
  for (const auto& [number, waiter] : waiters_) {
    if (waiter.ticket != ticket) continue;
    answer(number, engine::Reply{std::vector<Claimed>{}});
    return;
  }
}

void Oracle::cancel_claims(const Error& error) {
  while (!waiters_.empty()) answer(waiters_.begin()->first, Unexpected{error});
}

std::vector<std::uint64_t> Oracle::waiting_tickets() const {
  std::vector<std::uint64_t> out;
  for (const auto& [number, waiter] : waiters_) out.push_back(waiter.ticket);
  return out;
}

}  // namespace duelease::model_test
