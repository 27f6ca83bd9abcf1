// Power cuts at every step of the script, for power_cut_test.cpp (some of them) and
// power_cut_long_test.cpp (all of them).
//
// The script runs once on a FaultyFileSystem, which records every operation on the disk. For a cut after
// the n-th one, the first n are played into a SimulatedDisk, what that may have lost is dropped, and a
// store is opened on the rest. It must hold the first k groups of the script, whole: no fewer than were
// acknowledged by then, no more than had been begun.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crash/crash_script.h"
#include "model/run.h"
#include "store/rocks_store.h"
#include "support/faulty_file_system.h"
#include "support/simulated_disk.h"
#include "support/temporary_folder.h"

namespace duelease::test {

// Small, so that flushes and compactions happen within the script. The sequence stays what it was: it shows
// just which changes were found.
inline store::RocksOptions small_rocks_options() {
  store::RocksOptions options;
  options.payload_bytes_apart = 100;  // Some of the script's.
  options.log_zeros = 8 * 1024;       // Small groups are written over zeros, larger ones behind the end.
  options.raises_sequence_after_crash = false;
  options.memtable_bytes = 64 * 1024;
  options.block_cache_bytes = 1024 * 1024;
  return options;
}

inline std::unique_ptr<store::Store> open_store(const std::filesystem::path& folder,
                                                std::shared_ptr<FaultyFileSystem> disk = nullptr) {
  store::RocksOptions options = small_rocks_options();
  options.file_system = std::move(disk);
  Result<std::unique_ptr<store::Store>> store = store::open_rocks_store(folder, options);
  if (!store) FAIL("open: " << store.error().message);
  return std::move(*store);
}

// When the groups of the script are synced.
enum class Syncs {
  each_group,
  every_second,  // Two groups are written before one sync.
  overlapped,    // The sync of a group runs beside the write of the next.
  lied,          // Acknowledged without any: for the test of the test.
};

struct Recording {
  std::vector<DiskOperation> trace;
  std::uint64_t opened = 0;                 // Operations until the new store was open.
  std::vector<std::uint64_t> begun;         // Of each group: operations before it was written,
  std::vector<std::uint64_t> acknowledged;  // and when it was acknowledged.

  std::size_t acknowledged_by(std::uint64_t n) const { return count_up_to(acknowledged, n + 1); }
  // A group that begins at operation n can have left nothing before it.
  std::size_t begun_by(std::uint64_t n) const { return count_up_to(begun, n); }
  std::size_t count(DiskOperation::Kind kind, const std::string& part_of_name) const {
    return static_cast<std::size_t>(
        std::count_if(trace.begin(), trace.end(), [&](const DiskOperation& operation) {
          return operation.kind == kind && operation.name.find(part_of_name) != std::string::npos;
        }));
  }

 private:
  static std::size_t count_up_to(const std::vector<std::uint64_t>& times, std::uint64_t end) {
    return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), end) - times.begin());
  }
};

inline Recording record(const Script& script, Syncs syncs) {
  const TemporaryFolder folder;
  const auto disk = std::make_shared<FaultyFileSystem>(folder / "store");
  std::unique_ptr<store::Store> store = open_store(folder / "store", disk);
  const std::unique_ptr<engine::Core> core = open_core(*store, script.times[0]);
  Recording out;
  out.opened = disk->operations();
  std::future<Result<>> sync;
  const auto end_sync = [&] {
    if (!sync.valid()) return;
    REQUIRE(sync.get());
    out.acknowledged.resize(out.begun.size() - 1, disk->operations());
  };
  for (std::size_t k = 0; k < script.groups.size(); ++k) {
    out.begun.push_back(disk->operations());
    REQUIRE(write_group(*core, script.groups[k]));
    if (syncs == Syncs::overlapped) {
      end_sync();
      sync = std::async(std::launch::async, [&store] { return store->sync(); });
      continue;
    }
    const bool wait = syncs == Syncs::every_second && k % 2 == 0 && k + 1 < script.groups.size();
    if (syncs != Syncs::lied && !wait) REQUIRE(store->sync());
    if (!wait) out.acknowledged.resize(out.begun.size(), disk->operations());
  }
  if (sync.valid()) REQUIRE(sync.get());
  out.acknowledged.resize(out.begun.size(), disk->operations());
  store.reset();
  out.trace = disk->trace();
  REQUIRE(out.trace.size() == disk->operations());
  // The recording is what happened.
  SimulatedDisk simulated;
  for (const DiskOperation& operation : out.trace) simulated.apply(operation);
  Image real = read_folder(folder / "store");
  real.erase("LOCK");  // Not made by an operation that counts.
  REQUIRE(simulated.image_after({.tail = PowerCut::Tail::whole}) == real);
  return out;
}

// What is in a store after a crash, as a number of whole groups. Fails the test when it is none between
// `least` and `most`, or when it is another one after the next open.
class CrashChecker {
 public:
  explicit CrashChecker(const Script& script) : script_(script) {}

  std::size_t groups_in(const std::filesystem::path& folder, std::size_t least, std::size_t most) const {
    const std::size_t k = groups_in_once(folder, least, most);
    REQUIRE(groups_in_once(folder, k, k) == k);
    return k;
  }

  // Runs the rest of the script. The oracle is a core that was opened anew at the same point: the leases
  // begin again with an open, so the rest need not end like the whole.
  void go_on(const std::filesystem::path& folder, std::size_t k) const {
    store::MemoryStore memory = memory_store_with(script_.states[k]);
    const std::unique_ptr<store::Store> store = open_store(folder);
    const std::unique_ptr<engine::Core> oracle = open_core(memory, script_.times[k]);
    const std::unique_ptr<engine::Core> core = open_core(*store, script_.times[k]);
    for (; k < script_.groups.size(); ++k) {
      REQUIRE(write_group(*oracle, script_.groups[k]));
      REQUIRE(write_group(*core, script_.groups[k]));
      REQUIRE(store->sync());
    }
    REQUIRE(difference(contents_of(*store), contents_of(memory)) == "none");
    REQUIRE(engine::check_store(*store, "")->violations() == 0);
    end_sweeps(*core, *store);
  }

 private:
  // Whatever the crash interrupted: left alone, the core gets to where no order waits under a run that has ended.
  void end_sweeps(engine::Core& core, const store::Store& store) const {
    const Now now = script_.times.back();
    for (int i = 0; i < 100 && core.next_wake(now) == now.monotonic; ++i) {
      core.tick(now);
      REQUIRE(core.commit());
    }
    const Result<std::vector<std::string>> queues = engine::read_queues(store);
    for (const std::string& queue : queues.value()) {
      const Result<std::vector<std::string>> runs = engine::read_runs(store, queue);
      for (const std::string& name : runs.value()) {
        const Run run = *engine::read_run(store, queue, name);
        INFO("queue " << queue << ", run " << name);
        REQUIRE((run.counts.wait == 0 || model::is_alive(run.state)));
      }
    }
  }

  std::size_t groups_in_once(const std::filesystem::path& folder, std::size_t least, std::size_t most) const {
    const std::unique_ptr<store::Store> store = open_store(folder);
    const Contents found = contents_of(*store);
    for (std::size_t k = least; k <= most; ++k) {
      if (found != script_.states[k]) continue;
      // Recovery by the core finds nothing to mend, and writes nothing.
      const std::unique_ptr<engine::Core> core = open_core(*store, script_.times[k]);
      for (const auto& [what, count] : core->damage()) FAIL("damage: " << what << ", " << count << " times");
      REQUIRE(core->sequence() == script_.sequences[k]);
      REQUIRE(contents_of(*store) == found);
      return k;
    }
    FAIL("no state of the script after " << least << " to " << most << " groups; difference to the first: "
                                         << difference(found, script_.states[least]));
    return 0;
  }

  const Script& script_;
};

inline std::string image_key(const Image& image) {
  std::string out;
  for (const auto& [name, bytes] : image) {
    out += name + ' ' + std::to_string(bytes.size()) + ' ' + std::to_string(std::hash<std::string>{}(bytes)) +
           '\n';
  }
  return out;
}

// Cuts the power after each operation of a recording for which `wanted` says so.
class PowerCuts {
 public:
  PowerCuts(const Script& script, const Recording& recording)
      : script_(script), recording_(recording), checker_(script) {}

  using Wanted = std::function<bool(std::uint64_t n)>;

  // Also goes on with the script after every `go_on_every`-th cut that was looked at.
  void check(PowerCut cut, const Wanted& wanted, std::uint64_t go_on_every) {
    const std::uint64_t seed = cut.seed;
    SimulatedDisk disk;
    std::uint64_t looked_at = 0;
    for (std::uint64_t n = 0; n <= recording_.trace.size(); ++n) {
      if (wanted(n)) {
        cut.seed = seed + n;
        INFO("power cut after " << n << " of " << recording_.trace.size() << " operations, tail "
                                << static_cast<int>(cut.tail) << ", names " << static_cast<int>(cut.names)
                                << ", seed " << cut.seed);
        const Image image = disk.image_after(cut);
        const std::size_t k = check_image(image, n);
        if (++looked_at % go_on_every == 0) {
          write_folder(folder_ / "store", image);
          checker_.go_on(folder_ / "store", k);
        }
      }
      if (n < recording_.trace.size()) disk.apply(recording_.trace[n]);
    }
  }

  // Once more while the store recovers from the cut after operation n.
  void check_recovery(std::uint64_t n, PowerCut cut, std::uint64_t stride) {
    SimulatedDisk disk;
    for (std::uint64_t i = 0; i < n; ++i) disk.apply(recording_.trace[i]);
    cut.seed = n;
    const Image before = disk.image_after(cut);
    const std::size_t k = check_image(before, n);

    write_folder(folder_ / "store", before);
    const auto watched = std::make_shared<FaultyFileSystem>(folder_ / "store");
    open_core(*open_store(folder_ / "store", watched), script_.times[k]);
    const std::vector<DiskOperation> trace = watched->trace();
    SimulatedDisk again(before);
    for (std::uint64_t m = 0; m < trace.size(); ++m) {
      again.apply(trace[m]);
      if (m % stride != n % stride) continue;
      INFO("power cut after " << n << " operations, and after " << m + 1 << " of " << trace.size()
                              << " operations of the recovery");
      cut.seed = n + m;
      write_folder(folder_ / "store", again.image_after(cut));
      checker_.groups_in(folder_ / "store", k, k);
    }
  }

  std::size_t opens() const { return seen_.size(); }

 private:
  // Many cuts leave the same bytes; they are looked at once.
  std::size_t check_image(const Image& image, std::uint64_t n) {
    const std::size_t least = recording_.acknowledged_by(n);
    const std::size_t most = recording_.begun_by(n);
    const auto [seen, is_new] = seen_.try_emplace(image_key(image), 0);
    if (is_new) {
      write_folder(folder_ / "store", image);
      seen->second = checker_.groups_in(folder_ / "store", least, most);
    }
    INFO("found " << seen->second << " groups, acknowledged " << least << ", begun " << most);
    REQUIRE(seen->second >= least);
    REQUIRE(seen->second <= most);
    return seen->second;
  }

  const Script& script_;
  const Recording& recording_;
  const CrashChecker checker_;
  const TemporaryFolder folder_;
  std::map<std::string, std::size_t> seen_;  // Groups found in each image.
};

}  // namespace duelease::test
