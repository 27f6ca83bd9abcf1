// Makes a store of a backup. The copy is made under another name and renamed when it is whole and on disk,
// so that a restore that was interrupted leaves no store that looks good. One restore of a backup runs at a
// time: two would count one step, and could copy into the same folder.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "store/backup_mark.h"
#include "store/keys.h"
#include "store/records.h"
#include "store/rocks_store.h"

namespace duelease::store {

namespace fs = std::filesystem;

namespace {

Result<> copy_files(const fs::path& from, const fs::path& to) {
  if (Result<> r = make_folder(to); !r) return r;
  std::error_code ec;
  for (fs::directory_iterator entry(from, ec), end; !ec && entry != end; entry.increment(ec)) {
    const fs::path name = entry->path().filename();
    // Its mark, what was left of writing it, and its lock.
    if (name.string().starts_with(backup_mark_name) || !entry->is_regular_file(ec)) continue;
    std::error_code copied;
    fs::copy_file(entry->path(), to / name, copied);
    if (copied) return fail(Code::storage, "copying " + entry->path().string() + ": " + copied.message());
    if (Result<> r = sync_path(to / name); !r) return r;
  }
  if (ec) return fail(Code::storage, "reading folder " + from.string() + ": " + ec.message());
  return sync_path(to);
}

// Held while a backup is restored; also within one process, for each has its own open file. The file stays.
class RestoreLock {
 public:
  static Result<std::unique_ptr<RestoreLock>> take(const fs::path& backup) {
    const fs::path path = backup / (std::string(backup_mark_name) + ".lock");
    std::unique_ptr<RestoreLock> lock(
        new RestoreLock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)));
    if (lock->file_ >= 0 && ::flock(lock->file_, LOCK_EX | LOCK_NB) == 0) return lock;
    const int error = errno;
    if (error == EWOULDBLOCK) {
      return fail(Code::locked, "backup " + backup.string() + " is being restored by somebody else");
    }
    return fail(Code::storage, "locking " + path.string() + ": " + std::system_category().message(error));
  }
  ~RestoreLock() {
    if (file_ >= 0) ::close(file_);
  }
  RestoreLock(const RestoreLock&) = delete;
  RestoreLock& operator=(const RestoreLock&) = delete;

 private:
  explicit RestoreLock(int file) : file_(file) {}

  const int file_;
};

// Takes away what a restore that failed has copied.
class Unfinished {
 public:
  explicit Unfinished(fs::path folder) : folder_(std::move(folder)) { remove(); }
  ~Unfinished() { remove(); }  // Nothing is there when it was renamed.
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const fs::path& folder() const { return folder_; }

 private:
  void remove() const {
    std::error_code ec;
    fs::remove_all(folder_, ec);
  }

  const fs::path folder_;
};

// The first sequence of the `restores`-th restore, above `last` and every token of the restores before.
Result<std::uint64_t> sequence_above(std::uint64_t last, std::uint64_t restores) {
  const std::uint64_t room = limits::sequence_max - std::min(last, limits::sequence_max);
  if (room / limits::restore_jump <= restores) {
    return fail(Code::invalid, "restore number " + std::to_string(restores) +
                                   " of this backup would start above token " + std::to_string(last) + " + " +
                                   std::to_string(restores) + " * " + std::to_string(limits::restore_jump) +
                                   ", the limit is " + std::to_string(limits::sequence_max));
  }
  return last + restores * limits::restore_jump;
}

// Where tokens go on: above all that the backup, or an earlier restore of it, can have given out.
Result<std::uint64_t> restored_sequence(const Store& store, std::uint64_t restores,
                                        std::uint64_t tokens_above) {
  const Result<std::optional<std::string>> row = store.get(Family::meta, sequence_key);
  if (!row) return Unexpected{row.error()};
  if (!*row) return fail(Code::corrupt, "the backup has no last sequence");
  const Result<std::uint64_t> last = decode_sequence(**row);
  if (!last) return last;
  return sequence_above(std::max(*last, tokens_above), restores);
}

Result<> raise_sequence(const fs::path& folder, std::uint64_t restores, std::uint64_t tokens_above) {
  RocksOptions options;
  options.create_if_missing = false;
  options.raises_sequence_after_crash = false;
  options.needs_log = false;
  const Result<std::unique_ptr<Store>> store = open_rocks_store(folder, options);
  if (!store) return Unexpected{store.error()};
  const Result<std::uint64_t> sequence = restored_sequence(**store, restores, tokens_above);
  if (!sequence) return Unexpected{sequence.error()};
  const std::vector<Change> change = {{Family::meta, std::string(sequence_key), encode_sequence(*sequence)}};
  if (Result<> r = (*store)->write(change); !r) return r;
  return (*store)->sync();
}

}  // namespace

Result<> restore_rocks_store(const fs::path& backup, const fs::path& target, std::uint64_t tokens_above) {
  std::error_code ec;
  if (target.empty()) return fail(Code::invalid, "the folder to restore to has no name");
  if (fs::exists(target, ec)) return fail(Code::invalid, target.string() + " exists already");
  // Before the lock, which would leave its file in what is no backup.
  if (const Result<std::uint64_t> mark = read_backup_mark(backup); !mark) return Unexpected{mark.error()};
  const Result<std::unique_ptr<RestoreLock>> lock = RestoreLock::take(backup);
  if (!lock) return Unexpected{lock.error()};
  const Result<std::uint64_t> restores = read_backup_mark(backup);
  if (!restores) return Unexpected{restores.error()};
  if (Result<std::uint64_t> r = sequence_above(tokens_above, *restores + 1); !r) return Unexpected{r.error()};
  // Counted first: a restore that breaks off later has only skipped a range.
  if (Result<> r = write_backup_mark(backup, *restores + 1); !r) return r;

  const Unfinished unfinished(without_slash(target) += ".restoring");
  if (Result<> r = copy_files(backup, unfinished.folder()); !r) return r;
  if (Result<> r = raise_sequence(unfinished.folder(), *restores + 1, tokens_above); !r) return r;
  fs::rename(unfinished.folder(), without_slash(target), ec);
  if (ec) return fail(Code::storage, "renaming to " + target.string() + ": " + ec.message());
  const fs::path parent = fs::absolute(without_slash(target), ec).parent_path();
  return sync_path(parent);
}

}  // namespace duelease::store
