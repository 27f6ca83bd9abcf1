// store/damaged_folder.h: where a repair puts what it is about to drop: beside the store, for whoever may make
// something of it yet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "duelease/result.h"
#include "duelease/types.h"
#include "store/store.h"

namespace duelease::store {

class DamagedFolder {
 public:
  // Of the store in folder `store`. Each repair has a folder of its own, named by its time, once there is
  // something to put into it.
  DamagedFolder(std::filesystem::path store, Time now);

  // Nothing is on disk for sure before sync().
  Result<> add(Family family, std::string_view key, std::string_view value);
  Result<> sync();
  // On disk when it returns.
  Result<> copy(const std::filesystem::path& file);

  std::uint64_t records() const { return records_; }
  // Empty: there was nothing to put into it.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  Result<> make();
  std::filesystem::path records_path() const { return folder_ / "records.jsonl"; }

  const std::filesystem::path store_;
  const Time now_;
  std::filesystem::path folder_;
  std::ofstream file_;
  std::uint64_t records_ = 0;
  bool is_synced_ = true;
};

}  // namespace duelease::store
