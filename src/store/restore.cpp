// Makes a store of a backup. The copy is made under another name and renamed when it is whole and on disk,
// so that a restore that was interrupted leaves no store that looks good.
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
    if (name == backup_mark_name || !entry->is_regular_file(ec)) continue;
    std::error_code copied;
    fs::copy_file(entry->path(), to / name, copied);
    if (copied) return fail(Code::storage, "copying " + entry->path().string() + ": " + copied.message());
    if (Result<> r = sync_path(to / name); !r) return r;
  }
  if (ec) return fail(Code::storage, "reading folder " + from.string() + ": " + ec.message());
  return sync_path(to);
}

// Where tokens go on: above all that the backup, or an earlier restore of it, can have given out.
Result<std::uint64_t> restored_sequence(const Store& store, std::uint64_t restores,
                                        std::uint64_t tokens_above) {
  const Result<std::optional<std::string>> row = store.get(Family::meta, sequence_key);
  if (!row) return Unexpected{row.error()};
  if (!*row) return fail(Code::corrupt, "the backup has no last sequence");
  const Result<std::uint64_t> last = decode_sequence(**row);
  if (!last) return last;
  const std::uint64_t start = std::max(*last, tokens_above);
  const std::uint64_t room = limits::sequence_max - std::min(start, limits::sequence_max);
  if (room / limits::restore_jump <= restores) {
    return fail(Code::invalid,
                "tokens would pass " + std::to_string(limits::sequence_max) + " after this restore");
  }
  return start + restores * limits::restore_jump;
}

Result<> raise_sequence(const fs::path& folder, std::uint64_t restores, std::uint64_t tokens_above) {
  RocksOptions options;
  options.create_if_missing = false;
  options.raises_sequence_after_crash = false;
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
  if (fs::exists(target, ec)) return fail(Code::invalid, target.string() + " exists already");
  const Result<std::uint64_t> restores = read_backup_mark(backup);
  if (!restores) return Unexpected{restores.error()};
  // Counted first: a restore that breaks off later has only skipped a range.
  if (Result<> r = write_backup_mark(backup, *restores + 1); !r) return r;

  fs::path unfinished = without_slash(target);
  unfinished += ".restoring";
  fs::remove_all(unfinished, ec);
  if (Result<> r = copy_files(backup, unfinished); !r) return r;
  if (Result<> r = raise_sequence(unfinished, *restores + 1, tokens_above); !r) return r;
  fs::rename(unfinished, without_slash(target), ec);
  if (ec) return fail(Code::storage, "renaming to " + target.string() + ": " + ec.message());
  const fs::path parent = fs::absolute(without_slash(target), ec).parent_path();
  return sync_path(parent);
}

}  // namespace duelease::store
