// Every operation fails, in every way. See disk_fault_test.cpp.
#include "crash/disk_fault.h"

using namespace duelease;
using namespace duelease::test;

using Kind = FaultyFileSystem::Fault::Kind;

TEST_CASE("a disk that fails at any operation, in any way, loses nothing that was acknowledged", "[long]") {
  const FaultyFileSystem::Fault fault = GENERATE(
      values<FaultyFileSystem::Fault>({{.kind = Kind::once},
                                       {.kind = Kind::once, .short_write = true},
                                       {.kind = Kind::once, .short_write = true, .disk_full = true},
                                       {.kind = Kind::from_then_on},
                                       {.kind = Kind::from_then_on, .short_write = true},
                                       {.kind = Kind::from_then_on, .short_write = true, .disk_full = true},
                                       {.kind = Kind::power_cut}}));
  const Script script = make_script(2);
  DiskFaults faults(script);
  // Background work makes some runs longer than others.
  const std::uint64_t end = faults.operations() * 5 / 4;
  for (std::uint64_t n = 1; n <= end; ++n) {
    FaultyFileSystem::Fault at_n = fault;
    at_n.at = n;
    faults.check(at_n, fault.kind == Kind::power_cut || n % 2 == 0, n % 10 == 0);
  }
}
