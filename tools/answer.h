// tools/answer.h: orders and answers of the engine, as a person or a script reads them.
#pragma once

#include <string>

#include "duelease/engine.h"
#include "json.h"
#include "order_name.h"
#include "output.h"
#include "session.h"

namespace duelease::tools {

// Prints the outcome of a change to one order, or its error, and answers the exit code: no for duplicate,
// refused, stale and not found.
//   {"outcome": "DUPLICATE", "queue": ..., "id": ..., "state": ..., "blocker": ..., "due": ...}
// with `state`, `blocker`, `due` and `lease_expires_at` only where the outcome has one and the target tells it.
Exit report(const Session& session, const OrderName& name, const Result<Answer>& answer);

// The answer of a command that has one thing to say: {"field": value} for a script, `line` for a person.
void print_answer(const Session& session, const char* field, Json value, const std::string& line);

// All fields of an order under their names on the wire, and `queue`. `payload` and `result` only when asked for:
// they may be large.
Json order_json(const Order& order, bool with_payload);

// "2026-12-01T09:00:00Z (in 2 d 3 h)".
std::string time_seen_from(Time time, Time now);

}  // namespace duelease::tools
