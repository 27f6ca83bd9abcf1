// Opening: what the core takes into memory, and the damage that shows on the way.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "engine/core.h"
#include "model/rules.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

using store::Family;

Result<std::unique_ptr<Core>> Core::open(store::Store& store, CoreOptions options, Now now) {
  std::unique_ptr<Core> core(new Core(store, std::move(options)));
  now = core->tame(now);
  if (Result<> r = core->load_meta(); !r) return Unexpected{r.error()};
  if (Result<> r = core->load_leases(now); !r) return Unexpected{r.error()};
  if (Result<> r = core->load_heads(); !r) return Unexpected{r.error()};
  if (Result<> r = core->load_runs(now); !r) return Unexpected{r.error()};
  if (Result<> r = core->recount_lost_counts(); !r) return Unexpected{r.error()};
  core->compare_lease_counts();
  if (Result<> r = core->commit(); !r) return Unexpected{r.error()};
  if (Result<> r = store.sync(); !r) return Unexpected{r.error()};
  return core;
}

Result<> Core::load_meta() {
  const Result<std::optional<std::string>> row = store_.get(Family::meta, store::sequence_key);
  if (!row) return Unexpected{row.error()};
  if (!*row) {
    const Result<std::optional<std::string>> format = store_.get(Family::meta, store::format_key);
    if (!format) return Unexpected{format.error()};
    if (*format) return fail(Code::corrupt, "the store has lost its last sequence: tokens could come again");
  } else {
    const Result<std::uint64_t> last = store::decode_sequence(**row);
    if (!last) return Unexpected{last.error()};
    sequence_ = *last;
  }
  const auto each = [&](std::string_view prefix, auto take) -> Result<> {
    const std::unique_ptr<store::Cursor> cursor =
        store_.scan(Family::meta, prefix, store::prefix_end(prefix));
    for (; cursor->valid(); cursor->next()) {
      const std::string name(cursor->key().substr(prefix.size()));
      queues_[name].name = name;
      touch(queues_[name]);
      take(queues_[name], cursor->value());
    }
    return cursor->status();
  };
  const Result<> settings = each(store::settings_prefix, [&](QueueState& queue, std::string_view value) {
    Result<store::SettingsRow> decoded = store::decode_settings(value);
    if (decoded) {
      queue.row = std::move(*decoded);
      return;
    }
    // What they were, nobody knows any more. Nobody can work with a store that does not open, either.
    note_damage("undecodable settings, now the defaults", queue.name, "?");
    queue.row.may_have_history = true;  // Until the sweep has looked.
    group_.put(Family::meta, store::settings_key(queue.name), store::encode_settings(queue.row));
  });
  if (!settings) return settings;
  return each(store::counts_prefix, [&](QueueState& queue, std::string_view value) {
    const Result<Counts> counts = store::decode_counts(value);
    queue.counts_lost = !counts;
    if (counts) queue.counts = *counts;
  });
}

// As check() counts: an order whose row does not decode is in none of the counts.
Result<> Core::recount_lost_counts() {
  for (auto& [name, queue] : queues_) {
    if (!queue.counts_lost) continue;
    queue.counts_lost = false;
    note_damage("undecodable counts, counted again", name, "?");
    const std::string prefix = store::queue_prefix(name);
    const std::unique_ptr<store::Cursor> cursor =
        store_.scan(Family::orders, prefix, store::prefix_end(prefix));
    for (; cursor->valid(); cursor->next()) {
      // Those under a lease below: their rows may be mended in the open group.
      if (leases_.find(cursor->key()) != nullptr) continue;
      const Result<store::OrderRow> row = store::decode_order(cursor->value());
      if (!row) continue;
      const auto* ended = std::get_if<model::Record>(&*row);
      const State state = ended != nullptr ? ended->state : State::wait;
      if (model::is_known(state)) ++model::count_of(queue.counts, state);
    }
    if (Result<> read = cursor->status(); !read) return read;
    for (const std::string_view leased : leases_.queues()) {
      if (leased == name) ++queue.counts.processing;
    }
    moved(queue, std::nullopt, std::nullopt);
  }
  return {};
}

Result<> Core::load_leases(Now now) {
  const std::unique_ptr<store::Cursor> cursor = store_.scan(Family::leases, "", "");
  for (; cursor->valid(); cursor->next()) {
    if (Result<> r = load_lease(cursor->key(), cursor->value(), now); !r) return r;
  }
  return cursor->status();
}

// A lease that does not decode is passed over: compare_lease_counts() will miss it.
Result<> Core::load_lease(std::string_view key, std::string_view value, Now now) {
  const std::optional<store::OrderName> name = store::parse_order_key(key);
  if (!name) {
    note_damage("lease under a key that does not parse", "?", key);
    return {};
  }
  Result<model::Lease> lease = store::decode_lease(value);
  if (!lease) {
    note_damage("undecodable lease", name->queue, name->id);
    return {};
  }
  const Result<QueueState*> queue = find_or_add_queue(name->queue);
  if (!queue) return Unexpected{queue.error()};
  const Result<std::optional<std::string>> bytes = store_.get(Family::orders, key);
  if (!bytes) return Unexpected{bytes.error()};

  const store::Place place{lease->record.priority, lease->record.due};
  const Result<store::OrderRow> row = *bytes ? store::decode_order(**bytes) : store::OrderRow{store::Place{}};
  const auto* ended = row ? std::get_if<model::Record>(&*row) : nullptr;
  if (ended != nullptr && ended->sequence > lease->record.sequence) {
    note_damage("lease of an order that has ended", name->queue, name->id);
    group_.erase(Family::leases, std::string(key));
    return {};
  }
  if (!*bytes || !row || ended != nullptr) {
    note_damage("lease without its order", name->queue, name->id);
    group_.put(Family::orders, std::string(key), store::encode_live(place));
  }
  const std::uint64_t token =
      std::max(static_cast<std::uint64_t>(lease->record.token), lease->record.sequence);
  if (token > sequence_) {
    note_damage("token above the last sequence", name->queue, name->id);
    sequence_ = token;
    sequence_changed_ = true;
  }
  // The time it had left, but at least the grace, and never more than its full length.
  const Duration left =
      std::min(std::max(lease->expires_at - now.wall, options_.restart_grace), lease->length);
  leases_.add(std::string(key), std::move(*lease), now.monotonic + left);
  return {};
}

// From queue to queue and from priority to priority by seeks: one for each pair that holds orders.
Result<> Core::load_heads() {
  std::string from;
  for (;;) {
    const std::unique_ptr<store::Cursor> cursor = store_.scan(Family::queue, from, "");
    if (!cursor->valid()) return cursor->status();
    const std::optional<store::QueueEntry> entry = store::parse_queue_key(cursor->key());
    if (!entry) {
      note_damage("queue entry under a key that does not parse", "?", cursor->key());
      from = std::string(cursor->key()) + '\0';
      continue;
    }
    const Result<QueueState*> queue = find_or_add_queue(entry->queue);
    if (!queue) return Unexpected{queue.error()};
    (*queue)->heads[entry->place.priority].note_rest(Spot{entry->place.due, std::string(entry->id)});
    std::string prefix = store::queue_prefix(entry->queue);
    prefix.push_back(static_cast<char>(entry->place.priority));
    from = store::prefix_end(prefix);
  }
}

void Core::compare_lease_counts() {
  std::map<std::string_view, std::uint64_t> held;
  for (const std::string_view queue : leases_.queues()) ++held[queue];
  for (auto& [name, queue] : queues_) {
    const std::uint64_t leases = held[name];
    if (queue.counts.processing == leases) continue;
    note_damage("count of PROCESSING orders and leases differ", name, "?");
    if (queue.counts.processing > leases) {
      // The count stays as it is until the orders are found: after a crash they are looked for again.
      queue.leases_missing = queue.counts.processing - leases;
      queue.scrub_from = store::queue_prefix(name);
      ++scrubs_;
    } else {
      queue.counts.processing = leases;
      moved(queue, std::nullopt, std::nullopt);
    }
  }
}

// One pass over the orders of a queue that misses leases, a bounded part at a time.
void Core::scrub(QueueState& queue, Now now) {
  const std::string end = store::prefix_end(store::queue_prefix(queue.name));
  const std::unique_ptr<store::Cursor> cursor = store_.scan(Family::orders, *queue.scrub_from, end);
  std::uint32_t looked_at = 0;
  for (; cursor->valid() && looked_at < limits::reap_pass_max && queue.leases_missing > 0; cursor->next()) {
    ++looked_at;
    queue.scrub_from = std::string(cursor->key()) + '\0';
    const std::optional<store::OrderName> name = store::parse_order_key(cursor->key());
    if (!name || leases_.find(cursor->key()) != nullptr) continue;
    // locate() gives up the order if its record is gone, and notes what does not decode.
    if (const Result<Located> located = locate(queue, name->id, now.wall); !located) continue;
  }
  if (cursor->valid() && queue.leases_missing > 0) return;
  queue.scrub_from.reset();
  --scrubs_;
  if (Result<> read = cursor->status();
      !read) {  // The count keeps its difference: the next open looks again.
    log(LogLevel::error, "looking for lost orders of queue " + queue.name + ": " + read.error().message);
    return;
  }
  if (queue.leases_missing == 0) return;
  queue.counts.processing -= std::min(queue.counts.processing, queue.leases_missing);  // There are no more.
  queue.leases_missing = 0;
  moved(queue, std::nullopt, std::nullopt);
}

}  // namespace duelease::engine
