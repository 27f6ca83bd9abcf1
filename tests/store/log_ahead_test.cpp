#include "store/log_ahead.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "support/faulty_file_system.h"
#include "support/temporary_folder.h"

using namespace duelease::store;
using namespace duelease::test;

namespace {

using Kind = DiskOperation::Kind;
using File = std::unique_ptr<rocksdb::FSWritableFile>;

constexpr std::size_t zeros = 4096;

// A log file on a disk that remembers what was done to it.
struct Written {
  explicit Written(const std::string& name = "000001.log") {
    REQUIRE(files.NewWritableFile(folder / name, {}, &file, nullptr).ok());
  }
  bool append(const std::string& bytes) { return file->Append(bytes, {}, nullptr).ok(); }
  // How often the file got longer.
  std::size_t growths() const {
    std::size_t count = 0;
    std::uint64_t size = 0;
    for (const DiskOperation& operation : disk->trace()) {
      std::uint64_t end = size;
      if (operation.kind == Kind::append) end = size + operation.bytes.size();
      if (operation.kind == Kind::write) end = operation.size + operation.bytes.size();
      if (end > size) ++count;
      size = std::max(size, end);
    }
    return count;
  }
  std::string bytes() const { return read_folder(folder.path()).begin()->second; }

  const TemporaryFolder folder;
  const std::shared_ptr<FaultyFileSystem> disk = std::make_shared<FaultyFileSystem>(folder.path());
  LogAhead files{disk, zeros};
  File file;
};

}  // namespace

TEST_CASE("small writes to a log file do not make it longer") {
  Written log;
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string bytes(100, static_cast<char>('a' + i % 26));
    REQUIRE(log.append(bytes));
    all += bytes;
  }
  CHECK(log.growths() == 3);
  CHECK(log.file->GetFileSize({}, nullptr) == all.size());
  CHECK(log.bytes() == all + std::string(3 * zeros - all.size(), '\0'));
}

TEST_CASE("a large write to a log file is written once, and small ones go on behind it") {
  Written log;
  REQUIRE(log.append("small"));
  const std::string large(3 * zeros, 'l');
  REQUIRE(log.append(large));
  CHECK(log.bytes() == "small" + large);
  REQUIRE(log.append("small"));
  CHECK(log.bytes() == "small" + large + "small" + std::string(zeros - 5, '\0'));
  CHECK(log.growths() == 3);
}

TEST_CASE("a log file that is being written is told to be as long as what was written") {
  Written log;
  const auto size_of = [&log](const std::string& name) {
    std::uint64_t size = 0;
    REQUIRE(log.files.GetFileSize(log.folder / name, {}, &size, nullptr).ok());
    return size;
  };
  CHECK(size_of("000001.log") == 0);
  REQUIRE(log.append("row"));
  CHECK(log.bytes().size() == zeros);
  CHECK(size_of("000001.log") == 3);
  const File first = std::move(log.file);
  REQUIRE(log.files.NewWritableFile(log.folder / "000001.log", {}, &log.file, nullptr).ok());
  REQUIRE(log.append("rows"));
  CHECK(size_of("000001.log") == 4);
  log.file.reset();  // Not closed, so the zeros stay.
  CHECK(size_of("000001.log") == zeros);
}

TEST_CASE("a log file that is closed is as long as what was written") {
  Written log;
  REQUIRE(log.append("row"));
  REQUIRE(log.file->Close({}, nullptr).ok());
  CHECK(log.bytes() == "row");
}

TEST_CASE("other files than logs are left alone") {
  Written table("000001.sst");
  REQUIRE(table.append("row"));
  CHECK(table.bytes() == "row");
  CHECK(table.disk->trace().back().kind == Kind::append);
}

TEST_CASE("a write to a log file fails when either part of it does") {
  Written log;
  log.disk->plan({.at = GENERATE(2U, 3U), .kind = FaultyFileSystem::Fault::Kind::once});
  CHECK_FALSE(log.append("row"));
  CHECK(log.disk->fired());
  CHECK(log.file->GetFileSize({}, nullptr) == 0);
}
