#include "model/rules.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/limits.h"

namespace duelease::model {

namespace {

// One step of splitmix64: spreads a seed over all 64 bits. Its own code because the result is part of
// what a replay must reproduce, and <random>'s distributions differ between libraries.
std::uint64_t spread(std::uint64_t seed) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::int64_t backoff_ms(std::uint32_t tries, const QueueSettings& settings) {
  const std::int64_t cap = settings.backoff_cap.count();
  std::int64_t backoff = settings.backoff_base.count();
  for (std::uint32_t i = 1; i < tries && backoff < cap && backoff > 0; ++i) backoff *= 2;
  return std::min(backoff, cap);
}

}  // namespace

bool state_blocks(State state) { return state != State::failed && state != State::aborted; }

bool blocks(const Record& record, std::optional<Duration> keep_success, Time now) {
  if (record.state == State::success && keep_success) return now < record.updated_at + *keep_success;
  return state_blocks(record.state);
}

bool is_known(State state) {
  return std::find(std::begin(all_states), std::end(all_states), state) != std::end(all_states);
}

std::uint64_t& count_of(Counts& counts, State state) {
  switch (state) {
    case State::processing: return counts.processing;
    case State::success: return counts.success;
    case State::failed: return counts.failed;
    case State::aborted: return counts.aborted;
    default: DUELEASE_CHECK(state == State::wait); return counts.wait;
  }
}

bool tries_left(const Record& record) { return record.tries == 0 || record.tries_used < record.tries; }

Time retry_time(std::uint32_t tries, const QueueSettings& settings, Time now, std::uint64_t seed) {
  const std::int64_t backoff = backoff_ms(tries, settings);
  const std::int64_t reach = backoff * settings.backoff_jitter_percent / 100;
  std::int64_t jitter = 0;
  if (reach > 0) {
    const std::uint64_t width = 2 * static_cast<std::uint64_t>(reach) + 1;
    jitter = static_cast<std::int64_t>(spread(seed) % width) - reach;
  }
  return Time{Duration{std::min(now.time_since_epoch().count() + backoff + jitter, limits::time_ms_max)}};
}

std::string cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && end + 3 > bytes_max && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

Time in_calendar(Time time) {
  return std::clamp(time, Time{Duration{limits::time_ms_min}}, Time{Duration{limits::time_ms_max}});
}

}  // namespace duelease::model
