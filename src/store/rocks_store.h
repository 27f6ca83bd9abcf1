// store/rocks_store.h: the store on RocksDB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/options.h"
#include "store/store.h"

namespace rocksdb {
class FileSystem;
}

namespace duelease::store {

// A log that has lost changes which were on disk.
struct LostLog {
  // The one in which the loss begins, and all later ones. Empty: there is none any more.
  std::vector<std::filesystem::path> files;
  std::uint64_t offset = 0;  // In the first of them.
  std::uint64_t bytes = 0;
  std::uint64_t writes = 0;  // At least; 0: nobody knows how many.

  std::string text() const;
};

struct RocksOptions {
  bool create_if_missing = true;
  std::size_t memtable_bytes = 128 * 1024 * 1024;
  std::size_t block_cache_bytes = 64 * 1024 * 1024;
  std::size_t log_zeros = 256 * 1024;      // Bytes at a time, see log_ahead.h. 0: none.
  std::size_t payload_bytes_apart = 2048;  // Rows from this size on lie in files of their own, *.blob.
  // Off: tables stay as they are. A compaction that meets a damaged block ends all writing.
  bool compacts = true;
  // A store without any log file has lost it. Off: also then it opens, as a fresh copy of a backup must.
  bool needs_log = true;
  // After anything but a clean close the sequence goes on 2^32 higher. A restore does better by itself.
  bool raises_sequence_after_crash = true;
  // Whether to open such a store all the same, without what it has lost; asked before a byte is changed. It goes back
  // to where the damage begins; where some families have gone on beyond it, all that can be read is kept, also what
  // does not belong together any more: then it takes a repair. An error is the answer of the open. Empty: it is corrupt.
  std::function<Result<>(const LostLog&)> accept_lost_log;
  std::function<void(LogLevel, std::string_view)> log;  // Empty: silent.
  std::shared_ptr<rocksdb::FileSystem> file_system;     // Empty: the machine's. Tests put faults there.
};

// Errors: invalid (a backup, or something else lies there), locked, newer_format, corrupt, not_found, storage. What
// check_before_open.h refuses leaves the folder as it was; an error of the open itself loses nothing, but it may have
// begun files of its own.
// A new store gets its format version, sequence 0 and log secret, and one that has no secret yet gets it, all on disk
// before this returns.
Result<std::unique_ptr<Store>> open_rocks_store(const std::filesystem::path& path,
                                                const RocksOptions& options);

// See duelease::restore.
Result<> restore_rocks_store(const std::filesystem::path& backup, const std::filesystem::path& target,
                             std::uint64_t tokens_above);

}  // namespace duelease::store
