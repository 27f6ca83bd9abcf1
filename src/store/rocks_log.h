// store/rocks_log.h: how RocksDB's log is kept free of holes. For the store's own files alone.
//
// Groups are written while the sync of those before them is still under way, so a power cut can meet
// several that are not on disk, and the disk may have begun with any of them. Each may be lost, but never
// one from before another that is kept: that would be half a history. A torn record ends RocksDB's replay,
// but it does not see what is missing whole: the unsynced end of a log file when the next file is there, or
// a block of zeros. Three things together make that impossible:
//   1. A log file is on disk before anything is written to the next one.
//   2. The first record of a log file is on disk before a second one follows.
//   3. Replay ends at a record that does not begin with the sequence number after the record before it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <mutex>
#include <string>

#include "store/log_tail.h"

namespace duelease::store {

class ContiguousLog final : public rocksdb::WalFilter {
 public:
  const char* Name() const override { return "duelease.ContiguousLog"; }

  WalProcessingOption LogRecordFound(unsigned long long file, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*, bool*) override {
    const std::uint64_t first = sequence_of(batch);
    if (next_ != 0 && first != next_) return WalProcessingOption::kCorruptedRecord;
    next_ = first + batch.Count();
    end_ = {file, end_of_record(file == end_.file ? end_.offset : 0, batch.GetDataSize())};
    return WalProcessingOption::kContinueProcessing;
  }

  // Of the records that were replayed: where the last one ends, and its last sequence number (0: none was).
  LogPlace end() const { return end_; }
  std::uint64_t last_sequence() const { return next_ == 0 ? 0 : next_ - 1; }

 private:
  // A batch begins with its sequence number, 8 bytes, little-endian.
  static std::uint64_t sequence_of(const rocksdb::WriteBatch& batch) {
    std::uint64_t out = 0;
    for (std::size_t i = 8; i > 0; --i) out = out << 8 | static_cast<unsigned char>(batch.Data()[i - 1]);
    return out;
  }

  std::uint64_t next_ = 0;  // 0: no record yet.
  LogPlace end_;
};

// RocksDB begins a log file when it seals a memtable, and tells so before anything is written to it.
class LogSwitches final : public rocksdb::EventListener {
 public:
  // Before the first write.
  void watch(rocksdb::DB* db) { db_ = db; }

  // That the file is synced here, and not by the flush that begins now, also spares builds of RocksDB with
  // assertions an abort: they do not expect a SyncWAL() after a failed sync by a flush.
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override {
    switched_ = true;
    rocksdb::DB* db = db_;
    if (db == nullptr) return;
    const rocksdb::Status status = db->SyncWAL();
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
  }

  // Whether this write was the first to its file.
  bool take() { return switched_.load(std::memory_order_relaxed) && switched_.exchange(false); }

  // Of the sync above. RocksDB fails from then on too, but forgets why.
  rocksdb::Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  std::atomic<rocksdb::DB*> db_ = nullptr;
  std::atomic<bool> switched_ = true;  // An open begins a file too.
  mutable std::mutex mutex_;
  rocksdb::Status failure_;  // Guarded by mutex_.
};

// For RocksDB's own words about what it does, which nobody reads: see rocks_layout.cpp.
class NoInfoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace duelease::store
