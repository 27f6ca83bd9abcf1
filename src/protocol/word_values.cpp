#include "protocol/word_values.h"

#include <algorithm>

#include "base/limits.h"
#include "base/quote.h"
#include "duelease/result.h"
#include "duelease/time_text.h"

namespace duelease::protocol {
namespace {

using base::quote;

template <class T>
std::string taken(const Result<T>& value, T& out) {
  if (!value) return value.error().message;
  out = *value;
  return {};
}

}  // namespace

std::string read_number(std::string_view word, std::uint64_t max, std::uint64_t& out) {
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, out);
  const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) return quote(word) + " is not a whole number (0 to " + std::to_string(max) + ")";
  if (error != std::errc{} || out > max) return quote(word) + " is above " + std::to_string(max);
  return {};
}

std::string read_word(std::string_view word, Time now, Time& out) {
  return taken(parse_time(word, now), out);
}

std::string read_word(std::string_view word, Time, Duration& out) { return taken(parse_duration(word), out); }

std::string read_word(std::string_view word, Time, std::uint64_t& out) {
  return read_number(word, limits::sequence_max, out);
}

std::string read_word(std::string_view word, Time now, Token& out) {
  std::uint64_t value = 0;
  std::string wrong = read_word(word, now, value);
  out = Token{value};
  return wrong;
}

std::string read_word(std::string_view word, Time, State& out) {
  const std::optional<State> state = state_named(word);
  if (!state) return quote(word) + " is not a state (WAIT, PROCESSING, SUCCESS, FAILED, ABORTED)";
  out = *state;
  return {};
}

std::string read_word(std::string_view word, Time, bool& out) {
  out = same_word(word, "YES");
  return out || same_word(word, "NO") ? std::string() : quote(word) + " is neither yes nor no";
}

std::string read_word(std::string_view word, Time, std::vector<std::string>& out) {
  // Counted first: a string costs far more memory than a comma.
  const auto count = static_cast<std::size_t>(std::count(word.begin(), word.end(), ',')) + 1;
  if (count > limits::claim_queues_max) {
    return std::to_string(count) + " names, allowed are 1 to " + std::to_string(limits::claim_queues_max);
  }
  out.reserve(count);
  while (true) {
    const std::size_t comma = word.find(',');
    out.emplace_back(word.substr(0, comma));
    if (comma == std::string_view::npos) return {};
    word.remove_prefix(comma + 1);
  }
}

std::string read_word(std::string_view word, Time, std::optional<std::optional<Duration>>& out) {
  out.emplace();
  if (same_word(word, "FOREVER")) return {};
  const Result<Duration> duration = parse_duration(word);
  if (!duration) return duration.error().message + ", nor is it 'forever'";
  out.emplace(*duration);
  return {};
}

}  // namespace duelease::protocol
