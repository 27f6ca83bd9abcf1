#include "store/group.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace duelease::store {

namespace {

using Order = std::map<std::string, std::size_t, std::less<>>;

bool walked(Family family) {
  return family == Family::queue || family == Family::history || family == Family::runs;
}

// The pending rows laid over the stored ones. Where both have a key, the pending one counts.
class MergedCursor final : public Cursor {
 public:
  MergedCursor(std::unique_ptr<Cursor> base, Order::const_iterator at, Order::const_iterator end,
               const std::vector<Change>& changes)
      : base_(std::move(base)), at_(at), end_(end), changes_(changes) {
    settle();
  }

  bool valid() const override { return !failed_ && (pending_ || base_->valid()); }
  std::string_view key() const override { return pending_ ? std::string_view(at_->first) : base_->key(); }
  std::string_view value() const override {
    return pending_ ? std::string_view(*changes_[at_->second].value) : base_->value();
  }
  void next() override {
    if (pending_) {
      ++at_;
    } else {
      base_->next();
    }
    settle();
  }
  Result<> status() const override { return base_->status(); }

 private:
  // Finds the lower of the two heads, dropping pending deletes and what they hide.
  void settle() {
    pending_ = false;
    while (at_ != end_) {
      // After an error below nobody knows what lies between here and the next pending entry.
      failed_ = !base_->valid() && !base_->status();
      if (failed_) return;
      const int order = base_->valid() ? at_->first.compare(base_->key()) : -1;
      if (order > 0) return;
      if (order == 0) base_->next();
      if (changes_[at_->second].value) {
        pending_ = true;
        return;
      }
      ++at_;
    }
  }

  std::unique_ptr<Cursor> base_;
  Order::const_iterator at_;
  const Order::const_iterator end_;
  const std::vector<Change>& changes_;
  bool pending_ = false;
  bool failed_ = false;
};

}  // namespace

void Group::put(Family family, std::string key, std::string value) {
  set(family, std::move(key), std::move(value));
}

void Group::erase(Family family, std::string key) { set(family, std::move(key), std::nullopt); }

void Group::set(Family family, std::string key, std::optional<std::string> value) {
  const std::size_t size = key.size() + (value ? value->size() : 0);
  auto& index = index_[static_cast<std::size_t>(family)];
  const auto [found, added] = index.try_emplace(key, changes_.size());
  bytes_ += size;
  if (!added) {
    changes_[found->second].value = std::move(value);
    return;
  }
  if (walked(family)) order_[static_cast<std::size_t>(family)].emplace(key, changes_.size());
  changes_.push_back(Change{family, std::move(key), std::move(value)});
}

Result<std::optional<std::string>> Group::get(Family family, std::string_view key) const {
  const auto& index = index_[static_cast<std::size_t>(family)];
  if (!index.empty()) {
    const auto found = index.find(std::string(key));
    if (found != index.end()) return changes_[found->second].value;
  }
  return base_.get(family, key);
}

std::unique_ptr<Cursor> Group::scan(Family family, std::string_view from, std::string_view to) const {
  DUELEASE_CHECK(walked(family));
  const Order& order = order_[static_cast<std::size_t>(family)];
  if (order.empty()) return base_.scan(family, from, to);
  const auto begin = order.lower_bound(from);
  const auto end = to.empty() ? order.end() : order.lower_bound(std::max(from, to));
  return std::make_unique<MergedCursor>(base_.scan(family, from, to), begin, end, changes_);
}

void Group::take(Group& other) {
  DUELEASE_CHECK(empty());
  std::swap(changes_, other.changes_);
  std::swap(bytes_, other.bytes_);
  std::swap(index_, other.index_);
  std::swap(order_, other.order_);
}

void Group::clear() {
  changes_.clear();
  bytes_ = 0;
  for (auto& index : index_) index.clear();
  for (auto& order : order_) order.clear();
}

}  // namespace duelease::store
