// bench/limit.h: what the two limits, a bare RocksDB and a bare disk, have in common: the bytes that our own design
// writes for an order, a queue that is only an order of arrival, and syncs that overlap with the writing as in the
// engine.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "target.h"

namespace duelease::bench {

// What the engine's values hold besides the payload, for an order without a key (bytes).
inline constexpr std::size_t waiting_overhead = 37;
inline constexpr std::size_t lease_overhead = 66;
inline constexpr std::size_t ended_overhead = 54;
inline constexpr std::size_t live_bytes = 12;

std::string order_key(std::string_view id);
std::string queue_key(std::string_view id, Time due);

// What a limit remembers, in memory alone.
struct LimitQueue {
  struct Waiting {
    Handed order;
    Time due;
  };
  std::deque<Waiting> due;        // In order of arrival. `place` is the due time, for the key.
  std::uint64_t later_count = 0;  // Not due when they came; never handed out.

  void add(std::span<const NewOrder> orders);
  std::vector<Handed> take(unsigned count);
};

// A second thread that syncs while the first writes on, at most `ahead_max` groups ahead.
class SyncBehind {
 public:
  // `sync` may throw Fault, which a later call here throws again.
  SyncBehind(std::uint64_t ahead_max, std::function<void()> sync);
  ~SyncBehind();
  SyncBehind(const SyncBehind&) = delete;
  SyncBehind& operator=(const SyncBehind&) = delete;

  void wait_for_place();
  void wrote_group();
  void wait_for_all();

 private:
  void loop();
  void throw_fault() const;

  const std::uint64_t ahead_max_;
  const std::function<void()> sync_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t written_ = 0;
  std::uint64_t synced_ = 0;
  std::string fault_;
  bool stop_ = false;
  std::thread thread_;
};

// As many groups as there are connections may wait for their sync, but not more than the engine lets wait.
std::uint64_t groups_ahead(const TargetChoice& choice);

}  // namespace duelease::bench
