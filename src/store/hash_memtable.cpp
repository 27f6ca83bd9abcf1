#include "store/hash_memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace duelease::store {

namespace {

constexpr std::size_t chain_bytes = 512;
constexpr std::size_t chains_min = 64;
constexpr std::size_t chain_steps_max = 64;  // As long as a look into all sheets.

// Sorted while it is in the processor's nearest cache.
constexpr std::size_t pad_rows = 512;
// Two sheets of this size are not merged any more: the writer would stand still for more than some 2 ms, and a walk
// through a memtable of 64 MiB meets less than 20 of them.
constexpr std::size_t sheet_rows_max = 32 * 1024;

// ---- Keys ---------------------------------------------------------------------------------------
//
// RocksDB encodes a row as: length of the key (varint), the key, a tag of 8 bytes (little-endian; the sequence number
// of the write, and what it is), the value. Rows go by key, and of one key the latest first.

struct Key {
  std::string_view user;
  std::uint64_t tag = 0;
};

Key key_of(std::string_view with_tag) {
  Key out{with_tag.substr(0, with_tag.size() - 8), 0};
  std::memcpy(&out.tag, with_tag.data() + out.user.size(), sizeof(out.tag));
  if constexpr (std::endian::native == std::endian::big) out.tag = __builtin_bswap64(out.tag);
  return out;
}

Key key_of(const char* row) {
  std::size_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*row++);
    size |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return key_of(std::string_view(row, size));
}

bool is_before(const Key& a, const Key& b) {
  const int order = a.user.compare(b.user);
  return order != 0 ? order < 0 : a.tag > b.tag;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// ---- Chains -------------------------------------------------------------------------------------

// Before each row lies the one that was in its chain before it. RocksDB gives memory as it comes, not aligned.
constexpr std::size_t link_bytes = sizeof(const char*);

const char* next_in_chain(const char* row) {
  const char* next = nullptr;
  std::memcpy(&next, row - link_bytes, link_bytes);
  return next;
}

class Chains {
 public:
  explicit Chains(std::size_t count)
      : count_(count), heads_(static_cast<const char**>(std::calloc(count, sizeof(const char*)))) {
    if (!heads_) throw std::bad_alloc();
  }

  void add(char* row) {
    const std::atomic_ref<const char*> head = head_of(key_of(row).user);
    const char* const next = head.load(std::memory_order_relaxed);
    std::memcpy(row - link_bytes, &next, link_bytes);
    head.store(row, std::memory_order_release);
  }

  // The latest row of this key that is not later than the tag; null: there is none. Nothing: the chain is too long to
  // go through, for its keys were chosen so, or one was written again and again.
  std::optional<const char*> find(const Key& key) const {
    return find_from(head_of(key.user).load(std::memory_order_acquire), key);
  }
  static std::optional<const char*> find_from(const char* row, const Key& key) {
    for (std::size_t steps = 0; row != nullptr; row = next_in_chain(row)) {
      if (++steps > chain_steps_max) return std::nullopt;
      const Key found = key_of(row);
      if (found.tag <= key.tag && found.user == key.user) break;  // Later rows are in front.
    }
    return row;
  }

  std::size_t bytes() const { return count_ * sizeof(const char*); }

 private:
  struct FreeZeros {
    void operator()(const char** memory) const { std::free(memory); }
  };

  std::atomic_ref<const char*> head_of(std::string_view user) const {
    return std::atomic_ref<const char*>(heads_.get()[std::hash<std::string_view>{}(user) & (count_ - 1)]);
  }

  const std::size_t count_;  // A power of two.
  // Zeros that take no memory until they are written.
  const std::unique_ptr<const char*[], FreeZeros> heads_;
};

// ---- Sheets -------------------------------------------------------------------------------------

struct Entry {
  std::uint64_t word;  // What follows in the key after that which all of the sheet have in common.
  const char* row;
};

// Filled by the writer, while others read what is there already.
struct Pad {
  std::array<const char*, pad_rows> rows;
  std::atomic<std::size_t> count = 0;
};

// Sorted, and not empty.
class Sheet {
 public:
  static std::shared_ptr<const Sheet> of(const Pad& pad, std::size_t count) {
    auto out = std::make_shared<Sheet>();
    out->skip_ = key_of(pad.rows[0]).user.size();
    for (std::size_t i = 1; i < count; ++i) {
      out->skip_ = std::min(out->skip_, common_prefix(key_of(pad.rows[0]).user, key_of(pad.rows[i]).user));
    }
    out->entries_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) out->entries_.push_back({out->word_of(pad.rows[i]), pad.rows[i]});
    std::ranges::sort(out->entries_, is_before);
    return out;
  }

  static std::shared_ptr<const Sheet> merged(const Sheet& a, const Sheet& b) {
    auto out = std::make_shared<Sheet>();
    out->skip_ = std::min(a.skip_, b.skip_);
    out->skip_ = std::min(out->skip_, common_prefix(a.first(), b.first()));
    out->entries_.resize(a.size() + b.size());
    std::vector<Entry> again_a;
    std::vector<Entry> again_b;
    std::ranges::merge(a.entries_from(out->skip_, again_a), b.entries_from(out->skip_, again_b),
                       out->entries_.begin(), is_before);
    return out;
  }

  std::size_t size() const { return entries_.size(); }
  const char* row(std::size_t at) const { return entries_[at].row; }

  // The place of the first row that is not before the key.
  std::size_t lower_bound(const Key& key) const {
    const int side = key.user.substr(0, skip_).compare(first().substr(0, skip_));
    if (side != 0) return side < 0 ? 0 : size();
    const std::uint64_t word = word_of(key.user);
    const auto found = std::ranges::partition_point(entries_, [&](const Entry& entry) {
      return entry.word != word ? entry.word < word : store::is_before(key_of(entry.row), key);
    });
    return static_cast<std::size_t>(found - entries_.begin());
  }

 private:
  static bool is_before(const Entry& a, const Entry& b) {
    return a.word != b.word ? a.word < b.word : store::is_before(key_of(a.row), key_of(b.row));
  }

  std::string_view first() const { return key_of(entries_.front().row).user; }

  std::uint64_t word_of(std::string_view user) const {
    std::uint64_t word = 0;
    const std::size_t size = std::min(user.size() - skip_, sizeof(word));
    std::memcpy(&word, user.data() + skip_, size);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    return word;
  }
  std::uint64_t word_of(const char* row) const { return word_of(key_of(row).user); }

  // The entries with the words after `skip` bytes.
  const std::vector<Entry>& entries_from(std::size_t skip, std::vector<Entry>& again) const {
    if (skip == skip_) return entries_;
    Sheet shorter;
    shorter.skip_ = skip;
    again = entries_;
    for (Entry& entry : again) entry.word = shorter.word_of(entry.row);
    return again;
  }

  std::size_t skip_ = 0;
  std::vector<Entry> entries_;
};

using Sheets = std::vector<std::shared_ptr<const Sheet>>;

// ---- Walks --------------------------------------------------------------------------------------

// RocksDB wants its iterators in memory of an arena of its, calls the destructor, and does not delete. But the arena is
// of a class that it does not show. So an iterator comes from the heap, and its memory is freed by the next one that
// is destroyed in this thread, or by the end of the thread: the first moments at which it is surely done with.
thread_local bool thread_ends = false;

struct DoneWith {
  void* memory = nullptr;

  ~DoneWith() {
    ::operator delete(memory);
    thread_ends = true;  // What is destroyed still later is left to the end of the process.
  }
  void take(void* next) { ::operator delete(std::exchange(memory, next)); }
};
thread_local DoneWith done_with;

// Over what was there when it began. Of each sheet it knows the first row that is not before the current one; the
// current one is the least of these.
class Walk final : public rocksdb::MemTableRep::Iterator {
 public:
  explicit Walk(Sheets sheets) {
    for (std::shared_ptr<const Sheet>& sheet : sheets) parts_.push_back({std::move(sheet), 0, {}});
    heap_.reserve(parts_.size());
  }
  ~Walk() override {
    if (!thread_ends) done_with.take(this);
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  static void operator delete(void*) {}  // See done_with.

  bool Valid() const override { return !heap_.empty(); }
  const char* key() const override { return current().sheet->row(current().at); }

  void Next() override {
    std::ranges::pop_heap(heap_, later_);
    Part& part = parts_[heap_.back()];
    ++part.at;
    if (part.read()) {
      std::ranges::push_heap(heap_, later_);
    } else {
      heap_.pop_back();
    }
  }

  void Prev() override {
    Part* last = nullptr;
    for (Part& part : parts_) {
      if (part.at == 0) continue;
      if (last == nullptr || is_before(last->before(), part.before())) last = &part;
    }
    if (last == nullptr) return heap_.clear();
    --last->at;
    settle();
  }

  void Seek(const rocksdb::Slice& with_tag, const char* row) override {
    const Key key = row != nullptr ? key_of(row) : key_of({with_tag.data(), with_tag.size()});
    for (Part& part : parts_) part.at = part.sheet->lower_bound(key);
    settle();
  }

  void SeekForPrev(const rocksdb::Slice& with_tag, const char* row) override {
    Seek(with_tag, row);
    const Key key = row != nullptr ? key_of(row) : key_of({with_tag.data(), with_tag.size()});
    if (!Valid() || is_before(key, current().key)) Prev();
  }

  void SeekToFirst() override {
    for (Part& part : parts_) part.at = 0;
    settle();
  }

  void SeekToLast() override {
    for (Part& part : parts_) part.at = part.sheet->size();
    Prev();
  }

 private:
  struct Part {
    std::shared_ptr<const Sheet> sheet;
    std::size_t at = 0;
    Key key;

    bool read() {
      if (at == sheet->size()) return false;
      key = key_of(sheet->row(at));
      // Rows lie all over the memory, and the next one of this sheet is wanted after some of others.
      if (at + 1 < sheet->size()) __builtin_prefetch(sheet->row(at + 1));
      return true;
    }
    Key before() const { return key_of(sheet->row(at - 1)); }
  };

  struct Later {
    const std::vector<Part>& parts;
    bool operator()(std::size_t a, std::size_t b) const { return is_before(parts[b].key, parts[a].key); }
  };

  const Part& current() const { return parts_[heap_.front()]; }

  void settle() {
    heap_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].read()) heap_.push_back(i);
    }
    std::ranges::make_heap(heap_, later_);
  }

  std::vector<Part> parts_;
  std::vector<std::size_t>
      heap_;  // The parts that are not at their end; in front the one of the current row.
  const Later later_{parts_};
};

// ---- The memtable -------------------------------------------------------------------------------

class HashMemtable final : public rocksdb::MemTableRep {
 public:
  HashMemtable(rocksdb::Allocator* allocator, std::size_t chains)
      : MemTableRep(allocator), chains_(chains), pad_(std::make_shared<Pad>()) {}

  rocksdb::KeyHandle Allocate(const std::size_t size, char** row) override {
    char* memory = nullptr;
    MemTableRep::Allocate(link_bytes + size, &memory);
    *row = memory + link_bytes;
    return *row;
  }

  // An exception half-way would leave RocksDB with half a write; what is acknowledged is in the log.
  void Insert(rocksdb::KeyHandle handle) noexcept override {
    auto* const row = static_cast<char*>(handle);
    chains_.add(row);
    const std::size_t count = pad_->count.load(std::memory_order_relaxed);
    pad_->rows[count] = row;
    pad_->count.store(count + 1, std::memory_order_release);
    if (count + 1 == pad_rows) begin_pad();
  }

  bool Contains(const char* row) const override {
    const Key key = key_of(row);
    const char* const found = find(key);
    return found != nullptr && key_of(found).tag == key.tag;
  }

  // The latest row of this key that is not later than the tag; null: there is none.
  const char* find(const Key& key) const {
    const std::optional<const char*> found = chains_.find(key);
    return found ? *found : find_in_order(key);
  }
  // The next older row of the same key.
  const char* find_older(const char* row) const {
    Key key = key_of(row);
    if (key.tag-- == 0) return nullptr;
    const std::optional<const char*> found = Chains::find_from(next_in_chain(row), key);
    return found ? *found : find_in_order(key);
  }

  // What to look for lies in a class that RocksDB does not show. Its own Get() knows, and asks for an iterator to go
  // by; it has none of its own kind to offer, and does not delete what it gets. So it gets one that is not on the heap.
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

  Iterator* GetIterator(rocksdb::Arena*) override { return new Walk(all_sheets()); }

  std::size_t ApproximateMemoryUsage() override {
    return chains_.bytes() + bytes_.load(std::memory_order_relaxed);
  }

 private:
  // Those there are, and a sorted copy of the pad.
  Sheets all_sheets() const {
    Sheets sheets;
    std::shared_ptr<const Pad> pad;
    {
      const std::lock_guard lock(mutex_);
      sheets = sheets_;
      pad = pad_;
    }
    if (const std::size_t count = pad->count.load(std::memory_order_acquire); count > 0) {
      sheets.push_back(Sheet::of(*pad, count));
    }
    return sheets;
  }

  const char* find_in_order(const Key& key) const {
    const char* latest = nullptr;
    for (const std::shared_ptr<const Sheet>& sheet : all_sheets()) {
      const std::size_t at = sheet->lower_bound(key);
      if (at == sheet->size()) continue;
      const Key found = key_of(sheet->row(at));
      if (found.user != key.user) continue;
      if (latest == nullptr || found.tag > key_of(latest).tag) latest = sheet->row(at);
    }
    return latest;
  }

  // The full pad becomes a sheet, and sheets of a size become one.
  void begin_pad() {
    Sheets sheets = sheets_;
    sheets.push_back(Sheet::of(*pad_, pad_rows));
    while (sheets.size() > 1 && sheets.back()->size() == sheets[sheets.size() - 2]->size() &&
           sheets.back()->size() < sheet_rows_max) {
      const std::shared_ptr<const Sheet> merged = Sheet::merged(*sheets[sheets.size() - 2], *sheets.back());
      sheets.resize(sheets.size() - 2);
      sheets.push_back(merged);
    }
    auto pad = std::make_shared<Pad>();
    bytes_.fetch_add(pad_rows * sizeof(Entry), std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    sheets_.swap(sheets);
    pad_.swap(pad);
  }

  Chains chains_;
  std::atomic<std::size_t> bytes_ = sizeof(Pad);
  mutable std::mutex mutex_;  // Held by the writer to change the two below, by others to read them.
  Sheets sheets_;
  std::shared_ptr<Pad> pad_;
};

// The rows of one key, from the latest that is asked for to the oldest. RocksDB takes it for an iterator: see
// GetDynamicPrefixIterator().
class Lookup final : public rocksdb::MemTableRep::Iterator {
 public:
  explicit Lookup(const HashMemtable& memtable) : memtable_(memtable) {}

  // It lies in memory that is not on the heap.
  static void operator delete(void*) {}

  bool Valid() const override { return row_ != nullptr; }
  const char* key() const override { return row_; }
  void Seek(const rocksdb::Slice& with_tag, const char*) override {
    row_ = memtable_.find(key_of({with_tag.data(), with_tag.size()}));
  }
  void Next() override { row_ = memtable_.find_older(row_); }

  void Prev() override { std::abort(); }
  void SeekForPrev(const rocksdb::Slice&, const char*) override { std::abort(); }
  void SeekToFirst() override { std::abort(); }
  void SeekToLast() override { std::abort(); }

 private:
  const HashMemtable& memtable_;
  const char* row_ = nullptr;
};

rocksdb::MemTableRep::Iterator* HashMemtable::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  if (arena != nullptr) return GetIterator(arena);
  alignas(Lookup) static thread_local std::array<std::byte, sizeof(Lookup)> memory;
  return ::new (memory.data()) Lookup(*this);
}

}  // namespace

HashMemtableFactory::HashMemtableFactory(std::size_t memtable_bytes)
    : chains_(std::bit_floor(std::max(memtable_bytes / chain_bytes, chains_min))) {}

rocksdb::MemTableRep* HashMemtableFactory::CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator&,
                                                             rocksdb::Allocator* allocator,
                                                             const rocksdb::SliceTransform*,
                                                             rocksdb::Logger*) {
  return new HashMemtable(allocator, chains_);
}

}  // namespace duelease::store
