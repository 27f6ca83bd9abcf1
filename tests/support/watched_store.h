// support/watched_store.h: a store whose writes and syncs a test counts, holds up and fails.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "store/store.h"

namespace duelease::test {

// Shared by the test and the store, which belongs to an engine.
class StoreWatch {
 public:
  // Syncs begin, but do not end, until release_syncs().
  void hold_syncs() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release_syncs() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  // The same for writes.
  void hold_writes() {
    const std::lock_guard lock(mutex_);
    writes_held_ = true;
  }
  void release_writes() {
    const std::lock_guard lock(mutex_);
    writes_held_ = false;
    changed_.notify_all();
  }
  void fail_writes(Error error) {
    const std::lock_guard lock(mutex_);
    write_error_ = std::move(error);
  }
  void fail_syncs(Error error) {
    const std::lock_guard lock(mutex_);
    sync_error_ = std::move(error);
  }
  std::uint64_t writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  std::uint64_t syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }
  // The threads of the last ones.
  std::thread::id written_by() const {
    const std::lock_guard lock(mutex_);
    return written_by_;
  }
  std::thread::id synced_by() const {
    const std::lock_guard lock(mutex_);
    return synced_by_;
  }
  // Waits until so many have begun.
  void await_writes(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return writes_ >= count; });
  }
  void await_syncs(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return syncs_ >= count; });
  }

 private:
  friend class WatchedStore;

  std::optional<Error> begin_write() {
    std::unique_lock lock(mutex_);
    ++writes_;
    written_by_ = std::this_thread::get_id();
    changed_.notify_all();
    changed_.wait(lock, [this] { return !writes_held_; });
    return write_error_;
  }
  std::optional<Error> begin_sync() {
    std::unique_lock lock(mutex_);
    ++syncs_;
    synced_by_ = std::this_thread::get_id();
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    return sync_error_;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t writes_ = 0;
  std::uint64_t syncs_ = 0;
  std::thread::id written_by_;
  std::thread::id synced_by_;
  bool held_ = false;
  bool writes_held_ = false;
  std::optional<Error> write_error_;
  std::optional<Error> sync_error_;
};

class WatchedStore final : public store::Store {
 public:
  WatchedStore(std::unique_ptr<store::Store> store, std::shared_ptr<StoreWatch> watch)
      : store_(std::move(store)), watch_(std::move(watch)) {}

  Result<std::optional<std::string>> get(store::Family family, std::string_view key) const override {
    return store_->get(family, key);
  }
  std::unique_ptr<store::Cursor> scan(store::Family family, std::string_view from,
                                      std::string_view to) const override {
    return store_->scan(family, from, to);
  }
  Result<> write(std::span<const store::Change> changes) override {
    if (std::optional<Error> error = watch_->begin_write()) return Unexpected{*error};
    return store_->write(changes);
  }
  Result<> sync() override {
    if (std::optional<Error> error = watch_->begin_sync()) return Unexpected{*error};
    return store_->sync();
  }
  std::unique_ptr<store::Reader> snapshot() const override { return store_->snapshot(); }
  Result<> backup(const std::filesystem::path& folder) const override { return store_->backup(folder); }

 private:
  const std::unique_ptr<store::Store> store_;
  const std::shared_ptr<StoreWatch> watch_;
};

}  // namespace duelease::test
