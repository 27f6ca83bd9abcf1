// A disk that fails at one operation of the script, for disk_fault_test.cpp (some operations) and
// disk_fault_long_test.cpp (every one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "crash/power_cut.h"

namespace duelease::test {

class DiskFaults {
 public:
  using Fault = FaultyFileSystem::Fault;

  explicit DiskFaults(const Script& script) : script_(script), checker_(script) {}

  // How many operations the script takes when nothing fails.
  std::uint64_t operations() {
    start();
    run();
    REQUIRE(acknowledged_ == script_.groups.size());
    return disk_->operations();
  }

  // Runs the script on a new store until an error shows, and opens the store again on a disk that works:
  // after a power cut too (what was not synced is lost), or after the process alone has ended.
  void check(const Fault& fault, bool power_lost, bool go_on) {
    INFO("operation " << fault.at << " fails, kind " << static_cast<int>(fault.kind) << ", short write "
                      << fault.short_write << ", disk full " << fault.disk_full << ", power lost "
                      << power_lost);
    start();
    disk_->plan(fault);
    run();
    if (power_lost) disk_->drop_unsynced({.tail = PowerCut::Tail::mixed, .seed = fault.at});
    disk_.reset();
    const std::size_t k = checker_.groups_in(path(), acknowledged_, begun_);
    if (go_on) checker_.go_on(path(), k);
  }

 private:
  std::filesystem::path path() const { return folder_ / "store"; }

  void start() {
    std::filesystem::remove_all(path());
    disk_ = std::make_shared<FaultyFileSystem>(path());
    begun_ = acknowledged_ = 0;
  }

  void run() {
    store::RocksOptions options = small_rocks_options();
    options.file_system = disk_;
    const Result<std::unique_ptr<store::Store>> store = store::open_rocks_store(path(), options);
    if (!store) return check_error(store.error());
    const Result<std::unique_ptr<engine::Core>> core =
        engine::Core::open(**store, script_core_options(), script_.times[0]);
    if (!core) return check_error(core.error());
    for (const CommandGroup& group : script_.groups) {
      ++begun_;
      if (Result<> written = write_group(**core, group); !written) return check_error(written.error());
      if (Result<> synced = (*store)->sync(); !synced) return check_error(synced.error());
      ++acknowledged_;
    }
  }

  // It says that the disk failed, in the words of the disk.
  void check_error(const Error& error) const {
    INFO(code_name(error.code) << ": " << error.message);
    REQUIRE(disk_->fired());
    REQUIRE((error.code == Code::storage || error.code == Code::corrupt));
    REQUIRE(error.message.find("planned by the test") != std::string::npos);
  }

  const Script& script_;
  const CrashChecker checker_;
  const TemporaryFolder folder_;
  std::shared_ptr<FaultyFileSystem> disk_;
  std::size_t begun_ = 0;
  std::size_t acknowledged_ = 0;
};

}  // namespace duelease::test
