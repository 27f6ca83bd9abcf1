// store/rocks_read.h: a RocksDB database read through the interface of store.h, and its errors as ours.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "duelease/result.h"
#include "store/store.h"

namespace duelease::store {

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// The one place where RocksDB's errors become ours: corrupt or storage. `doing`: in words, "reading the store".
Unexpected to_error(const rocksdb::Status& status, const std::string& doing);

// Both without a snapshot (nullptr): as it is now. The cursor must not outlive the database.
Result<std::optional<std::string>> read_row(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                            const rocksdb::Snapshot* snapshot, std::string_view key);
std::unique_ptr<Cursor> scan_rows(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                  const rocksdb::Snapshot* snapshot, std::string_view from,
                                  std::string_view to);

}  // namespace duelease::store
