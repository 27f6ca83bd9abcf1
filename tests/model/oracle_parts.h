// model/oracle_parts.h: small steps that the parts of the oracle share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "model/oracle.h"

namespace duelease::model_test {

inline Result<engine::Reply> answer_of(Outcome outcome, State state = State::wait, Time at = {},
                                       std::string blocker = {}) {
  return engine::Reply{Answer{outcome, state, std::move(blocker), at}};
}

inline Claimed claimed_of(const std::string& queue, const std::string& id, const model::Record& record,
                          Time expires_at, Duration lease) {
  return {.queue = queue,
          .id = id,
          .token = record.token,
          .attempt = record.attempt,
          .lease_expires_at = expires_at,
          .due = record.due,
          .payload = record.payload,
          .key = record.key,
          .run = record.run,
          .lease = lease};
}

// No time in an answer or in the store lies beyond the calendar.
inline Time later(Time from, Duration by) { return std::min(from + by, Time{Duration{limits::time_ms_max}}); }

// Not in the middle of a letter.
inline std::string cut(std::string_view text, std::size_t bytes) {
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes));
}

// What an order counts for in Options::claim_reply_bytes_max.
inline std::size_t reply_bytes(const model::Record& record) { return record.payload.size() + 512; }

inline bool is_alive(const model::RunRecord& run) {
  return run.state == RunState::creating || run.state == RunState::running;
}

inline bool is_blocking(State state) {
  return state == State::wait || state == State::processing || state == State::success;
}

// One that was taken in beside the owner shows a key that is not its own.
inline bool owns_key(const model::Record& record) {
  return record.key && !record.grandfathered && is_blocking(record.state);
}

}  // namespace duelease::model_test
