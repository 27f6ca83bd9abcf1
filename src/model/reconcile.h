// model/reconcile.h: what a row of the truth does to the order that it names. Asked twice: of a view of the store, where
// most rows end, and once more when it is about to be done.
#pragma once

#include <cstdint>

#include "duelease/result.h"
#include "duelease/types.h"
#include "model/record.h"

namespace duelease::model {

struct Standing {
  const Record* record = nullptr;  // Null: there is no such order.
  bool is_orphan = false;          // It waited under a run that has ended: as good as not there.
};

// What is to be done: scheduled or rescheduled; or that nothing is: unchanged, newer, refused. That the key of one to
// be scheduled is free, the caller finds out. Error: invalid, when it may have been completed and purged meanwhile.
Result<Outcome> reconcile(const Standing& order, const ReconcileRequest& row, const QueueSettings& settings,
                          Time now);

// Error: invalid, when the sequence is above the last one of the store: it is from another store.
Result<> validate_since(std::uint64_t since, std::uint64_t last);

// The row as a request for an order that is not there.
ScheduleRequest to_schedule(ReconcileRequest row);

}  // namespace duelease::model
