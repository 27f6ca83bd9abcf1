// The limit of our own design: RocksDB with the same families, options, keys and value sizes, written in
// the same groups by a loop that decides nothing. Sync is overlapped as in the engine.
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <unistd.h>

#include "limit.h"
#include "process.h"
#include "target_kinds.h"

// Only a RocksDB that is built with assertions has it: see with_assertions().
namespace rocksdb {
class SyncPoint {
 public:
  static SyncPoint* GetInstance() __attribute__((weak));  // NOLINT(readability-identifier-naming)
};
}  // namespace rocksdb

namespace duelease::bench {

namespace {

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw Fault("rocksdb: " + status.ToString());
}

class Bare {
 public:
  Bare(const std::filesystem::path& path, std::uint64_t ahead_max) {
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
    sync_.emplace(ahead_max, [this] { must(db_->SyncWAL()); });
  }

  ~Bare() {
    sync_.reset();
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
    sync_->wait_for_place();
    must(db_->Write({}, &batch));
    batch.Clear();
    sync_->wrote_group();
  }
  // All that was written is on disk.
  void finish() { sync_->wait_for_all(); }

  LimitQueue waiting;

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::optional<SyncBehind> sync_;
};

class BareConnection final : public Connection {
 public:
  explicit BareConnection(Bare& bare) : bare_(bare) {}

  void schedule(std::span<const NewOrder> orders) override {
    for (const NewOrder& order : orders) {
      must(batch_.Put(bare_.queue(), queue_key(order.id, order.due), value(order.payload, waiting_overhead)));
      must(batch_.Put(bare_.orders(), order_key(order.id), value({}, live_bytes)));
    }
    bare_.write(batch_);
    bare_.waiting.add(orders);
  }

  std::vector<Handed> claim(unsigned count) override {
    std::vector<Handed> orders = bare_.waiting.take(count);
    if (orders.empty()) return orders;
    for (const Handed& order : orders) {
      must(batch_.Delete(bare_.queue(), queue_key(order.id, due_of(order))));
      must(batch_.Put(bare_.leases(), order_key(order.id), value(order.payload, lease_overhead)));
    }
    bare_.write(batch_);
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    for (const Handed& order : orders) {
      must(batch_.Delete(bare_.leases(), order_key(order.id)));
      must(batch_.Put(bare_.orders(), order_key(order.id), value(order.payload, ended_overhead)));
    }
    bare_.write(batch_);
  }

  std::uint64_t waiting() override { return bare_.waiting.due.size() + bare_.waiting.later_count; }
  void flush() override { bare_.finish(); }

 private:
  rocksdb::Slice value(std::string_view payload, std::size_t overhead) {
    value_.assign(overhead, 'v');
    value_ += payload;
    return value_;
  }
  static Time due_of(const Handed& order) { return Time{Duration{static_cast<std::int64_t>(order.place)}}; }

  Bare& bare_;
  rocksdb::WriteBatch batch_;
  std::string value_;
};

class BareTarget final : public Target {
 public:
  BareTarget(const std::filesystem::path& folder, std::uint64_t ahead_max)
      : Target(folder), ahead_max_(ahead_max) {}

  void start() override { bare_.emplace(folder() / "bare", ahead_max_); }
  std::unique_ptr<Connection> connect() override { return std::make_unique<BareConnection>(*bare_); }
  void stop() override { bare_.reset(); }
  bool is_limit() const override { return true; }
  std::uint64_t resident_bytes() const override { return bench::resident_bytes(::getpid()); }

 private:
  const std::uint64_t ahead_max_;
  std::optional<Bare> bare_;
};

bool with_assertions() { return &rocksdb::SyncPoint::GetInstance != nullptr; }

TargetInfo info(const TargetChoice&, const std::string&) {
  return {rocksdb_version() + ", in process", "on disk, up to 4 groups behind the loop", ""};
}

std::unique_ptr<Target> make(const TargetChoice& choice, const std::string&,
                             const std::filesystem::path& folder) {
  return std::make_unique<BareTarget>(folder, groups_ahead(choice));
}

}  // namespace

std::string rocksdb_version() {
  return "RocksDB " + std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." +
         std::to_string(ROCKSDB_PATCH) +
         (with_assertions() ? ", built with assertions" : ", built without assertions");
}

TargetKind rocksdb_kind() {
  return {{{"rocksdb", "a bare loop that writes the same bytes in the same groups: the limit of our design"}},
          info,
          make};
}

}  // namespace duelease::bench
