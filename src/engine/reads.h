// engine/reads.h: the reads of the public API, as functions of one consistent view of the store. They
// use nothing of the core's memory (but see LeaseEnd): they run on any thread, and go on when the disk no
// longer takes writes. Each `now` must be within the calendar, see model::in_calendar().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/clock.h"
#include "duelease/result.h"
#include "duelease/types.h"
#include "engine/invariants.h"
#include "store/store.h"

namespace duelease::engine {

// When the lease runs out that `token` stands for, by the wall clock as it is now. The store knows it by the
// wall clock of the claim, which may have been set since. Nothing: what the store knows must do.
using LeaseEnd = std::function<std::optional<Time>(std::string_view queue, std::string_view id, Token token)>;

Result<std::optional<Order>> read_order(const store::Reader& reader, std::string_view queue,
                                        std::string_view id, const LeaseEnd& lease_end = {});
Result<Page> read_list(const store::Reader& reader, const ListRequest& request);
Result<std::string> read_why(const store::Reader& reader, std::string_view queue, std::string_view id,
                             Time now, const LeaseEnd& lease_end = {});
// Oldest first; the newest `limit`.
Result<std::vector<HistoryEntry>> read_history(const store::Reader& reader, std::string_view queue,
                                               std::string_view id, std::uint32_t limit, Time now);
// How many earlier generations of the id lie in the history; one that does not decode counts.
Result<std::uint32_t> count_generations(const store::Reader& reader, std::string_view queue,
                                        std::string_view id);
// not_found when there is no such queue.
Result<> find_queue(const store::Reader& reader, std::string_view queue);
Result<std::vector<std::string>> read_queues(const store::Reader& reader);
Result<Stats> read_stats(const store::Reader& reader, std::string_view queue, Time now);
Result<QueueSettings> read_settings(const store::Reader& reader, std::string_view queue);
// Error not_found when there is none.
Result<Run> read_run(const store::Reader& reader, std::string_view queue, std::string_view run);
// Their names, sorted.
Result<std::vector<std::string>> read_runs(const store::Reader& reader, std::string_view queue);

Result<std::uint64_t> read_sequence(const store::Reader& reader);

// check_store.cpp: the invariants, see CheckReport.
Result<CheckReport> check_store(const store::Reader& reader, std::string_view queue,
                                const CheckOptions& options = {});

// Ids of orders of `queue` in `state` that ended at `ended_by` or before, at most `limit`, from key
// `from` on (empty: the first). `next` is where to go on; empty at the end of the queue.
struct Ended {
  std::vector<std::string> ids;
  std::string next;
};
Result<Ended> find_ended(const store::Reader& reader, std::string_view queue, State state, Time ended_by,
                         std::size_t limit, std::string_view from);

}  // namespace duelease::engine
