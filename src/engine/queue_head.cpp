#include "engine/queue_head.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace duelease::engine {

void QueueHead::note_rest(Spot spot) {
  if (rest_from_ && *rest_from_ <= spot) return;
  known_.erase(known_.lower_bound(spot), known_.end());
  rest_from_ = std::move(spot);
}

void QueueHead::add(Spot spot, const model::Record& record, std::size_t limit) {
  if (rest_from_ && spot >= *rest_from_) return;  // A refill will find it.
  if (record.payload.size() <= kept_payload_bytes_max) {
    known_.insert_or_assign(std::move(spot), record);
  } else {
    known_.insert_or_assign(std::move(spot), std::nullopt);
  }
  while (known_.size() > limit) note_rest(std::prev(known_.end())->first);
}

void QueueHead::refill(Known found, std::optional<Spot> rest_from) {
  DUELEASE_CHECK(rest_from_.has_value());
  DUELEASE_CHECK(found.empty() || found.begin()->first >= *rest_from_);
  known_.merge(std::move(found));
  rest_from_ = std::move(rest_from);
}

std::optional<QueueHead::Taken> QueueHead::take(Time now) {
  if (known_.empty() || known_.begin()->first.due > now) return std::nullopt;
  auto first = known_.extract(known_.begin());
  return Taken{std::move(first.key()), std::move(first.mapped())};
}

}  // namespace duelease::engine
