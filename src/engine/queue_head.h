// engine/queue_head.h: the front of one priority of a queue, in memory.
//
// In the store, the front of a queue fills with the tombstones of all that was claimed from it, and a scan
// steps over every one of them. So the front is kept here, and the store is read forwards only:
//
//        known (in memory, sorted)          rest (in the store only)
//   [ a  b  c  d  e ............. ]   |   [ f  g  h ................... ]
//                                     ^ rest_from
//
// Every order of the queue that stands before `rest_from` is known; the others stand at `rest_from` or
// later, and none is there when it is absent. `rest_from` may be too early (its order was cancelled),
// never too late. An order put in before `rest_from` becomes known; when there is no room for it, the
// line moves to the left instead. A claim takes from the known ones and refills them from the
// store, a stretch at a time, reading each order once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "duelease/types.h"
#include "model/record.h"

namespace duelease::engine {

// Where an order stands among those of its priority.
struct Spot {
  Time due{};
  std::string id;
  auto operator<=>(const Spot&) const = default;
};

class QueueHead {
 public:
  static constexpr std::size_t known_max = 1024;
  // A larger payload is left in the store, and read when the order is claimed.
  static constexpr std::size_t kept_payload_bytes_max = 1024;

  using Known = std::map<Spot, std::optional<model::Record>>;

  // The store holds orders from `spot` on that are not known.
  void note_rest(Spot spot);
  // An order was put in, or its record changed. At most `limit` (from 1) are known afterwards.
  void add(Spot spot, const model::Record& record, std::size_t limit);
  // An order was taken out.
  void remove(const Spot& spot) { known_.erase(spot); }
  // The store was read up to `rest_from`; what was found is in `found`.
  void refill(Known found, std::optional<Spot> rest_from);

  const Known& known() const { return known_; }
  const std::optional<Spot>& rest_from() const { return rest_from_; }
  bool empty() const { return known_.empty() && !rest_from_; }

  // Nothing is due before this. Needs !empty().
  Time earliest_due() const { return known_.empty() ? rest_from_->due : known_.begin()->first.due; }

  struct Taken {
    Spot spot;
    std::optional<model::Record> record;  // Nothing: to be read from the store.
  };
  // Takes the first known order if it is due.
  std::optional<Taken> take(Time now);
  // What was taken last, and is not wanted now.
  void put_back(Taken taken) { known_.emplace(std::move(taken.spot), std::move(taken.record)); }

 private:
  Known known_;
  std::optional<Spot> rest_from_;
};

}  // namespace duelease::engine
