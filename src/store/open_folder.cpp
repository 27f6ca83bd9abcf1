#include "store/open_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>

namespace duelease::store {

namespace {

std::mutex open_mutex;

std::set<std::pair<dev_t, ino_t>>& open_folders() {  // Guarded by open_mutex.
  static std::set<std::pair<dev_t, ino_t>> folders;
  return folders;
}

}  // namespace

Result<std::unique_ptr<OpenFolder>> OpenFolder::claim(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(Code::storage,
                "opening folder " + path.string() + ": " + std::system_category().message(errno));
  }
  const Identity identity{status.st_dev, status.st_ino};
  const std::lock_guard lock(open_mutex);
  if (!open_folders().insert(identity).second) {
    return fail(Code::locked, "store " + path.string() + " is open in this process already");
  }
  return std::unique_ptr<OpenFolder>(new OpenFolder(identity));
}

OpenFolder::~OpenFolder() {
  const std::lock_guard lock(open_mutex);
  open_folders().erase(identity_);
}

}  // namespace duelease::store
