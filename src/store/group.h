// store/group.h: the changes of one commit group, on top of the store they will go to.
//
// Commands that share a group must see each other. So every read of the writer goes through the group:
// pending changes first, then the store. Only families queue, history and runs are walked inside a group
// (by claims, purges and sweeps), so only their pending keys are kept in order.
//
// A key changed twice in one group is written once, with its last value. Changes keep the order in which
// their keys were first touched: the same commands make the same batch.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/store.h"

namespace duelease::store {

class Group final : public Reader {
 public:
  // `base` must outlive the group. What it holds under a key that is pending here does not matter, so it may take
  // in the changes of this group before clear().
  explicit Group(const Reader& base) : base_(base) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void put(Family family, std::string key, std::string value);
  void erase(Family family, std::string key);

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override;
  // Families queue, history and runs only. The cursor sees changes made before the call; it must not be used after a later one.
  std::unique_ptr<Cursor> scan(Family family, std::string_view from, std::string_view to) const override;

  const std::vector<Change>& changes() const { return changes_; }
  std::size_t bytes() const { return bytes_; }
  bool empty() const { return changes_.empty(); }
  // After the changes were written.
  void clear();
  // The pending changes of `other`, which has none afterwards. Only when there are none here.
  void take(Group& other);

 private:
  void set(Family family, std::string key, std::optional<std::string> value);

  const Reader& base_;
  std::vector<Change> changes_;
  std::size_t bytes_ = 0;
  // Position in changes_ of each pending key. The strings are copies: changes_ moves as it grows.
  std::array<std::unordered_map<std::string, std::size_t>, family_count> index_;
  using Order = std::map<std::string, std::size_t, std::less<>>;
  std::array<Order, family_count> order_;  // The same, of the families that are walked.
};

}  // namespace duelease::store
