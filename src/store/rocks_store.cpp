#include "store/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "store/backup_mark.h"
#include "store/check_before_open.h"
#include "store/keys.h"
#include "store/log_tail.h"
#include "store/open_folder.h"
#include "store/records.h"
#include "store/rocks_layout.h"
#include "store/rocks_log.h"
#include "store/rocks_read.h"

namespace duelease::store {

namespace {

using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

// ---- The database -------------------------------------------------------------------------------

std::vector<rocksdb::ColumnFamilyDescriptor> all_families(const RocksOptions& options,
                                                          const std::shared_ptr<rocksdb::Cache>& cache) {
  std::vector<rocksdb::ColumnFamilyDescriptor> out;
  for (std::size_t i = 0; i < family_count; ++i) {
    out.emplace_back(family_names[i], family_options(static_cast<Family>(i), options, cache));
  }
  out.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions{});  // RocksDB insists.
  return out;
}

// ---- Reading ------------------------------------------------------------------------------------

class RocksSnapshot final : public Reader {
 public:
  RocksSnapshot(rocksdb::DB& db, const Handles& families)
      : db_(db), families_(families), snapshot_(db.GetSnapshot()) {}
  ~RocksSnapshot() override { db_.ReleaseSnapshot(snapshot_); }
  RocksSnapshot(const RocksSnapshot&) = delete;
  RocksSnapshot& operator=(const RocksSnapshot&) = delete;

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return read_row(db_, families_[static_cast<std::size_t>(family)], snapshot_, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override {
    return scan_rows(db_, families_[static_cast<std::size_t>(family)], snapshot_, from, to);
  }

 private:
  rocksdb::DB& db_;
  const Handles& families_;
  const rocksdb::Snapshot* const snapshot_;
};

// ---- Crashes and tokens -------------------------------------------------------------------------
//
// A closed store says so: its row "closed" holds the last sequence. If that is not so at an open, the process
// or the machine died, and the end of the log may be lost: legitimately, where changes are acknowledged before
// they are on disk (levels interval and none), or because it has rotted. Tokens from that end may have been
// seen outside, so the sequence goes on far above it.

Result<std::optional<std::uint64_t>> read_sequence_row(const Store& store, std::string_view key) {
  const Result<std::optional<std::string>> row = store.get(Family::meta, key);
  if (!row) return Unexpected{row.error()};
  if (!*row) return std::optional<std::uint64_t>{};
  const Result<std::uint64_t> sequence = decode_sequence(**row);
  if (!sequence) return Unexpected{sequence.error()};
  return std::optional<std::uint64_t>{*sequence};
}

Result<> write_closed_mark(Store& store) {
  const Result<std::optional<std::uint64_t>> last = read_sequence_row(store, sequence_key);
  if (!last) return Unexpected{last.error()};
  const Result<std::optional<std::uint64_t>> closed = read_sequence_row(store, closed_key);
  if (!*last || (closed && *closed == *last)) return {};
  const std::vector<Change> mark = {{Family::meta, std::string(closed_key), encode_sequence(**last)}};
  if (Result<> r = store.write(mark); !r) return r;
  return store.sync();
}

// What does not decode is left for the engine to report. `has_lost`: that it was closed proves nothing, for it
// may have been opened again in the log that was lost.
Result<> raise_sequence_after_crash(Store& store, bool has_lost) {
  const Result<std::optional<std::uint64_t>> last = read_sequence_row(store, sequence_key);
  if (!last || !*last) return {};
  const Result<std::optional<std::uint64_t>> closed = read_sequence_row(store, closed_key);
  if (!has_lost && closed && *closed == *last) return {};
  const std::uint64_t raised =
      std::min(**last, limits::sequence_max - limits::crash_jump) + limits::crash_jump;
  const std::vector<Change> change = {{Family::meta, std::string(sequence_key), encode_sequence(raised)}};
  if (Result<> r = store.write(change); !r) return r;
  return store.sync();
}

// ---- The store ----------------------------------------------------------------------------------

class RocksStore final : public Store {
 public:
  RocksStore(std::filesystem::path path, std::unique_ptr<OpenFolder> open_folder,
             std::unique_ptr<rocksdb::Env> env, std::unique_ptr<ContiguousLog> log_filter,
             std::shared_ptr<LogSwitches> log_switches, std::unique_ptr<rocksdb::DB> db, Handles families)
      : path_(std::move(path)),
        open_folder_(std::move(open_folder)),
        env_(std::move(env)),
        log_filter_(std::move(log_filter)),
        log_switches_(std::move(log_switches)),
        db_(std::move(db)),
        families_(std::move(families)) {
    log_switches_->watch(db_.get());
  }

  ~RocksStore() override {
    // Without the mark the next open takes it for a crash, so a failure here needs no more said.
    const bool has_failed = has_failed_ || !log_switches_->failure().ok();
    if (!has_failed) static_cast<void>(write_closed_mark(*this));
    log_switches_->watch(nullptr);
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
    db_->Close();
  }
  RocksStore(const RocksStore&) = delete;
  RocksStore& operator=(const RocksStore&) = delete;

  // Before the first write.
  void use_log_secret(const LogSecret& secret) { log_secret_ = secret; }

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return read_row(*db_, handle(family), nullptr, key);
  }

  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override {
    return scan_rows(*db_, handle(family), nullptr, from, to);
  }

  Result<> write(std::span<const Change> changes) override {
    batch_.Clear();
    put_synced_mark(batch_, synced_.load(std::memory_order_relaxed), log_secret_);
    for (const Change& change : changes) {
      const rocksdb::Status added =
          change.value ? batch_.Put(handle(change.family), slice(change.key), slice(*change.value))
                       : batch_.Delete(handle(change.family), slice(change.key));
      if (!added.ok()) return to_error(added, "collecting a write");
    }
    const rocksdb::Status status = db_->Write(rocksdb::WriteOptions{}, &batch_);
    if (!status.ok()) return first_error(status, "writing the store");
    if (log_switches_->take()) return sync();
    return {};
  }

  Result<> sync() override {
    // A build of RocksDB with assertions ends the process on a SyncWAL() after an append that failed. One that
    // begins at that very moment may still meet it; nothing is lost then, for the process is done with anyway.
    if (has_failed_) return fail(Code::storage, "syncing the store: an earlier write has failed");
    const std::uint64_t written = db_->GetLatestSequenceNumber();
    const rocksdb::Status status = db_->SyncWAL();
    if (!status.ok()) return first_error(status, "syncing the store");
    synced_.store(written, std::memory_order_relaxed);
    return {};
  }

  // Before the first write. RocksDB opens each table with the store, but a file of large rows only for the read that
  // meets it.
  Result<> check_large_rows() {
    db_->DisableFileDeletions();  // Else a compaction could take away what is looked for.
    const rocksdb::Status status = large_rows_status();
    db_->EnableFileDeletions(/*force=*/false);
    if (status.ok()) return {};
    has_failed_ = true;  // So that its end writes nothing either.
    return cannot_open(status, path_);
  }

  // To a table.
  Result<> flush(Family family) {
    const rocksdb::Status status = db_->Flush(rocksdb::FlushOptions{}, handle(family));
    if (!status.ok()) return first_error(status, "writing the store");
    return {};
  }

  std::unique_ptr<Reader> snapshot() const override {
    return std::make_unique<RocksSnapshot>(*db_, families_);
  }

  Result<> backup(const std::filesystem::path& folder) const override {
    std::error_code ec;
    if (std::filesystem::exists(folder, ec)) return fail(Code::invalid, folder.string() + " exists already");
    // It gets its name when it is marked as a backup: nobody may take it for a store.
    std::filesystem::path unfinished = without_slash(folder);
    unfinished += ".unfinished";
    std::filesystem::remove_all(unfinished, ec);
    rocksdb::Checkpoint* raw = nullptr;
    rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &raw);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    if (status.ok()) status = checkpoint->CreateCheckpoint(unfinished.string());
    if (!status.ok()) return to_error(status, "backup to " + folder.string());
    if (Result<> r = write_backup_mark(unfinished, 0); !r) return r;
    std::filesystem::rename(unfinished, without_slash(folder), ec);
    if (ec) return fail(Code::storage, "renaming to " + folder.string() + ": " + ec.message());
    return sync_path(std::filesystem::absolute(folder).parent_path());
  }

 private:
  rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return families_[static_cast<std::size_t>(family)];
  }

  rocksdb::Status large_rows_status() const {
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      rocksdb::ColumnFamilyMetaData meta;
      db_->GetColumnFamilyMetaData(family, &meta);
      for (const rocksdb::BlobMetaData& file : meta.blob_files) {
        const std::filesystem::path name = std::filesystem::path(file.blob_file_name).filename();
        std::uint64_t bytes = 0;
        const rocksdb::Status status = env_->GetFileSize((path_ / name).string(), &bytes);
        if (status.IsPathNotFound()) return rocksdb::Status::Corruption(name.string() + " is gone");
        if (!status.ok()) return status;
        if (bytes == file.blob_file_size) continue;
        return rocksdb::Status::Corruption(name.string() + " has " + std::to_string(bytes) + " bytes of " +
                                           std::to_string(file.blob_file_size));
      }
    }
    return rocksdb::Status::OK();
  }

  Unexpected first_error(const rocksdb::Status& status, const std::string& doing) {
    has_failed_ = true;
    const rocksdb::Status earlier = log_switches_->failure();
    return to_error(earlier.ok() ? status : earlier, doing);
  }

  const std::filesystem::path path_;
  const std::unique_ptr<OpenFolder> open_folder_;  // Let go of last.
  // Used by db_, which must go first.
  const std::unique_ptr<rocksdb::Env> env_;
  const std::unique_ptr<ContiguousLog> log_filter_;
  const std::shared_ptr<LogSwitches> log_switches_;

  const std::unique_ptr<rocksdb::DB> db_;
  const Handles families_;
  LogSecret log_secret_{};     // Constant after the open.
  rocksdb::WriteBatch batch_;  // Of write(), for its memory is worth keeping.
  // Of RocksDB's sequence numbers, up to which all is on disk. sync() may run on several threads: a mark that
  // is too low for a moment proves less, and nothing wrong.
  std::atomic<std::uint64_t> synced_ = 0;
  std::atomic<bool> has_failed_ = false;
};

// ---- Opening ------------------------------------------------------------------------------------

struct Lock {
  rocksdb::Env* env;
  rocksdb::FileLock* lock = nullptr;
  ~Lock() {
    if (lock != nullptr) env->UnlockFile(lock);
  }
};

Result<> take_lock(Lock& lock, const std::filesystem::path& path) {
  const rocksdb::Status status = lock.env->LockFile((path / "LOCK").string(), &lock.lock);
  if (status.ok()) return {};
  const std::string text = status.ToString();
  const bool held = text.find("lock hold by current process") != std::string::npos ||
                    text.find("Resource temporarily unavailable") != std::string::npos;
  if (held) return fail(Code::locked, "store " + path.string() + " is open in another process");
  return to_error(status, "locking store " + path.string());
}

// What a new store begins with (check_before_open() has made sure that one without a format has no rows at all), and the
// log secret of one that has none yet. These rows go to a table at once: so a store that was finished can be told from
// one that was not, and its secret be read, also when its log is gone.
Result<> write_first_rows(RocksStore& store) {
  const Result<std::optional<std::string>> format = store.get(Family::meta, format_key);
  if (!format) return Unexpected{format.error()};
  const Result<std::optional<std::string>> secret = store.get(Family::meta, log_secret_key);
  if (!secret) return Unexpected{secret.error()};
  std::vector<Change> rows;
  if (!*format) {
    rows = {{Family::meta, std::string(format_key), encode_format(format_version)},
            {Family::meta, std::string(sequence_key), encode_sequence(0)},
            {Family::meta, std::string(closed_key), encode_sequence(0)}};
  }
  if (const std::optional<LogSecret> known = log_secret_in(*secret)) {
    store.use_log_secret(*known);
  } else {
    const Result<LogSecret> drawn = draw_log_secret();
    if (!drawn) return Unexpected{drawn.error()};
    store.use_log_secret(*drawn);
    rows.push_back({Family::meta, std::string(log_secret_key), std::string(drawn->begin(), drawn->end())});
  }
  if (rows.empty()) return {};
  if (Result<> written = store.write(rows); !written) return written;
  if (Result<> synced = store.sync(); !synced) return synced;
  return store.flush(Family::meta);
}

}  // namespace

Result<std::unique_ptr<Store>> open_rocks_store(const std::filesystem::path& path,
                                                const RocksOptions& given) {
  bool has_lost = false;
  RocksOptions options = given;
  if (given.accept_lost_log) {
    options.accept_lost_log = [&](const LostLog& lost) {
      Result<> accepted = given.accept_lost_log(lost);
      has_lost = accepted.has_value();
      return accepted;
    };
  }
  std::unique_ptr<rocksdb::Env> env = make_env(options);
  rocksdb::DBOptions db = db_options(options, env.get());

  const Result<bool> exists = find_store(path, options.create_if_missing);
  if (!exists) return Unexpected{exists.error()};
  if (!*exists) {
    if (Result<> r = make_folder(path); !r) return Unexpected{r.error()};
  }
  Result<std::unique_ptr<OpenFolder>> open_folder = OpenFolder::claim(path);
  if (!open_folder) return Unexpected{open_folder.error()};
  if (*exists) {
    Lock lock{db.env};
    if (Result<> r = take_lock(lock, path); !r) return Unexpected{r.error()};
    if (Result<> r = check_before_open(path, db, options); !r) return Unexpected{r.error()};
  }

  auto log_filter = std::make_unique<ContiguousLog>();
  const auto log_switches = std::make_shared<LogSwitches>();
  db.wal_filter = log_filter.get();
  db.listeners.push_back(log_switches);
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  Handles handles;
  rocksdb::DB* raw = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(db, path.string(), all_families(options, cache), &handles, &raw);
  if (has_lost && is_ahead_of_log(status)) {
    read_around_damage(db);
    handles.clear();
    status = rocksdb::DB::Open(db, path.string(), all_families(options, cache), &handles, &raw);
  }
  if (!status.ok()) {
    const bool held = status.ToString().find("lock") != std::string::npos && status.IsIOError();
    if (held) return fail(Code::locked, "store " + path.string() + " is open in another process");
    return cannot_open(status, path);
  }
  std::unique_ptr<rocksdb::DB> db_ptr(raw);
  raw->DestroyColumnFamilyHandle(handles.back());  // default
  handles.pop_back();
  DUELEASE_CHECK(handles.size() == family_count);
  auto store =
      std::make_unique<RocksStore>(path, std::move(*open_folder), std::move(env), std::move(log_filter),
                                   log_switches, std::move(db_ptr), std::move(handles));
  if (Result<> r = store->check_large_rows(); !r) return Unexpected{r.error()};
  if (Result<> r = write_first_rows(*store); !r) return Unexpected{r.error()};
  if (options.raises_sequence_after_crash) {
    if (Result<> r = raise_sequence_after_crash(*store, has_lost); !r) return Unexpected{r.error()};
  }
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace duelease::store
