// engine/foresight.h: what rows of a reconcile would be answered, on one consistent view of the store. Most rows of most
// reconciles change nothing: they write nothing, and all of a call wait together for what they rest on (see Barrier).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "duelease/result.h"
#include "duelease/types.h"
#include "model/record.h"
#include "store/store.h"

namespace duelease::engine {

class Foresight {
 public:
  // `now` must be within the calendar.
  Foresight(const store::Reader& view, Time now) : view_(view), now_(now) {}

  // What Core would answer. For an order whose record does not decode, or is lost: corrupt.
  Result<Answer> answer(const ReconcileRequest& row);

 private:
  struct Seen {
    std::optional<model::Record> record;
    bool is_orphan = false;
  };
  Result<Seen> look_at(std::string_view queue, std::string_view id) const;
  Result<bool> is_orphan(std::string_view queue, const model::Record& record) const;
  Result<std::optional<Answer>> key_blocker(const ReconcileRequest& row, const QueueSettings& settings) const;
  Result<QueueSettings> settings_of(const std::string& queue);
  Result<std::uint64_t> last_sequence();

  const store::Reader& view_;
  const Time now_;
  // As read once: rows come a thousand at a time, of one queue.
  std::optional<std::uint64_t> last_sequence_;
  std::string queue_;
  std::optional<QueueSettings> settings_;
};

}  // namespace duelease::engine
