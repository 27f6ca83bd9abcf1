// store/memory_store.h: a store in memory, for tests that simulate years in seconds. Single thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>

#include "store/store.h"

namespace duelease::store {

class MemoryStore final : public Store {
 public:
  using Table = std::map<std::string, std::string, std::less<>>;

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override;
  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override;
  Result<> write(std::span<const Change> changes) override;
  Result<> sync() override;
  std::unique_ptr<Reader> snapshot() const override;
  Result<> backup(const std::filesystem::path& folder) const override;

  // Asked before each write with its changes; an error is the answer of that write, which then does
  // nothing.
  std::function<Result<>(std::span<const Change>)> before_write;

  // For tests that damage a store on purpose, or look at its bytes.
  Table& table(Family family) { return tables_[static_cast<std::size_t>(family)]; }
  const Table& table(Family family) const { return tables_[static_cast<std::size_t>(family)]; }

 private:
  std::array<Table, family_count> tables_;
};

}  // namespace duelease::store
