#include "engine/reads.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <variant>

#include "base/quote.h"
#include "engine/command.h"
#include "model/history.h"
#include "model/validate.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

namespace {

Order order_of(std::string_view queue, std::string_view id, model::Record record) {
  Order out;
  out.queue = queue;
  out.id = id;
  out.state = record.state;
  out.due = record.due;
  out.priority = record.priority;
  out.tries = record.tries;
  out.attempt = record.attempt;
  out.tries_used = record.tries_used;
  out.failures = record.failures;
  out.key = std::move(record.key);
  out.run = std::move(record.run);
  out.token = record.token;
  out.sequence = record.sequence;
  out.worker = std::move(record.worker);
  out.created_at = record.created_at;
  out.updated_at = record.updated_at;
  out.error = std::move(record.error);
  out.result = std::move(record.result);
  out.payload = std::move(record.payload);
  out.grandfathered = record.grandfathered;
  out.vanished = record.vanished;
  return out;
}

Unexpected unreadable(std::string_view queue, std::string_view id, const std::string& why) {
  return fail(Code::corrupt, "order " + std::string(id) + " of queue " + std::string(queue) + ": " + why);
}

// An order that is alive: under a lease, or where its row says that its queue entry is.
Result<std::optional<Order>> read_live(const store::Reader& reader, std::string_view queue,
                                       std::string_view id, const store::Place& place,
                                       const LeaseEnd& lease_end) {
  const Result<std::optional<std::string>> leased = reader.get(Family::leases, store::order_key(queue, id));
  if (!leased) return Unexpected{leased.error()};
  if (*leased) {
    Result<model::Lease> lease = store::decode_lease(**leased);
    if (!lease) return unreadable(queue, id, lease.error().message);
    const std::optional<Time> now_known =
        lease_end ? lease_end(queue, id, lease->record.token) : std::nullopt;
    const Time expires_at = now_known.value_or(lease->expires_at);
    Order order = order_of(queue, id, std::move(lease->record));
    order.lease_expires_at = expires_at;
    return std::optional<Order>{std::move(order)};
  }
  const Result<std::optional<std::string>> queued =
      reader.get(Family::queue, store::queue_key(queue, place, id));
  if (!queued) return Unexpected{queued.error()};
  if (!*queued) return unreadable(queue, id, "its record was lost: the store was damaged");
  Result<model::Record> record = store::decode_waiting(**queued);
  if (!record) return unreadable(queue, id, record.error().message);
  return std::optional<Order>{order_of(queue, id, std::move(*record))};
}

constexpr char hex_digits[] = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out.push_back(hex_digits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(hex_digits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = std::string_view(hex_digits).find(text[i]);
    const std::size_t low = std::string_view(hex_digits).find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

// Where a list looks: WAIT in claim order, PROCESSING in the leases, ended ones and all among the orders.
Family listed_family(std::optional<State> state) {
  if (state == State::wait) return Family::queue;
  return state == State::processing ? Family::leases : Family::orders;
}

bool listed(std::string_view value, std::optional<State> state) {
  if (!state || *state == State::wait || *state == State::processing) return true;
  const Result<store::OrderRow> row = store::decode_order(value);
  const auto* ended = row ? std::get_if<model::Record>(&*row) : nullptr;
  return ended != nullptr && ended->state == *state;
}

// A duration as a person says it: the two largest units.
std::string spoken(Duration duration) {
  const std::int64_t ms = std::max<std::int64_t>(duration.count(), 0);  // The clock may have stepped back.
  const auto pair = [](std::int64_t a, const char* unit_a, std::int64_t b, const char* unit_b) {
    std::string out = std::to_string(a) + unit_a;
    return b == 0 ? out : out + " " + std::to_string(b) + unit_b;
  };
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return pair(ms / 1000, " s", ms % 1000, " ms");
  if (ms < 3'600'000) return pair(ms / 60'000, " min", ms / 1000 % 60, " s");
  if (ms < 86'400'000) return pair(ms / 3'600'000, " h", ms / 60'000 % 60, " min");
  return pair(ms / 86'400'000, " d", ms / 3'600'000 % 24, " h");
}

// "1 failure", "2 failures".
std::string counted(std::uint32_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

std::string why_waiting(const Order& order, const QueueSettings& settings, Time now) {
  if (order.due > now) {
    std::string out = "due in " + spoken(order.due - now);
    if (order.failures > 0)
      out += ", after " + counted(order.failures, "failure") + ", the last: " + order.error;
    return out;
  }
  if (settings.paused) return "queue " + order.queue + " is paused";
  return "due since " + spoken(now - order.due) + ", no worker has claimed it yet";
}

}  // namespace

Result<std::optional<Order>> read_order(const store::Reader& reader, std::string_view queue,
                                        std::string_view id, const LeaseEnd& lease_end) {
  const Result<std::optional<std::string>> bytes = reader.get(Family::orders, store::order_key(queue, id));
  if (!bytes) return Unexpected{bytes.error()};
  if (!*bytes) return std::optional<Order>{};
  Result<store::OrderRow> row = store::decode_order(**bytes);
  if (!row) return unreadable(queue, id, row.error().message);
  if (const auto* place = std::get_if<store::Place>(&*row))
    return read_live(reader, queue, id, *place, lease_end);
  return std::optional<Order>{order_of(queue, id, std::move(std::get<model::Record>(*row)))};
}

namespace {

struct MetaRows {
  std::optional<std::string> settings;
  std::optional<std::string> counts;
};

Result<MetaRows> read_meta(const store::Reader& reader, std::string_view queue) {
  if (Result<> valid = model::validate_queue_name(queue); !valid) return Unexpected{valid.error()};
  Result<std::optional<std::string>> settings = reader.get(Family::meta, store::settings_key(queue));
  if (!settings) return Unexpected{settings.error()};
  Result<std::optional<std::string>> counts = reader.get(Family::meta, store::counts_key(queue));
  if (!counts) return Unexpected{counts.error()};
  if (!*settings && !*counts) return no_queue(queue);
  return MetaRows{std::move(*settings), std::move(*counts)};
}

}  // namespace

Result<std::uint32_t> count_generations(const store::Reader& reader, std::string_view queue,
                                        std::string_view id) {
  const std::string prefix = store::history_prefix(queue, id);
  const std::unique_ptr<store::Cursor> cursor =
      reader.scan(Family::history, prefix, store::prefix_end(prefix));
  std::uint32_t generations = 0;
  for (; cursor->valid(); cursor->next()) {
    const Result<store::HistoryRow> row = store::decode_history(cursor->value());
    if (!row || row->ended) ++generations;
  }
  if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  return generations;
}

Result<> find_queue(const store::Reader& reader, std::string_view queue) {
  const Result<MetaRows> rows = read_meta(reader, queue);
  return rows ? Result<>{} : Unexpected{rows.error()};
}

Result<Page> read_list(const store::Reader& reader, const ListRequest& request) {
  if (Result<> valid = model::validate(request); !valid) return Unexpected{valid.error()};
  if (Result<> exists = find_queue(reader, request.queue); !exists) return Unexpected{exists.error()};
  const std::string prefix = store::queue_prefix(request.queue);
  std::string from = prefix;
  if (!request.after.empty()) {
    const std::optional<std::string> after = from_hex(request.after);
    if (!after) return fail(Code::invalid, base::quote(request.after) + " is not a cursor of a list");
    from = prefix + *after + '\0';
  }
  const Family family = listed_family(request.state);
  const std::unique_ptr<store::Cursor> cursor = reader.scan(family, from, store::prefix_end(prefix));
  Page page;
  std::string last;
  for (; cursor->valid(); cursor->next()) {
    const std::string_view rest = cursor->key().substr(prefix.size());
    std::string_view id = rest;
    if (family == Family::queue) {
      const std::optional<store::QueueEntry> entry = store::parse_queue_key(cursor->key());
      if (!entry) continue;
      id = entry->id;
    }
    if (!listed(cursor->value(), request.state)) continue;
    if (page.ids.size() == request.limit) {
      page.next = to_hex(last);
      return page;
    }
    page.ids.emplace_back(id);
    last = rest;
  }
  if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  return page;
}

namespace {

std::string why(const Order& o, const QueueSettings& settings, Time now) {
  switch (o.state) {
    case State::wait: return why_waiting(o, settings, now);
    case State::processing: {
      const std::string who = "leased by " + o.worker + ", attempt " + std::to_string(o.attempt);
      if (*o.lease_expires_at > now) return who + ", for another " + spoken(*o.lease_expires_at - now);
      return who + "; the lease ran out " + spoken(now - *o.lease_expires_at) +
             " ago and is about to be reaped";
    }
    case State::success: return "done " + spoken(now - o.updated_at) + " ago";
    case State::failed:
      return "failed " + spoken(now - o.updated_at) + " ago after " + counted(o.attempt, "attempt") + ": " +
             o.error;
    case State::aborted:
      return "aborted " + spoken(now - o.updated_at) + " ago" + (o.error.empty() ? "" : ": " + o.error);
  }
  return "in a state that this version does not know";
}

}  // namespace

Result<std::string> read_why(const store::Reader& reader, std::string_view queue, std::string_view id,
                             Time now, const LeaseEnd& lease_end) {
  const Result<std::optional<Order>> order = read_order(reader, queue, id, lease_end);
  if (!order) return Unexpected{order.error()};
  if (!*order) return std::string("no such order");
  const Result<QueueSettings> settings = read_settings(reader, queue);
  if (!settings) return Unexpected{settings.error()};
  std::string text = why(**order, *settings, now);
  if ((*order)->state == State::wait && (*order)->run) {
    const Result<Run> run = read_run(reader, queue, *(*order)->run);
    if (run && !model::is_alive(run->state)) {
      text = "run " + run->run + " has ended (" + std::string(run_state_name(run->state)) +
             "); the order is about to be ABORTED";
    }
  }
  // Workers and errors are bytes of any kind; this is a line for a person.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

Result<std::vector<std::string>> read_queues(const store::Reader& reader) {
  std::vector<std::string> names;
  for (const std::string_view prefix : {store::counts_prefix, store::settings_prefix}) {
    const std::unique_ptr<store::Cursor> cursor =
        reader.scan(Family::meta, prefix, store::prefix_end(prefix));
    for (; cursor->valid(); cursor->next()) names.emplace_back(cursor->key().substr(prefix.size()));
    if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<QueueSettings> read_settings(const store::Reader& reader, std::string_view queue) {
  const Result<MetaRows> rows = read_meta(reader, queue);
  if (!rows) return Unexpected{rows.error()};
  if (!rows->settings) return QueueSettings{};
  const Result<store::SettingsRow> row = store::decode_settings(*rows->settings);
  if (!row) return Unexpected{row.error()};
  return row->settings;
}

// Its rows are walked from the oldest on: no more than that of what happened to one order within its retention.
Result<std::vector<HistoryEntry>> read_history(const store::Reader& reader, std::string_view queue,
                                               std::string_view id, std::uint32_t limit, Time now) {
  if (Result<> valid = model::validate_history(queue, id, limit); !valid) return Unexpected{valid.error()};
  const Result<QueueSettings> settings = read_settings(reader, queue);
  if (!settings) return Unexpected{settings.error()};
  const std::string prefix = store::history_prefix(queue, id);
  const std::unique_ptr<store::Cursor> cursor =
      reader.scan(Family::history, prefix, store::prefix_end(prefix));
  std::deque<HistoryEntry> newest;
  for (; cursor->valid(); cursor->next()) {
    const std::optional<store::HistoryName> name = store::parse_history_key(cursor->key());
    if (!name) return unreadable(queue, id, "a row of its history has a key that does not parse");
    const Result<store::HistoryRow> row = store::decode_history(cursor->value());
    if (!row) return unreadable(queue, id, row.error().message);
    HistoryEntry entry = row->entry ? *row->entry : model::entry_of(*row->ended, HistoryEvent::ended);
    if (!model::is_kept(entry.at, row->ended.has_value(), settings->keep_history, now)) continue;
    entry.sequence = name->sequence;
    newest.push_back(std::move(entry));
    if (newest.size() > limit) newest.pop_front();
  }
  if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  return std::vector<HistoryEntry>(std::make_move_iterator(newest.begin()),
                                   std::make_move_iterator(newest.end()));
}

Result<Stats> read_stats(const store::Reader& reader, std::string_view queue, Time now) {
  const Result<MetaRows> rows = read_meta(reader, queue);
  if (!rows) return Unexpected{rows.error()};
  Stats stats;
  if (rows->counts) {
    const Result<Counts> counts = store::decode_counts(*rows->counts);
    if (!counts) return Unexpected{counts.error()};
    stats.counts = *counts;
  }
  stats.leases = stats.counts.processing;
  // Within a priority orders stand by due time: walk the due ones, then jump to the next priority.
  const std::string prefix = store::queue_prefix(queue);
  std::string from = prefix;
  while (!from.empty()) {
    const std::unique_ptr<store::Cursor> cursor = reader.scan(Family::queue, from, store::prefix_end(prefix));
    from.clear();
    for (; cursor->valid(); cursor->next()) {
      const std::optional<store::QueueEntry> entry = store::parse_queue_key(cursor->key());
      if (!entry) continue;
      if (entry->place.due > now) {
        from = store::prefix_end(cursor->key().substr(0, prefix.size() + 1));
        if (entry->place.priority == 255) from.clear();
        break;
      }
      ++stats.due;
      stats.oldest_overdue = std::max(stats.oldest_overdue, Duration{now - entry->place.due});
    }
    if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  }
  return stats;
}

Result<Run> read_run(const store::Reader& reader, std::string_view queue, std::string_view run) {
  if (Result<> valid = model::validate_run(queue, run); !valid) return Unexpected{valid.error()};
  const Result<std::optional<std::string>> bytes = reader.get(Family::runs, store::run_key(queue, run));
  if (!bytes) return Unexpected{bytes.error()};
  const std::string name = "run " + std::string(run) + " of queue " + std::string(queue);
  if (!*bytes) return fail(Code::not_found, "no " + name);
  Result<model::RunRecord> record = store::decode_run(**bytes);
  if (!record) return fail(Code::corrupt, name + ": " + record.error().message);
  Run out;
  out.queue = queue;
  out.run = run;
  out.state = record->state;
  out.ttl = record->ttl;
  if (record->ttl && model::is_alive(record->state)) out.expires_at = record->expires_at;
  out.opened_at = record->opened_at;
  out.started_at = record->started_at;
  out.ended_at = record->ended_at;
  out.reason = std::move(record->reason);
  out.counts = record->counts;
  out.purged = record->purged;
  return out;
}

Result<std::vector<std::string>> read_runs(const store::Reader& reader, std::string_view queue) {
  if (const Result<MetaRows> rows = read_meta(reader, queue); !rows) return Unexpected{rows.error()};
  const std::string prefix = store::run_prefix(queue);
  const std::unique_ptr<store::Cursor> cursor = reader.scan(Family::runs, prefix, store::prefix_end(prefix));
  std::vector<std::string> names;
  for (; cursor->valid(); cursor->next()) names.emplace_back(cursor->key().substr(prefix.size()));
  if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  return names;
}

Result<std::uint64_t> read_sequence(const store::Reader& reader) {
  const Result<std::optional<std::string>> row = reader.get(Family::meta, store::sequence_key);
  if (!row) return Unexpected{row.error()};
  return *row ? store::decode_sequence(**row) : Result<std::uint64_t>{std::uint64_t{0}};
}

Result<Ended> find_ended(const store::Reader& reader, std::string_view queue, State state, Time ended_by,
                         std::size_t limit, std::string_view from) {
  const std::string prefix = store::queue_prefix(queue);
  const std::unique_ptr<store::Cursor> cursor =
      reader.scan(Family::orders, from.empty() ? std::string_view(prefix) : from, store::prefix_end(prefix));
  Ended out;
  for (; cursor->valid(); cursor->next()) {
    if (out.ids.size() == limit) {
      out.next = cursor->key();
      return out;
    }
    const Result<store::OrderRow> row = store::decode_order(cursor->value());
    const auto* ended = row ? std::get_if<model::Record>(&*row) : nullptr;
    if (ended == nullptr || ended->state != state || ended->updated_at > ended_by) continue;
    out.ids.emplace_back(cursor->key().substr(prefix.size()));
  }
  if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  return out;
}

}  // namespace duelease::engine
