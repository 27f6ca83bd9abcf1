#include "store/rocks_read.h"

#include <utility>

namespace duelease::store {

namespace {

using rocksdb::Slice;

std::string_view view(const Slice& bytes) { return {bytes.data(), bytes.size()}; }

// A file with payloads is opened by the first read that needs it: that it is gone is damage too.
Unexpected reading_error(const rocksdb::Status& status) {
  Unexpected error = to_error(status, "reading the store");
  if (status.IsPathNotFound()) error.error.code = Code::corrupt;
  return error;
}

class RocksCursor final : public Cursor {
 public:
  RocksCursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, const rocksdb::Snapshot* snapshot,
              std::string_view from, std::string_view to)
      : end_(to), end_slice_(end_) {
    rocksdb::ReadOptions read;
    read.snapshot = snapshot;
    read.total_order_seek = true;
    if (!end_.empty()) read.iterate_upper_bound = &end_slice_;
    iterator_.reset(db.NewIterator(read, family));
    iterator_->Seek(slice(from));
  }

  bool valid() const override { return iterator_->Valid(); }
  std::string_view key() const override { return view(iterator_->key()); }
  std::string_view value() const override { return view(iterator_->value()); }
  void next() override { iterator_->Next(); }
  Result<> status() const override {
    if (!iterator_->status().ok()) return reading_error(iterator_->status());
    return {};
  }

 private:
  const std::string end_;
  const Slice end_slice_;  // RocksDB keeps a pointer to it.
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace

Unexpected to_error(const rocksdb::Status& status, const std::string& doing) {
  const bool corrupt = status.IsCorruption();
  return fail(corrupt ? Code::corrupt : Code::storage, doing + ": " + status.ToString());
}

Result<std::optional<std::string>> read_row(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                            const rocksdb::Snapshot* snapshot, std::string_view key) {
  rocksdb::ReadOptions read;
  read.snapshot = snapshot;
  std::string value;
  const rocksdb::Status status = db.Get(read, family, slice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>{};
  if (!status.ok()) return reading_error(status);
  return std::optional<std::string>{std::move(value)};
}

std::unique_ptr<Cursor> scan_rows(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                  const rocksdb::Snapshot* snapshot, std::string_view from,
                                  std::string_view to) {
  return std::make_unique<RocksCursor>(db, family, snapshot, from, to);
}

}  // namespace duelease::store
