// The power goes at every step, and what was acknowledged is there. Scenario 27, kill_at_every_step.
#include "crash/power_cut.h"

using namespace duelease;
using namespace duelease::test;

namespace {

using Kind = DiskOperation::Kind;
using Tail = PowerCut::Tail;
using Names = PowerCut::Names;

const Script& short_script() {
  static const Script script = make_script(2);
  return script;
}

const Script& long_script() {
  static const Script script = make_script(5);
  return script;
}

bool always(std::uint64_t) { return true; }

PowerCuts::Wanted every(std::uint64_t stride, std::uint64_t from = 0) {
  return [=](std::uint64_t n) { return n >= from && n % stride == 0; };
}

}  // namespace

TEST_CASE("the recordings hold what the power cuts are for") {
  const Recording recording = record(long_script(), Syncs::overlapped);
  CHECK(recording.count(Kind::create, ".log") >= 4);
  CHECK(recording.count(Kind::create, ".sst") >= 10);
  CHECK(recording.count(Kind::create, ".blob") >= 3);
  CHECK(recording.count(Kind::remove, ".log") >= 1);
  CHECK(recording.count(Kind::append, "") >= 100);
  CHECK(recording.count(Kind::write, "") >= 100);
  CHECK(recording.count(Kind::sync_folder, "") >= 20);
}

TEST_CASE("kill_at_every_step: the power goes after any operation, and unsynced bytes are torn") {
  const Recording recording = record(short_script(), Syncs::each_group);
  PowerCuts cuts(short_script(), recording);
  cuts.check({.tail = Tail::torn, .names = Names::kept}, always, 25);
}

TEST_CASE("kill_at_every_step: the power goes after any operation, and nothing unsynced is left") {
  const Recording recording = record(short_script(), Syncs::each_group);
  PowerCuts cuts(short_script(), recording);
  cuts.check({.tail = Tail::lost, .names = Names::undone}, always, 25);
}

TEST_CASE(
    "kill_at_every_step: the power goes while groups overlap, and any part of what is unsynced is left") {
  const Syncs syncs = GENERATE(Syncs::overlapped, Syncs::every_second);
  const Recording recording = record(long_script(), syncs);
  PowerCuts cuts(long_script(), recording);
  cuts.check({.tail = Tail::mixed, .names = Names::some}, every(7, recording.opened), 20);
  cuts.check({.tail = Tail::scrambled, .names = Names::kept}, every(11, recording.opened), 20);
  cuts.check({.tail = Tail::whole, .names = Names::undone}, every(13, recording.opened), 20);
}

// Whatever part of the sweep was on disk: what is found is sound, the sweep goes on, and ends as it should.
TEST_CASE("a crash in the middle of the sweep: the power goes after any operation") {
  const Script script = make_sweep_script();
  const Recording recording = record(script, Syncs::each_group);
  PowerCuts cuts(script, recording);
  cuts.check({.tail = Tail::torn, .names = Names::kept}, always, 10);
  cuts.check({.tail = Tail::lost, .names = Names::undone}, every(3, recording.opened), 10);
}

// RocksDB alone would replay a later log file although the one before it lost its end.
TEST_CASE("no group is found without the one before it when a log file was just begun") {
  const Recording recording = record(long_script(), Syncs::every_second);
  PowerCuts cuts(long_script(), recording);
  for (std::uint64_t n = recording.opened; n < recording.trace.size(); ++n) {
    const DiskOperation& operation = recording.trace[n];
    if (operation.kind != Kind::create || !operation.name.ends_with(".log")) continue;
    for (const std::uint64_t seed : {1, 2, 3}) {
      cuts.check(
          {.tail = Tail::mixed, .names = Names::kept, .seed = seed},
          [n](std::uint64_t cut) { return cut == n + 3 || cut == n + 5; }, 1000);
    }
  }
}

TEST_CASE("the power goes again while the store recovers") {
  const Recording recording = record(long_script(), Syncs::overlapped);
  PowerCuts cuts(long_script(), recording);
  const std::uint64_t step = (recording.trace.size() - recording.opened) / 5;
  for (std::uint64_t n = recording.opened + step; n < recording.trace.size(); n += step) {
    cuts.check_recovery(n, {.tail = Tail::mixed, .names = Names::some}, 4);
  }
}

// The test of the test: a store that acknowledges without a sync must be found out.
TEST_CASE("a power cut finds a store that lies about its syncs") {
  // RocksDB flushes in the background, and may just then have put all of it on disk: so more than once.
  bool found = false;
  for (int attempt = 0; attempt < 20 && !found; ++attempt) {
    const Recording recording = record(short_script(), Syncs::lied);
    SimulatedDisk disk;
    // Up to where it was acknowledged: a close syncs.
    for (std::uint64_t n = 0; n < recording.acknowledged.back(); ++n) disk.apply(recording.trace[n]);
    const TemporaryFolder folder;
    write_folder(folder / "store", disk.image_after({.tail = Tail::lost, .names = Names::kept}));
    found = contents_of(*open_store(folder / "store")) != short_script().states.back();
  }
  CHECK(found);
}
