#include "target.h"

#include <thread>

#include "process.h"

namespace duelease::bench {

std::vector<Handed> Connection::claim_one(Duration wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  for (;;) {
    std::vector<Handed> orders = claim(1);
    if (!orders.empty() || std::chrono::steady_clock::now() >= end) return orders;
    std::this_thread::sleep_for(poll_interval);
  }
}

std::uint64_t Target::disk_bytes() const { return bytes_on_disk(folder_); }

}  // namespace duelease::bench
