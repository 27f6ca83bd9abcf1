// duelease/repair.h: mends a damaged store that nobody has open.
//
//     auto report = duelease::repair("store");
//     if (!report) return complain(report.error());
//     if (report->left() > 0) ...   // Told in words; a backup may be the better way.
//
// It mends what can be mended without a guess: what one record says stands against what was derived from it, and
// of two records of one order the later change counts. What would take a guess it tells and leaves. All
// invariants that Engine::check() counts are looked at. Run again it finds nothing more to mend; one that was
// interrupted is finished by the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/clock.h"
#include "duelease/options.h"
#include "duelease/result.h"

namespace duelease {

struct RepairOptions {
  // Records that do not decode are copied to the folder of the damaged (see RepairReport::kept_in) and left. On:
  // they are removed then. (Counts that do not decode are copied and counted again, on or off.) An order whose
  // record is removed, and of which nothing else is left, is gone; settings are the defaults again; a lost last
  // sequence goes on far above every token that is left.
  bool discard_damaged = false;
  // A log that has lost changes which were on disk keeps the store from opening. On: it is opened as it was before
  // them; or, where a part of what came later lies in tables already, with all that can be read, and what came apart
  // is mended. The damaged log files are copied to the folder of the damaged first.
  bool accept_loss = false;
  std::shared_ptr<const Clock> clock{};                   // Empty: system_clock().
  std::function<void(LogLevel, std::string_view)> log{};  // Empty: silent.
};

// One invariant, by the name that Engine::check() has for it.
struct Repaired {
  std::string invariant{};
  // Breaches at the first look. Mending one may bring others to light, and end others.
  std::uint64_t found = 0;
  std::uint64_t mended = 0;  // Things that were put right because of it.
  std::uint64_t left = 0;    // Breaches at the last look.
  std::string mended_example{};
  std::string left_example{};
};

// Changes that were on disk and cannot be read any more.
struct LostLog {
  // From `offset` of this log file on, in it and those after it. Empty: no log file was left.
  std::string file{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;   // From there to the end of the log.
  std::uint64_t writes = 0;  // Of rows, at least; of each change there are some. 0: nobody knows how many.
};

struct RepairReport {
  std::vector<Repaired> invariants{};  // All of them, in a fixed order.
  std::uint64_t orders = 0;            // Orders looked at.
  std::optional<LostLog> lost{};       // Accepted.
  std::uint64_t damaged_records = 0;   // That do not decode, and were copied to `kept_in`.
  // A folder below STORE.damaged: records.jsonl, a line of each damaged record (its family, its key and its value,
  // in hex), and log files. Empty: nothing was copied.
  std::filesystem::path kept_in{};

  std::uint64_t mended() const {
    std::uint64_t sum = 0;
    for (const Repaired& each : invariants) sum += each.mended;
    return sum;
  }
  std::uint64_t left() const {
    std::uint64_t sum = 0;
    for (const Repaired& each : invariants) sum += each.left;
    return sum;
  }
};

// All that is mended is on disk when it returns. Errors: those of Engine::open (corrupt also for a damaged log
// without accept_loss; nothing was changed then), storage.
Result<RepairReport> repair(const std::filesystem::path& store, RepairOptions options = {});

}  // namespace duelease
