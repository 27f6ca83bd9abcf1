// support/counting_store.h: a store that counts how much is read from it. What an operation costs is then
// a number that is the same on every machine and every day.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "store/store.h"

namespace duelease::test {

struct ReadCounts {
  std::atomic<std::uint64_t> gets = 0;
  std::atomic<std::uint64_t> scans = 0;
  std::atomic<std::uint64_t> steps = 0;  // Rows that cursors stood on.

  std::uint64_t rows() const { return gets + steps; }
};

class CountingCursor final : public store::Cursor {
 public:
  CountingCursor(std::unique_ptr<store::Cursor> inner, ReadCounts& counts)
      : inner_(std::move(inner)), counts_(counts) {
    ++counts_.scans;
    if (inner_->valid()) ++counts_.steps;
  }
  bool valid() const override { return inner_->valid(); }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }
  void next() override {
    inner_->next();
    if (inner_->valid()) ++counts_.steps;
  }
  Result<> status() const override { return inner_->status(); }

 private:
  const std::unique_ptr<store::Cursor> inner_;
  ReadCounts& counts_;
};

class CountingReader final : public store::Reader {
 public:
  CountingReader(std::unique_ptr<store::Reader> inner, ReadCounts& counts)
      : inner_(std::move(inner)), counts_(counts) {}
  Result<std::optional<std::string>> get(store::Family family, std::string_view key) const override {
    ++counts_.gets;
    return inner_->get(family, key);
  }
  std::unique_ptr<store::Cursor> scan(store::Family family, std::string_view from,
                                      std::string_view to) const override {
    return std::make_unique<CountingCursor>(inner_->scan(family, from, to), counts_);
  }

 private:
  const std::unique_ptr<store::Reader> inner_;
  ReadCounts& counts_;
};

class CountingStore final : public store::Store {
 public:
  // `counts` must outlive the store.
  CountingStore(std::unique_ptr<store::Store> inner, ReadCounts& counts)
      : inner_(std::move(inner)), counts_(counts) {}

  Result<std::optional<std::string>> get(store::Family family, std::string_view key) const override {
    ++counts_.gets;
    return inner_->get(family, key);
  }
  std::unique_ptr<store::Cursor> scan(store::Family family, std::string_view from,
                                      std::string_view to) const override {
    return std::make_unique<CountingCursor>(inner_->scan(family, from, to), counts_);
  }
  Result<> write(std::span<const store::Change> changes) override { return inner_->write(changes); }
  Result<> sync() override { return inner_->sync(); }
  std::unique_ptr<store::Reader> snapshot() const override {
    return std::make_unique<CountingReader>(inner_->snapshot(), counts_);
  }
  Result<> backup(const std::filesystem::path& folder) const override { return inner_->backup(folder); }

 private:
  const std::unique_ptr<store::Store> inner_;
  ReadCounts& counts_;
};

}  // namespace duelease::test
