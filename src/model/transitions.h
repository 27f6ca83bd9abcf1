// model/transitions.h: the state machine of one order. Each function is one arrow of the picture in
// duelease/types.h; the caller has made sure that the arrow starts where the record is (checked again
// here). None of them reads a clock, draws a number or does I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "duelease/types.h"
#include "model/record.h"

namespace duelease::model {

// none, FAILED, ABORTED -> WAIT: a new generation.
Record schedule(const ScheduleRequest& request, const QueueSettings& settings, Time now);

// none -> WAIT, SUCCESS, FAILED, ABORTED, as it stood elsewhere.
Record adopt(const ImportRequest& request, const QueueSettings& settings, Time now);

// WAIT -> WAIT by an upsert: due, and payload, priority and tries where given.
void upsert(Record& record, const ScheduleRequest& request, Time now);

// WAIT -> WAIT at another due time.
void reschedule(Record& record, Time due, Time now);

// WAIT -> PROCESSING.
void hand_out(Record& record, Token token, std::string_view worker, Time now);

// PROCESSING (or, for a pop, just handed out) -> SUCCESS.
void succeed(Record& record, std::string result, Time now);

// PROCESSING -> WAIT at the retry time, or FAILED when final or no tries are left.
void report_failure(Record& record, const FailRequest& request, const QueueSettings& settings, Time now,
                    std::uint64_t seed);

// PROCESSING -> WAIT; the try is not counted.
void release(Record& record, const ReleaseRequest& request, Time now);

// PROCESSING -> WAIT at its old place, or FAILED when no tries are left.
void lose_lease(Record& record, Time now);

// WAIT, PROCESSING -> ABORTED.
void abort(Record& record, Time now);

// WAIT, PROCESSING -> ABORTED: the store has lost its record, and with that its payload, so nobody may work on it. What
// is given is all that is known of it.
Record give_up_lost(Time due, std::uint8_t priority, std::uint32_t generation, std::optional<std::string> run,
                    Time now);

// WAIT -> ABORTED: it was not in the source of a reconcile.
void vanish(Record& record, Time now);

// FAILED -> WAIT with a fresh set of tries. Its key is its own from now on.
void revive(Record& record, Time due, Time now);

}  // namespace duelease::model
