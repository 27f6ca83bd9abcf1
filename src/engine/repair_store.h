// engine/repair_store.h: mends what the check has found, on a store that no core is open on.
#pragma once

#include <cstddef>

#include "duelease/repair.h"
#include "duelease/result.h"
#include "duelease/types.h"
#include "store/damaged_folder.h"
#include "store/store.h"

namespace duelease::engine {

struct RepairSettings {
  bool discard_damaged = false;
  std::size_t batch_changes = 1000;  // About. Each batch is on disk before the next.
};

// Of the report: invariants and orders; the rest the caller knows.
Result<RepairReport> repair_store(store::Store& store, store::DamagedFolder& damaged,
                                  const RepairSettings& settings, Time now);

}  // namespace duelease::engine
