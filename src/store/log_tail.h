// store/log_tail.h: what RocksDB's replay of its log left behind, and whether it was a loss.
//
// Replay ends at the first record that does not check out. After a power cut that is right: what follows the
// tear was never on disk for sure, so nobody was told that it was. But a bit that has rotted in the middle of
// the log looks just the same, and ends the replay in front of changes that were acknowledged. So every group
// carries a *synced mark*: up to which of RocksDB's sequence numbers all was on disk when it was written. A
// group that can still be read behind the end of the replay, and whose mark lies beyond that end, proves that
// changes which were on disk for sure are gone.
//
// A payload may hold what looks like such a group, and a torn one may be cut open just there. So a mark counts only
// with the store's *log secret*, which nobody who sends payloads can know.
//
// The format of a log file is RocksDB's: blocks of 32 KiB; in them fragments of a masked CRC-32C (4 bytes,
// little-endian), a length (2), a type (1: whole record, 2: first, 3: middle, 4: last) and the bytes. A
// fragment never crosses a block; where fewer than 7 bytes are left in a block they are zero.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "duelease/result.h"

namespace duelease::store {

// A place in the log files: behind a record.
struct LogPlace {
  std::uint64_t file = 0;  // Number in its name; 0: no record yet.
  std::uint64_t offset = 0;
};

// Where a record of `bytes`, its batch without what the format adds, ends that was written behind `offset` of its file.
std::uint64_t end_of_record(std::uint64_t offset, std::size_t bytes);

using LogSecret = std::array<char, 8>;
Result<LogSecret> draw_log_secret();  // From the system.
// Of its row in family meta. Nothing: there is no such row, or not of ours.
std::optional<LogSecret> log_secret_in(const std::optional<std::string>& row);

// Into an empty batch, before all else.
void put_synced_mark(rocksdb::WriteBatch& batch, std::uint64_t synced, const LogSecret& secret);

struct LogTail {
  std::vector<std::string> files;  // That it lies in, from the first on, without their folder.
  std::uint64_t bytes = 0;         // From the end of the replay to the last byte that is not 0.
  std::uint64_t synced = 0;        // The highest mark of a group that begins there; 0: none can be read.
};

// Reads what is behind `end` in the log files of `folder`. Without a secret no mark counts.
Result<LogTail> read_log_tail(rocksdb::Env& env, const std::string& folder, LogPlace end,
                              const std::optional<LogSecret>& secret);

}  // namespace duelease::store
