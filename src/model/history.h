// model/history.h: what the history of an order says of a transition, and for how long.
#pragma once

#include "duelease/types.h"
#include "model/record.h"

namespace duelease::model {

// Of a transition that led to `record`.
HistoryEntry entry_of(const Record& record, HistoryEvent event);

// Whether an entry is still kept. Where no history is kept, the record that an earlier generation of the id ended
// with stays until the id is purged.
bool is_kept(Time at, bool is_generation, Duration keep_history, Time now);

}  // namespace duelease::model
