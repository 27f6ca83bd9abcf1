// The limit of our own design: RocksDB with the same families and options, keys and value sizes, written in the same
// groups, sorted as there, by a loop that decides nothing. Sync is overlapped as in the engine.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/version.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "limit.h"
#include "process.h"
#include "store/rocks_layout.h"
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

using store::Family;

struct Row {
  Family family;
  std::string key;
  std::optional<std::string> value;  // Nothing: to be deleted.
};

class Bare {
 public:
  Bare(const std::filesystem::path& path, std::uint64_t ahead_max) {
    const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options_.block_cache_bytes);
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (std::size_t i = 0; i < store::family_count; ++i) {
      families.emplace_back(store::family_names[i],
                            store::family_options(static_cast<Family>(i), options_, cache));
    }
    families.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions{});
    rocksdb::DB* db = nullptr;
    must(
        rocksdb::DB::Open(store::db_options(options_, env_.get()), path.string(), families, &families_, &db));
    db_.reset(db);
    sync_.emplace(ahead_max, [this] { must(db_->SyncWAL()); });
  }

  ~Bare() {
    sync_.reset();
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void write(std::vector<Row>& rows) {
    rows.push_back({Family::meta, "sequence", "123456789"});
    rows.push_back({Family::meta, "counts:bench", "123456789012"});
    std::ranges::sort(rows, {}, [](const Row& row) { return std::tie(row.family, row.key); });
    for (const Row& row : rows) {
      rocksdb::ColumnFamilyHandle* const family = families_[static_cast<std::size_t>(row.family)];
      must(row.value ? batch_.Put(family, row.key, *row.value) : batch_.Delete(family, row.key));
    }
    rows.clear();
    sync_->wait_for_place();
    must(db_->Write({}, &batch_));
    batch_.Clear();
    sync_->wrote_group();
  }
  // All that was written is on disk.
  void finish() { sync_->wait_for_all(); }

  LimitQueue waiting;

 private:
  const store::RocksOptions options_;
  const std::unique_ptr<rocksdb::Env> env_ = store::make_env(options_);  // Used by db_.
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // In the order of Family.
  rocksdb::WriteBatch batch_;
  std::optional<SyncBehind> sync_;
};

class BareConnection final : public Connection {
 public:
  explicit BareConnection(Bare& bare) : bare_(bare) {}

  void schedule(std::span<const NewOrder> orders) override {
    for (const NewOrder& order : orders) {
      put(Family::queue, queue_key(order.id, order.due), order.payload, waiting_overhead);
      put(Family::orders, order_key(order.id), {}, live_bytes);
    }
    bare_.write(rows_);
    bare_.waiting.add(orders);
  }

  std::vector<Handed> claim(unsigned count) override {
    std::vector<Handed> orders = bare_.waiting.take(count);
    if (orders.empty()) return orders;
    for (const Handed& order : orders) {
      rows_.push_back({Family::queue, queue_key(order.id, due_of(order)), {}});
      put(Family::leases, order_key(order.id), order.payload, lease_overhead);
    }
    bare_.write(rows_);
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    for (const Handed& order : orders) {
      rows_.push_back({Family::leases, order_key(order.id), {}});
      put(Family::orders, order_key(order.id), order.payload, ended_overhead);
    }
    bare_.write(rows_);
  }

  std::uint64_t not_completed() override { return bare_.waiting.due.size() + bare_.waiting.later_count; }
  void flush() override { bare_.finish(); }

 private:
  void put(Family family, std::string key, std::string_view payload, std::size_t overhead) {
    std::string value;
    value.reserve(overhead + payload.size());
    value.append(overhead, 'v');
    value += payload;
    rows_.push_back({family, std::move(key), std::move(value)});
  }
  static Time due_of(const Handed& order) { return Time{Duration{static_cast<std::int64_t>(order.place)}}; }

  Bare& bare_;
  std::vector<Row> rows_;
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
