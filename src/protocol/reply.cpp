#include "protocol/reply.h"

#include <algorithm>
#include <charconv>

namespace duelease::protocol {
namespace {

void append_line(std::string& out, char type, std::int64_t value) {
  char line[24];
  line[0] = type;
  char* end = std::to_chars(line + 1, line + sizeof line, value).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(line, static_cast<std::size_t>(end - line));
}

void append_text(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out += text;
  const auto ends_line = [](char c) { return c == '\r' || c == '\n'; };
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), ends_line, ' ');
}

void print_time(std::string& out, Time time) { print_integer(out, time.time_since_epoch().count()); }

void print_token(std::string& out, Token token) { print_integer(out, static_cast<std::int64_t>(token)); }

void print_number(std::string& out, std::uint64_t value) {
  print_integer(out, static_cast<std::int64_t>(value));
}

void print_bulk_or_nil(std::string& out, const std::optional<std::string>& bytes) {
  if (bytes) {
    print_bulk(out, *bytes);
  } else {
    print_nil(out);
  }
}

void print_time_or_nil(std::string& out, const std::optional<Time>& time) {
  if (time) {
    print_time(out, *time);
  } else {
    print_nil(out);
  }
}

void print_bulk_unless_empty(std::string& out, std::string_view bytes) {
  if (bytes.empty()) {
    print_nil(out);
  } else {
    print_bulk(out, bytes);
  }
}

// Five fields, under the states' names.
void print_counts(std::string& out, const Counts& counts) {
  const auto field = [&](State state, std::uint64_t value) {
    print_bulk(out, state_name(state));
    print_number(out, value);
  };
  field(State::wait, counts.wait);
  field(State::processing, counts.processing);
  field(State::success, counts.success);
  field(State::failed, counts.failed);
  field(State::aborted, counts.aborted);
}

}  // namespace

// ---- RESP2 ----

void print_simple(std::string& out, std::string_view text) {
  out += '+';
  append_text(out, text);
  out += "\r\n";
}

void print_error(std::string& out, WireCode code, std::string_view message) {
  out += '-';
  out += wire_code_name(code);
  out += ' ';
  append_text(out, message);
  out += "\r\n";
}

void print_error(std::string& out, const Error& error) {
  print_error(out, wire_code(error.code), error.message);
}

void print_integer(std::string& out, std::int64_t value) { append_line(out, ':', value); }

void print_bulk(std::string& out, std::string_view bytes) {
  append_line(out, '$', static_cast<std::int64_t>(bytes.size()));
  out += bytes;
  out += "\r\n";
}

void print_nil(std::string& out) { out += "$-1\r\n"; }

void print_array(std::string& out, std::size_t size) {
  append_line(out, '*', static_cast<std::int64_t>(size));
}

// ---- What is answered ----

void print_answer(std::string& out, const Answer& answer) {
  switch (answer.outcome) {
    case Outcome::duplicate:
      print_array(out, 3);
      print_bulk(out, outcome_name(answer.outcome));
      print_bulk(out, state_name(answer.state));
      print_bulk(out, answer.blocker);
      break;
    case Outcome::extended: print_time(out, answer.at); break;
    case Outcome::refused: print_simple(out, state_name(answer.state)); break;
    case Outcome::scheduled:
      print_simple(out,
                   answer.state == State::wait ? outcome_name(answer.outcome) : state_name(answer.state));
      break;
    default: print_simple(out, outcome_name(answer.outcome));
  }
}

void print_claimed(std::string& out, std::span<const Claimed> orders) {
  print_array(out, orders.size());
  for (const Claimed& order : orders) {
    print_array(out, 9);
    print_bulk(out, order.id);
    print_token(out, order.token);
    print_number(out, order.attempt);
    print_time(out, order.lease_expires_at);
    print_time(out, order.due);
    print_bulk(out, order.payload);
    print_bulk_or_nil(out, order.key);
    print_bulk_or_nil(out, order.run);
    print_bulk(out, order.queue);
  }
}

void print_order(std::string& out, const std::optional<Order>& order) {
  if (!order) return print_nil(out);
  std::size_t fields = 0;
  std::string body;
  const auto field = [&](std::string_view name) -> std::string& {
    ++fields;
    print_bulk(body, name);
    return body;
  };
  print_bulk(field("id"), order->id);
  print_bulk(field("state"), state_name(order->state));
  print_time(field("due"), order->due);
  print_number(field("attempt"), order->attempt);
  print_number(field("failures"), order->failures);
  print_number(field("priority"), order->priority);
  print_bulk_or_nil(field("key"), order->key);
  print_bulk_or_nil(field("run"), order->run);
  print_token(field("token"), order->token);
  print_bulk_unless_empty(field("worker"), order->worker);
  print_time_or_nil(field("lease_expires_at"), order->lease_expires_at);
  print_time(field("created_at"), order->created_at);
  print_time(field("updated_at"), order->updated_at);
  print_bulk_unless_empty(field("error"), order->error);
  print_bulk_unless_empty(field("result"), order->result);
  print_bulk(field("payload"), order->payload);
  print_number(field("tries"), order->tries);
  print_number(field("tries_used"), order->tries_used);
  print_number(field("sequence"), order->sequence);
  if (order->grandfathered) print_bulk(field("grandfathered"), "yes");
  if (order->vanished) print_bulk(field("vanished"), "yes");
  print_array(out, 2 * fields);
  out += body;
}

void print_mark(std::string& out, const ReadMark& mark) {
  print_array(out, 2);
  print_number(out, mark.since);
  print_time(out, mark.read_at);
}

void print_page(std::string& out, const Page& page) {
  print_array(out, 2);
  print_bulk_unless_empty(out, page.next);
  print_names(out, page.ids);
}

void print_history(std::string& out, std::span<const HistoryEntry> entries) {
  const auto field = [&out](std::string_view name) -> std::string& {
    print_bulk(out, name);
    return out;
  };
  print_array(out, entries.size());
  for (const HistoryEntry& entry : entries) {
    print_array(out, 18);
    print_time(field("at"), entry.at);
    print_bulk(field("event"), history_event_name(entry.event));
    print_bulk(field("state"), state_name(entry.state));
    print_time_or_nil(field("due"), entry.due);
    print_bulk_unless_empty(field("worker"), entry.worker);
    print_token(field("token"), entry.token);
    print_number(field("attempt"), entry.attempt);
    print_bulk_unless_empty(field("reason"), entry.reason);
    print_number(field("sequence"), entry.sequence);
  }
}

void print_names(std::string& out, std::span<const std::string> names) {
  print_array(out, names.size());
  for (const std::string& name : names) print_bulk(out, name);
}

void print_stats(std::string& out, const Stats& stats) {
  const auto field = [&](std::string_view name, std::uint64_t value) {
    print_bulk(out, name);
    print_number(out, value);
  };
  print_array(out, 16);
  print_counts(out, stats.counts);
  field("due", stats.due);
  field("oldest_overdue_ms", static_cast<std::uint64_t>(stats.oldest_overdue.count()));
  field("leases", stats.leases);
}

void print_settings(std::string& out, const QueueSettings& settings) {
  const auto field = [&](std::string_view name, std::int64_t value) {
    print_bulk(out, name);
    print_integer(out, value);
  };
  print_array(out, 18);
  field("lease", settings.lease.count());
  field("tries", settings.tries);
  field("backoff_base", settings.backoff_base.count());
  field("backoff_cap", settings.backoff_cap.count());
  field("backoff_jitter_percent", settings.backoff_jitter_percent);
  field("payload_bytes_max", settings.payload_bytes_max);
  if (settings.keep_success) {
    field("keep_success", settings.keep_success->count());
  } else {
    print_bulk(out, "keep_success");
    print_bulk(out, "forever");
  }
  field("keep_history", settings.keep_history.count());
  print_bulk(out, "paused");
  print_bulk(out, settings.paused ? "yes" : "no");
}

void print_run_state(std::string& out, RunState state) { print_simple(out, run_state_name(state)); }

void print_run(std::string& out, const Run& run) {
  const auto field = [&out](std::string_view name) -> std::string& {
    print_bulk(out, name);
    return out;
  };
  print_array(out, 32);
  print_bulk(field("run"), run.run);
  print_bulk(field("state"), run_state_name(run.state));
  if (run.ttl) {
    print_integer(field("ttl"), run.ttl->count());
  } else {
    print_nil(field("ttl"));
  }
  print_time_or_nil(field("expires_at"), run.expires_at);
  print_time(field("opened_at"), run.opened_at);
  print_time_or_nil(field("started_at"), run.started_at);
  print_time_or_nil(field("ended_at"), run.ended_at);
  print_bulk_unless_empty(field("reason"), run.reason);
  print_counts(out, run.counts);
  print_number(field("purged_SUCCESS"), run.purged.success);
  print_number(field("purged_FAILED"), run.purged.failed);
  print_number(field("purged_ABORTED"), run.purged.aborted);
}

void print_check(std::string& out, const CheckReport& report) {
  print_array(out, 2 * report.invariants.size());
  for (const Violation& violation : report.invariants) {
    print_bulk(out, violation.invariant);
    print_number(out, violation.count);
  }
}

}  // namespace duelease::protocol
