#include "model/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/reads.h"
#include "model/describe.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::model_test {

namespace {

using store::Family;

std::string named(const std::string& queue, const std::string& id) {
  return shown(queue) + " / " + shown(id);
}

// Of a read that must not fail.
template <class T>
T good(Result<T> result, std::string_view what, std::string_view queue = {}, std::string_view id = {}) {
  require(result.has_value(), [&] {
    return std::string(what) + " " + shown(queue) + " " + shown(id) + ": " + result.error().message;
  });
  return std::move(result).value();
}

// What a row of any family says, once decoded.
struct Row {
  std::optional<model::Record> record{};
  std::optional<store::Place> place{};
  std::optional<model::Lease> lease{};
  std::optional<model::RunRecord> run{};
  std::optional<HistoryEntry> entry{};
  std::string text{};

  bool operator==(const Row&) const = default;
};
using Rows = std::map<std::string, Row>;

std::string row_text(const Row& row) {
  if (row.place) {
    return "alive, priority " + std::to_string(row.place->priority) + ", due " +
           std::to_string(row.place->due.time_since_epoch().count());
  }
  if (row.lease) {
    return describe(row.lease->record) + " expires " +
           std::to_string(row.lease->expires_at.time_since_epoch().count()) + " length " +
           std::to_string(row.lease->length.count()) + " request " + shown(row.lease->request) + " unknown " +
           shown(row.lease->unknown);
  }
  if (row.run) return describe(*row.run);
  if (row.entry) {
    return describe(*row.entry) + (row.record ? " of a generation: " + describe(*row.record) : "");
  }
  return row.record ? describe(*row.record) : shown(row.text);
}

template <class Decode>
void compare_family(const store::MemoryStore& store, Family family, const Rows& expected, Decode decode) {
  const std::string name = store::family_names[static_cast<std::size_t>(family)];
  const store::MemoryStore::Table& actual = store.table(family);
  for (const auto& [key, value] : actual) {
    const auto wanted = expected.find(key);
    require(wanted != expected.end(),
            [&] { return "family " + name + " has a row too many: " + shown(key); });
    const Row found = decode(key, value);
    require(found == wanted->second, [&] {
      return "family " + name + ", row " + shown(key) + "\n  is     " + row_text(found) + "\n  not    " +
             row_text(wanted->second);
    });
  }
  for (const auto& [key, row] : expected) {
    require(actual.contains(key),
            [&] { return "family " + name + " lacks the row " + shown(key) + ": " + row_text(row); });
  }
}

struct Expected {
  Rows queue, leases, orders, dedup, runs, history, app;
};

// A row for each run, one more while it is alive or has live orders, and one for each of these.
void expect_runs(const std::string& queue_name, const OracleQueue& queue, Rows& out) {
  std::map<std::string, Counts> counts = queue.run_counts();
  for (const auto& [name, run] : queue.runs) {
    model::RunRecord record = run;
    record.counts = counts[name];
    const bool has_ended = run.state == RunState::done || run.state == RunState::error;
    if (!has_ended || record.counts.wait > 0 || record.counts.processing > 0) {
      out.emplace(store::active_run_key(queue_name, name), Row{});
    }
    out.emplace(store::run_key(queue_name, name), Row{.run = std::move(record)});
  }
  for (const auto& [id, order] : queue.orders) {
    const model::Record& record = order.record;
    const bool is_live = record.state == State::wait || record.state == State::processing;
    if (record.run && is_live) out.emplace(store::run_order_key(queue_name, *record.run, id), Row{});
  }
}

Expected expected_rows(const Oracle& oracle) {
  Expected out;
  for (const auto& [queue_name, queue] : oracle.queues()) {
    for (const auto& [id, order] : queue.orders) {
      const model::Record& record = order.record;
      const store::Place place{record.priority, record.due};
      const std::string key = store::order_key(queue_name, id);
      const bool is_live = record.state == State::wait || record.state == State::processing;
      out.orders.emplace(key, is_live ? Row{.place = place} : Row{.record = record});
      if (record.state == State::wait)
        out.queue.emplace(store::queue_key(queue_name, place, id), Row{.record = record});
      if (record.state == State::processing) {
        out.leases.emplace(key, Row{.lease = lease_of(order)});
      }
    }
    expect_runs(queue_name, queue, out.runs);
    for (const auto& [key, id] : queue.owners)
      out.dedup.emplace(store::dedup_key(queue_name, key), Row{.text = id});
    for (const auto& [place, row] : queue.history) {
      out.history.emplace(store::history_key(queue_name, place.first, place.second),
                          Row{.record = row.ended, .entry = row.entry});
    }
  }
  for (const auto& [key, value] : oracle.app()) out.app.emplace(key, Row{.text = value});
  return out;
}

Row decode_run(const std::string& key, const std::string& value) {
  const std::optional<store::RunEntry> entry = store::parse_run_key(key);
  require(entry.has_value(), "a key of family runs does not parse");
  if (entry->kind != store::RunEntry::Kind::run) return {.text = value};
  return {.run = good(store::decode_run(value), "a row of family runs")};
}

Row decode_order(const std::string&, const std::string& value) {
  store::OrderRow row = good(store::decode_order(value), "a row of family orders");
  if (const store::Place* place = std::get_if<store::Place>(&row)) return {.place = *place};
  return {.record = std::get<model::Record>(std::move(row))};
}

Row decode_history(const std::string& key, const std::string& value) {
  const std::optional<store::HistoryName> name = store::parse_history_key(key);
  require(name.has_value(), "a key of family history does not parse");
  store::HistoryRow row = good(store::decode_history(value), "a row of family history");
  if (row.entry) row.entry->sequence = name->sequence;
  return {.record = std::move(row.ended), .entry = std::move(row.entry)};
}

void compare_meta(const Oracle& oracle, const store::MemoryStore& store) {
  for (const auto& [name, queue] : oracle.queues()) {
    const auto settings = store.table(Family::meta).find(store::settings_key(name));
    const store::SettingsRow row =
        settings == store.table(Family::meta).end()
            ? store::SettingsRow{}
            : good(store::decode_settings(settings->second), "settings of queue", name);
    require(row.settings == queue.settings && row.unknown == queue.unknown, [&] {
      return "queue " + name + " has " + describe(row.settings) + " " + shown(row.unknown) + "\n  not    " +
             describe(queue.settings) + " " + shown(queue.unknown);
    });
    const bool has_entries =
        std::ranges::any_of(queue.history, [](const auto& h) { return h.second.entry.has_value(); });
    require(!has_entries || row.may_have_history || queue.settings.keep_history == Duration{0},
            "queue " + name + " keeps a history and does not know that it has any");
    const auto counts = store.table(Family::meta).find(store::counts_key(name));
    const Counts stored = counts == store.table(Family::meta).end()
                              ? Counts{}
                              : good(store::decode_counts(counts->second), "counts of queue", name);
    require(stored == queue.counts(),
            "queue " + name + " counts " + describe(stored) + "\n  not    " + describe(queue.counts()));
  }
  const std::uint64_t sequence = good(engine::read_sequence(store), "the last sequence");
  require(sequence == oracle.sequence(),
          "the last sequence is " + std::to_string(sequence) + ", not " + std::to_string(oracle.sequence()));
}

}  // namespace

void compare_rows(const Oracle& oracle, const store::MemoryStore& store) {
  const auto as_text = [](const std::string&, const std::string& value) { return Row{.text = value}; };
  const Expected expected = expected_rows(oracle);
  compare_family(store, Family::queue, expected.queue, [](const std::string&, const std::string& value) {
    return Row{.record = good(store::decode_waiting(value), "a row of family queue")};
  });
  compare_family(store, Family::leases, expected.leases, [](const std::string&, const std::string& value) {
    return Row{.lease = good(store::decode_lease(value), "a row of family leases")};
  });
  compare_family(store, Family::orders, expected.orders, decode_order);
  compare_family(store, Family::dedup, expected.dedup, as_text);
  compare_family(store, Family::history, expected.history, decode_history);
  compare_family(store, Family::runs, expected.runs, decode_run);
  compare_family(store, Family::app, expected.app, as_text);
  compare_meta(oracle, store);
}

// ---- Reads --------------------------------------------------------------------------------------

namespace {

void compare_order(const store::MemoryStore& store, const std::string& queue, const std::string& id,
                   const OracleOrder& expected) {
  const std::optional<Order> read = good(engine::read_order(store, queue, id), "order", queue, id);
  require(read.has_value(), [&] { return "order " + named(queue, id) + " is not found"; });
  const model::Record& r = expected.record;
  const bool is_same_lease =
      r.state == State::processing ? read->lease_expires_at == expected.expires_at : !read->lease_expires_at;
  const bool is_same =
      read->queue == queue && read->id == id && read->state == r.state && read->due == r.due &&
      read->priority == r.priority && read->tries == r.tries && read->attempt == r.attempt &&
      read->tries_used == r.tries_used && read->failures == r.failures && read->key == r.key &&
      read->run == r.run && read->token == r.token && read->sequence == r.sequence &&
      read->worker == r.worker && is_same_lease && read->created_at == r.created_at &&
      read->updated_at == r.updated_at && read->error == r.error && read->result == r.result &&
      read->payload == r.payload && read->grandfathered == r.grandfathered && read->vanished == r.vanished;
  require(is_same, [&] { return "order " + named(queue, id) + " is read other than " + describe(r); });
}

// The words that a person looks for in WHY.
std::string_view reason(const OracleQueue& queue, const std::string& id, Time now) {
  const auto order = queue.orders.find(id);
  if (order == queue.orders.end()) return "no such order";
  switch (order->second.record.state) {
    case State::wait:
      if (queue.is_orphan(order->second.record)) return "has ended";
      if (order->second.record.due > now) return "due in";
      return queue.settings.paused ? "paused" : "due";
    case State::processing: return "leased by";
    case State::success: return "done";
    case State::failed: return "failed";
    case State::aborted: return "aborted";
  }
  return "";
}

void compare_why(const store::MemoryStore& store, const std::string& name, const OracleQueue& queue,
                 const std::string& id, Time now) {
  const std::string text = good(engine::read_why(store, name, id, now), "why", name, id);
  require(text.find('\n') == std::string::npos,
          [&] { return "why " + named(name, id) + " is not one line: " + text; });
  require(text.find(reason(queue, id, now)) != std::string::npos, [&] {
    return "why " + named(name, id) + ": " + text + ", and not a word of '" +
           std::string(reason(queue, id, now)) + "'";
  });
}

std::vector<std::string> read_pages(const store::MemoryStore& store, ListRequest request) {
  std::vector<std::string> out;
  do {
    const Page page = good(engine::read_list(store, request), "a list of queue", request.queue);
    require(page.ids.size() <= request.limit, "a page of queue " + request.queue + " is above its limit");
    require(!page.ids.empty() || page.next.empty(),
            "an empty page of queue " + request.queue + " has a next one");
    out.insert(out.end(), page.ids.begin(), page.ids.end());
    request.after = page.next;
  } while (!request.after.empty());
  return out;
}

void compare_list(const store::MemoryStore& store, const std::string& name, const OracleQueue& queue,
                  std::optional<State> state, std::uint32_t limit) {
  std::vector<std::string> expected;
  if (state == State::wait) {
    for (const auto& [priority, line] : queue.lines) {
      for (const auto& [due, id] : line) expected.push_back(id);
    }
  } else {
    for (const auto& [id, order] : queue.orders) {
      if (!state || order.record.state == *state) expected.push_back(id);
    }
  }
  const std::vector<std::string> listed = read_pages(store, {.queue = name, .state = state, .limit = limit});
  require(listed == expected,
          "the list of queue " + name + ", state " + std::string(state ? state_name(*state) : "any") +
              ", in pages of " + std::to_string(limit) + " has " + std::to_string(listed.size()) +
              " ids, not " + std::to_string(expected.size()) + ", or others, or in another order");
}

void compare_history(const Oracle& oracle, const store::MemoryStore& store, const Oracle::Name& name,
                     std::uint32_t limit, Time now) {
  std::vector<HistoryEntry> expected = oracle.history(name, now);
  if (expected.size() > limit) expected.erase(expected.begin(), expected.end() - limit);
  const std::vector<HistoryEntry> read = good(
      engine::read_history(store, name.first, name.second, limit, now), "history", name.first, name.second);
  require(read == expected, [&] {
    std::string text = "the history of order " + named(name.first, name.second) + " is";
    for (const HistoryEntry& entry : read) text += "\n  " + describe(entry);
    text += "\nit should be";
    for (const HistoryEntry& entry : expected) text += "\n  " + describe(entry);
    return text;
  });
}

void compare_stats(const store::MemoryStore& store, const std::string& name, const OracleQueue& queue,
                   Time now) {
  const Stats stats = good(engine::read_stats(store, name, now), "stats of queue", name);
  Stats expected;
  expected.counts = queue.counts();
  expected.leases = expected.counts.processing;
  for (const auto& [priority, line] : queue.lines) {
    for (const auto& [due, id] : line) {
      if (due > now) continue;
      ++expected.due;
      expected.oldest_overdue = std::max(expected.oldest_overdue, now - due);
    }
  }
  const bool is_same = stats.counts == expected.counts && stats.due == expected.due &&
                       stats.leases == expected.leases && stats.oldest_overdue == expected.oldest_overdue;
  require(is_same,
          "stats of queue " + name + ": " + describe(stats.counts) + " due " + std::to_string(stats.due) +
              " overdue " + std::to_string(stats.oldest_overdue.count()) + " leases " +
              std::to_string(stats.leases) + "\n  not    " + describe(expected.counts) + " due " +
              std::to_string(expected.due) + " overdue " + std::to_string(expected.oldest_overdue.count()));
}

void compare_runs(const store::MemoryStore& store, const std::string& name, const OracleQueue& queue) {
  std::map<std::string, Counts> counts = queue.run_counts();
  std::vector<std::string> names;
  for (const auto& [run_name, run] : queue.runs) {
    names.push_back(run_name);
    const Run read = good(engine::read_run(store, name, run_name), "run", name, run_name);
    const bool is_over = run.state == RunState::done || run.state == RunState::error;
    const bool has_end = run.ttl && !is_over;
    const bool is_same_end =
        has_end ? read.expires_at == std::optional{run.expires_at} : !read.expires_at.has_value();
    const bool is_same = read.queue == name && read.run == run_name && read.state == run.state &&
                         read.ttl == run.ttl && is_same_end && read.opened_at == run.opened_at &&
                         read.started_at == run.started_at && read.ended_at == run.ended_at &&
                         read.reason == run.reason && read.counts == counts[run_name] &&
                         read.purged == run.purged;
    require(is_same, [&] { return "run " + named(name, run_name) + " is read other than " + describe(run); });
  }
  require(good(engine::read_runs(store, name), "runs of queue", name) == names,
          "the runs of queue " + name + " differ");
  const Result<Run> absent = engine::read_run(store, name, "absent");
  require(!absent && absent.error().code == Code::not_found, "a run that is not there");
}

void compare_queues(const Oracle& oracle, const store::MemoryStore& store) {
  std::vector<std::string> names;
  for (const auto& [name, queue] : oracle.queues()) {
    names.push_back(name);
    const QueueSettings settings = good(engine::read_settings(store, name), "settings of queue", name);
    require(settings == queue.settings,
            "queue " + name + " has " + describe(settings) + "\n  not    " + describe(queue.settings));
  }
  require(good(engine::read_queues(store), "the queues") == names, "the names of the queues differ");
  for (const std::string absent : {"nobody.knows", "aa", "A"}) {
    const Result<Stats> stats = engine::read_stats(store, absent, Time{});
    require(!stats && stats.error().code == Code::not_found, "stats of a queue that is not there");
    const Result<QueueSettings> settings = engine::read_settings(store, absent);
    require(!settings && settings.error().code == Code::not_found, "settings of a queue that is not there");
    const Result<std::vector<HistoryEntry>> history = engine::read_history(store, absent, "x", 1, Time{});
    require(!history && history.error().code == Code::not_found, "history in a queue that is not there");
    const Result<Page> page = engine::read_list(store, {.queue = absent});
    require(!page && page.error().code == Code::not_found, "a list of a queue that is not there");
    const Result<std::vector<std::string>> runs = engine::read_runs(store, absent);
    require(!runs && runs.error().code == Code::not_found, "the runs of a queue that is not there");
    const Result<CheckReport> check = engine::check_store(store, absent);
    require(!check && check.error().code == Code::not_found, "a check of a queue that is not there");
  }
}

}  // namespace

void compare_reads(const Oracle& oracle, const store::MemoryStore& store, Now now, Random& random) {
  compare_queues(oracle, store);
  for (const auto& [name, queue] : oracle.queues()) {
    compare_stats(store, name, queue, now.wall);
    compare_runs(store, name, queue);
    const auto limit = random.pick(std::vector<std::uint32_t>{1, 2, 3, 100, 10'000});
    const std::uint32_t limit_or_more = queue.orders.size() > 100 ? std::max(limit, 100U) : limit;
    compare_list(store, name, queue, std::nullopt, limit_or_more);
    for (const State state : all_states) compare_list(store, name, queue, state, limit_or_more);
    for (const auto& [id, order] : queue.orders) {
      compare_order(store, name, id, order);
      compare_why(store, name, queue, id, now.wall);
      compare_history(oracle, store, {name, id}, limit, now.wall);
    }
    compare_history(oracle, store, {name, "absent"}, limit, now.wall);
    // A cursor is what a page named, or refused; never more than that.
    const std::string garbage =
        random.pick(std::vector<std::string>{"0", "00", "zz", "ffffffff", "61620", "80"});
    const Result<Page> page =
        engine::read_list(store, {.queue = name, .state = State::wait, .after = garbage});
    require(page || page.error().code == Code::invalid, "a cursor that no page named");
    const std::optional<Order> absent =
        good(engine::read_order(store, name, "absent"), "an order that is not there");
    require(!absent, "an order that is not there was read");
    compare_why(store, name, queue, "absent", now.wall);
  }
}

void require_sound(const store::MemoryStore& store, const Oracle& oracle) {
  const auto check = [&](const std::string& queue, std::size_t orders) {
    const CheckReport report = good(engine::check_store(store, queue), "check of queue", queue);
    for (const Violation& v : report.invariants) {
      require(v.count == 0, "check of queue '" + queue + "': " + v.invariant + " is broken " +
                                std::to_string(v.count) + " times: " + v.example);
    }
    require(report.orders == orders, "check of queue '" + queue + "' looked at " +
                                         std::to_string(report.orders) + " orders of " +
                                         std::to_string(orders));
  };
  std::size_t all = 0;
  for (const auto& [name, queue] : oracle.queues()) {
    check(name, queue.orders.size());
    all += queue.orders.size();
  }
  check("", all);
}

void compare_ended(const Oracle& oracle, const store::MemoryStore& store, const PurgeRequest& request,
                   Time now) {
  const Time ended_by = now - request.older;
  std::vector<std::string> expected;
  if (const auto queue = oracle.queues().find(request.queue); queue != oracle.queues().end()) {
    for (const auto& [id, order] : queue->second.orders) {
      if (order.record.state == request.state && order.record.updated_at <= ended_by) expected.push_back(id);
    }
  }
  std::vector<std::string> found;
  std::string from;
  do {
    engine::Ended page =
        good(engine::find_ended(store, request.queue, request.state, ended_by, request.limit, from),
             "a search for ended orders");
    require(page.ids.size() <= request.limit, "a search found more ended orders than it may");
    found.insert(found.end(), page.ids.begin(), page.ids.end());
    from = std::move(page.next);
  } while (!from.empty());
  require(found == expected, "a search for ended orders found " + std::to_string(found.size()) + ", not " +
                                 std::to_string(expected.size()) + ", or others");
}

}  // namespace duelease::model_test
