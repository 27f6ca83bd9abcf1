// bench/ledger.h: what became of each order. A target that loses one, or hands one out or completes it twice, is
// found out, and the measurement is worth nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "payloads.h"
#include "target.h"

namespace duelease::bench {

// Safe from any thread.
class Ledger {
 public:
  // For the orders with numbers from `first` on, `count` of them, with payloads of this size.
  Ledger(std::uint64_t first, std::uint64_t count, std::size_t payload_bytes);

  const Payloads& payloads() const { return payloads_; }

  // Each throws Fault when it cannot be.
  void handed(const std::vector<Handed>& orders);
  void completed(const std::vector<Handed>& orders);
  // Of the first `count` all were completed, and none else was handed out.
  void finish(std::uint64_t count) const;

 private:
  enum class Seen : std::uint8_t { never, handed, completed };

  // Answers its number.
  std::uint64_t move(const Handed& order, Seen from, Seen to, const char* otherwise);

  const std::uint64_t first_;
  const Payloads payloads_;
  std::vector<std::atomic<Seen>> orders_;
};

}  // namespace duelease::bench
