// bench/ledger.h: what became of each order. A target that loses one, or hands one out or completes it twice, is
// found out, and the measurement is worth nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "target.h"

namespace duelease::bench {

// Safe from any thread.
class Ledger {
 public:
  // For the orders with numbers from `first` on, `count` of them, each with this payload.
  Ledger(std::uint64_t first, std::uint64_t count, std::string payload);

  std::string_view payload() const { return payload_; }

  // Each throws Fault when it cannot be.
  void handed(const std::vector<Handed>& orders);
  void completed(const std::vector<Handed>& orders);
  // Of the first `count` all were completed, and none else was handed out.
  void finish(std::uint64_t count) const;

 private:
  enum class Seen : std::uint8_t { never, handed, completed };

  void move(const Handed& order, Seen from, Seen to, const char* otherwise);

  const std::uint64_t first_;
  const std::string payload_;
  std::vector<std::atomic<Seen>> orders_;
};

}  // namespace duelease::bench
