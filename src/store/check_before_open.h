// store/check_before_open.h: what must hold of a folder before RocksDB opens the store in it. Nothing here changes a
// byte, so a store that is refused is left as it was.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <filesystem>

#include "duelease/result.h"
#include "store/rocks_store.h"

namespace duelease::store {

// Whether there is a store to open. Errors: invalid (a backup, or something else), corrupt (what is left of a store),
// not_found, storage.
Result<bool> find_store(const std::filesystem::path& path, bool create_if_missing);

// That the store at `path` is one of ours, whole, of a format that is known, and that its log has lost nothing that
// was on disk: see RocksOptions for what of that may be let pass. The caller holds its lock. Errors: corrupt,
// newer_format, storage.
Result<> check_before_open(const std::filesystem::path& path, const rocksdb::DBOptions& db,
                           const RocksOptions& options);

// RocksDB's error of a family that was written to a table which holds later changes than the log does up to its
// damage: there is no state of the past to go back to.
bool is_ahead_of_log(const rocksdb::Status& status);

// Has an open read whatever can be read of the log, before and behind its damage. What belongs together may come
// apart.
void read_around_damage(rocksdb::DBOptions& options);

// RocksDB's error of an open, with what to do about it.
Unexpected cannot_open(const rocksdb::Status& status, const std::filesystem::path& path);

}  // namespace duelease::store
