#include "store/memory_store.h"

#include <utility>

namespace duelease::store {

namespace {

class MemoryCursor final : public Cursor {
 public:
  using Iterator = MemoryStore::Table::const_iterator;
  MemoryCursor(Iterator at, Iterator end) : at_(at), end_(end) {}

  bool valid() const override { return at_ != end_; }
  std::string_view key() const override { return at_->first; }
  std::string_view value() const override { return at_->second; }
  void next() override { ++at_; }
  Result<> status() const override { return {}; }

 private:
  Iterator at_;
  Iterator end_;
};

// A copy: tests are small.
class MemorySnapshot final : public Reader {
 public:
  explicit MemorySnapshot(const MemoryStore& store) : copy_(store) {}
  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return copy_.get(family, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override {
    return copy_.scan(family, from, to);
  }

 private:
  MemoryStore copy_;
};

}  // namespace

Result<std::optional<std::string>> MemoryStore::get(Family family, std::string_view key) const {
  const auto found = table(family).find(key);
  if (found == table(family).end()) return std::optional<std::string>{};
  return std::optional<std::string>{found->second};
}

std::unique_ptr<Cursor> MemoryStore::scan(Family family, std::string_view from, std::string_view to) const {
  const Table& rows = table(family);
  if (!to.empty() && from >= to) return std::make_unique<MemoryCursor>(rows.end(), rows.end());
  return std::make_unique<MemoryCursor>(rows.lower_bound(from),
                                        to.empty() ? rows.end() : rows.lower_bound(to));
}

Result<> MemoryStore::write(std::span<const Change> changes) {
  if (before_write) {
    if (Result<> allowed = before_write(changes); !allowed) return allowed;
  }
  for (const Change& change : changes) {
    if (change.value) {
      table(change.family).insert_or_assign(change.key, *change.value);
    } else {
      table(change.family).erase(change.key);
    }
  }
  return {};
}

Result<> MemoryStore::sync() { return {}; }

std::unique_ptr<Reader> MemoryStore::snapshot() const { return std::make_unique<MemorySnapshot>(*this); }

Result<> MemoryStore::backup(const std::filesystem::path&) const {
  return fail(Code::invalid, "a store in memory has no backup");
}

}  // namespace duelease::store
