// All power cuts: after every operation, with every kind of loss. See power_cut_test.cpp.
#include "crash/power_cut.h"

using namespace duelease;
using namespace duelease::test;

namespace {

using Tail = PowerCut::Tail;
using Names = PowerCut::Names;

}  // namespace

TEST_CASE("the power goes after any operation, and anything unsynced is left", "[long]") {
  const Syncs syncs = GENERATE(Syncs::each_group, Syncs::every_second, Syncs::overlapped);
  const Tail tail = GENERATE(Tail::lost, Tail::torn, Tail::whole, Tail::mixed, Tail::scrambled);
  const Names names = GENERATE(Names::kept, Names::undone, Names::some);
  const Script script = make_script(5);
  const Recording recording = record(script, syncs);
  PowerCuts cuts(script, recording);
  cuts.check(
      {.tail = tail, .names = names}, [](std::uint64_t) { return true; }, 10);
}

TEST_CASE("the power goes again at any operation of the recovery", "[long]") {
  const Script script = make_script(5);
  const Recording recording = record(script, Syncs::overlapped);
  PowerCuts cuts(script, recording);
  for (std::uint64_t n = recording.opened; n < recording.trace.size(); n += 20) {
    cuts.check_recovery(n, {.tail = Tail::mixed, .names = Names::some}, 1);
  }
}

TEST_CASE("no group is found without the one before it, whatever the disk began with", "[long]") {
  const Syncs syncs = GENERATE(Syncs::every_second, Syncs::overlapped);
  const Script script = make_script(5);
  const Recording recording = record(script, syncs);
  PowerCuts cuts(script, recording);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Tail tail = seed % 2 == 0 ? Tail::mixed : Tail::scrambled;
    cuts.check(
        {.tail = tail, .names = Names::kept, .seed = seed * 1'000'000},
        [&](std::uint64_t n) { return n > recording.opened; }, 1000);
  }
}
