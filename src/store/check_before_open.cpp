#include "store/check_before_open.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "store/backup_mark.h"
#include "store/keys.h"
#include "store/log_tail.h"
#include "store/records.h"
#include "store/rocks_layout.h"
#include "store/rocks_log.h"
#include "store/rocks_read.h"
#include "store/store.h"

namespace duelease::store {

namespace {

// What an open reads cannot be left out: only a backup has it.
Unexpected with_advice(Error error) {
  if (error.code == Code::corrupt)
    error.message += "; without this part it cannot be opened: restore a backup";
  return Unexpected{std::move(error)};
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
  return name.starts_with("MANIFEST-") || name.ends_with(".log") || name.ends_with(".sst") ||
         name.ends_with(".blob");
}

// A database open without a byte of it changed.
struct ReadOnly {
  ContiguousLog log;
  rocksdb::Status status;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;

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
    const std::unique_ptr<Cursor> cursor = scan_rows(*reader.db, family, nullptr, "", "");
    if (cursor->valid()) return false;
    if (Result<> r = cursor->status(); !r) return Unexpected{r.error()};
  }
  return true;
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

// The format version, and that the log is whole. Nothing: family meta has no row of it.
Result<std::optional<std::uint32_t>> read_format_row(const std::filesystem::path& path,
                                                     const rocksdb::DBOptions& db,
                                                     const RocksOptions& options) {
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
  const auto row_of = [&](std::string_view key) {
    return read_row(*reader.db, reader.families[1], nullptr, key);
  };
  const Result<std::optional<std::string>> format = row_of(format_key);
  const Result<std::optional<std::string>> secret = row_of(log_secret_key);
  for (const auto* row : {&format, &secret}) {
    if (*row) continue;
    const Error& error = row->error();
    return with_advice({error.code, "store " + path.string() + ": " + error.message});
  }
  if (Result<> r = check_log_tail(whole, log_secret_in(*secret), *db.env, path, options); !r)
    return Unexpected{r.error()};
  if (!*format) return std::optional<std::uint32_t>{};
  if (options.needs_log) {
    if (Result<> r = check_has_log(path, *db.env, options); !r) return Unexpected{r.error()};
  }
  const Result<std::uint32_t> version = decode_format(**format);
  if (version) return std::optional{*version};
  return fail(version.error().code, "store " + path.string() + ": " + version.error().message);
}

// 0: the store was never finished, and is empty.
Result<std::uint32_t> read_format(const std::filesystem::path& path, const rocksdb::DBOptions& db,
                                  const RocksOptions& options) {
  std::vector<std::string> names;
  const rocksdb::Status status = rocksdb::DB::ListColumnFamilies(db, path.string(), &names);
  if (!status.ok()) return cannot_open(status, path);
  if (std::find(names.begin(), names.end(), "meta") != names.end()) {
    const Result<std::optional<std::uint32_t>> version = read_format_row(path, db, options);
    if (!version) return Unexpected{version.error()};
    if (*version) return **version;
  }
  const Result<bool> unfinished = is_unfinished(path, db, names, options);
  if (!unfinished) return Unexpected{unfinished.error()};
  if (*unfinished) return 0U;
  return fail(
      Code::corrupt,
      path.string() + " is a RocksDB database, but not a DueLease store: it has rows, but no format version");
}

}  // namespace

Unexpected cannot_open(const rocksdb::Status& status, const std::filesystem::path& path) {
  return with_advice(to_error(status, "opening store " + path.string()).error);
}

bool is_ahead_of_log(const rocksdb::Status& status) {
  return status.IsCorruption() && status.ToString().find("ahead of WALs") != std::string::npos;
}

void read_around_damage(rocksdb::DBOptions& options) {
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  options.wal_filter = nullptr;
}

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

Result<> check_before_open(const std::filesystem::path& path, const rocksdb::DBOptions& db,
                           const RocksOptions& options) {
  const Result<std::uint32_t> version = read_format(path, db, options);
  if (!version) return Unexpected{version.error()};
  if (*version <= format_version) return {};
  return fail(Code::newer_format, "store " + path.string() + " has format " + std::to_string(*version) +
                                      ", this version reads up to " + std::to_string(format_version) +
                                      "; nothing was changed");
}

std::string LostLog::text() const {
  if (files.empty())
    return "it has no log file any more, and with it has lost all that was not in its tables yet";
  return "its log is damaged from byte " + std::to_string(offset) + " of " + files.front().string() +
         " on; " + (writes == 0 ? "" : std::to_string(writes) + " ") +
         "writes that were on disk cannot be read";
}

}  // namespace duelease::store
