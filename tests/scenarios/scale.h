// scenarios/scale.h: the scenarios of scale, at a size for every day (scale_test.cpp) and at the size of the
// promise (scale_long_test.cpp).
#pragma once

#include <cstdint>

namespace duelease::test {

// Seconds that a command takes, at the median and at the 99th percentile.
struct Times {
  double p50 = 0;
  double p99 = 0;
};

struct Tombstones {
  Times fresh_empty, used_empty;  // A claim on an empty queue.
  Times fresh_ten, used_ten;      // A claim on a queue of 10 due orders.
  // What RocksDB stepped over for a claim on the 10 orders, at the 99th percentile.
  std::uint64_t skipped_p99 = 0;
  // And for a scan from the start of the queue, which shows that there is something to step over.
  std::uint64_t skipped_from_start = 0;
};

// tombstones: `completes` orders are completed, then claims are measured, beside those of a fresh store.
Tombstones measure_tombstones(std::uint32_t completes);

// purge_is_linear: `orders` are purged in batches of `batch`; no batch costs more than the first few. With a
// history of two entries an order, or none.
void run_purge_is_linear(std::uint32_t orders, std::uint32_t batch, bool has_history);

// overdue_backlog: `orders` fell due while the engine was down; they are drained in due order. Answers what
// commands of others took meanwhile.
Times run_overdue_backlog(std::uint32_t orders);

}  // namespace duelease::test
