// model/rules.h: when an order blocks, when its tries are used up, when it is tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "duelease/types.h"
#include "model/record.h"

namespace duelease::model {

// The condition of both unique rules (id and key). Written as the list of states that do NOT block, so
// that a state of a newer version blocks.
bool state_blocks(State state);

// As above, but a SUCCESS whose retention has run out at `now` no longer blocks.
bool blocks(const Record& record, std::optional<Duration> keep_success, Time now);

// The dedup key that an order owns: none that does not block, and none that was taken in beside the owner. The one
// answer to that, for a Record and for an Order that was read from one.
template <class Order>
std::optional<std::string_view> owned_key(const Order& order, State state) {
  if (!order.key || order.grandfathered || !state_blocks(state)) return std::nullopt;
  return std::string_view(*order.key);
}
template <class Order>
std::optional<std::string_view> owned_key(const Order& order) {
  return owned_key(order, order.state);
}

// Whether this version knows the state.
bool is_known(State state);

// The count of a state that this version knows.
std::uint64_t& count_of(Counts& counts, State state);

// Whether this order may be handed out once more.
bool tries_left(const Record& record);

// When an order is due again whose `tries`-th try (from 1) has failed: base * 2^(tries - 1), at most the
// cap, give or take jitter drawn from `seed`.
Time retry_time(std::uint32_t tries, const QueueSettings& settings, Time now, std::uint64_t seed);

// A text that is too long, cut. Not in the middle of a character: cut so, UTF-8 is none any more.
std::string cut(std::string_view text, std::size_t bytes_max);

// The nearest time that a record can hold: between year 1 and the end of year 9999.
Time in_calendar(Time time);

}  // namespace duelease::model
