// protocol/reply.h: replies in RESP2, appended to `out`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/types.h"
#include "protocol/request.h"

namespace duelease::protocol {

// Both of one line: CR and LF in the text become spaces.
void print_simple(std::string& out, std::string_view text);
void print_error(std::string& out, WireCode code, std::string_view message);
void print_error(std::string& out, const Error& error);  // Of the engine.
void print_integer(std::string& out, std::int64_t value);
void print_bulk(std::string& out, std::string_view bytes);
void print_nil(std::string& out);
void print_array(std::string& out, std::size_t size);  // The head; the elements follow.

// A simple string (for `refused` the state, as for `scheduled` in another state than WAIT), the array of a duplicate, or for `extended` the integer.
void print_answer(std::string& out, const Answer& answer);
void print_claimed(std::string& out, std::span<const Claimed> orders);
// What is absent (a key, no error yet, ...) is nil; the token of an order that was never handed out is 0. Behind
// the fields of PROTOCOL.md's table stand `tries`, `tries_used` and `sequence`; and, with the value yes, `grandfathered`
// and `vanished` where the order is that.
void print_order(std::string& out, const std::optional<Order>& order);
void print_mark(std::string& out, const ReadMark& mark);
void print_page(std::string& out, const Page& page);
// An array of entries, each a flat array of field, value, ...: at event state due worker token attempt reason
// sequence. What is absent is nil; the token 0 is none.
void print_history(std::string& out, std::span<const HistoryEntry> entries);
void print_names(std::string& out, std::span<const std::string> names);
void print_stats(std::string& out, const Stats& stats);
// In the words that QUEUE SET takes: durations in milliseconds, `keep_success` also "forever", `paused` "yes"
// or "no".
void print_settings(std::string& out, const QueueSettings& settings);
// A simple string.
void print_run_state(std::string& out, RunState state);
// A flat array of field, value, ...: run state ttl expires_at opened_at started_at ended_at reason, the counts under
// the order states' names, and how many of those are purged by now: purged_SUCCESS purged_FAILED purged_ABORTED
// (only what has ended is purged). `ttl` is in milliseconds; what is absent is nil.
void print_run(std::string& out, const Run& run);
void print_check(std::string& out, const CheckReport& report);

}  // namespace duelease::protocol
