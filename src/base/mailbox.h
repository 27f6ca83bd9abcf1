// base/mailbox.h: where a blocking call waits for what a callback brings.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace duelease::base {

template <class T>
class Mailbox {
 public:
  // Once.
  void put(T letter) {
    const std::lock_guard lock(mutex_);
    letter_.emplace(std::move(letter));
    arrived_.notify_one();  // Under the lock: the mailbox may be gone as soon as it is released.
  }
  T take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return letter_.has_value(); });
    return std::move(*letter_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::optional<T> letter_;
};

}  // namespace duelease::base
