// The check walks the store and tells each breach; here it is mended, in the middle of the walk. A mend looks at
// the store as it is by then, so one that another mend has ended already finds nothing to do.
//
// One mend is whole in one batch, and leaves the store no worse by itself: a repair may end between any two of
// them. The walk is repeated until it finds nothing that can be mended, for one mend brings others to light: a
// lease that is removed leaves its key behind. Counts are put right by a walk in which nothing else had to be,
// for only such a walk has counted the store as it is. What cannot be read is in no recount: then the check tells
// no counts that differ, and they are left.
#include "engine/repair_store.h"

#include <algorithm>
#include <array>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "engine/invariants.h"
#include "engine/reads.h"
#include "model/history.h"
#include "model/rules.h"
#include "model/transitions.h"
#include "store/group.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

namespace {

// Three do, unless damage lies behind damage. The last one only looks.
constexpr int walks_max = 20;
constexpr std::size_t batch_bytes_max = 4 * 1024 * 1024;
// Damaged rows that are left and known to be copied already. Those beyond are copied once a walk.
constexpr std::size_t kept_max = 100'000;

class Repair {
 public:
  Repair(store::Store& store, store::DamagedFolder& damaged, const RepairSettings& settings, Time now)
      : store_(store), damaged_(damaged), settings_(settings), now_(now), group_(store) {
    for (const char* name : invariant_names) report_.invariants.push_back({.invariant = name});
  }

  Result<RepairReport> run() {
    if (Result<> loaded = load_sequence(); !loaded) return Unexpected{loaded.error()};
    for (int walk = 1; walk <= walks_max; ++walk) {
      const Result<CheckReport> found = this->walk(walk < walks_max);
      if (!found) return Unexpected{found.error()};
      take_up(*found, walk == 1);
      if (mended_ == 0) break;
    }
    return std::move(report_);
  }

 private:
  using At = Breach::At;

  // Nothing: the store has lost it, and until it has one again nothing can be mended that takes a number.
  Result<> load_sequence() {
    const Result<std::optional<std::string>> row = store_.get(Family::meta, store::sequence_key);
    if (!row) return Unexpected{row.error()};
    if (!*row) return {};
    if (const Result<std::uint64_t> last = store::decode_sequence(**row)) sequence_ = *last;
    return {};
  }

  Result<CheckReport> walk(bool mends) {
    mended_ = 0;
    counts_.clear();
    uncounted_.clear();
    const std::unique_ptr<store::Reader> snapshot = store_.snapshot();
    snapshot_ = snapshot.get();
    std::stop_source stop;
    CheckOptions options{.stop = stop.get_token()};
    if (mends) {
      options.on_breach = [&](const Breach& breach) {
        if (so_far_) meet(breach);
        if (!so_far_) stop.request_stop();
      };
    }
    Result<CheckReport> found = check_store(*snapshot, "", options);
    if (so_far_ && mended_ == 0) {
      for (const Breach& breach : counts_) {
        if (!uncounted_.contains(breach.queue)) mend(breach);
      }
    }
    if (so_far_) so_far_ = write();
    if (!so_far_) return Unexpected{so_far_.error()};
    return found;
  }

  void take_up(const CheckReport& found, bool is_first) {
    report_.orders = found.orders;
    for (std::size_t i = 0; i < found.invariants.size(); ++i) {
      Repaired& line = report_.invariants[i];
      if (is_first) line.found = found.invariants[i].count;
      line.left = found.invariants[i].count;
      line.left_example = found.invariants[i].example;
    }
  }

  void meet(const Breach& breach) {
    if (breach.at == At::unread) has_unread_ = true;
    if (breach.at == At::counts || breach.at == At::run) {
      if (mended_ == 0) counts_.push_back(breach);  // Else they come to nothing, see walk().
    } else {
      mend(breach);
      if (mended_ > 0) counts_.clear();
    }
  }

  void mend(const Breach& breach) {
    words_.clear();
    mend_at(breach);
    if (words_.empty()) return;
    ++mended_;
    Repaired& line = report_.invariants[static_cast<std::size_t>(breach.invariant)];
    if (line.mended++ == 0) line.mended_example = breach.text() + "; " + words_;
    const bool is_full =
        group_.changes().size() >= settings_.batch_changes || group_.bytes() >= batch_bytes_max;
    if (is_full) so_far_ = write();
  }

  void mend_at(const Breach& breach) {
    switch (breach.at) {
      case At::unread: return;
      case At::row: return mend_row(breach.family, breach.name, breach.queue);
      case At::order: return mend_order(breach.queue, breach.id, breach.entry);
      case At::orphan: return mend_orphan(breach.queue, breach.id);
      case At::owned_key: return mend_owned_key(breach.queue, breach.id);
      case At::key: return mend_key(breach.queue, breach.name);
      case At::run_order: return mend_run_order(breach.queue, breach.id);
      case At::run_list: return mend_run_list(breach.queue, breach.name);
      case At::run: return mend_run(breach.queue, breach.name, breach.recount);
      case At::counts: return mend_counts(breach.queue, breach.recount);
      case At::sequence: return mend_sequence(breach.invariant, breach.seen);
    }
  }

  // What was done, in words. A mend that says nothing did nothing.
  void did(const std::string& what) { words_ += (words_.empty() ? "" : ", ") + what; }

  // What is dropped with it is kept elsewhere first.
  Result<> write() {
    if (group_.empty()) return {};
    if (Result<> kept = damaged_.sync(); !kept) return kept;
    if (Result<> written = store_.write(group_.changes()); !written) return written;
    group_.clear();
    return store_.sync();
  }

  // ---- Reading --------------------------------------------------------------------------------

  // What of an order lies in one place. `is_known` is off when it cannot be read or does not decode: then nothing
  // of the order is touched, for it might be the one that counts.
  template <class T>
  struct Found {
    bool is_known = false;
    std::optional<T> value;
  };

  template <class Decode, class T = std::decay_t<decltype(*std::declval<Decode>()(std::string_view{}))>>
  Found<T> find(Family family, const std::string& key, const Decode& decode) const {
    const Result<std::optional<std::string>> bytes = group_.get(family, key);
    if (!bytes) return {};
    if (!*bytes) return {true, {}};
    auto decoded = decode(**bytes);
    if (!decoded) return {};
    return {true, std::move(*decoded)};
  }

  // The order as it is. Not known also when its record is lost.
  Found<model::Record> order(std::string_view queue, std::string_view id) const {
    const std::string key = store::order_key(queue, id);
    Found<store::OrderRow> row = find(Family::orders, key, store::decode_order);
    if (!row.is_known || !row.value) return {row.is_known, {}};
    if (auto* ended = std::get_if<model::Record>(&*row.value)) return {true, std::move(*ended)};
    Found<model::Lease> lease = find(Family::leases, key, store::decode_lease);
    if (!lease.is_known) return {};
    if (lease.value) return {true, std::move(lease.value->record)};
    const std::string entry = store::queue_key(queue, std::get<store::Place>(*row.value), id);
    Found<model::Record> waiting = find(Family::queue, entry, store::decode_waiting);
    return {waiting.is_known && waiting.value, std::move(waiting.value)};
  }

  static bool is_alive(const model::Record& record) {
    return record.state == State::wait || record.state == State::processing;
  }

  // ---- Orders ---------------------------------------------------------------------------------

  // All that the store has of one order.
  struct Parts {
    std::optional<store::Place> row_place;
    std::optional<model::Record> ended;
    std::optional<model::Lease> lease;
    std::vector<std::pair<store::Place, model::Record>> entries;
  };

  std::optional<Parts> parts_of(const std::string& queue, const std::string& id,
                                std::optional<store::Place> entry) const {
    Parts out;
    const std::string key = store::order_key(queue, id);
    Found<store::OrderRow> row = find(Family::orders, key, store::decode_order);
    Found<model::Lease> lease = find(Family::leases, key, store::decode_lease);
    if (!row.is_known || !lease.is_known) return std::nullopt;
    std::vector<store::Place> places;
    if (row.value) {
      if (const auto* place = std::get_if<store::Place>(&*row.value)) {
        out.row_place = *place;
        places.push_back(*place);
      } else {
        out.ended = std::get<model::Record>(std::move(*row.value));
      }
    }
    out.lease = std::move(lease.value);
    if (entry && entry != out.row_place) places.push_back(*entry);
    for (const store::Place& place : places) {
      Found<model::Record> waiting =
          find(Family::queue, store::queue_key(queue, place, id), store::decode_waiting);
      if (!waiting.is_known) return std::nullopt;
      if (waiting.value) out.entries.emplace_back(place, std::move(*waiting.value));
    }
    return out;
  }

  // One of its parts holds the order: the one with the last change. Of two with the same change, the one that is
  // further on its way, or that the row names.
  void mend_order(const std::string& queue, const std::string& id, std::optional<store::Place> entry) {
    const std::optional<Parts> parts = parts_of(queue, id, entry);
    if (!parts) return;
    const std::uint64_t ended = parts->ended ? parts->ended->sequence : 0;
    const std::uint64_t leased = parts->lease ? parts->lease->record.sequence : 0;
    const auto last =
        std::max_element(parts->entries.begin(), parts->entries.end(),
                         [](const auto& a, const auto& b) { return a.second.sequence < b.second.sequence; });
    const std::uint64_t waiting = last == parts->entries.end() ? 0 : last->second.sequence;
    if (parts->ended && ended >= leased && ended >= waiting) {
      drop_lease(queue, id, *parts);
      drop_entries(queue, id, *parts, std::nullopt);
    } else if (parts->lease && leased >= waiting) {
      const model::Record& record = parts->lease->record;
      drop_entries(queue, id, *parts, std::nullopt);
      if (!parts->row_place) put_row(queue, id, *parts, {record.priority, record.due});
    } else if (last != parts->entries.end()) {
      drop_lease(queue, id, *parts);
      hold_in_queue(queue, id, *parts, last->first, last->second);
    } else if (parts->row_place) {
      give_up_lost_order(queue, id, *parts->row_place);
    }
  }

  void drop_lease(const std::string& queue, const std::string& id, const Parts& parts) {
    if (!parts.lease) return;
    group_.erase(Family::leases, store::order_key(queue, id));
    did("removed its lease, which a later change had ended");
  }

  void drop_entries(const std::string& queue, const std::string& id, const Parts& parts,
                    std::optional<store::Place> except) {
    for (const auto& [place, record] : parts.entries) {
      if (place == except) continue;
      group_.erase(Family::queue, store::queue_key(queue, place, id));
      did("removed a queue entry that does not hold it");
    }
  }

  // A FAILED or ABORTED one that came again has its older generation in the history.
  void put_row(const std::string& queue, const std::string& id, const Parts& parts,
               const store::Place& place) {
    if (parts.ended) {
      const std::string key = store::history_key(queue, id, parts.ended->sequence);
      const Result<std::optional<std::string>> noted = group_.get(Family::history, key);
      group_.put(Family::history, key,
                 store::encode_generation(noted && *noted ? **noted : "", *parts.ended));
    }
    group_.put(Family::orders, store::order_key(queue, id), store::encode_live(place));
    did("put back its row");
  }

  // Entry, record and row name a place each: where two agree, the third is put right; the entry counts else.
  void hold_in_queue(const std::string& queue, const std::string& id, const Parts& parts,
                     const store::Place& found_at, model::Record record) {
    const store::Place named{record.priority, record.due};
    const store::Place place = parts.row_place == named ? named : found_at;
    const bool is_there = place == found_at;
    drop_entries(queue, id, parts, is_there ? std::optional(found_at) : std::nullopt);
    if (!is_there || place != named) {
      record.priority = place.priority;
      record.due = place.due;
      group_.put(Family::queue, store::queue_key(queue, place, id), store::encode_waiting(record));
      did("put its queue entry and its record at one place");
    }
    if (parts.row_place != place) put_row(queue, id, parts, place);
  }

  // In the history of its queue, where that is kept.
  void note(const std::string& queue, const std::string& id, const model::Record& record,
            HistoryEvent event) {
    const Found<store::SettingsRow> row =
        find(Family::meta, store::settings_key(queue), store::decode_settings);
    if (!row.value || row.value->settings.keep_history == Duration{0}) return;
    group_.put(Family::history, store::history_key(queue, id, record.sequence),
               store::encode_entry(model::entry_of(record, event)));
  }

  // Of the runs that have live orders; nothing: none does.
  Result<std::optional<std::string>> run_that_lists(const std::string& queue, const std::string& id) const {
    const std::string prefix = store::active_run_prefix(queue);
    const std::unique_ptr<store::Cursor> cursor =
        group_.scan(Family::runs, prefix, store::prefix_end(prefix));
    for (; cursor->valid(); cursor->next()) {
      std::optional<std::string> run(cursor->key().substr(prefix.size()));
      const Result<std::optional<std::string>> listed =
          group_.get(Family::runs, store::run_order_key(queue, *run, id));
      if (!listed) return Unexpected{listed.error()};
      if (*listed) return run;
    }
    if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
    return std::optional<std::string>{};
  }

  // As Core::give_up_lost_order(); queue and run are counted again. Where a part of the store cannot be read the
  // record may lie there.
  void give_up_lost_order(const std::string& queue, const std::string& id, const store::Place& place) {
    if (!sequence_ || has_unread_) return;
    const Result<std::uint32_t> generations = count_generations(group_, queue, id);
    Result<std::optional<std::string>> run = run_that_lists(queue, id);
    if (!generations || !run) return;
    model::Record record =
        model::give_up_lost(place.due, place.priority, 1 + *generations, std::move(*run), now_);
    record.sequence = next_sequence();
    note(queue, id, record, HistoryEvent::lost);
    group_.put(Family::orders, store::order_key(queue, id), store::encode_ended(record));
    if (record.run) group_.erase(Family::runs, store::run_order_key(queue, *record.run, id));
    did("its record is lost, so it is ABORTED");
  }

  void mend_orphan(const std::string& queue, const std::string& id) {
    Found<model::Record> found = order(queue, id);
    if (!sequence_ || !found.value || found.value->state != State::wait || !found.value->run) return;
    model::Record& record = *found.value;
    const Found<model::RunRecord> run =
        find(Family::runs, store::run_key(queue, *record.run), store::decode_run);
    if (!run.value || model::is_alive(run.value->state)) return;  // Without its run it is somebody's order.
    const store::Place place{record.priority, record.due};
    const Found<store::OrderRow> row = find(Family::orders, store::order_key(queue, id), store::decode_order);
    if (!row.value || *row.value != store::OrderRow{place}) return;  // Not whole: mended first.
    model::abort(record, now_);
    record.error = "run " + *record.run + " has ended";
    record.sequence = next_sequence();
    note(queue, id, record, HistoryEvent::orphaned);
    group_.erase(Family::queue, store::queue_key(queue, place, id));
    group_.put(Family::orders, store::order_key(queue, id), store::encode_ended(record));
    group_.erase(Family::runs, store::run_order_key(queue, *record.run, id));
    did("made it ABORTED");
  }

  // ---- Keys -----------------------------------------------------------------------------------

  // Whether the order is to own this key; nothing when that is not known.
  std::optional<bool> holds_key(std::string_view queue, std::string_view id, std::string_view key) const {
    const Found<model::Record> found = order(queue, id);
    if (!found.is_known) return std::nullopt;
    return found.value && model::owned_key(*found.value) == key;
  }

  // Two blocking orders with one key are both left: which of them is right, only the user can know.
  void mend_owned_key(const std::string& queue, const std::string& id) {
    const Found<model::Record> found = order(queue, id);
    if (!found.value) return;
    const std::optional<std::string_view> owned = model::owned_key(*found.value);
    if (!owned) return;
    const std::string key = store::dedup_key(queue, *owned);
    const Result<std::optional<std::string>> owner = group_.get(Family::dedup, key);
    if (!owner || *owner == id) return;
    if (*owner && holds_key(queue, **owner, *owned) != false) return;
    group_.put(Family::dedup, key, id);
    did("put back that it owns it");
  }

  void mend_key(const std::string& queue, const std::string& name) {
    const std::string key = store::dedup_key(queue, name);
    const Result<std::optional<std::string>> owner = group_.get(Family::dedup, key);
    if (!owner || !*owner || holds_key(queue, **owner, name) != false) return;
    group_.erase(Family::dedup, key);
    did("freed the key");
  }

  // ---- Runs -----------------------------------------------------------------------------------

  void mend_run_order(const std::string& queue, const std::string& id) {
    const Found<model::Record> found = order(queue, id);
    if (!found.value || !found.value->run || !is_alive(*found.value)) return;
    std::string key = store::run_order_key(queue, *found.value->run, id);
    const Result<std::optional<std::string>> row = group_.get(Family::runs, key);
    if (!row || *row) return;
    group_.put(Family::runs, std::move(key), "");
    did("put it on the list of its run");
  }

  void mend_run_list(const std::string& queue, const std::string& run) {
    const std::string prefix = store::run_orders_prefix(queue, run);
    const std::unique_ptr<store::Cursor> cursor =
        snapshot_->scan(Family::runs, prefix, store::prefix_end(prefix));
    std::uint64_t removed = 0;
    for (; cursor->valid() && so_far_; cursor->next()) {
      const Found<model::Record> found = order(queue, cursor->key().substr(prefix.size()));
      if (!found.is_known) continue;
      if (found.value && is_alive(*found.value) && found.value->run == run) continue;
      group_.erase(Family::runs, std::string(cursor->key()));
      ++removed;
      if (group_.changes().size() >= settings_.batch_changes) so_far_ = write();
    }
    // The check has read it just before.
    if (Result<> read = cursor->status(); !read && so_far_) so_far_ = read;
    if (removed > 0) did("took " + std::to_string(removed) + " orders off its list");
  }

  // A run that is lost is put back only when no order of it is alive: whether those may go on, only the user can
  // know, who can open it again.
  void mend_run(const std::string& queue, const std::string& run, const Counts& recount) {
    const std::string key = store::run_key(queue, run);
    Found<model::RunRecord> found = find(Family::runs, key, store::decode_run);
    const bool has_live_orders = recount.wait + recount.processing > 0;
    if (!found.is_known || (!found.value && has_live_orders)) return;
    if (!found.value) {
      found.value = model::open_run(std::nullopt, now_);
      model::end_run(*found.value, RunState::error, "the record of this run was lost: the store was damaged",
                     now_);
      did("put the run back as ERROR");
    }
    const Counts counts = model::counts_with_purged(*found.value, recount);
    if (found.value->counts != counts) did("counted again");
    found.value->counts = counts;
    group_.put(Family::runs, key, store::encode_run(*found.value));
    const std::string active = store::active_run_key(queue, run);
    const bool is_active = model::is_alive(found.value->state) || has_live_orders;
    const Result<std::optional<std::string>> listed = group_.get(Family::runs, active);
    if (!listed || listed->has_value() == is_active) return;
    did(is_active ? "listed it as active" : "took it off the active ones");
    if (is_active) {
      group_.put(Family::runs, active, "");
    } else {
      group_.erase(Family::runs, active);
    }
  }

  // ---- The rest -------------------------------------------------------------------------------

  void mend_counts(const std::string& queue, const Counts& recount) {
    const std::string key = store::counts_key(queue);
    const Result<std::optional<std::string>> bytes = group_.get(Family::meta, key);
    if (!bytes) return;
    // All that they say is counted, so they are replaced also where what does not decode is left.
    if (*bytes && !store::decode_counts(**bytes) && !copy(Family::meta, key, **bytes)) return;
    group_.put(Family::meta, key, store::encode_counts(recount));
    did("counted again");
  }

  std::uint64_t next_sequence() {
    ++*sequence_;
    group_.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(*sequence_));
    return *sequence_;
  }

  // The one that was lost may have been above all that is left, so it goes on as after a crash.
  void mend_sequence(Invariant invariant, std::uint64_t seen) {
    if (invariant == Invariant::tokens_in_range && sequence_ >= seen) return;
    if (!keep_lost_sequence()) return;
    sequence_ = std::min(seen, limits::sequence_max - limits::crash_jump) + limits::crash_jump;
    group_.put(Family::meta, std::string(store::sequence_key), store::encode_sequence(*sequence_));
    did("the last sequence is now " + std::to_string(*sequence_));
  }

  // Whether it may be replaced.
  bool keep_lost_sequence() {
    if (sequence_) return true;
    const std::string key(store::sequence_key);
    const Result<std::optional<std::string>> bytes = store_.get(Family::meta, key);
    if (!bytes) return false;
    return !*bytes || keep(Family::meta, key, **bytes);
  }

  // Copies a damaged row; whether it may be removed.
  bool keep(Family family, const std::string& key, std::string_view value) {
    if (kept_.contains({family, key})) return false;
    if (!copy(family, key, value)) return false;
    if (!settings_.discard_damaged && kept_.size() < kept_max) kept_.emplace(family, key);
    return settings_.discard_damaged;
  }

  bool copy(Family family, const std::string& key, std::string_view value) {
    if (Result<> added = damaged_.add(family, key, value); !added) so_far_ = added;
    return so_far_.has_value();
  }

  void mend_row(Family family, const std::string& key, const std::string& queue) {
    const Result<std::optional<std::string>> bytes = group_.get(family, key);
    if (!bytes || !*bytes) return;
    if (!keep(family, key, **bytes)) {
      if (family != Family::meta) uncounted_.insert(queue);
      return;
    }
    if (family == Family::meta) {
      group_.put(family, key, store::encode_settings({}));
      did("the settings of queue " + queue + " are the defaults now");
    } else {
      group_.erase(family, key);
      did("removed the record");
    }
  }

  store::Store& store_;
  store::DamagedFolder& damaged_;
  const RepairSettings settings_;
  const Time now_;
  store::Group group_;
  const store::Reader* snapshot_ = nullptr;  // What this walk sees.
  std::optional<std::uint64_t> sequence_;
  Result<> so_far_{};                              // An error of the disk is the end of the repair.
  bool has_unread_ = false;                        // Met in this walk or in an earlier one.
  std::uint64_t mended_ = 0;                       // In this walk.
  std::vector<Breach> counts_;                     // Met in this walk.
  std::set<std::string> uncounted_;                // Queues with records that do not decode, and are left.
  std::string words_;                              // Of this mend.
  std::set<std::pair<Family, std::string>> kept_;  // Copied and left; in the next walk they are met again.
  RepairReport report_;
};

}  // namespace

Result<RepairReport> repair_store(store::Store& store, store::DamagedFolder& damaged,
                                  const RepairSettings& settings, Time now) {
  return Repair(store, damaged, settings, now).run();
}

}  // namespace duelease::engine
