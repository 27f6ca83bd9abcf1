#include "limit.h"

#include <algorithm>
#include <utility>

namespace duelease::bench {

namespace {

constexpr std::uint64_t groups_ahead_max = 4;  // As the engine's writer.

}  // namespace

std::string order_key(std::string_view id) {
  std::string key = "bench";
  key.push_back('\0');
  key += id;
  return key;
}

std::string queue_key(std::string_view id, Time due) {
  std::string key = "bench";
  key.push_back('\0');
  key.push_back('\x80');
  const std::uint64_t number =
      (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(due.time_since_epoch().count());
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  key += id;
  return key;
}

void LimitQueue::add(std::span<const NewOrder> orders) {
  const Time now = system_clock()->now().wall;
  for (const NewOrder& order : orders) {
    if (order.due > now) {
      ++later_count;
      continue;
    }
    Handed handed;
    handed.id = order.id;
    handed.payload = order.payload;
    handed.place = static_cast<std::uint64_t>(order.due.time_since_epoch().count());
    due.push_back({std::move(handed), order.due});
  }
}

std::vector<Handed> LimitQueue::take(unsigned count) {
  std::vector<Handed> orders;
  while (orders.size() < count && !due.empty()) {
    orders.push_back(std::move(due.front().order));
    due.pop_front();
  }
  return orders;
}

SyncBehind::SyncBehind(std::uint64_t ahead_max, std::function<void()> sync)
    : ahead_max_(ahead_max), sync_(std::move(sync)), thread_([this] { loop(); }) {}

SyncBehind::~SyncBehind() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void SyncBehind::wait_for_place() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return written_ - synced_ < ahead_max_ || !fault_.empty(); });
  throw_fault();
}

void SyncBehind::wrote_group() {
  const std::lock_guard lock(mutex_);
  ++written_;
  changed_.notify_all();
}

void SyncBehind::wait_for_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return written_ == synced_ || !fault_.empty(); });
  throw_fault();
}

void SyncBehind::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return written_ > synced_ || stop_; });
    if (written_ == synced_) return;
    const std::uint64_t covered = written_;
    lock.unlock();
    std::string fault;
    try {
      sync_();
    } catch (const Fault& error) {
      fault = error.what();
    }
    lock.lock();
    fault_ = fault;
    if (!fault_.empty())
      synced_ = written_;  // Nobody waits for it any more.
    else
      synced_ = covered;
    changed_.notify_all();
  }
}

void SyncBehind::throw_fault() const {
  if (!fault_.empty()) throw Fault(fault_);
}

std::uint64_t groups_ahead(const TargetChoice& choice) {
  return std::min<std::uint64_t>(choice.connections_max, groups_ahead_max);
}

}  // namespace duelease::bench
