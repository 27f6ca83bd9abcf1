// The limit of our own design: RocksDB with the same families, options, keys and value sizes, written in
// the same groups by a loop that decides nothing. Sync is overlapped as in the engine: a second thread
// syncs while the loop writes on, at most four groups ahead.
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plan.h"

namespace duelease::bench {

namespace {

// What the engine's values hold besides the payload, for an order without a key (bytes).
constexpr std::size_t waiting_overhead = 41;
constexpr std::size_t lease_overhead = 73;
constexpr std::size_t ended_overhead = 64;
constexpr std::size_t live_bytes = 12;
constexpr std::size_t groups_ahead_max = 4;

void must(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "duelease-bench: rocksdb: %s\n", status.ToString().c_str());
  std::exit(1);
}

class Bare {
 public:
  explicit Bare(const std::filesystem::path& path) {
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.db_write_buffer_size = 128 * 1024 * 1024;
    options.allow_concurrent_memtable_write = false;
    options.max_background_jobs = 2;
    rocksdb::ColumnFamilyOptions walked;
    walked.write_buffer_size = 64 * 1024 * 1024;
    walked.compression = rocksdb::kLZ4Compression;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    walked.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::ColumnFamilyOptions hashed = walked;
    hashed.prefix_extractor.reset(rocksdb::NewNoopTransform());
    hashed.memtable_factory.reset(rocksdb::NewHashLinkListRepFactory());
    rocksdb::DB* db = nullptr;
    must(rocksdb::DB::Open(options, path.string(),
                           {{"default", walked}, {"queue", walked}, {"orders", walked}, {"leases", hashed}},
                           &families_, &db));
    db_.reset(db);
    sync_thread_ = std::thread([this] { sync_loop(); });
  }

  ~Bare() {
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  rocksdb::ColumnFamilyHandle* meta() const { return families_[0]; }
  rocksdb::ColumnFamilyHandle* queue() const { return families_[1]; }
  rocksdb::ColumnFamilyHandle* orders() const { return families_[2]; }
  rocksdb::ColumnFamilyHandle* leases() const { return families_[3]; }

  void write(rocksdb::WriteBatch& batch) {
    must(batch.Put(meta(), "sequence", "123456789"));
    must(batch.Put(meta(), "counts:bench", "123456789012"));
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return written_ - synced_ < groups_ahead_max; });
    }
    must(db_->Write({}, &batch));
    batch.Clear();
    const std::lock_guard lock(mutex_);
    ++written_;
    changed_.notify_all();
  }

  // All that was written is on disk.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    sync_thread_.join();
  }

 private:
  void sync_loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return written_ > synced_ || stop_; });
      if (written_ == synced_) return;
      const std::uint64_t covered = written_;
      lock.unlock();
      must(db_->SyncWAL());
      lock.lock();
      synced_ = covered;
      changed_.notify_all();
    }
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t written_ = 0;
  std::uint64_t synced_ = 0;
  bool stop_ = false;
  std::thread sync_thread_;
};

std::string order_key(std::uint64_t number) {
  std::string key = "bench";
  key.push_back('\0');
  return key + order_id(number);
}

std::string queue_key(std::uint64_t number) {
  std::string key = "bench";
  key.push_back('\0');
  key.push_back('\x80');
  const std::uint64_t due = (std::uint64_t{1} << 63) + 1'796'000'000'000U + number * 7919 % 1000;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(due >> shift));
  return key + order_id(number);
}

}  // namespace

Round run_bare(const Plan& plan) {
  const std::filesystem::path path = plan.folder / "bare";
  std::filesystem::remove_all(path);
  Round round;
  {
    Bare bare(path);
    const std::string waiting(plan.payload_bytes + waiting_overhead, 'w');
    const std::string lease(plan.payload_bytes + lease_overhead, 'l');
    const std::string ended(plan.payload_bytes + ended_overhead, 'e');
    const std::string live(live_bytes, 'p');
    const std::uint64_t group = std::uint64_t{plan.batch} * plan.threads;  // As many as ask at once.
    rocksdb::WriteBatch batch;

    const Meter meter;
    for (std::uint64_t first = 0; first < plan.orders; first += group) {
      const std::uint64_t end = std::min(first + group, plan.orders);
      for (std::uint64_t i = first; i < end; ++i) {
        must(batch.Put(bare.queue(), queue_key(i), waiting));
        must(batch.Put(bare.orders(), order_key(i), live));
      }
      bare.write(batch);
      for (std::uint64_t i = first; i < end; ++i) {
        must(batch.Delete(bare.queue(), queue_key(i)));
        must(batch.Put(bare.leases(), order_key(i), lease));
      }
      bare.write(batch);
      for (std::uint64_t i = first; i < end; ++i) {
        must(batch.Delete(bare.leases(), order_key(i)));
        must(batch.Put(bare.orders(), order_key(i), ended));
      }
      bare.write(batch);
    }
    bare.finish();
    round = meter.finish(plan.orders);
  }
  std::filesystem::remove_all(path);
  return round;
}

}  // namespace duelease::bench
