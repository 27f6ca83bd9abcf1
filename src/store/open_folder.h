// store/open_folder.h: which folders this process has open as stores.
//
// RocksDB keeps two processes apart by a lock on the file LOCK. Within one process that is not enough: it
// compares the spelling of the path only, and closing any descriptor of a locked file drops the lock of the
// whole process (POSIX fcntl). So before anything touches LOCK, the folder itself, by device and inode, is
// claimed here. This is the one piece of global state in the library: it must be, for it guards against a
// second engine that knows nothing of the first.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "duelease/result.h"

namespace duelease::store {

// Held for as long as the folder is open. Safe from any thread.
class OpenFolder {
 public:
  // `path` must exist. Error: locked.
  static Result<std::unique_ptr<OpenFolder>> claim(const std::filesystem::path& path);
  ~OpenFolder();
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

 private:
  using Identity = std::pair<dev_t, ino_t>;
  explicit OpenFolder(Identity identity) : identity_(identity) {}

  const Identity identity_;
};

}  // namespace duelease::store
