// store/rocks_layout.h: how the store uses RocksDB: the options of the database and of each family. The bench measures
// beside a bare database with the same ones.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <memory>

#include "store/rocks_store.h"
#include "store/store.h"

namespace duelease::store {

// The machine's files, or those of options.file_system; with logs that are written over zeros (log_ahead.h).
std::unique_ptr<rocksdb::Env> make_env(const RocksOptions& options);

// `env` must outlive the database.
rocksdb::DBOptions db_options(const RocksOptions& options, rocksdb::Env* env);

// `cache`: for the blocks of all families. Empty: RocksDB makes one for each.
rocksdb::ColumnFamilyOptions family_options(Family family, const RocksOptions& options,
                                            const std::shared_ptr<rocksdb::Cache>& cache);

}  // namespace duelease::store
