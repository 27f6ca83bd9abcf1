// model/random.h: the dice of the model test. Its own, because <random>'s distributions differ between
// libraries, and a seed must mean the same run everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace duelease::model_test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // splitmix64.
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  // 0 to `count` - 1; `count` must not be 0.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  bool percent(std::uint64_t share) { return below(100) < share; }

  template <class Container>
  const auto& pick(const Container& from) {
    return *std::next(std::begin(from), static_cast<std::ptrdiff_t>(below(std::size(from))));
  }

 private:
  std::uint64_t state_;
};

// FNV-1a over all that is fed to it, with lengths, so that "ab" "c" and "a" "bc" differ.
class Digest {
 public:
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<unsigned char>(value >> (8 * i)));
  }
  void add(std::string_view bytes) {
    add(bytes.size());
    for (const char c : bytes) add_byte(static_cast<unsigned char>(c));
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace duelease::model_test
