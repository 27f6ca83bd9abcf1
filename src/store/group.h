// store/group.h: the changes of one commit group, on top of the store they will go to.
//
// Commands that share a group must see each other. So every read of the writer goes through the group:
// pending changes first, then the store. Only families queue, history and runs are walked inside a group
// (by claims, purges and sweeps); the pending keys of one are brought in order when a walk begins.
//
// A key changed twice in one group is written once, with its last value. Changes keep the order in which
// their keys were first touched: the same commands make the same batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace duelease::store {

// For one thread, but that another may read changes() while nothing is changed.
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
  // Where a key has its place among the slots, and what the slot says: the change of this key, or that there is none.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t change = 0;  // Its number, from 1 on. 0: the slot is free.
  };
  using Positions = std::vector<std::uint32_t>;
  struct Walked {
    Positions positions;     // Of the changes of one family.
    std::size_t sorted = 0;  // So many of them are in the order of their keys.
  };

  void set(Family family, std::string key, std::optional<std::string> value);
  std::uint32_t hash_of(Family family, std::string_view key) const;
  std::size_t find_slot(std::uint32_t hash, Family family, std::string_view key) const;
  void grow();
  const Positions& in_order(Family family) const;

  const Reader& base_;
  std::vector<Change> changes_;
  std::size_t bytes_ = 0;
  std::vector<Slot>
      slots_;  // A power of two of them, at most half of them taken. Keys lie in changes_ alone.
  mutable std::array<Walked, family_count> walked_;  // Of the families that are walked.
};

}  // namespace duelease::store
