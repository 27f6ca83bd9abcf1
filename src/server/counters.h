// server/counters.h: what INFO tells. Any thread may count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "duelease/types.h"
#include "protocol/request.h"

namespace duelease::server {

class Counters {
 public:
  using Counter = std::atomic<std::uint64_t>;

  void count(Outcome outcome) { add(outcomes_[static_cast<std::size_t>(outcome)]); }
  void count(protocol::WireCode code) { add(errors_[static_cast<std::size_t>(code)]); }
  static void add(Counter& counter, std::uint64_t by = 1) {
    counter.fetch_add(by, std::memory_order_relaxed);
  }

  static void subtract(Counter& counter, std::uint64_t by = 1) {
    counter.fetch_sub(by, std::memory_order_relaxed);
  }

  // "name:value\r\n" for each.
  void print(std::string& out) const;

  Counter connections{0};           // Now.
  Counter connections_accepted{0};  // Since the start, the rest too.
  Counter connections_refused{0};
  Counter requests{0};
  Counter orders_claimed{0};
  Counter bytes_read{0};
  Counter bytes_written{0};
  Counter logins_failed{0};
  Counter claims_waiting{0};      // Now: with WAIT.
  Counter claims_under_way{0};    // Now: all, those included.
  Counter requests_under_way{0};  // Now: asked of the engine, not yet answered.
  Counter bytes_held{0};          // Now: of requests.
  Counter bytes_unsent{0};        // Now: of replies.

 private:
  static constexpr std::size_t outcomes_size = static_cast<std::size_t>(Outcome::not_found) + 1;
  static constexpr std::size_t errors_size = static_cast<std::size_t>(protocol::WireCode::closing) + 1;
  Counter outcomes_[outcomes_size]{};
  Counter errors_[errors_size]{};
};

}  // namespace duelease::server
