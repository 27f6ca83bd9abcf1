#include "support/faulty_file_system.h"

#include <rocksdb/env.h>

#include <cstdarg>
#include <utility>

namespace duelease::test {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using Kind = DiskOperation::Kind;

namespace {

class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace

// One mutex for the whole file system: what a sync covers is then never in doubt.
template <class Act, class ActHalf>
IOStatus FaultyFileSystem::run(DiskOperation operation, Act act, ActHalf act_half) {
  const std::lock_guard lock(mutex_);
  if (fails_now()) {
    if (fault_.short_write && fault_.kind != Fault::Kind::power_cut && act_half()) {
      operation.bytes.resize(operation.bytes.size() / 2);
      done(std::move(operation));
    }
    return error();
  }
  IOStatus status = act();
  if (status.ok()) done(std::move(operation));
  return status;
}

template <class Act>
IOStatus FaultyFileSystem::run(DiskOperation operation, Act act) {
  return run(std::move(operation), std::move(act), [] { return false; });
}

// ---- Files and folders --------------------------------------------------------------------------

class FaultyWritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritableFile(FaultyFileSystem& disk, FileNumber number, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), number_(number) {}

  IOStatus Append(const Slice& bytes, const IOOptions& options, IODebugContext* debug) override {
    const auto append = [&](std::size_t size) {
      return target()->Append(Slice(bytes.data(), size), options, debug);
    };
    return disk_.run(
        {.kind = Kind::append, .file = number_, .bytes = bytes.ToString()},
        [&] { return append(bytes.size()); }, [&] { return append(bytes.size() / 2).ok(); });
  }
  IOStatus Append(const Slice& bytes, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(bytes, options, debug);
  }
  IOStatus PositionedAppend(const Slice& bytes, std::uint64_t at, const IOOptions& options,
                            IODebugContext* debug) override {
    const auto write = [&](std::size_t size) {
      return target()->PositionedAppend(Slice(bytes.data(), size), at, options, debug);
    };
    return disk_.run(
        {.kind = Kind::write, .file = number_, .bytes = bytes.ToString(), .size = at},
        [&] { return write(bytes.size()); }, [&] { return write(bytes.size() / 2).ok(); });
  }
  IOStatus PositionedAppend(const Slice& bytes, std::uint64_t at, const IOOptions& options,
                            const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return PositionedAppend(bytes, at, options, debug);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return disk_.run({.kind = Kind::truncate, .file = number_, .size = size},
                     [&] { return target()->Truncate(size, options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return disk_.run({.kind = Kind::sync, .file = number_}, [&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return disk_.run({.kind = Kind::sync, .file = number_}, [&] { return target()->Fsync(options, debug); });
  }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t size, const IOOptions& options,
                     IODebugContext* debug) override {
    return disk_.run({.kind = Kind::range_sync, .file = number_},
                     [&] { return target()->RangeSync(offset, size, options, debug); });
  }

 private:
  FaultyFileSystem& disk_;
  const FileNumber number_;
};

class FaultyFolder final : public rocksdb::FSDirectoryWrapper {
 public:
  FaultyFolder(FaultyFileSystem& disk, std::string name, std::unique_ptr<rocksdb::FSDirectory> folder)
      : FSDirectoryWrapper(folder.get()), disk_(disk), name_(std::move(name)), folder_(std::move(folder)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return disk_.run({.kind = Kind::sync_folder, .name = name_},
                     [&] { return folder_->Fsync(options, debug); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& folder_options) override {
    return disk_.run({.kind = Kind::sync_folder, .name = name_},
                     [&] { return folder_->FsyncWithDirOptions(options, debug, folder_options); });
  }

 private:
  FaultyFileSystem& disk_;
  const std::string name_;
  const std::unique_ptr<rocksdb::FSDirectory> folder_;
};

// ---- The file system ----------------------------------------------------------------------------

FaultyFileSystem::FaultyFileSystem(const std::filesystem::path& root)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), root_(std::filesystem::absolute(root)) {
  if (std::filesystem::exists(root_)) disk_ = SimulatedDisk(read_folder(root_));
  last_file_ = disk_.next_file() - 1;
}

void FaultyFileSystem::plan(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
}

std::uint64_t FaultyFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

bool FaultyFileSystem::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

std::vector<DiskOperation> FaultyFileSystem::trace() const {
  const std::lock_guard lock(mutex_);
  return trace_;
}

void FaultyFileSystem::drop_unsynced(const PowerCut& cut) const {
  const std::lock_guard lock(mutex_);
  write_folder(root_, disk_.image_after(cut));
}

void FaultyFileSystem::done(DiskOperation operation) {
  disk_.apply(operation);
  trace_.push_back(std::move(operation));
}

bool FaultyFileSystem::fails_now() {
  ++operations_;
  const bool now = operations_ == fault_.at;
  const bool later = fault_.at != 0 && operations_ > fault_.at && fault_.kind != Fault::Kind::once;
  if (now || later) fired_ = true;
  return now || later;
}

IOStatus FaultyFileSystem::error() const {
  return fault_.disk_full ? IOStatus::NoSpace("planned by the test")
                          : IOStatus::IOError("planned by the test");
}

std::optional<std::string> FaultyFileSystem::below_root(const std::string& path) const {
  const std::string name =
      std::filesystem::absolute(path).lexically_relative(root_).lexically_normal().string();
  if (name.empty() || name.starts_with("..")) return std::nullopt;
  return name == "." ? std::string() : name;
}

std::optional<FileNumber> FaultyFileSystem::file_at(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return disk_.find(name);
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext* debug) {
  const std::optional<std::string> name = below_root(path);
  if (!name) return target()->NewWritableFile(path, options, result, debug);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  FileNumber number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_file_;
  }
  IOStatus status = run({.kind = Kind::create, .file = number, .name = *name},
                        [&] { return target()->NewWritableFile(path, options, &file, debug); });
  if (status.ok()) *result = std::make_unique<FaultyWritableFile>(*this, number, std::move(file));
  return status;
}

IOStatus FaultyFileSystem::ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* debug) {
  const std::optional<std::string> name = below_root(path);
  const std::optional<FileNumber> number = name ? file_at(*name) : std::nullopt;
  if (name && !number) return NewWritableFile(path, options, result, debug);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = target()->ReopenWritableFile(path, options, &file, debug);
  if (!status.ok()) return status;
  if (name) {
    *result = std::make_unique<FaultyWritableFile>(*this, *number, std::move(file));
  } else {
    *result = std::move(file);
  }
  return status;
}

// RocksDB does without these two as the store configures it: no recycled logs, no ingested files.
IOStatus FaultyFileSystem::ReuseWritableFile(const std::string&, const std::string&,
                                             const rocksdb::FileOptions&,
                                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return IOStatus::NotSupported("ReuseWritableFile");
}
IOStatus FaultyFileSystem::NewRandomRWFile(const std::string&, const rocksdb::FileOptions&,
                                           std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) {
  return IOStatus::NotSupported("NewRandomRWFile");
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* result,
                                        IODebugContext* debug) {
  const std::optional<std::string> name = below_root(path);
  if (!name) return target()->NewDirectory(path, options, result, debug);
  std::unique_ptr<rocksdb::FSDirectory> folder;
  IOStatus status = target()->NewDirectory(path, options, &folder, debug);
  if (status.ok()) *result = std::make_unique<FaultyFolder>(*this, *name, std::move(folder));
  return status;
}

IOStatus FaultyFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                      IODebugContext* debug) {
  const std::optional<std::string> name = below_root(path);
  const std::optional<FileNumber> file = name ? file_at(*name) : std::nullopt;
  if (!file) return target()->DeleteFile(path, options, debug);
  return run({.kind = Kind::remove, .file = *file, .name = *name},
             [&] { return target()->DeleteFile(path, options, debug); });
}

IOStatus FaultyFileSystem::Truncate(const std::string& path, std::size_t size, const IOOptions& options,
                                    IODebugContext* debug) {
  const std::optional<std::string> name = below_root(path);
  const std::optional<FileNumber> file = name ? file_at(*name) : std::nullopt;
  if (!file) return target()->Truncate(path, size, options, debug);
  return run({.kind = Kind::truncate, .file = *file, .size = size},
             [&] { return target()->Truncate(path, size, options, debug); });
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to,
                                      const IOOptions& options, IODebugContext* debug) {
  const std::optional<std::string> name = below_root(from);
  const std::optional<std::string> new_name = below_root(to);
  const std::optional<FileNumber> file = name && new_name ? file_at(*name) : std::nullopt;
  if (!file) return target()->RenameFile(from, to, options, debug);
  return run({.kind = Kind::rename, .file = *file, .name = *name, .target = *new_name},
             [&] { return target()->RenameFile(from, to, options, debug); });
}

IOStatus FaultyFileSystem::LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                                    IODebugContext* debug) {
  const std::optional<std::string> name = below_root(from);
  const std::optional<std::string> new_name = below_root(to);
  const std::optional<FileNumber> file = name && new_name ? file_at(*name) : std::nullopt;
  if (!file) return target()->LinkFile(from, to, options, debug);
  return run({.kind = Kind::link, .file = *file, .name = *name, .target = *new_name},
             [&] { return target()->LinkFile(from, to, options, debug); });
}

IOStatus FaultyFileSystem::NewLogger(const std::string& path, const IOOptions& options,
                                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* debug) {
  if (!below_root(path)) return target()->NewLogger(path, options, result, debug);
  *result = std::make_shared<SilentLogger>();
  return IOStatus::OK();
}

}  // namespace duelease::test
