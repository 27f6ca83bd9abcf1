// store/backup_mark.h: the file that makes a folder a backup.
//
// A backup holds a whole store, but must not be opened as one: it would give out tokens again that the
// store it was taken from has given out since. The mark says so, and counts how often the folder was
// restored, for each restore must start above the tokens of the one before.
#pragma once

#include <cstdint>
#include <filesystem>

#include "duelease/result.h"

namespace duelease::store {

inline constexpr const char* backup_mark_name = "DUELEASE-BACKUP";

// On disk when it returns.
Result<> write_backup_mark(const std::filesystem::path& folder, std::uint64_t restores);
Result<std::uint64_t> read_backup_mark(const std::filesystem::path& folder);

// `folder/` as `folder`, to make the name of its neighbour from.
std::filesystem::path without_slash(const std::filesystem::path& path);

// fsync of a file or a folder.
Result<> sync_path(const std::filesystem::path& path);
// With all above it that are missing. On disk when it returns. No error when it is there.
Result<> make_folder(const std::filesystem::path& path);

}  // namespace duelease::store
