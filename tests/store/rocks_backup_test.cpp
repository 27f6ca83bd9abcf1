// Backup and restore of the store on RocksDB.
#include <fcntl.h>
#include <rocksdb/file_system.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "store/backup_mark.h"
#include "store/open_store.h"
#include "support/simulated_disk.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::store;
using namespace duelease::test;

TEST_CASE("a backup restores to a store whose tokens go on rising, each time") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder / "store");
  put(*store, Family::meta, std::string(sequence_key), encode_sequence(100));
  put(*store, Family::queue, "q", "1");
  put(*store, Family::leases, "l", "2");
  REQUIRE(store->write(std::vector{Change{Family::app, "unsynced", "3"}}));
  REQUIRE(store->backup(folder / "backup"));
  put(*store, Family::queue, "later", "4");

  for (std::uint64_t restore = 1; restore <= 3; ++restore) {
    const fs::path target = folder / ("restored" + std::to_string(restore));
    REQUIRE(restore_rocks_store(folder / "backup", target, 0));
    const std::unique_ptr<Store> restored = open_well(target);
    CHECK(sequence_of(*restored) == 100 + restore * limits::restore_jump);
    CHECK(rows_of(*restored, Family::queue) == Rows{{"q", "1"}});
    CHECK(rows_of(*restored, Family::leases) == Rows{{"l", "2"}});
    CHECK(rows_of(*restored, Family::app) == Rows{{"unsynced", "3"}});
  }
  CHECK(rows_of(*store, Family::queue).size() == 2);
  CHECK(sequence_of(*store) == 100);
}

namespace {

// A disk on which the store is written meanwhile: when a table begins (a backup writes out the memtables first), and
// after each read of a log that reached the zeros behind it.
class BusyDisk final : public rocksdb::FileSystemWrapper {
 public:
  using Meanwhile = std::function<void()>;
  explicit BusyDisk(Meanwhile meanwhile)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), meanwhile_(std::move(meanwhile)) {}
  const char* Name() const override { return "BusyDisk"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    if (path.ends_with(".sst")) meanwhile_();
    return target()->NewWritableFile(path, options, result, debug);
  }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = target()->NewSequentialFile(path, options, result, debug);
    if (status.ok() && path.ends_with(".log"))
      *result = std::make_unique<File>(std::move(*result), meanwhile_);
    return status;
  }

 private:
  class File final : public rocksdb::FSSequentialFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSSequentialFile> file, const Meanwhile& meanwhile)
        : FSSequentialFileOwnerWrapper(std::move(file)), meanwhile_(meanwhile) {}
    rocksdb::IOStatus Read(std::size_t size, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                           char* scratch, rocksdb::IODebugContext* debug) override {
      const rocksdb::IOStatus status = target()->Read(size, options, result, scratch, debug);
      if (result->size() > 0 && (*result)[result->size() - 1] == '\0') meanwhile_();
      return status;
    }

   private:
    const Meanwhile& meanwhile_;
  };

  const Meanwhile meanwhile_;
};

}  // namespace

TEST_CASE("a backup while the store is written restores to what was there when it began, or more") {
  const TemporaryFolder folder;
  Store* live = nullptr;
  int written = 0;
  const auto write_some = [&live, &written] {
    for (int i = 0; live != nullptr && i < 20; ++i) {
      put(*live, Family::app, std::to_string(++written), std::string(500, 'x'));
    }
  };
  RocksOptions options;
  options.file_system = std::make_shared<BusyDisk>(write_some);
  const std::unique_ptr<Store> store = open_well(folder / "store", options);
  live = store.get();
  write_some();
  const int before = written;
  REQUIRE(store->backup(folder / "backup"));
  live = nullptr;
  CHECK(written > before);
  REQUIRE(restore_rocks_store(folder / "backup", folder / "restored", 0));
  const std::unique_ptr<Store> restored = open_well(folder / "restored");
  for (int i = 1; i <= before; ++i) CHECK(*restored->get(Family::app, std::to_string(i)));
}

TEST_CASE("a restore goes above a token that was seen outside") {
  const TemporaryFolder folder;
  {
    const std::unique_ptr<Store> store = open_well(folder / "store");
    put(*store, Family::meta, std::string(sequence_key), encode_sequence(100));
    REQUIRE(store->backup(folder / "backup"));
  }
  REQUIRE(restore_rocks_store(folder / "backup", folder / "a", 5000));
  CHECK(sequence_of(*open_well(folder / "a")) == 5000 + limits::restore_jump);
  const Result<> too_high = restore_rocks_store(folder / "backup", folder / "b", limits::sequence_max);
  REQUIRE_FALSE(too_high);
  CHECK(too_high.error().code == Code::invalid);
  CHECK(too_high.error().message.find(std::to_string(limits::sequence_max)) != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "b"));
  CHECK_FALSE(fs::exists(folder / "b.restoring"));
  CHECK(*read_backup_mark(folder / "backup") == 1);  // A refused restore is not counted.
}

TEST_CASE("a backup is restored by one at a time") {
  const TemporaryFolder folder;
  REQUIRE(open_well(folder / "store")->backup(folder / "backup"));
  const fs::path lock = folder / "backup" / (std::string(backup_mark_name) + ".lock");
  const int held = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(held >= 0);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  const Result<> second = restore_rocks_store(folder / "backup", folder / "a", 0);
  ::close(held);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Code::locked);
  CHECK(second.error().message ==
        "backup " + (folder / "backup").string() + " is being restored by somebody else");
  CHECK(*read_backup_mark(folder / "backup") == 0);

  std::vector<Result<>> answers(8, Result<>{});
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    threads.emplace_back([&, i] {
      answers[i] = restore_rocks_store(folder / "backup", folder / ("r" + std::to_string(i)), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> sequences;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const fs::path target = folder / ("r" + std::to_string(i));
    CHECK((answers[i] || answers[i].error().code == Code::locked));
    CHECK(fs::exists(target) == answers[i].has_value());
    if (answers[i]) sequences.push_back(sequence_of(*open_well(target)));
  }
  std::sort(sequences.begin(), sequences.end());
  REQUIRE_FALSE(sequences.empty());
  CHECK(std::adjacent_find(sequences.begin(), sequences.end()) == sequences.end());
  CHECK(*read_backup_mark(folder / "backup") == sequences.size());
  REQUIRE(restore_rocks_store(folder / "backup", folder / "r8", 0));  // The lock is not left behind.
  CHECK_FALSE(fs::exists(folder / "r8" / lock.filename()));
}

TEST_CASE("a restore that fails leaves nothing behind") {
  const TemporaryFolder folder;
  REQUIRE(open_well(folder / "store")->backup(folder / "backup"));
  fs::remove(folder / "backup" / "CURRENT");
  CHECK_FALSE(restore_rocks_store(folder / "backup", folder / "a", 0));
  CHECK_FALSE(fs::exists(folder / "a"));
  CHECK_FALSE(fs::exists(folder / "a.restoring"));
  const Result<> nameless = restore_rocks_store(folder / "backup", "", 0);
  REQUIRE_FALSE(nameless);
  CHECK(nameless.error().code == Code::invalid);
}

TEST_CASE("a restored store can be backed up and restored again") {
  const TemporaryFolder folder;
  REQUIRE(open_well(folder / "store")->backup(folder / "backup1"));
  REQUIRE(restore_rocks_store(folder / "backup1", folder / "store2", 0));
  REQUIRE(open_well(folder / "store2")->backup(folder / "backup2"));
  REQUIRE(restore_rocks_store(folder / "backup2", folder / "store3", 0));
  CHECK(sequence_of(*open_well(folder / "store3")) == 2 * limits::restore_jump);
}

TEST_CASE("a backup that was interrupted can be repeated") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder / "store");
  fs::create_directory(folder / "backup.unfinished");
  overwrite(folder / "backup.unfinished" / "CURRENT", "half");
  REQUIRE(store->backup(folder / "backup"));
  CHECK_FALSE(fs::exists(folder / "backup.unfinished"));
  REQUIRE(restore_rocks_store(folder / "backup", folder / "target", 0));
}

TEST_CASE("a backup is not opened as a store") {
  const TemporaryFolder folder;
  REQUIRE(open_well(folder / "store")->backup(folder / "backup"));
  const test::Image before = read_folder(folder / "backup");
  CHECK(open_badly(folder / "backup").code == Code::invalid);
  CHECK(read_folder(folder / "backup") == before);
}

TEST_CASE("backup and restore overwrite nothing") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder / "store");
  REQUIRE(store->backup(folder / "backup"));
  fs::create_directory(folder / "there");
  for (const char* name : {"backup", "there"}) {
    const Result<> again = store->backup(folder / name);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == Code::invalid);
  }
  for (const char* name : {"store", "there"}) {
    const Result<> over = restore_rocks_store(folder / "backup", folder / name, 0);
    REQUIRE_FALSE(over);
    CHECK(over.error().code == Code::invalid);
  }
  CHECK(*read_backup_mark(folder / "backup") == 0);  // A refused restore is not counted.
}

TEST_CASE("what is no backup is not restored") {
  const TemporaryFolder folder;
  make_store(folder / "store");
  CHECK(restore_rocks_store(folder / "store", folder / "x", 0).error().code == Code::not_found);
  CHECK(restore_rocks_store(folder / "nothing", folder / "x", 0).error().code == Code::not_found);
  REQUIRE(open_well(folder / "store")->backup(folder / "backup"));
  for (const char* mark : {"", "x", "-1", "1x", "99999999999999999999", "9999999999"}) {
    INFO(mark);
    overwrite(folder / "backup" / backup_mark_name, mark);
    CHECK(restore_rocks_store(folder / "backup", folder / "x", 0).error().code == Code::corrupt);
  }
  CHECK_FALSE(fs::exists(folder / "x"));
}

TEST_CASE("a restore that was interrupted can be repeated") {
  const TemporaryFolder folder;
  REQUIRE(open_well(folder / "store")->backup(folder / "backup"));
  fs::create_directory(folder / "target.restoring");
  overwrite(folder / "target.restoring" / "000001.sst", "half");
  REQUIRE(restore_rocks_store(folder / "backup", folder / "target", 0));
  CHECK_FALSE(fs::exists(folder / "target.restoring"));
  open_well(folder / "target");
}
