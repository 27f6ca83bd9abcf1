// The disk fails at one operation, and what was acknowledged is there. SQLite calls these anomaly loops.
#include "crash/disk_fault.h"

using namespace duelease;
using namespace duelease::test;

using Kind = FaultyFileSystem::Fault::Kind;

TEST_CASE("a disk that fails at any one operation loses nothing that was acknowledged") {
  const Script script = make_script(2);
  DiskFaults faults(script);
  const std::uint64_t end = faults.operations();
  REQUIRE(end > 100);
  // The kinds take turns; 11 has no factor in common with their numbers.
  for (std::uint64_t n = 1; n <= end; n += 11) {
    faults.check({.at = n,
                  .kind = n % 2 == 0 ? Kind::once : Kind::from_then_on,
                  .short_write = n % 3 == 0,
                  .disk_full = n % 5 == 0},
                 n % 4 < 2, n % 10 == 0);
  }
}

TEST_CASE("a power cut at any one operation, as the running store meets it, loses nothing either") {
  const Script script = make_script(2);
  DiskFaults faults(script);
  const std::uint64_t end = faults.operations();
  for (std::uint64_t n = 3; n <= end; n += 17) faults.check({.at = n, .kind = Kind::power_cut}, true, false);
}
