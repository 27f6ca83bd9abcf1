// reconcile/fingerprints.h: a set of texts that takes no memory, however many there are: 128 bits of each, in a file
// without a name. First all are added, then it is asked.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "duelease/result.h"

namespace duelease::reconcile {

class Fingerprints {
 public:
  // Error: storage, naming the folder.
  static Result<Fingerprints> make();
  ~Fingerprints();
  Fingerprints(Fingerprints&& other) noexcept;
  Fingerprints& operator=(Fingerprints&& other) noexcept;

  Result<> add(std::string_view text);
  // Sorts them. Nothing is added after that.
  Result<> seal();
  // Needs seal(). A text that was added is found; one that was not is found with a chance of one in 2^128 for each
  // that was.
  bool contains(std::string_view text) const;

 private:
  struct Fingerprint {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Fingerprint&) const = default;
  };

  explicit Fingerprints(int fd) : fd_(fd) {}
  static Fingerprint of(std::string_view text);
  Result<> flush();

  int fd_ = -1;
  std::vector<Fingerprint> buffer_{};  // To be written.
  std::size_t written_ = 0;
  std::span<Fingerprint> sorted_{};  // The file, mapped.
};

}  // namespace duelease::reconcile
