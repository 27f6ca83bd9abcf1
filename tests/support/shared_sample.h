// support/shared_sample.h: the real order lines that some tests take when they are there.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace duelease::test {

// Order lines of the Northwind sample database, from the folder that DUELEASE_SHARED_DATA names, or from
// shared/data beside the repository; empty when they are in neither.
inline std::string shared_sample() {
  const char* const named = std::getenv("DUELEASE_SHARED_DATA");
  const std::filesystem::path folder =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(DUELEASE_SOURCE_FOLDER) / ".." / "shared" / "data";
  const std::filesystem::path file = folder / "northwind_order_lines.csv";
  return std::filesystem::exists(file) ? file.string() : "";
}

}  // namespace duelease::test
