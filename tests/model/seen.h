// model/seen.h: what a test has met. A random test that never meets a thing says nothing about it, so each
// asks at its end for all that it must have met.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/command.h"

namespace duelease::model_test {

class Seen {
 public:
  // A reply to the command at this place of engine::Body; nothing: the claim waits.
  void note(std::size_t command, const std::optional<Result<engine::Reply>>& reply);
  // Something rarer.
  void note(std::string_view mark) { ++marks_[std::string(mark)]; }
  void add(const Seen& other);

  // Of all that a command may answer, and of these marks: what was not met.
  std::vector<std::string> missing(const std::vector<std::string>& marks) const;
  // How often what was met, a line each.
  std::string text() const;

 private:
  static constexpr std::size_t kinds = 40;  // Of a reply; see kind_of().
  using Row = std::array<std::uint64_t, kinds>;

  std::array<Row, std::variant_size_v<engine::Body>> replies_{};
  std::map<std::string, std::uint64_t> marks_;
};

}  // namespace duelease::model_test
