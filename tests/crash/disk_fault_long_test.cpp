// Every operation fails, in every way. See disk_fault_test.cpp.
#include "crash/disk_fault.h"

using namespace duelease;
using namespace duelease::test;

using Kind = FaultyFileSystem::Fault::Kind;

TEST_CASE("a disk that fails at any operation, in any way, loses nothing that was acknowledged", "[long]") {
  const Kind kind = GENERATE(Kind::once, Kind::from_then_on, Kind::power_cut);
  const bool short_write = GENERATE(false, true);
  const bool disk_full = GENERATE(false, true);
  const Script script = make_script(3);
  DiskFaults faults(script);
  const std::uint64_t end = faults.operations();
  // Background work makes some runs longer than others.
  for (std::uint64_t n = 1; n <= end + end / 4; ++n) {
    const bool power_lost = kind == Kind::power_cut || n % 2 == 0;
    faults.check({.at = n, .kind = kind, .short_write = short_write, .disk_full = disk_full}, power_lost, n % 10 == 0);
  }
}
