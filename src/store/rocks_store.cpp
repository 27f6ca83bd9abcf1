#include "store/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
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
#include "store/keys.h"
#include "store/log_ahead.h"
#include "store/log_tail.h"
#include "store/open_folder.h"
#include "store/records.h"
#include "store/rocks_layout.h"
#include "store/rocks_log.h"

namespace duelease::store {

namespace {

using rocksdb::Slice;
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view(const Slice& bytes) { return {bytes.data(), bytes.size()}; }

// The one place where RocksDB's errors become ours.
Unexpected to_error(const rocksdb::Status& status, const std::string& doing) {
  const bool corrupt = status.IsCorruption();
  return fail(corrupt ? Code::corrupt : Code::storage, doing + ": " + status.ToString());
}

// What an open reads cannot be left out: only a backup has it.
Unexpected cannot_open(Error error) {
  if (error.code == Code::corrupt)
    error.message += "; without this part it cannot be opened: restore a backup";
  return Unexpected{std::move(error)};
}

Unexpected cannot_open(const rocksdb::Status& status, const std::filesystem::path& path) {
  return cannot_open(to_error(status, "opening store " + path.string()).error);
}

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
    if (!iterator_->status().ok()) return to_error(iterator_->status(), "reading the store");
    return {};
  }

 private:
  const std::string end_;
  const Slice end_slice_;  // RocksDB keeps a pointer to it.
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

Result<std::optional<std::string>> read_one(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                                            const rocksdb::Snapshot* snapshot, std::string_view key) {
  rocksdb::ReadOptions read;
  read.snapshot = snapshot;
  std::string value;
  const rocksdb::Status status = db.Get(read, family, slice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>{};
  if (!status.ok()) return to_error(status, "reading the store");
  return std::optional<std::string>{std::move(value)};
}

class RocksSnapshot final : public Reader {
 public:
  RocksSnapshot(rocksdb::DB& db, const Handles& families)
      : db_(db), families_(families), snapshot_(db.GetSnapshot()) {}
  ~RocksSnapshot() override { db_.ReleaseSnapshot(snapshot_); }
  RocksSnapshot(const RocksSnapshot&) = delete;
  RocksSnapshot& operator=(const RocksSnapshot&) = delete;

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return read_one(db_, families_[static_cast<std::size_t>(family)], snapshot_, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override {
    return std::make_unique<RocksCursor>(db_, families_[static_cast<std::size_t>(family)], snapshot_, from,
                                         to);
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
  RocksStore(std::unique_ptr<OpenFolder> open_folder, std::unique_ptr<rocksdb::Env> env,
             std::unique_ptr<ContiguousLog> log_filter, std::shared_ptr<LogSwitches> log_switches,
             std::unique_ptr<rocksdb::DB> db, Handles families)
      : open_folder_(std::move(open_folder)),
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
    return read_one(*db_, handle(family), nullptr, key);
  }

  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override {
    return std::make_unique<RocksCursor>(*db_, handle(family), nullptr, from, to);
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

  Unexpected first_error(const rocksdb::Status& status, const std::string& doing) {
    has_failed_ = true;
    const rocksdb::Status earlier = log_switches_->failure();
    return to_error(earlier.ok() ? status : earlier, doing);
  }

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

// RocksDB makes a new store in this order: a first MANIFEST, CURRENT that names it, and only then logs and
// tables. So without CURRENT there may be the leavings of an open that was interrupted, which held nothing...
bool left_by_an_interrupted_open(const std::string& name) {
  for (const char* start : {"LOCK", "LOG", "IDENTITY", "OPTIONS"}) {
    if (name.starts_with(start)) return true;
  }
  return name == "MANIFEST-000001" || name.ends_with(".dbtmp");
}

// ... or a store that has lost its CURRENT. A new store made there would delete all that is left of it.
bool part_of_a_store(const std::string& name) {
  return name.starts_with("MANIFEST-") || name.ends_with(".log") || name.ends_with(".sst");
}

// Whether there is a store to open; an error when the folder is something else.
Result<bool> find_store(const std::filesystem::path& path, bool create_if_missing) {
  std::error_code ec;
  if (std::filesystem::exists(path / backup_mark_name, ec)) {
    return fail(Code::invalid,
                path.string() + " is a backup; make a store of it with restore, so that tokens go on rising");
  }
  if (std::filesystem::exists(path / "CURRENT", ec)) return true;
  std::string foreign;
  if (std::filesystem::exists(path, ec)) {
    for (std::filesystem::directory_iterator entry(path, ec), end; !ec && entry != end; entry.increment(ec)) {
      const std::string name = entry->path().filename().string();
      if (left_by_an_interrupted_open(name)) continue;
      if (part_of_a_store(name)) {
        return fail(Code::corrupt,
                    "store " + path.string() + " has lost its file CURRENT, but still holds " + name);
      }
      foreign = name;
    }
    if (ec) return fail(Code::storage, "reading folder " + path.string() + ": " + ec.message());
  }
  if (!create_if_missing) return fail(Code::not_found, "no store at " + path.string());
  if (!foreign.empty()) {
    return fail(Code::invalid, path.string() + " is not a store, and not empty: it holds " + foreign);
  }
  return false;
}

// A family was written to a table that holds later changes than the log does up to its damage: there is no state
// of the past to go back to.
bool is_ahead_of_log(const rocksdb::Status& status) {
  return status.IsCorruption() && status.ToString().find("ahead of WALs") != std::string::npos;
}

// Reads whatever can be read of the log, before and behind its damage. What belongs together may come apart.
void read_around_damage(rocksdb::DBOptions& options) {
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  options.wal_filter = nullptr;
}

// A database open without a byte of it changed.
struct ReadOnly {
  ContiguousLog log;
  rocksdb::Status status;
  std::unique_ptr<rocksdb::DB> db;
  Handles families;

  ReadOnly() = default;
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() {
    for (rocksdb::ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
  }

  Result<> open(const std::filesystem::path& path, rocksdb::DBOptions quiet,
                const std::vector<std::string>& names, const RocksOptions& options,
                bool around_damage = false) {
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : names) {
      const auto ours = std::find(family_names.begin(), family_names.end(), name);
      const auto family = static_cast<Family>(ours - family_names.begin());
      descriptors.emplace_back(name, ours == family_names.end() ? rocksdb::ColumnFamilyOptions{}
                                                                : family_options(family, options, nullptr));
    }
    quiet.wal_filter = &log;
    if (around_damage) read_around_damage(quiet);
    rocksdb::DB* raw = nullptr;
    status = rocksdb::DB::OpenForReadOnly(quiet, path.string(), descriptors, &families, &raw);
    db.reset(raw);
    if (!status.ok()) return cannot_open(status, path);
    return {};
  }
};

// Whether this is a store of ours that was interrupted before it got its first rows.
Result<bool> is_unfinished(const std::filesystem::path& path, const rocksdb::DBOptions& db,
                           const std::vector<std::string>& names, const RocksOptions& options) {
  for (const std::string& name : names) {
    const bool ours = std::find(family_names.begin(), family_names.end(), name) != family_names.end();
    if (!ours && name != rocksdb::kDefaultColumnFamilyName) return false;
  }
  ReadOnly reader;
  if (Result<> r = reader.open(path, db, names, options); !r) return Unexpected{r.error()};
  for (rocksdb::ColumnFamilyHandle* family : reader.families) {
    const RocksCursor cursor(*reader.db, family, nullptr, "", "");
    if (cursor.valid()) return false;
    if (Result<> r = cursor.status(); !r) return Unexpected{r.error()};
  }
  return true;
}

// Nothing: there is no such row, or not of ours.
std::optional<LogSecret> log_secret_in(const std::optional<std::string>& row) {
  LogSecret secret;
  if (!row || row->size() != secret.size()) return std::nullopt;
  std::copy(row->begin(), row->end(), secret.begin());
  return secret;
}

// What follows the last whole record of the log is dropped by an open, unless it shows that changes are gone
// which were on disk.
Result<> check_log_tail(const ReadOnly& reader, const std::optional<LogSecret>& secret, rocksdb::Env& env,
                        const std::filesystem::path& path, const RocksOptions& options) {
  const Result<LogTail> tail = read_log_tail(env, path.string(), reader.log.end(), secret);
  if (!tail) return Unexpected{tail.error()};
  std::uint64_t last = reader.log.last_sequence();
  if (reader.db) last = std::max(last, reader.db->GetLatestSequenceNumber());
  if (tail->synced > last || is_ahead_of_log(reader.status)) {
    LostLog lost{{}, reader.log.end().offset, tail->bytes, tail->synced - std::min(last, tail->synced)};
    for (const std::string& file : tail->files) lost.files.push_back(path / file);
    if (options.accept_lost_log) return options.accept_lost_log(lost);
    return fail(Code::corrupt, "store " + path.string() + ": " + lost.text() + ". Nothing was changed");
  }
  const bool is_replayed = reader.log.end().file != 0;  // Else these may be files that are done with.
  if (is_replayed && tail->bytes > 0 && options.log) {
    options.log(LogLevel::warning, "store " + path.string() + ": the last " + std::to_string(tail->bytes) +
                                       " bytes of its log are no whole write, as after a power cut; dropped");
  }
  return {};
}

// RocksDB always has one, and takes a store without any for one to which nothing was written lately.
Result<> check_has_log(const std::filesystem::path& path, rocksdb::Env& env, const RocksOptions& options) {
  std::vector<std::string> names;
  const rocksdb::Status status = env.GetChildren(path.string(), &names);
  if (!status.ok()) return to_error(status, "reading folder " + path.string());
  for (const std::string& name : names) {
    if (name.ends_with(".log")) return {};
  }
  const LostLog lost;
  if (options.accept_lost_log) return options.accept_lost_log(lost);
  return fail(Code::corrupt, "store " + path.string() + ": " + lost.text() + ". Nothing was changed");
}

// Reads the format version without changing a byte. 0: the store was never finished, and is empty.
Result<std::uint32_t> read_format(const std::filesystem::path& path, const rocksdb::DBOptions& db,
                                  const RocksOptions& options) {
  std::vector<std::string> names;
  const rocksdb::Status status = rocksdb::DB::ListColumnFamilies(db, path.string(), &names);
  if (!status.ok()) return cannot_open(status, path);
  if (std::find(names.begin(), names.end(), "meta") != names.end()) {
    const std::vector<std::string> families = {rocksdb::kDefaultColumnFamilyName, "meta"};
    ReadOnly whole;
    ReadOnly readable;
    const Result<> opened = whole.open(path, db, families, options);
    const bool is_ahead = is_ahead_of_log(whole.status);
    if (!opened && !is_ahead) return Unexpected{opened.error()};
    if (is_ahead) {
      if (Result<> r = readable.open(path, db, families, options, true); !r) return Unexpected{r.error()};
    }
    const ReadOnly& reader = is_ahead ? readable : whole;
    const auto read_row = [&](std::string_view key) {
      return read_one(*reader.db, reader.families[1], nullptr, key);
    };
    const Result<std::optional<std::string>> row = read_row(format_key);
    const Result<std::optional<std::string>> secret = read_row(log_secret_key);
    for (const auto* read : {&row, &secret}) {
      if (*read) continue;
      const Error& error = read->error();
      return cannot_open({error.code, "store " + path.string() + ": " + error.message});
    }
    if (Result<> r = check_log_tail(whole, log_secret_in(*secret), *db.env, path, options); !r)
      return Unexpected{r.error()};
    if (*row) {
      if (options.needs_log) {
        if (Result<> r = check_has_log(path, *db.env, options); !r) return Unexpected{r.error()};
      }
      Result<std::uint32_t> version = decode_format(**row);
      if (version) return version;
      return fail(version.error().code, "store " + path.string() + ": " + version.error().message);
    }
  }
  const Result<bool> unfinished = is_unfinished(path, db, names, options);
  if (!unfinished) return Unexpected{unfinished.error()};
  if (*unfinished) return 0U;
  return fail(
      Code::corrupt,
      path.string() + " is a RocksDB database, but not a DueLease store: it has rows, but no format version");
}

Result<> check_format(const std::filesystem::path& path, const rocksdb::DBOptions& db,
                      const RocksOptions& options) {
  const Result<std::uint32_t> version = read_format(path, db, options);
  if (!version) return Unexpected{version.error()};
  if (*version <= format_version) return {};
  return fail(Code::newer_format, "store " + path.string() + " has format " + std::to_string(*version) +
                                      ", this version reads up to " + std::to_string(format_version) +
                                      "; nothing was changed");
}

// What a new store begins with (check_format() has made sure that one without a format has no rows at all), and the
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

std::string LostLog::text() const {
  if (files.empty())
    return "it has no log file any more, and with it has lost all that was not in its tables yet";
  return "its log is damaged from byte " + std::to_string(offset) + " of " + files.front().string() +
         " on; " + (writes == 0 ? "" : std::to_string(writes) + " ") +
         "writes that were on disk cannot be read";
}

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
  std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<LogAhead>(
      options.file_system ? options.file_system : rocksdb::FileSystem::Default(), options.log_zeros));
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
    if (Result<> r = check_format(path, db, options); !r) return Unexpected{r.error()};
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
  auto store = std::make_unique<RocksStore>(std::move(*open_folder), std::move(env), std::move(log_filter),
                                            log_switches, std::move(db_ptr), std::move(handles));
  if (Result<> r = write_first_rows(*store); !r) return Unexpected{r.error()};
  if (options.raises_sequence_after_crash) {
    if (Result<> r = raise_sequence_after_crash(*store, has_lost); !r) return Unexpected{r.error()};
  }
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace duelease::store
