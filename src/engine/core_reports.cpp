// What workers say about orders they hold, and what is done about those who say nothing.
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

// How long an order is left alone whose lease ran out but whose record cannot be read just now.
constexpr Duration unreadable_pause{60'000};

Answer stale() { return Answer{.outcome = Outcome::stale}; }

// What became of an order that left its lease.
Answer left(const model::Record& record) {
  switch (record.state) {
    case State::failed: return Answer{.outcome = Outcome::failed, .state = record.state};
    case State::aborted: return Answer{.outcome = Outcome::aborted, .state = record.state};
    case State::success: return Answer{.outcome = Outcome::completed, .state = record.state};
    default: return Answer{.outcome = Outcome::requeued, .state = record.state, .at = record.due};
  }
}

}  // namespace

// The lease that `token` stands for; nothing when it is not the current one. A lease that has run out
// but was not reaped is still current: nobody else has the order.
HeldLease* Core::current(std::string_view queue, std::string_view id, Token token) {
  HeldLease* held = leases_.find(store::order_key(queue, id));
  return held != nullptr && held->lease.record.token == token ? held : nullptr;
}

std::optional<Monotonic> Core::lease_deadline(std::string_view queue, std::string_view id,
                                              Token token) const {
  return leases_.deadline_of(store::order_key(queue, id), token);
}

Result<model::Record> Core::whole_record(const HeldLease& held) const {
  if (!held.payload_on_disk) return held.lease.record;
  const Result<std::optional<std::string>> bytes = group_.get(Family::leases, held.key);
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return fail(Code::corrupt, "a lease is gone from the store");
  Result<model::Lease> lease = store::decode_lease(**bytes);
  if (!lease) return Unexpected{lease.error()};
  return std::move(lease->record);
}

Core::Answered Core::on(CompleteRequest request, const Command& command) {
  HeldLease* held = current(request.queue, request.id, request.token);
  if (held == nullptr) {
    const Result<std::optional<std::string>> bytes =
        group_.get(Family::orders, store::order_key(request.queue, request.id));
    if (!bytes) return Unexpected{bytes.error()};
    if (!*bytes) return Reply{stale()};
    const Result<store::OrderRow> row = store::decode_order(**bytes);
    if (!row) return Unexpected{row.error()};
    const auto* ended = std::get_if<model::Record>(&*row);
    const bool done = ended != nullptr && ended->state == State::success && ended->token == request.token;
    return Reply{done ? Answer{.outcome = Outcome::already, .state = State::success} : stale()};
  }
  Result<model::Record> record = whole_record(*held);
  if (!record) return Unexpected{record.error()};
  model::succeed(*record, std::move(request.result).value_or(""), command.now.wall);
  leave_lease(*find_queue(request.queue), *held, std::move(*record), HistoryEvent::completed);
  write_app(std::move(request.app_writes));
  return Reply{Answer{.outcome = Outcome::completed, .state = State::success}};
}

Core::Answered Core::on(const FailRequest& request, const Command& command) {
  HeldLease* held = current(request.queue, request.id, request.token);
  if (held == nullptr) return Reply{stale()};
  Result<model::Record> record = whole_record(*held);
  if (!record) return Unexpected{record.error()};
  QueueState& queue = *find_queue(request.queue);
  model::report_failure(*record, request, queue.settings(), command.now.wall, command.seed);
  abort_if_orphan(queue, *record, command.now.wall);
  const Answer answer = left(*record);
  leave_lease(queue, *held, std::move(*record), HistoryEvent::failed);
  return Reply{answer};
}

Core::Answered Core::on(const ReleaseRequest& request, const Command& command) {
  HeldLease* held = current(request.queue, request.id, request.token);
  if (held == nullptr) return Reply{stale()};
  Result<model::Record> record = whole_record(*held);
  if (!record) return Unexpected{record.error()};
  model::release(*record, request, command.now.wall);
  QueueState& queue = *find_queue(request.queue);
  abort_if_orphan(queue, *record, command.now.wall);
  const Answer answer = left(*record);
  leave_lease(queue, *held, std::move(*record), HistoryEvent::released);
  return Reply{answer};
}

Core::Answered Core::on(const ExtendRequest& request, const Command& command) {
  const Now now = command.now;
  HeldLease* held = current(request.queue, request.id, request.token);
  if (held == nullptr) return Reply{stale()};
  const Monotonic deadline = std::max(held->deadline, now.monotonic + request.lease);
  const Time expires_at =
      std::min(now.wall + (deadline - now.monotonic), Time{Duration{limits::time_ms_max}});
  if (deadline > held->deadline) {
    Result<model::Record> record = whole_record(*held);
    if (!record) return Unexpected{record.error()};
    model::Lease lease = held->lease;
    lease.record = std::move(*record);
    lease.record.sequence = next_sequence();
    lease.record.updated_at = now.wall;
    lease.expires_at = expires_at;
    lease.length = std::max(lease.length, request.lease);
    group_.put(Family::leases, held->key, store::encode_lease(lease));
    leases_.set_deadline(*held, deadline);
    if (held->payload_on_disk) lease.record.payload = {};
    held->lease = std::move(lease);
  }
  return Reply{Answer{.outcome = Outcome::extended, .state = State::processing, .at = expires_at}};
}

Core::Answered Core::on(const ReapRequest& request, const Command& command) {
  if (find_queue(request.queue) == nullptr) return no_queue(request.queue);
  const std::string prefix = store::queue_prefix(request.queue);
  return Reply{reap(leases_.expired(command.now.monotonic, request.limit, prefix), command.now)};
}

std::uint64_t Core::reap(const std::vector<std::string>& keys, Now now) {
  std::uint64_t reaped = 0;
  for (const std::string& key : keys) {
    HeldLease& held = *leases_.find(key);
    const store::OrderName name = *store::parse_order_key(key);
    Result<model::Record> record = whole_record(held);
    if (!record) {
      note_damage("lease that cannot be read", name.queue, name.id);
      leases_.set_deadline(held, now.monotonic + unreadable_pause);
      continue;
    }
    QueueState& queue = *find_queue(name.queue);
    model::lose_lease(*record, now.wall);
    abort_if_orphan(queue, *record, now.wall);
    leave_lease(queue, held, std::move(*record), HistoryEvent::reaped);
    ++reaped;
  }
  return reaped;
}

}  // namespace duelease::engine
