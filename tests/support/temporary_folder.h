// support/temporary_folder.h: a folder of a test's own, gone when the test ends. In memory where the
// machine has such a place: tests of the store open hundreds of stores.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace duelease::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code ec;
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = std::filesystem::is_directory(memory, ec);
    std::string name =
        ((in_memory ? memory : std::filesystem::temp_directory_path()) / "duelease-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make folder " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace duelease::test
