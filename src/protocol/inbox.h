// protocol/inbox.h: bytes that came and were not taken yet. Memory follows them, and all the moves together cost
// no more than the bytes that came.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace duelease::protocol {

class Inbox {
 public:
  void add(std::string_view bytes) {
    // No more is moved than was taken.
    if (taken_ > 0 && taken_ >= held()) {
      if (bytes_.capacity() > kept_bytes_max && held() < bytes_.capacity() / 4) {
        bytes_ = std::string(bytes_, taken_);
      } else {
        bytes_.erase(0, taken_);
      }
      taken_ = 0;
    }
    bytes_.append(bytes);
  }

  // Until the next call of add() or tidy().
  std::string_view rest() const { return std::string_view(bytes_).substr(taken_); }
  char* data() { return bytes_.data() + taken_; }
  std::size_t held() const { return bytes_.size() - taken_; }

  void take(std::size_t size) { taken_ += size; }

  // Gives back what one large frame has needed, when all is taken.
  void tidy() {
    if (held() > 0) return;
    bytes_.clear();
    taken_ = 0;
    if (bytes_.capacity() > kept_bytes_max) std::string().swap(bytes_);
  }
  void drop() {
    take(held());
    tidy();
  }

 private:
  static constexpr std::size_t kept_bytes_max = 64 * 1024;

  std::string bytes_{};
  std::size_t taken_ = 0;
};

}  // namespace duelease::protocol
