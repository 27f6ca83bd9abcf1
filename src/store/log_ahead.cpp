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
  LogFile(File file, std::size_t zeros, std::string path, std::shared_ptr<OpenLogs> open_logs)
      : FSWritableFileOwnerWrapper(std::move(file)),
        zeros_(zeros, '\0'),
        path_(std::move(path)),
        open_logs_(std::move(open_logs)),
        end_(open_logs_->opened(path_)) {}
  ~LogFile() override { open_logs_->closed(path_, end_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  IOStatus Append(const Slice& bytes, const IOOptions& options, IODebugContext* debug) override {
    const std::uint64_t begin = *end_;
    const std::uint64_t end = begin + bytes.size();
    if (end > length_ && bytes.size() <= zeros_.size() / large_part) {
      IOStatus status = target()->PositionedAppend(zeros_, length_, options, debug);
      if (!status.ok()) return status;
      length_ += zeros_.size();
    }
    IOStatus status = target()->PositionedAppend(bytes, begin, options, debug);
    if (!status.ok()) return status;
    *end_ = end;
    length_ = std::max(length_, end);
    return status;
  }
  IOStatus Append(const Slice& bytes, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(bytes, options, debug);
  }
  // The zeros that were not needed go.
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    const std::uint64_t end = *end_;
    IOStatus trimmed = length_ > end ? target()->Truncate(end, options, debug) : IOStatus::OK();
    IOStatus status = target()->Close(options, debug);
    return trimmed.ok() ? status : trimmed;
  }
  std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return *end_; }

 private:
  const std::string zeros_;
  const std::string path_;
  const std::shared_ptr<OpenLogs> open_logs_;
  const OpenLogs::End end_;   // Of what was written.
  std::uint64_t length_ = 0;  // With the zeros behind it.
};

}  // namespace

OpenLogs::End OpenLogs::opened(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return ends_[path] = std::make_shared<std::atomic<std::uint64_t>>(0);
}

void OpenLogs::closed(const std::string& path, const End& end) {
  const std::lock_guard lock(mutex_);
  const auto found = ends_.find(path);
  if (found != ends_.end() && found->second == end) ends_.erase(found);  // Else it was made anew.
}

OpenLogs::End OpenLogs::find(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = ends_.find(path);
  return found == ends_.end() ? nullptr : found->second;
}

IOStatus LogAhead::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options, File* result,
                                   IODebugContext* debug) {
  IOStatus status = target()->NewWritableFile(path, options, result, debug);
  if (status.ok() && zeros_ > 0 && path.ends_with(".log")) {
    *result = std::make_unique<LogFile>(std::move(*result), zeros_, path, open_logs_);
  }
  return status;
}

IOStatus LogAhead::GetFileSize(const std::string& path, const IOOptions& options, std::uint64_t* size,
                               IODebugContext* debug) {
  const OpenLogs::End end = open_logs_->find(path);
  if (!end) return target()->GetFileSize(path, options, size, debug);
  *size = *end;
  return IOStatus::OK();
}

}  // namespace duelease::store
