// server/held_leases.h: the leases that were handed out to connections and not yet reported on: what a
// server that stops waits for. Safe from any thread.
//
// A report may come by another connection than the claim did. A lease that ran out without a report is
// forgotten when the table has doubled since it was last swept, so the table stays as large as what is
// held.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "duelease/types.h"

namespace duelease::server {

class HeldLeases {
 public:
  void opened(std::uint64_t connection) {
    const std::lock_guard lock(mutex_);
    open_.insert(connection);
  }
  void closed(std::uint64_t connection) {
    const std::lock_guard lock(mutex_);
    open_.erase(connection);
  }
  void add(std::uint64_t connection, const std::vector<Claimed>& orders, Time now) {
    if (orders.empty()) return;
    const std::lock_guard lock(mutex_);
    for (const Claimed& order : orders) held_[order.token] = {connection, order.lease_expires_at};
    if (held_.size() < sweep_at_) return;
    std::erase_if(held_, [now](const auto& entry) { return entry.second.expires_at < now; });
    sweep_at_ = std::max(sweep_min, 2 * held_.size());
  }
  void extend(Token token, Time expires_at) {
    const std::lock_guard lock(mutex_);
    if (const auto found = held_.find(token); found != held_.end()) found->second.expires_at = expires_at;
  }
  void remove(Token token) {
    const std::lock_guard lock(mutex_);
    held_.erase(token);
  }
  // Whether an open connection holds a lease that has not run out.
  bool any(Time now) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(held_.begin(), held_.end(), [this, now](const auto& entry) {
      return entry.second.expires_at >= now && open_.contains(entry.second.connection);
    });
  }

 private:
  struct Holder {
    std::uint64_t connection = 0;
    Time expires_at{};
  };
  static constexpr std::size_t sweep_min = 1024;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::unordered_set<std::uint64_t> open_;
  std::unordered_map<Token, Holder> held_;
  std::size_t sweep_at_ = sweep_min;
};

}  // namespace duelease::server
