// bench/workloads.h: what is done to the targets. Each workload is written once, for all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "load.h"
#include "target.h"

namespace duelease::bench {

// One line of the result: a workload with all that it depends on.
struct Case {
  std::string workload;
  std::uint64_t orders = 0;
  unsigned connections = 1;
  unsigned batch = 1;
  std::size_t payload_bytes = 64;
  std::uint64_t waiting = 0;    // backlog: orders that wait meanwhile.
  std::uint64_t completes = 0;  // drain: completed before.
  unsigned rate = 0;            // delay: due a second.
  Duration patience{60'000};    // Without an order handed out; then the missing ones count as lost.
  double seconds_max = 0;       // Of a round: then no more orders are scheduled. 0: no end but their number.
};

struct Figure {
  std::string name;
  double value = 0;
  bool more_is_better = true;
};

struct Round {
  std::vector<Figure> figures;  // Of a workload always the same, in the same order.
  std::uint64_t completed = 0;  // How many orders went all the way, checked.
  Latencies latencies;
  std::uint64_t resident_bytes = 0;  // At the end, before it is stopped.
  std::uint64_t disk_bytes = 0;
};

struct WorkloadInfo {
  std::string name;
  std::string help;
  // Whether it can be measured at a limit, which has no queue.
  bool for_limits = false;
  // Whether its calls are as Case::batch says, over Case::connections.
  bool has_batches = true;
};
const std::vector<WorkloadInfo>& workloads();
const WorkloadInfo& workload_named(const std::string& name);  // One of the above.

// Throws Fault when the target cannot be started, refuses, or loses or doubles an order.
Round run_round(const Case& wanted, const TargetChoice& choice, const std::filesystem::path& folder);

// The same on a target that is started. Not for `open`, which starts it itself.
Round run_started(const Case& wanted, Target& target);

}  // namespace duelease::bench
