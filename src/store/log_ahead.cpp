#include "store/log_ahead.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace duelease::store {

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using File = std::unique_ptr<rocksdb::FSWritableFile>;

// Beside a write of more than this part of the zeros the length costs little, and to write all of it twice would
// cost more.
constexpr std::size_t large_part = 8;

class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(File file, std::size_t zeros) : FSWritableFileOwnerWrapper(std::move(file)), zeros_(zeros, '\0') {}

  IOStatus Append(const Slice& bytes, const IOOptions& options, IODebugContext* debug) override {
    const std::uint64_t end = end_ + bytes.size();
    if (end > length_ && bytes.size() <= zeros_.size() / large_part) {
      IOStatus status = target()->PositionedAppend(zeros_, length_, options, debug);
      if (!status.ok()) return status;
      length_ += zeros_.size();
    }
    IOStatus status = target()->PositionedAppend(bytes, end_, options, debug);
    if (!status.ok()) return status;
    end_ = end;
    length_ = std::max(length_, end);
    return status;
  }
  IOStatus Append(const Slice& bytes, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(bytes, options, debug);
  }
  // The zeros that were not needed go.
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    IOStatus trimmed = length_ > end_ ? target()->Truncate(end_, options, debug) : IOStatus::OK();
    IOStatus status = target()->Close(options, debug);
    return trimmed.ok() ? status : trimmed;
  }
  std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return end_; }

 private:
  const std::string zeros_;
  std::uint64_t end_ = 0;     // Of what was written.
  std::uint64_t length_ = 0;  // With the zeros behind it.
};

}  // namespace

IOStatus LogAhead::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options, File* result,
                                   IODebugContext* debug) {
  IOStatus status = target()->NewWritableFile(path, options, result, debug);
  if (status.ok() && zeros_ > 0 && path.ends_with(".log")) {
    *result = std::make_unique<LogFile>(std::move(*result), zeros_);
  }
  return status;
}

}  // namespace duelease::store
