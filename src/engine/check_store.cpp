// The invariants of the store, counted. Every family is walked once, in key order; what belongs together
// is looked up in the other families. One snapshot: nobody is held up, and nothing moves under the count.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "engine/command.h"
#include "engine/invariants.h"
#include "engine/reads.h"
#include "model/rules.h"
#include "model/validate.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

namespace {

using At = Breach::At;

class Check {
 public:
  Check(const store::Reader& reader, std::string_view queue, const CheckOptions& options)
      : reader_(reader), only_(queue), options_(options) {
    for (const char* name : invariant_names) report_.invariants.push_back(Violation{name, 0, {}});
  }

  Result<CheckReport> run() {
    const Result<> sequence = load_sequence();
    read_runs();
    check_queue();
    check_leases();
    check_orders();
    check_keys();
    check_history();
    if (only_.empty()) {  // They belong to no queue, and are only read.
      walk(Family::app, [](std::string_view, std::string_view) {});
    }
    check_settings();
    check_counts();
    check_runs();
    if (!sequence) {  // Last, for by now all of it was seen.
      broken({.invariant = Invariant::records_decode,
              .at = At::sequence,
              .queue = "?",
              .id = "(last sequence)",
              .what = sequence.error().message,
              .seen = highest_seen_});
    }
    tell_uncounted();
    if (is_stopped()) return fail(Code::closing, "the check was stopped");
    if (!only_.empty() && rows_ == 0 && report_.violations() == 0) return no_queue(only_);
    return std::move(report_);
  }

 private:
  void broken(const Breach& breach) {
    Violation& violation = report_.invariants[static_cast<std::size_t>(breach.invariant)];
    if (violation.count++ == 0) violation.example = breach.text();
    if (options_.on_breach) options_.on_breach(breach);
  }

  // Of one order.
  void broken(Invariant invariant, At at, std::string_view queue, std::string_view id, std::string what,
              std::optional<store::Place> entry = {}) {
    broken({.invariant = invariant,
            .at = at,
            .queue = std::string(queue),
            .id = std::string(id),
            .what = std::move(what),
            .entry = entry});
  }

  // A row that does not decode.
  void undecodable(Family family, std::string_view key, std::string_view queue, std::string_view id,
                   std::string what) {
    broken({.invariant = Invariant::records_decode,
            .at = At::row,
            .queue = std::string(queue),
            .id = std::string(id),
            .what = std::move(what),
            .family = family,
            .name = std::string(key)});
  }

  bool is_stopped() const { return options_.stop.stop_requested(); }

  // A store that has its format but no last sequence has lost it. (One in memory has neither.)
  Result<> load_sequence() {
    const Result<std::uint64_t> last = read_sequence(reader_);
    if (!last) return Unexpected{last.error()};
    const Result<std::optional<std::string>> row = reader_.get(Family::meta, store::sequence_key);
    const Result<std::optional<std::string>> format = reader_.get(Family::meta, store::format_key);
    if (row && !*row && format && *format) return fail(Code::corrupt, "the last sequence is gone");
    last_sequence_ = *last;
    return {};
  }

  // What cannot be read is counted and passed over: the rest of the store is to be heard of, too.
  template <class T>
  std::optional<T> need(Result<T> read, std::string_view queue, std::string_view id) {
    if (read) return std::move(*read);
    broken(Invariant::records_decode, At::unread, queue, id, read.error().message);
    return std::nullopt;
  }

  template <class Visit>
  void walk(Family family, Visit visit) {
    const std::string from = only_.empty() ? std::string{} : store::queue_prefix(only_);
    walk_prefix(family, from, [&](std::string_view key, std::string_view value) {
      ++rows_;
      visit(key, value);
    });
  }

  // All keys that start with `prefix`, up to the first that cannot be read.
  template <class Visit>
  void walk_prefix(Family family, std::string_view prefix, Visit visit) {
    const std::unique_ptr<store::Cursor> cursor = reader_.scan(family, prefix, store::prefix_end(prefix));
    for (; cursor->valid() && !is_stopped(); cursor->next()) {
      visit(cursor->key(), cursor->value());
    }
    const Result<> read = cursor->status();
    if (read) return;
    const std::string name = store::family_names[static_cast<std::size_t>(family)];
    broken(Invariant::records_decode, At::unread, only_.empty() ? "?" : only_, "?",
           "a part of family " + name +
               " cannot be read, what stands behind it was not looked at: " + read.error().message);
    // Counts are made of these; keys and what is the application's own are in none.
    const bool is_live = family == Family::queue || family == Family::leases || family == Family::orders;
    if (is_live || family == Family::meta) recounted_ = false;
    if (is_live || family == Family::runs || family == Family::history) runs_recounted_ = false;
    if (family == Family::runs) runs_read_ = false;
  }

  // That counts are not said to be wrong does not make them right.
  void tell_uncounted() {
    if (recounted_ && runs_recounted_) return;
    report_.invariants[static_cast<std::size_t>(Invariant::records_decode)].example +=
        std::string("; so the counts of ") + (recounted_ ? "" : "queues") +
        (recounted_ || runs_recounted_ ? "" : " and ") + (runs_recounted_ ? "" : "runs") +
        " could not be counted again";
  }

  // The orders row of an order that has an entry or a lease; nothing when there is none, or it is broken
  // (which check_orders() counts), or it cannot be read.
  struct Row {
    bool is_read = false;
    std::optional<store::OrderRow> row;
  };
  Row orders_row(std::string_view key, std::string_view queue, std::string_view id) {
    const auto bytes = need(reader_.get(Family::orders, key), queue, id);
    if (!bytes) return {};
    if (!*bytes) return {true, {}};
    Result<store::OrderRow> row = store::decode_order(**bytes);
    if (!row) return {true, {}};
    return {true, std::move(*row)};
  }

  void check_queue() {
    walk(Family::queue, [&](std::string_view key, std::string_view value) {
      const std::optional<store::QueueEntry> entry = store::parse_queue_key(key);
      if (!entry) {
        undecodable(Family::queue, key, "?", "?", "queue entry under a key that does not parse");
        return;
      }
      const Row row = orders_row(store::order_key(entry->queue, entry->id), entry->queue, entry->id);
      const auto* place = row.row ? std::get_if<store::Place>(&*row.row) : nullptr;
      if (row.is_read && (place == nullptr || *place != entry->place)) {
        broken(Invariant::entry_is_waiting, At::order, entry->queue, entry->id,
               "an entry that its order does not name", entry->place);
      }
      const Result<model::Record> record = store::decode_waiting(value);
      if (!record) {
        undecodable(Family::queue, key, entry->queue, entry->id, record.error().message);
        return;
      }
      check_waiting_run(entry->queue, entry->id, *record);
      if (record->due != entry->place.due || record->priority != entry->place.priority) {
        broken(Invariant::entry_is_waiting, At::order, entry->queue, entry->id,
               "an entry at another place than its record", entry->place);
      }
      check_alive(entry->queue, entry->id, *record);
    });
  }

  void check_leases() {
    walk(Family::leases, [&](std::string_view key, std::string_view value) {
      const std::optional<store::OrderName> name = store::parse_order_key(key);
      if (!name) {
        undecodable(Family::leases, key, "?", "?", "lease under a key that does not parse");
        return;
      }
      const Row row = orders_row(key, name->queue, name->id);
      if (row.is_read && (!row.row || !std::holds_alternative<store::Place>(*row.row))) {
        broken(Invariant::lease_is_processing, At::order, name->queue, name->id,
               "a lease of an order that is not alive");
      }
      const Result<model::Lease> lease = store::decode_lease(value);
      if (!lease) {
        undecodable(Family::leases, key, name->queue, name->id, lease.error().message);
        return;
      }
      ++recount_[std::string(name->queue)].processing;
      check_alive(name->queue, name->id, lease->record);
    });
  }

  // What holds of WAIT and PROCESSING alike.
  void check_alive(std::string_view queue, std::string_view id, const model::Record& record) {
    check_numbers(queue, id, record);
    recount_run(queue, record);
    check_listed(queue, id, record);
    check_owns_key(queue, id, record);
  }

  void check_listed(std::string_view queue, std::string_view id, const model::Record& record) {
    if (!record.run) return;
    const auto row = need(reader_.get(Family::runs, store::run_order_key(queue, *record.run, id)), queue, id);
    if (row && !*row)
      broken(Invariant::run_orders_listed, At::run_order, queue, id,
             "run " + *record.run + " does not list it");
  }

  struct RunRecount {
    std::optional<model::RunRecord> record;  // Nothing: only orders that name it.
    bool is_damaged = false;                 // There is one, but it does not decode.
    bool is_active = false;
    Counts recount;
    std::uint64_t listed = 0;
  };

  RunRecount& run_of(std::string_view queue, std::string_view run) {
    return runs_[{std::string(queue), std::string(run)}];
  }

  void recount_run(std::string_view queue, const model::Record& record) {
    if (!record.run) return;
    RunRecount& run = run_of(queue, *record.run);
    if (model::is_known(record.state)) ++model::count_of(run.recount, record.state);
  }

  // While its run is swept an order may still read WAIT: it is void all the same.
  void check_waiting_run(std::string_view queue, std::string_view id, const model::Record& record) {
    if (!record.run) return;
    if (!runs_read_) return;
    const RunRecount& run = run_of(queue, *record.run);
    const bool alive = run.record && model::is_alive(run.record->state);
    if (!alive && !(run.record && run.is_active)) {
      broken(Invariant::no_dead_run, At::orphan, queue, id,
             "WAIT under run " + *record.run + (run.record ? ", which has ended" : ", which is not there"));
    }
  }

  void read_runs() {
    walk(Family::runs, [&](std::string_view key, std::string_view value) {
      const std::optional<store::RunEntry> entry = store::parse_run_key(key);
      if (!entry) {
        undecodable(Family::runs, key, "?", "(run)", "run under a key that does not parse");
        return;
      }
      RunRecount& run = run_of(entry->queue, entry->run);
      switch (entry->kind) {
        case store::RunEntry::Kind::active: run.is_active = true; return;
        case store::RunEntry::Kind::order: ++run.listed; return;
        case store::RunEntry::Kind::run: break;
      }
      Result<model::RunRecord> record = store::decode_run(value);
      if (!record) {
        undecodable(Family::runs, key, entry->queue, "(run " + entry->run + ")", record.error().message);
        run.is_damaged = true;
      } else {
        run.record = std::move(*record);
      }
    });
  }

  // An order that is listed and is not alive is counted by the difference.
  void check_runs() {
    if (!runs_recounted_) return;
    for (const auto& [name, run] : runs_) {
      Breach breach{.queue = name.first, .id = "(run " + name.second + ")", .name = name.second};
      const auto tell = [&](Invariant invariant, At at, std::string what) {
        breach.invariant = invariant;
        breach.at = at;
        breach.what = std::move(what);
        broken(breach);
      };
      const std::uint64_t alive = run.recount.wait + run.recount.processing;
      if (run.listed != alive) {
        tell(Invariant::run_orders_listed, At::run_list, "it lists orders that are not alive");
      }
      if (run.is_damaged) continue;
      breach.recount = run.recount;
      if (!run.record) {
        if (run.recount == Counts{}) continue;
        tell(Invariant::run_counts_match, At::run,
             "orders name it, and there is no such run" +
                 std::string(alive > 0 ? "; to keep those that are alive, open it again" : ""));
      } else if (run.record->counts != model::counts_with_purged(*run.record, run.recount)) {
        tell(Invariant::run_counts_match, At::run, "its counts differ from a recount");
      } else if (run.is_active != (model::is_alive(run.record->state) || alive > 0)) {
        tell(Invariant::run_orders_listed, At::run,
             run.is_active ? "it is listed as active, and is not" : "it is active, and not listed as such");
      }
    }
  }

  void check_numbers(std::string_view queue, std::string_view id, const model::Record& record) {
    check_number(queue, id, std::max(static_cast<std::uint64_t>(record.token), record.sequence));
  }

  void check_number(std::string_view queue, std::string_view id, std::uint64_t seen) {
    highest_seen_ = std::max(highest_seen_, seen);
    if (seen <= last_sequence_) return;
    broken({.invariant = Invariant::tokens_in_range,
            .at = At::sequence,
            .queue = std::string(queue),
            .id = std::string(id),
            .what = "token or change above " + std::to_string(last_sequence_),
            .seen = seen});
  }

  void check_owns_key(std::string_view queue, std::string_view id, const model::Record& record) {
    const std::optional<std::string_view> owned = model::owned_key(record);
    if (!owned) return;
    const auto owner = need(reader_.get(Family::dedup, store::dedup_key(queue, *owned)), queue, id);
    if (!owner || *owner == std::string(id)) return;
    broken(Invariant::key_owner_blocks, At::owned_key, queue, id,
           *owner ? "its key belongs to another order: " + **owner : "its key has no owner");
  }

  void check_orders() {
    walk(Family::orders, [&](std::string_view key, std::string_view value) {
      const std::optional<store::OrderName> name = store::parse_order_key(key);
      if (!name) {
        undecodable(Family::orders, key, "?", "?", "order under a key that does not parse");
        return;
      }
      ++report_.orders;
      const Result<store::OrderRow> row = store::decode_order(value);
      if (!row) {
        undecodable(Family::orders, key, name->queue, name->id, row.error().message);
        return;
      }
      if (const auto* place = std::get_if<store::Place>(&*row)) {
        check_live(*name, *place);
        return;
      }
      const auto& record = std::get<model::Record>(*row);
      count_ended(name->queue, record.state);
      recount_run(name->queue, record);
      check_numbers(name->queue, name->id, record);
      check_owns_key(name->queue, name->id, record);
    });
  }

  // Exactly one of: a lease, a queue entry where the row says.
  void check_live(const store::OrderName& name, const store::Place& place) {
    const auto leased =
        need(reader_.get(Family::leases, store::order_key(name.queue, name.id)), name.queue, name.id);
    const auto queued =
        need(reader_.get(Family::queue, store::queue_key(name.queue, place, name.id)), name.queue, name.id);
    if (!leased || !queued) {
      recounted_ = false;
      return;
    }
    if (!*leased) ++recount_[std::string(name.queue)].wait;
    if (*leased && *queued) {
      broken(Invariant::processing_has_lease, At::order, name.queue, name.id,
             "under a lease and in the queue at once");
    }
    if (!*leased && !*queued) {
      broken(Invariant::waiting_has_entry, At::order, name.queue, name.id,
             "alive, but neither in the queue nor under a lease");
    }
  }

  void count_ended(std::string_view queue, State state) {
    Counts& counts = recount_[std::string(queue)];
    if (state == State::success) ++counts.success;
    if (state == State::failed) ++counts.failed;
    if (state == State::aborted) ++counts.aborted;
  }

  void check_keys() {
    walk(Family::dedup, [&](std::string_view key, std::string_view owner) {
      const std::optional<store::OrderName> name = store::parse_order_key(key);
      if (!name) {
        undecodable(Family::dedup, key, "?", "?", "dedup entry under a key that does not parse");
        return;
      }
      const Result<std::optional<Order>> order = read_order(reader_, name->queue, owner);
      if (!order && order.error().code != Code::corrupt) {
        broken(Invariant::records_decode, At::unread, name->queue, owner, order.error().message);
        return;
      }
      const bool sound = order && *order && model::owned_key(**order) == name->id;
      if (!sound) {
        broken({.invariant = Invariant::key_owner_blocks,
                .at = At::key,
                .queue = std::string(name->queue),
                .id = std::string(owner),
                .what = "owns a key, but does not block or has another one",
                .name = std::string(name->id)});
      }
    });
  }

  void check_history() {
    walk(Family::history, [&](std::string_view key, std::string_view value) {
      const std::string_view queue = key.substr(0, key.find('\0'));
      const std::optional<store::HistoryName> name = store::parse_history_key(key);
      const Result<store::HistoryRow> row = store::decode_history(value);
      if (!name || !row) {
        undecodable(Family::history, key, queue, "(history)",
                    row ? "history under a key that does not parse" : row.error().message);
        return;
      }
      check_number(queue, name->id, name->sequence);
      if (!row->ended) return;
      check_numbers(queue, name->id, *row->ended);
      recount_run(queue, *row->ended);
    });
  }

  // Of a row of each queue in family meta.
  template <class Visit>
  void walk_meta(std::string_view prefix, Visit visit) {
    walk_prefix(Family::meta, prefix, [&](std::string_view key, std::string_view value) {
      const std::string queue(key.substr(prefix.size()));
      if (!only_.empty() && queue != only_) return;
      ++rows_;
      visit(queue, value);
    });
  }

  void check_settings() {
    walk_meta(store::settings_prefix, [&](const std::string& queue, std::string_view value) {
      const Result<store::SettingsRow> row = store::decode_settings(value);
      if (!row) {
        undecodable(Family::meta, store::settings_key(queue), queue, "(settings)", row.error().message);
      }
    });
  }

  void check_counts() {
    walk_meta(store::counts_prefix, [&](const std::string& queue, std::string_view value) {
      const Result<Counts> counts = store::decode_counts(value);
      if (!counts) {
        wrong_counts(Invariant::records_decode, queue, counts.error().message);
      } else if (recounted_ && *counts != recount_[queue]) {
        wrong_counts(Invariant::counts_match, queue, "its counts differ from a recount");
      }
      counted_.insert(queue);
    });
    for (const auto& [queue, counts] : recount_) {
      if (!recounted_ || counted_.contains(queue)) continue;
      wrong_counts(Invariant::counts_match, queue, "has orders but no counts");
    }
  }

  void wrong_counts(Invariant invariant, const std::string& queue, std::string what) {
    broken({.invariant = invariant,
            .at = recounted_ ? At::counts : At::unread,
            .queue = queue,
            .id = "(counts)",
            .what = std::move(what),
            .recount = recount_[queue]});
  }

  const store::Reader& reader_;
  const std::string_view only_;
  const CheckOptions& options_;
  std::uint64_t last_sequence_ = limits::sequence_max;
  std::uint64_t highest_seen_ = 0;
  std::uint64_t rows_ = 0;  // Found: a queue without any does not exist.
  std::map<std::string, Counts> recount_;
  std::set<std::string> counted_;  // Queues with a row of counts.
  bool recounted_ = true;          // All that is counted of a queue could be read.
  bool runs_recounted_ = true;     // And of a run.
  bool runs_read_ = true;
  std::map<std::pair<std::string, std::string>, RunRecount> runs_;  // By queue and run.
  CheckReport report_;
};

}  // namespace

Result<CheckReport> check_store(const store::Reader& reader, std::string_view queue,
                                const CheckOptions& options) {
  if (!queue.empty()) {
    if (Result<> valid = model::validate_queue_name(queue); !valid) return Unexpected{valid.error()};
  }
  return Check(reader, queue, options).run();
}

}  // namespace duelease::engine
