#include "engine/lease_table.h"

#include "base/check.h"

namespace duelease::engine {

std::string LeaseTable::request_key(std::string_view worker, std::string_view request) {
  // The length first: worker and request are bytes of any kind.
  return std::to_string(worker.size()).append(":").append(worker).append(request);
}

HeldLease* LeaseTable::find(std::string_view key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second.get();
}

HeldLease& LeaseTable::add(std::string key, model::Lease lease, Monotonic deadline) {
  auto held = std::make_unique<HeldLease>();
  held->key = key;
  held->token = lease.record.token;
  held->lease = std::move(lease);
  held->deadline = deadline;
  model::Record& record = held->lease.record;
  if (record.payload.size() > kept_payload_bytes_max) {
    held->payload_on_disk = true;
    record.payload = {};
  }
  HeldLease& out = *held;
  by_deadline_.emplace(deadline_key(out), &out);
  if (!out.lease.request.empty()) {
    by_request_[request_key(record.worker, out.lease.request)].emplace(record.token, &out);
  }
  const std::lock_guard lock(mutex_);
  const bool added = by_key_.emplace(std::move(key), std::move(held)).second;
  DUELEASE_CHECK(added);
  return out;
}

void LeaseTable::remove(HeldLease& held) {
  by_deadline_.erase(deadline_key(held));
  const model::Record& record = held.lease.record;
  if (!held.lease.request.empty()) {
    const auto found = by_request_.find(request_key(record.worker, held.lease.request));
    DUELEASE_CHECK(found != by_request_.end());
    found->second.erase(record.token);
    if (found->second.empty()) by_request_.erase(found);
  }
  const auto found = by_key_.find(held.key);
  DUELEASE_CHECK(found != by_key_.end());
  const std::lock_guard lock(mutex_);
  by_key_.erase(found);
}

void LeaseTable::set_deadline(HeldLease& held, Monotonic deadline) {
  by_deadline_.erase(deadline_key(held));
  {
    const std::lock_guard lock(mutex_);
    held.deadline = deadline;
  }
  by_deadline_.emplace(deadline_key(held), &held);
}

std::vector<std::string> LeaseTable::expired(Monotonic now, std::size_t limit,
                                             std::string_view queue_prefix) const {
  std::vector<std::string> out;
  for (const auto& [deadline, held] : by_deadline_) {
    if (deadline.first > now || out.size() == limit) break;
    if (held->key.starts_with(queue_prefix)) out.push_back(held->key);
  }
  return out;
}

std::optional<Monotonic> LeaseTable::first_deadline() const {
  if (by_deadline_.empty()) return std::nullopt;
  return by_deadline_.begin()->first.first;
}

std::optional<Monotonic> LeaseTable::deadline_of(std::string_view key, Token token) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->token != token) return std::nullopt;
  return found->second->deadline;
}

std::vector<std::string_view> LeaseTable::queues() const {
  std::vector<std::string_view> out;
  out.reserve(by_key_.size());
  for (const auto& [key, held] : by_key_) out.push_back(std::string_view(key).substr(0, key.find('\0')));
  return out;
}

std::vector<std::string> LeaseTable::of_request(std::string_view worker, std::string_view request) const {
  std::vector<std::string> out;
  if (request.empty()) return out;
  const auto found = by_request_.find(request_key(worker, request));
  if (found == by_request_.end()) return out;
  for (const auto& [token, held] : found->second) out.push_back(held->key);
  return out;
}

}  // namespace duelease::engine
