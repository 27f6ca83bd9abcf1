#include "store/group.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/check.h"

namespace duelease::store {

namespace {

constexpr std::size_t slots_min = 1024;
constexpr std::ptrdiff_t few = 16;

bool walked(Family family) {
  return family == Family::queue || family == Family::history || family == Family::runs;
}

// The pending rows laid over the stored ones. Where both have a key, the pending one counts.
class MergedCursor final : public Cursor {
 public:
  MergedCursor(std::unique_ptr<Cursor> base, std::span<const std::uint32_t> pending,
               const std::vector<Change>& changes)
      : base_(std::move(base)), pending_(pending), changes_(changes) {
    settle();
  }

  bool valid() const override { return !failed_ && (at_pending_ || base_->valid()); }
  std::string_view key() const override { return at_pending_ ? std::string_view(head().key) : base_->key(); }
  std::string_view value() const override {
    return at_pending_ ? std::string_view(*head().value) : base_->value();
  }
  void next() override {
    if (at_pending_) {
      pending_ = pending_.subspan(1);
    } else {
      base_->next();
    }
    settle();
  }
  Result<> status() const override { return base_->status(); }

 private:
  const Change& head() const { return changes_[pending_.front()]; }

  // Finds the lower of the two heads, dropping pending deletes and what they hide.
  void settle() {
    at_pending_ = false;
    while (!pending_.empty()) {
      // After an error below nobody knows what lies between here and the next pending entry.
      failed_ = !base_->valid() && !base_->status();
      if (failed_) return;
      const int order = base_->valid() ? std::string_view(head().key).compare(base_->key()) : -1;
      if (order > 0) return;
      if (order == 0) base_->next();
      if (head().value) {
        at_pending_ = true;
        return;
      }
      pending_ = pending_.subspan(1);
    }
  }

  std::unique_ptr<Cursor> base_;
  std::span<const std::uint32_t>
      pending_;  // The changes that are not passed yet, in the order of their keys.
  const std::vector<Change>& changes_;
  bool at_pending_ = false;
  bool failed_ = false;
};

}  // namespace

void Group::put(Family family, std::string key, std::string value) {
  set(family, std::move(key), std::move(value));
}

void Group::erase(Family family, std::string key) { set(family, std::move(key), std::nullopt); }

void Group::set(Family family, std::string key, std::optional<std::string> value) {
  bytes_ += key.size() + (value ? value->size() : 0);
  const std::uint32_t hash = hash_of(family, key);
  if (2 * (changes_.size() + 1) > slots_.size()) grow();
  Slot& slot = slots_[find_slot(hash, family, key)];
  if (slot.change != 0) {
    changes_[slot.change - 1].value = std::move(value);
    return;
  }
  const auto position = static_cast<std::uint32_t>(changes_.size());
  changes_.push_back(Change{family, std::move(key), std::move(value)});
  if (walked(family)) walked_[static_cast<std::size_t>(family)].positions.push_back(position);
  slot = {hash, position + 1};
}

std::uint32_t Group::hash_of(Family family, std::string_view key) const {
  const std::size_t hash = std::hash<std::string_view>{}(key);
  return static_cast<std::uint32_t>(hash ^ hash >> 32) + static_cast<std::uint32_t>(family);
}

// That of the key, or the free one where it would go.
std::size_t Group::find_slot(std::uint32_t hash, Family family, std::string_view key) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.change == 0) return at;
    if (slot.hash != hash) continue;
    const Change& change = changes_[slot.change - 1];
    if (change.family == family && change.key == key) return at;
  }
}

void Group::grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(std::max(2 * slots_.size(), slots_min)));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.change == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].change != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

Result<std::optional<std::string>> Group::get(Family family, std::string_view key) const {
  if (!changes_.empty()) {
    const Slot& slot = slots_[find_slot(hash_of(family, key), family, key)];
    if (slot.change != 0) return changes_[slot.change - 1].value;
  }
  return base_.get(family, key);
}

std::unique_ptr<Cursor> Group::scan(Family family, std::string_view from, std::string_view to) const {
  DUELEASE_CHECK(walked(family));
  const Positions& positions = in_order(family);
  if (positions.empty()) return base_.scan(family, from, to);
  const auto is_below = [this](std::uint32_t position, std::string_view key) {
    return std::string_view(changes_[position].key) < key;
  };
  const auto begin = std::lower_bound(positions.begin(), positions.end(), from, is_below);
  const auto end = to.empty() ? positions.end() : std::lower_bound(begin, positions.end(), to, is_below);
  return std::make_unique<MergedCursor>(base_.scan(family, from, to), std::span(begin, end), changes_);
}

const Group::Positions& Group::in_order(Family family) const {
  Walked& walked = walked_[static_cast<std::size_t>(family)];
  const auto by_key = [this](std::uint32_t a, std::uint32_t b) { return changes_[a].key < changes_[b].key; };
  auto added = walked.positions.begin() + static_cast<std::ptrdiff_t>(walked.sorted);
  if (walked.positions.end() - added <= few) {  // As when walks and changes take turns.
    for (; added != walked.positions.end(); ++added) {
      std::rotate(std::upper_bound(walked.positions.begin(), added, *added, by_key), added, added + 1);
    }
  }
  std::sort(added, walked.positions.end(), by_key);
  std::inplace_merge(walked.positions.begin(), added, walked.positions.end(), by_key);
  walked.sorted = walked.positions.size();
  return walked.positions;
}

void Group::take(Group& other) {
  DUELEASE_CHECK(empty());
  std::swap(changes_, other.changes_);
  std::swap(bytes_, other.bytes_);
  std::swap(slots_, other.slots_);
  std::swap(walked_, other.walked_);
}

void Group::clear() {
  // After a large group the slots are given back, for they are wiped after each.
  const bool are_few = 16 * changes_.size() >= slots_.size() || slots_.size() <= slots_min;
  slots_.assign(are_few ? slots_.size() : slots_.size() / 2, Slot{});
  changes_.clear();
  bytes_ = 0;
  for (Walked& walked : walked_) {
    walked.positions.clear();
    walked.sorted = 0;
  }
}

}  // namespace duelease::store
