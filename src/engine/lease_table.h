// engine/lease_table.h: the leases in memory, by order and by deadline. It holds exactly the rows of
// family leases (plus those of the open group), so memory follows the orders in processing.
//
// One thread changes it and reads it. deadline_of() may be called by any other: reads answer how long a lease
// really lasts, whatever was done to the wall clock since.
//
// Deadlines are monotonic here and wall time in the store. A record's payload is kept along only when it
// is small: a complete then reads nothing.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "duelease/clock.h"
#include "model/record.h"

namespace duelease::engine {

struct HeldLease {
  std::string key;  // order_key: queue and id.
  Token token{};    // As in lease.record.
  model::Lease lease;
  bool payload_on_disk = false;  // lease.record.payload was left out.
  Monotonic deadline{};
};

class LeaseTable {
 public:
  static constexpr std::size_t kept_payload_bytes_max = 1024;

  std::size_t size() const { return by_key_.size(); }
  HeldLease* find(std::string_view key);

  // The key must be new. The reference is good until remove().
  HeldLease& add(std::string key, model::Lease lease, Monotonic deadline);
  void remove(HeldLease& held);
  void set_deadline(HeldLease& held, Monotonic deadline);

  // Keys of leases whose deadline has come, earliest first, at most `limit`; of one queue if given.
  std::vector<std::string> expired(Monotonic now, std::size_t limit,
                                   std::string_view queue_prefix = {}) const;
  std::optional<Monotonic> first_deadline() const;
  // By any thread. Nothing: the lease is not held now.
  std::optional<Monotonic> deadline_of(std::string_view key, Token token) const;
  // The queue of each lease, in no particular order.
  std::vector<std::string_view> queues() const;

  // Keys of the leases that `worker` got by `request` and still holds, in the order they were given.
  std::vector<std::string> of_request(std::string_view worker, std::string_view request) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using DeadlineKey =
      std::pair<Monotonic, Token>;  // The token makes it unique, and the order the same every time.

  static DeadlineKey deadline_key(const HeldLease& held) { return {held.deadline, held.lease.record.token}; }
  static std::string request_key(std::string_view worker, std::string_view request);

  // Held while by_key_, or the deadline of one in it, changes.
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<HeldLease>, Hash, std::equal_to<>> by_key_;
  std::map<DeadlineKey, HeldLease*> by_deadline_;
  std::unordered_map<std::string, std::map<Token, HeldLease*>> by_request_;
};

}  // namespace duelease::engine
