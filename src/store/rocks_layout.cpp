#include "store/rocks_layout.h"

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <algorithm>
#include <vector>

#include "store/hash_memtable.h"
#include "store/log_ahead.h"
#include "store/rocks_log.h"

namespace duelease::store {

namespace {

// Each write touches rows of `meta`, and one of a run those of `runs`, again and again, and so may users with those of
// `app`: see hash_memtable.h.
bool is_rewritten_often(Family family) {
  return family == Family::meta || family == Family::runs || family == Family::app;
}

// Families from which rows are deleted at the front, again and again: a file that is mostly tombstones
// is compacted early, or the head of a queue would lie behind all that was ever claimed.
bool fills_with_tombstones(Family family) { return family == Family::queue || family == Family::leases; }

bool holds_payloads(Family family) {
  return family == Family::queue || family == Family::leases || family == Family::orders ||
         family == Family::history;
}

rocksdb::CompressionType compression() {
  const std::vector<rocksdb::CompressionType> available = rocksdb::GetSupportedCompressions();
  const auto lz4 = std::find(available.begin(), available.end(), rocksdb::kLZ4Compression);
  return lz4 != available.end() ? *lz4 : rocksdb::kNoCompression;
}

// Large rows in files of their own, which a compaction does not write again: only where they lie. Measured with payloads
// of 4 KiB a tenth more lifecycles a second and a fifth more claims; from 2 KiB down there is nothing to gain, and with
// 1 KiB a claim alone would be a sixth slower (bench, workloads `payload` and `claim`).
void set_payloads_apart(rocksdb::ColumnFamilyOptions& out, std::size_t bytes) {
  out.enable_blob_files = true;
  out.min_blob_size = bytes;
  out.blob_compression_type = compression();
  // A file goes when nothing in it is alive any more; one of the oldest quarter that is half dead is written anew.
  out.enable_blob_garbage_collection = true;
  out.blob_garbage_collection_age_cutoff = 0.25;
  out.blob_garbage_collection_force_threshold = 0.5;
}

}  // namespace

rocksdb::ColumnFamilyOptions family_options(Family family, const RocksOptions& options,
                                            const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions out;
  // Half of what all have together: one family can be written to a table while the others go on.
  out.write_buffer_size = options.memtable_bytes / 2;
  out.disable_auto_compactions = !options.compacts;
  out.compression = compression();
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // Else their memory would grow with the store. In parts, for the filter of a large table would push all else out of the
  // cache, or not fit into a shard of it at all: then each look-up would read it from the file.
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.pin_top_level_index_and_filter = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.format_version = 5;
  // A queue is only walked. In the others one look-up in a hundred for a row that is not there reads a block for nothing.
  constexpr double filter_bits = 10;
  if (family != Family::queue) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits));
  if (holds_payloads(family)) set_payloads_apart(out, options.payload_bytes_apart);
  out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (!is_rewritten_often(family)) {
    out.memtable_factory = std::make_shared<HashMemtableFactory>(options.memtable_bytes);
  }
  if (fills_with_tombstones(family)) {
    // A quarter of any 4096 rows in a row, which a scan passes in about a millisecond. Fewer would compact files again
    // that are mostly alive.
    constexpr std::size_t window = 4096;
    constexpr std::size_t tombstones = 1024;
    out.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(window, tombstones));
  }
  return out;
}

std::unique_ptr<rocksdb::Env> make_env(const RocksOptions& options) {
  return rocksdb::NewCompositeEnv(std::make_shared<LogAhead>(
      options.file_system ? options.file_system : rocksdb::FileSystem::Default(), options.log_zeros));
}

rocksdb::DBOptions db_options(const RocksOptions& options, rocksdb::Env* env) {
  rocksdb::DBOptions out;
  out.env = env;
  out.create_if_missing = options.create_if_missing;
  out.create_missing_column_families = true;
  out.db_write_buffer_size = options.memtable_bytes;
  // A family that is hardly written keeps the log from its last flush on: it is flushed when an open would have to replay
  // this much.
  out.max_total_wal_size = 3 * options.memtable_bytes;
  out.allow_concurrent_memtable_write = false;  // One writer; the memtables need it.
  out.max_background_jobs = 2;  // One flush and one compaction: more take processors from the writer.
  // RocksDB's own log file aborts the process (where assertions are on, as in Debian's build) once a write
  // to it has failed, as on a full disk. What goes wrong we learn from the calls.
  out.info_log = std::make_shared<NoInfoLog>();
  // A power cut tears the end of the log: what follows the tear was never acknowledged. The first record
  // that does not check out ends the log.
  out.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  return out;
}

}  // namespace duelease::store
