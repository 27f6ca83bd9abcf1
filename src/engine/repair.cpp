// The public repair: opens the store, has it mended, and closes it.
#include "duelease/repair.h"

#include <utility>

#include "engine/repair_store.h"
#include "model/rules.h"
#include "store/damaged_folder.h"
#include "store/rocks_store.h"

namespace duelease {

Result<RepairReport> repair(const std::filesystem::path& path, RepairOptions options) {
  if (!options.clock) options.clock = system_clock();
  const Time now = model::in_calendar(options.clock->now().wall);
  store::DamagedFolder damaged(path, now);
  std::optional<LostLog> accepted;
  store::RocksOptions rocks;
  rocks.create_if_missing = false;
  rocks.compacts = false;  // What cannot be read is left, and must not keep the rest from being mended.
  rocks.log = options.log;
  rocks.accept_lost_log = [&](const store::LostLog& lost) -> Result<> {
    if (!options.accept_loss) {
      return fail(Code::corrupt,
                  "store " + path.string() + ": " + lost.text() +
                      ". Nothing was changed. Better than to lose them is to restore a backup; "
                      "to open it without them, accept the loss (--accept-loss)");
    }
    for (const std::filesystem::path& file : lost.files) {
      if (Result<> copied = damaged.copy(file); !copied) return copied;
    }
    const std::string first = lost.files.empty() ? "" : lost.files.front().filename().string();
    accepted = LostLog{first, lost.offset, lost.bytes, lost.writes};
    if (options.log)
      options.log(LogLevel::warning, "store " + path.string() + ": " + lost.text() + "; dropped");
    return {};
  };
  Result<std::unique_ptr<store::Store>> store = store::open_rocks_store(path, rocks);
  if (!store) return Unexpected{store.error()};
  const engine::RepairSettings settings{.discard_damaged = options.discard_damaged};
  Result<RepairReport> report = engine::repair_store(**store, damaged, settings, now);
  if (!report) return report;
  report->lost = accepted;
  report->damaged_records = damaged.records();
  report->kept_in = damaged.folder();
  return report;
}

}  // namespace duelease
