// store/rocks_layout.h: how the store uses RocksDB: the options of the database and of each family. The bench measures
// beside a bare database with the same ones.
#pragma once

#include <rocksdb/options.h>

#include <memory>

#include "store/rocks_store.h"
#include "store/store.h"

namespace duelease::store {

rocksdb::DBOptions db_options(const RocksOptions& options, rocksdb::Env* env);

// `cache`: for the blocks of all families. Empty: RocksDB makes one for each.
rocksdb::ColumnFamilyOptions family_options(Family family, const RocksOptions& options,
                                            const std::shared_ptr<rocksdb::Cache>& cache);

}  // namespace duelease::store
