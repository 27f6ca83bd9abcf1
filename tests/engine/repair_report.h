// What a repair says that it did, for its tests.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "duelease/repair.h"

namespace duelease::test {

inline std::uint64_t mended(const RepairReport& report, const std::string& invariant) {
  for (const Repaired& line : report.invariants) {
    if (line.invariant == invariant) return line.mended;
  }
  FAIL("no invariant " + invariant);
  return 0;
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

}  // namespace duelease::test
