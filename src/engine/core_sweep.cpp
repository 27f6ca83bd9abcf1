// Retention: successes that are kept for a time only.
//
// That they no longer block is decided exactly, when somebody schedules the id or key (model::blocks). The
// sweep only gives their space back, so it may be late. It walks the orders of the queue, a bounded part
// at a time, and then rests: an index by time of completion would find them without a walk, and cost every
// complete a seventh write.
#include <algorithm>

#include "base/limits.h"
#include "engine/core.h"
#include "model/rules.h"
#include "store/keys.h"
#include "store/records.h"

namespace duelease::engine {

namespace {

constexpr Duration rest_min{1'000};
constexpr Duration rest_max{3'600'000};

// A tenth of the retention; and ten times as long as the walk took, at some 1,000 rows a millisecond.
Duration rest(Duration keep, std::uint64_t rows) {
  const Duration share = std::clamp(keep / 10, rest_min, rest_max);
  return std::max(share, Duration{static_cast<std::int64_t>(rows / 100)});
}

}  // namespace

void Core::sweep_all(Now now) {
  look_at_touched();
  for (auto next = sweeps_.begin(); next != sweeps_.end() && next->first <= now.monotonic; ++next) {
    sweep(*find_queue(next->second), now);
  }
}

void Core::sweep(QueueState& queue, Now now) {
  touch(queue);
  const std::optional<Duration> keep = queue.settings().keep_success;
  const std::string prefix = store::queue_prefix(queue.name);
  if (!queue.sweep_from) {
    queue.sweep_from = prefix;
    queue.sweep_rows = 0;
  }
  const std::unique_ptr<store::Cursor> cursor =
      store_.scan(store::Family::orders, *queue.sweep_from, store::prefix_end(prefix));
  for (std::uint32_t i = 0; cursor->valid() && i < limits::purge_pass_max; ++i, cursor->next()) {
    ++queue.sweep_rows;
    queue.sweep_from = std::string(cursor->key()) + '\0';
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
  queue.sweep_from.reset();
  queue.sweep_next = now.monotonic + rest(*keep, queue.sweep_rows);
}

}  // namespace duelease::engine
