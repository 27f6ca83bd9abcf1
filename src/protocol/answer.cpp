#include "protocol/answer.h"

#include <array>
#include <limits>
#include <utility>

#include "base/quote.h"
#include "protocol/request.h"

namespace duelease::protocol {
namespace {

using base::quote;
using Kind = Value::Kind;

Unexpected unfit(std::string_view what, const Value& value) {
  constexpr std::array<std::string_view, 6> kinds = {"a simple string", "an error", "an integer",
                                                     "a bulk string",   "nil",      "an array"};
  std::string got(kinds[static_cast<std::size_t>(value.kind)]);
  if (value.kind == Kind::integer) got += " " + std::to_string(value.integer);
  if (value.kind == Kind::array) got += " of " + std::to_string(value.array.size());
  if (!value.text.empty()) got += " " + quote(value.text);
  return fail(Code::corrupt,
              "the reply does not fit the request: " + std::string(what) + " was expected, and not " + got);
}

// For what is no reply of the kind wanted: the error that it is, or that it does not fit.
Unexpected refusal_or_unfit(std::string_view what, const Value& value) {
  if (value.kind != Kind::error) return unfit(what, value);
  const std::size_t space = value.text.find(' ');
  const std::optional<Code> code = code_of_wire(std::string_view(value.text).substr(0, space));
  if (!code) return fail(Code::invalid, value.text);
  return fail(*code, space == std::string::npos ? std::string() : value.text.substr(space + 1));
}

// ---- Single values: each answers whether `value` is one ----

bool read(const Value& value, std::string& out) {
  if (value.kind != Kind::bulk) return false;
  out = value.text;
  return true;
}

bool read(const Value& value, std::optional<std::string>& out) {
  if (value.kind == Kind::nil) {
    out.reset();
    return true;
  }
  return read(value, out.emplace());
}

bool read(const Value& value, Time& out) {
  out = Time{Duration{value.integer}};
  return value.kind == Kind::integer;
}

bool read(const Value& value, std::optional<Time>& out) {
  if (value.kind == Kind::nil) {
    out.reset();
    return true;
  }
  return read(value, out.emplace());
}

bool read(const Value& value, Duration& out) {
  out = Duration{value.integer};
  return value.kind == Kind::integer;
}

// How long a success is kept.
bool read(const Value& value, std::optional<Duration>& out) {
  if (value.kind == Kind::bulk && value.text == "forever") {
    out.reset();
    return true;
  }
  return read(value, out.emplace());
}

bool read(const Value& value, bool& out) {
  out = value.text == "yes";
  return value.kind == Kind::bulk && (out || value.text == "no");
}

bool read(const Value& value, State& out) {
  const std::optional<State> state = state_named(value.text);
  out = state.value_or(State::wait);
  return value.kind == Kind::bulk && state;
}

std::optional<RunState> run_state_named(std::string_view name) {
  for (const RunState state : {RunState::creating, RunState::running, RunState::done, RunState::error}) {
    if (name == run_state_name(state)) return state;
  }
  return std::nullopt;
}

bool read(const Value& value, HistoryEvent& out) {
  out = history_event_named(value.text);
  return value.kind == Kind::bulk;
}

bool read(const Value& value, RunState& out) {
  const std::optional<RunState> state = run_state_named(value.text);
  out = state.value_or(RunState::creating);
  return value.kind == Kind::bulk && state;
}

template <class T>
bool read_unsigned(const Value& value, T& out) {
  if (value.kind != Kind::integer || value.integer < 0) return false;
  out = static_cast<T>(value.integer);
  return static_cast<std::uint64_t>(value.integer) <= std::numeric_limits<T>::max();
}
bool read(const Value& value, std::uint8_t& out) { return read_unsigned(value, out); }
bool read(const Value& value, std::uint32_t& out) { return read_unsigned(value, out); }
bool read(const Value& value, std::uint64_t& out) { return read_unsigned(value, out); }

bool read(const Value& value, Token& out) {
  std::uint64_t number = 0;
  const bool fits = read_unsigned(value, number);
  out = Token{number};
  return fits;
}

// Nil stands for empty.
struct OrEmpty {
  std::string& text;
};
bool read(const Value& value, const OrEmpty& out) {
  if (value.kind == Kind::nil) {
    out.text.clear();
    return true;
  }
  return read(value, out.text);
}

// Nil stands for none.
struct OrNone {
  std::optional<Duration>& duration;
};
bool read(const Value& value, const OrNone& out) {
  if (value.kind == Kind::nil) {
    out.duration.reset();
    return true;
  }
  return read(value, out.duration.emplace());
}

// ---- Flat arrays of field, value, ... ----

class Fields {
 public:
  Fields(std::string_view what, const Value& value) : what_(what), value_(value) {}

  // The field must be there.
  template <class T>
  Fields& field(std::string_view name, T&& out) {
    if (!wrong_.empty()) return *this;
    for (std::size_t i = 0; i + 1 < value_.array.size(); i += 2) {
      const Value& key = value_.array[i];
      if (key.kind != Kind::bulk || key.text != name) continue;
      if (!read(value_.array[i + 1], out)) wrong_ = name;
      return *this;
    }
    wrong_ = name;
    return *this;
  }

  // One that is printed only when it is set.
  Fields& flag(std::string_view name, bool& out) {
    for (std::size_t i = 0; i + 1 < value_.array.size(); i += 2) {
      if (value_.array[i].text == name) return field(name, out);
    }
    return *this;
  }

  Fields& counts(Counts& out) {
    field(state_name(State::wait), out.wait).field(state_name(State::processing), out.processing);
    field(state_name(State::success), out.success).field(state_name(State::failed), out.failed);
    return field(state_name(State::aborted), out.aborted);
  }

  Result<> done() const {
    if (value_.kind != Kind::array) return refusal_or_unfit(what_, value_);
    if (!wrong_.empty()) return unfit(std::string(what_) + " with a field " + std::string(wrong_), value_);
    return {};
  }

 private:
  std::string_view what_;
  const Value& value_;
  std::string_view wrong_{};
};

// `out` when all fields were there.
template <class T>
Result<T> when(const Result<>& done, T& out) {
  if (!done) return Unexpected{done.error()};
  return std::move(out);
}

// ---- Answers ----

constexpr std::pair<Outcome, State> changes[] = {
    {Outcome::scheduled, State::wait},    {Outcome::rescheduled, State::wait},
    {Outcome::completed, State::success}, {Outcome::already, State::success},
    {Outcome::stale, State::wait},        {Outcome::requeued, State::wait},
    {Outcome::failed, State::failed},     {Outcome::aborted, State::aborted},
    {Outcome::not_found, State::wait},    {Outcome::unchanged, State::wait},
    {Outcome::newer, State::wait},
};

// The name of a state is an outcome too, unless the request cannot bring that about.
bool is_reason(Outcome outcome, Asked asked) {
  switch (asked) {
    case Asked::other:
    case Asked::import_order: return false;
    case Asked::reschedule:
    case Asked::reconcile:
      return outcome == Outcome::requeued || outcome == Outcome::failed || outcome == Outcome::aborted;
    case Asked::cancel: return outcome == Outcome::requeued || outcome == Outcome::failed;
    case Asked::retry: return outcome == Outcome::failed || outcome == Outcome::aborted;
  }
  return false;
}

std::optional<Answer> read_simple(std::string_view text, Asked asked) {
  if (asked == Asked::import_order) {
    for (const State state : {State::success, State::failed, State::aborted}) {
      if (text == state_name(state)) return Answer{.outcome = Outcome::scheduled, .state = state};
    }
  }
  for (const auto& [outcome, state] : changes) {
    if (text == outcome_name(outcome))
      return Answer{.outcome = is_reason(outcome, asked) ? Outcome::refused : outcome, .state = state};
  }
  for (const State state : {State::processing, State::success}) {
    if (text == state_name(state)) return Answer{.outcome = Outcome::refused, .state = state};
  }
  return std::nullopt;
}

std::optional<Answer> read_duplicate(const Value& value) {
  Answer answer{.outcome = Outcome::duplicate};
  if (value.array.size() != 3 || value.array[0].text != outcome_name(Outcome::duplicate)) return std::nullopt;
  if (!read(value.array[1], answer.state) || !read(value.array[2], answer.blocker)) return std::nullopt;
  return answer;
}

bool read(const Value& value, Claimed& out) {
  const std::vector<Value>& a = value.array;
  return value.kind == Kind::array && a.size() >= 9 && read(a[0], out.id) && read(a[1], out.token) &&
         read(a[2], out.attempt) && read(a[3], out.lease_expires_at) && read(a[4], out.due) &&
         read(a[5], out.payload) && read(a[6], out.key) && read(a[7], out.run) && read(a[8], out.queue);
}

bool read(const Value& value, std::vector<std::string>& out) {
  if (value.kind != Kind::array) return false;
  out.reserve(value.array.size());
  for (const Value& element : value.array) {
    if (!read(element, out.emplace_back())) return false;
  }
  return true;
}

}  // namespace

Result<Answer> read_answer(const Value& value, Asked asked) {
  std::optional<Answer> answer;
  if (value.kind == Kind::simple) answer = read_simple(value.text, asked);
  if (value.kind == Kind::array) answer = read_duplicate(value);
  if (value.kind == Kind::integer) {
    answer =
        Answer{.outcome = Outcome::extended, .state = State::processing, .at = Time{Duration{value.integer}}};
  }
  if (!answer) return refusal_or_unfit("an outcome", value);
  return std::move(*answer);
}

Result<std::vector<Claimed>> read_claimed(const Value& value) {
  if (value.kind != Kind::array) return refusal_or_unfit("an array of orders", value);
  std::vector<Claimed> orders(value.array.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (!read(value.array[i], orders[i])) return unfit("an order handed out", value.array[i]);
  }
  return orders;
}

Result<std::optional<Order>> read_order(const Value& value) {
  if (value.kind == Kind::nil) return std::optional<Order>();
  std::optional<Order> order(std::in_place);
  Fields fields("an order", value);
  fields.field("id", order->id).field("state", order->state).field("due", order->due);
  fields.field("attempt", order->attempt)
      .field("failures", order->failures)
      .field("priority", order->priority);
  fields.field("key", order->key).field("run", order->run).field("token", order->token);
  fields.field("worker", OrEmpty{order->worker}).field("lease_expires_at", order->lease_expires_at);
  fields.field("created_at", order->created_at).field("updated_at", order->updated_at);
  fields.field("error", OrEmpty{order->error}).field("result", OrEmpty{order->result});
  fields.field("payload", order->payload).field("tries", order->tries);
  fields.field("tries_used", order->tries_used).field("sequence", order->sequence);
  fields.flag("grandfathered", order->grandfathered).flag("vanished", order->vanished);
  return when(fields.done(), order);
}

Result<ReadMark> read_mark(const Value& value) {
  ReadMark mark;
  const std::vector<Value>& a = value.array;
  const bool fits =
      value.kind == Kind::array && a.size() >= 2 && read(a[0], mark.since) && read(a[1], mark.read_at);
  if (!fits) return refusal_or_unfit("a sequence and a time", value);
  return mark;
}

Result<Page> read_page(const Value& value) {
  Page page;
  const std::vector<Value>& a = value.array;
  const bool fits =
      value.kind == Kind::array && a.size() >= 2 && read(a[0], OrEmpty{page.next}) && read(a[1], page.ids);
  if (!fits) return refusal_or_unfit("a cursor and ids", value);
  return page;
}

Result<std::vector<HistoryEntry>> read_history(const Value& value) {
  if (value.kind != Kind::array) return refusal_or_unfit("an array of entries", value);
  std::vector<HistoryEntry> entries(value.array.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    HistoryEntry& entry = entries[i];
    if (value.array[i].kind != Kind::array) return unfit("an entry of a history", value.array[i]);
    Fields fields("an entry of a history", value.array[i]);
    fields.field("at", entry.at).field("event", entry.event).field("state", entry.state);
    fields.field("due", entry.due).field("worker", OrEmpty{entry.worker}).field("token", entry.token);
    fields.field("attempt", entry.attempt).field("reason", OrEmpty{entry.reason});
    fields.field("sequence", entry.sequence);
    if (Result<> done = fields.done(); !done) return Unexpected{done.error()};
  }
  return entries;
}

Result<std::vector<std::string>> read_names(const Value& value) {
  std::vector<std::string> names;
  if (!read(value, names)) return refusal_or_unfit("an array of names", value);
  return names;
}

Result<Stats> read_stats(const Value& value) {
  Stats stats;
  Fields fields("the counts of a queue", value);
  fields.counts(stats.counts)
      .field("due", stats.due)
      .field("oldest_overdue_ms", stats.oldest_overdue)
      .field("leases", stats.leases);
  return when(fields.done(), stats);
}

Result<QueueSettings> read_settings(const Value& value) {
  QueueSettings settings;
  Fields fields("the settings of a queue", value);
  fields.field("lease", settings.lease).field("tries", settings.tries);
  fields.field("backoff_base", settings.backoff_base).field("backoff_cap", settings.backoff_cap);
  fields.field("backoff_jitter_percent", settings.backoff_jitter_percent);
  fields.field("payload_bytes_max", settings.payload_bytes_max);
  fields.field("keep_success", settings.keep_success);
  fields.field("keep_history", settings.keep_history).field("paused", settings.paused);
  return when(fields.done(), settings);
}

Result<RunState> read_run_state(const Value& value) {
  const std::optional<RunState> state = run_state_named(value.text);
  if (value.kind != Kind::simple || !state) return refusal_or_unfit("the state of a run", value);
  return *state;
}

Result<Run> read_run(const Value& value) {
  Run run;
  Fields fields("a run", value);
  fields.field("run", run.run).field("state", run.state).field("ttl", OrNone{run.ttl});
  fields.field("expires_at", run.expires_at).field("opened_at", run.opened_at);
  fields.field("started_at", run.started_at).field("ended_at", run.ended_at);
  fields.field("reason", OrEmpty{run.reason}).counts(run.counts);
  fields.field("purged_SUCCESS", run.purged.success).field("purged_FAILED", run.purged.failed);
  fields.field("purged_ABORTED", run.purged.aborted);
  return when(fields.done(), run);
}

Result<CheckReport> read_check(const Value& value) {
  // One that names no invariant has looked at none: that is no answer, least of all a good one.
  if (value.kind != Kind::array || value.array.empty() || value.array.size() % 2 != 0)
    return refusal_or_unfit("an array of invariants and violations", value);
  CheckReport report;
  for (std::size_t i = 0; i < value.array.size(); i += 2) {
    Violation& violation = report.invariants.emplace_back();
    if (!read(value.array[i], violation.invariant) || !read(value.array[i + 1], violation.count))
      return unfit("an invariant and how often it is violated", value.array[i]);
  }
  return report;
}

Result<std::uint64_t> read_count(const Value& value) {
  std::uint64_t count = 0;
  if (!read(value, count)) return refusal_or_unfit("a count", value);
  return count;
}

Result<std::string> read_text(const Value& value) {
  if (value.kind != Kind::simple && value.kind != Kind::bulk) return refusal_or_unfit("a text", value);
  return value.text;
}

}  // namespace duelease::protocol
