// Retention: successes and entries of the history that are kept for a time only.
//
// That they no longer block is decided exactly, when somebody schedules the id or key (model::blocks). The
// sweep only gives their space back, so it may be late. It walks the orders of the queue, a bounded part
// at a time, and then rests: an index by time of completion would find them without a walk, and cost every
// complete a seventh write. The same with the history: reads leave out what is kept no longer, and the sweep walks.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "engine/core.h"
#include "model/history.h"
#include "model/rules.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

namespace {

// A share of the retention; and ten times as long as the walk took, at some 1,000 rows a millisecond.
Duration rest(Duration share, std::uint64_t rows) {
  return std::max(share, Duration{static_cast<std::int64_t>(rows / 100)});
}

Duration rest_of_successes(Duration keep, std::uint64_t rows) {
  return rest(std::clamp(keep / 10, Duration{1'000}, Duration{3'600'000}), rows);
}

// There are more rows than orders, and nothing hangs on them: each is walked over some 16 times in all.
Duration rest_of_history(Duration keep, std::uint64_t rows) {
  return rest(std::max(keep / 16, Duration{60'000}), rows);
}

}  // namespace

void Core::sweep_all(Now now) {
  look_at_touched();
  for (auto next = sweeps_.begin(); next != sweeps_.end() && next->first <= now.monotonic; ++next) {
    QueueState& queue = *find_queue(next->second);
    const auto is_due = [&](std::optional<Monotonic> sweep) { return sweep && *sweep <= now.monotonic; };
    if (is_due(queue.next_success_sweep())) sweep_successes(queue, now);
    if (is_due(queue.next_history_sweep())) sweep_history(queue, now);
  }
}

void Core::sweep_successes(QueueState& queue, Now now) {
  Sweep& sweep = queue.success_sweep;
  touch(queue);
  const std::optional<Duration> keep = queue.settings().keep_success;
  const std::string prefix = store::queue_prefix(queue.name);
  if (!sweep.from) sweep = Sweep{.from = prefix};
  const std::unique_ptr<store::Cursor> cursor =
      store_.scan(store::Family::orders, *sweep.from, store::prefix_end(prefix));
  for (std::uint32_t i = 0; cursor->valid() && i < limits::purge_pass_max; ++i, cursor->next()) {
    ++sweep.rows;
    sweep.from = std::string(cursor->key()) + '\0';
    const Result<store::OrderRow> row = store::decode_order(cursor->value());
    const auto* ended = row ? std::get_if<model::Record>(&*row) : nullptr;
    if (ended == nullptr || ended->state != State::success || model::blocks(*ended, keep, now.wall)) continue;
    // The open group may have changed it since. Not by locate(): when it makes orders void would hang on
    // where the group began.
    const Result<std::optional<std::string>> bytes = group_.get(store::Family::orders, cursor->key());
    if (!bytes || !*bytes) continue;
    const Result<store::OrderRow> row_now = store::decode_order(**bytes);
    const auto* record = row_now ? std::get_if<model::Record>(&*row_now) : nullptr;
    if (record == nullptr || record->state != State::success || model::blocks(*record, keep, now.wall))
      continue;
    const std::string id(cursor->key().substr(prefix.size()));
    if (Result<> purged = purge_order(queue, id, *record); !purged) {
      log(LogLevel::error, "purging order " + id + " of queue " + queue.name + ": " + purged.error().message);
    }
  }
  if (cursor->valid()) return;
  if (Result<> read = cursor->status(); !read) {
    log(LogLevel::error, "sweeping queue " + queue.name + ": " + read.error().message);
  }
  sweep.from.reset();
  sweep.next = now.monotonic + rest_of_successes(*keep, sweep.rows);
}

// With an earlier generation of an id goes what its run counts of it.
void Core::sweep_history(QueueState& queue, Now now) {
  touch(queue);
  Sweep& sweep = queue.history_sweep;
  const Duration keep = queue.settings().keep_history;
  const std::string prefix = store::queue_prefix(queue.name);
  if (!sweep.from) sweep = Sweep{.from = prefix};
  std::vector<std::string> stale;
  std::vector<model::Record> generations;
  // The open group is looked through too: what is in it may have been purged, or scheduled again.
  const std::unique_ptr<store::Cursor> cursor =
      group_.scan(store::Family::history, *sweep.from, store::prefix_end(prefix));
  for (std::uint32_t i = 0; cursor->valid() && i < limits::purge_pass_max; ++i, cursor->next()) {
    ++sweep.rows;
    sweep.from = std::string(cursor->key()) + '\0';
    Result<store::HistoryRow> row = store::decode_history(cursor->value());
    if (!row) continue;  // check() names it.
    const Time at = row->entry ? row->entry->at : row->ended->updated_at;
    if (model::is_kept(at, row->ended.has_value(), keep, now.wall)) continue;
    stale.emplace_back(cursor->key());
    if (row->ended) generations.push_back(std::move(*row->ended));
  }
  const bool is_through = !cursor->valid();
  const Result<> read = cursor->status();
  for (std::string& key : stale) group_.erase(store::Family::history, std::move(key));
  for (const model::Record& old : generations) count_in_run(queue, old.run, old.state, std::nullopt);
  if (!is_through) return;
  if (!read)
    log(LogLevel::error, "sweeping the history of queue " + queue.name + ": " + read.error().message);
  sweep.from.reset();
  sweep.next = now.monotonic + rest_of_history(keep, sweep.rows);
  if (keep > Duration{0} || !read) return;
  queue.row.may_have_history = false;
  group_.put(store::Family::meta, store::settings_key(queue.name), store::encode_settings(queue.row));
}

}  // namespace duelease::engine
