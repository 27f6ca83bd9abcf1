// store/log_ahead.h: RocksDB's log files, written over zeros that were put there before. See make_env() of rocks_layout.h.
//
//     | what was written | zeros, a stretch at most |
//                        ^ end                      ^ length on the disk
//
// A sync of a file that has grown writes its bytes and, elsewhere on the disk, its new length. Zeros that are there
// already leave just the bytes: that takes two thirds of the time for a small group (fdatasync of 1 KB on ext4, 2,000
// each: 134 us instead of 204). The price: what small groups take in the log is written twice, and a full disk is met a
// stretch earlier.
//
// To RocksDB's reader zeros are no records. Zeros between records, where a power cut left out a sector, are what
// rocks_log.h (3) and log_tail.h are for. While a file is being written its size is told without them: a copy of it (a backup of a
// live store) that read on into the zeros would meet what is written there meanwhile, behind a hole.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace duelease::store {

// The logs that are being written, by path: where what was written ends. Safe from any thread.
class OpenLogs {
 public:
  using End = std::shared_ptr<std::atomic<std::uint64_t>>;

  End opened(const std::string& path);
  void closed(const std::string& path, const End& end);
  End find(const std::string& path) const;  // Empty: it is none of them.

 private:
  mutable std::mutex mutex_;
  std::map<std::string, End> ends_;
};

// The file system that a database is opened on.
class LogAhead final : public rocksdb::FileSystemWrapper {
 public:
  // So many bytes of them at a time. 0: none.
  LogAhead(const std::shared_ptr<rocksdb::FileSystem>& machine, std::size_t zeros)
      : FileSystemWrapper(machine), zeros_(zeros) {}

  const char* Name() const override { return "duelease.LogAhead"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options,
                                std::uint64_t* size, rocksdb::IODebugContext* debug) override;

 private:
  const std::size_t zeros_;
  const std::shared_ptr<OpenLogs> open_logs_ = std::make_shared<OpenLogs>();
};

}  // namespace duelease::store
