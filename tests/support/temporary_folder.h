// support/temporary_folder.h: a folder of a test's own, gone when the test ends; that of a test that was
// killed is gone when the next one begins. In memory where the machine has such a place: tests of the store
// open hundreds of stores, and what is left there costs memory.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>

namespace duelease::test {

// A folder is locked (flock) as long as its test lives: the kernel lets go of the lock of a killed one.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::once_flag swept;
    std::call_once(swept, sweep);
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (make()) return;
    }
    throw std::runtime_error("cannot make and lock a folder in " + parent().string());
  }
  ~TemporaryFolder() {
    remove(path_);
    ::close(lock_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

  // Removes what killed tests left. The first folder of each process does so.
  static void sweep() {
    std::error_code ec;
    std::filesystem::directory_iterator entry(parent(), ec);
    for (; !ec && entry != std::filesystem::directory_iterator(); entry.increment(ec)) {
      const std::filesystem::path path = entry->path();
      if (!path.filename().string().starts_with(prefix)) continue;
      const int abandoned = lock(path);
      if (abandoned < 0) continue;
      remove(path);
      ::close(abandoned);
    }
  }

 private:
  // Also those of tests/peers/server.py.
  static constexpr const char* prefix = "duelease-test-";

  static std::filesystem::path parent() {
    std::error_code ec;
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory, ec) ? memory : std::filesystem::temp_directory_path();
  }

  static void remove(const std::filesystem::path& path) {
    std::error_code ec;
    std::filesystem::remove_all(path, ec);
  }

  // The descriptor that holds the lock; -1: somebody else holds it, or there is no such folder.
  static int lock(const std::filesystem::path& path) {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || ::flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
    ::close(folder);
    return -1;
  }

  // False: another test swept it away before it was locked.
  bool make() {
    std::string name = (parent() / prefix).string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make folder " + name);
    lock_ = lock(name);
    if (lock_ >= 0 && std::filesystem::is_directory(name)) {
      path_ = name;
      return true;
    }
    if (lock_ >= 0) ::close(lock_);
    return false;
  }

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace duelease::test
