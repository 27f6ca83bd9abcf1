// bench/payloads.h: what the orders carry. Each has another one, of letters and digits that no compression makes much
// smaller: so nobody is measured by how well a target packs the same bytes again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace duelease::bench {

class Payloads {
 public:
  explicit Payloads(std::size_t bytes);

  // Of the order with this number, the same in each run. Valid while this object is.
  std::string_view of(std::uint64_t number) const;

 private:
  const std::size_t bytes_;  // Of each.
  const std::string text_;   // They are pieces of it.
};

}  // namespace duelease::bench
