// support/faulty_file_system.h: a file system for RocksDB that fails when a test says so, and remembers
// what a power cut would leave.
//
// Every operation below `root` that changes the disk is counted, from 1: append, sync, range sync, create,
// rename, delete, truncate, link, and fsync of a folder. They are done on the real folder and on a
// SimulatedDisk. A fault is planned for the n-th of them:
//
//     auto disk = std::make_shared<FaultyFileSystem>(folder);
//     disk->plan({.at = n, .kind = FaultyFileSystem::Fault::Kind::power_cut});
//     ... run a store on it until it fails, close the store ...
//     disk->drop_unsynced({.seed = n});         // `folder` is now as it would be after the power came back
//     ... open the store again, on the machine's file system ...
//
// Or the whole run is recorded once, and trace() replayed into a SimulatedDisk as far as wanted: that is
// a power cut after every single operation at the price of one run.
//
// Safe from any thread. What RocksDB writes for people (its LOG) is thrown away.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/simulated_disk.h"

namespace duelease::test {

class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  struct Fault {
    enum class Kind : std::uint8_t {
      once,          // The n-th operation fails, the next one works again.
      from_then_on,  // It and all later ones fail.
      power_cut,     // The same, and none of them leaves a trace.
    };
    std::uint64_t at = 0;  // 0: never.
    Kind kind = Kind::once;
    bool short_write = false;  // An append that fails writes half of its bytes, unless the power is cut.
    bool disk_full = false;    // The error says "no space", which RocksDB tries to recover from.
  };

  // What is in the folder already counts as safe on disk.
  explicit FaultyFileSystem(const std::filesystem::path& root);

  const char* Name() const override { return "FaultyFileSystem"; }

  // `at` counts from the start of this object.
  void plan(const Fault& fault);
  std::uint64_t operations() const;          // So far, the failed ones too.
  bool fired() const;                        // An operation has failed.
  std::vector<DiskOperation> trace() const;  // Those that worked, in whole or in part.

  // Puts `root` into the state after a power cut now. No store may be open there.
  void drop_unsynced(const PowerCut& cut) const;

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, std::size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* result,
                              rocksdb::IODebugContext* debug) override;

 private:
  friend class FaultyWritableFile;
  friend class FaultyFolder;

  // Counts `operation`, and does it by `act` and on the simulated disk unless it is to fail. `act_half` is
  // what a short write still does.
  template <class Act>
  rocksdb::IOStatus run(DiskOperation operation, Act act);
  template <class Act, class ActHalf>
  rocksdb::IOStatus run(DiskOperation operation, Act act, ActHalf act_half);
  void done(DiskOperation operation);
  bool fails_now();
  rocksdb::IOStatus error() const;

  // The path below root_; nothing: it lies elsewhere, and is none of our business.
  std::optional<std::string> below_root(const std::string& path) const;
  std::optional<FileNumber> file_at(const std::string& name) const;

  const std::filesystem::path root_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Fault fault_;
  std::uint64_t operations_ = 0;
  bool fired_ = false;
  FileNumber last_file_ = 0;
  SimulatedDisk disk_;
  std::vector<DiskOperation> trace_;
};

}  // namespace duelease::test
