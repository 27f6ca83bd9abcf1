// store/hash_memtable.h: where RocksDB keeps the rows of a family that are not in a table yet.
//
// In RocksDB's own skip list each row looks for its place, by some twenty comparisons all over memory: that was half
// of the time of a write. RocksDB's hash memtables spare it, but a walk over one first copies and sorts all of it. Here
// a new row goes to a hash chain, where look-ups find it, and to the end of a pad. A full pad is sorted into a sheet,
// and two sheets of a size are merged into one, until they are large: a row is moved a few times, from memory that lies
// in a line, with the telling bytes of its key beside it. A walk merges the sheets there are, and a sorted copy of the
// pad.
//
// Threads: one writes, any number read, as RocksDB does with allow_concurrent_memtable_write off.
// Only for families in the order of bytes (RocksDB's BytewiseComparator, without timestamps), without MemPurge (rows must
// come in the order of their sequence), and iterators are not to be refreshed. A look-up that meets a long chain looks
// into the sheets instead, which takes some tens of us: so not for rows that all writes touch.
// What pads, sheets and chains take, some 20 bytes a row, counts for the memtable of a family, but not for RocksDB's
// limit on all of them.
#pragma once

#include <rocksdb/memtablerep.h>

#include <cstddef>

namespace duelease::store {

class HashMemtableFactory final : public rocksdb::MemTableRepFactory {
 public:
  // One chain for every 512 bytes of the memory for writes, of which one memtable may take half: some two rows.
  explicit HashMemtableFactory(std::size_t memtable_bytes);

  using rocksdb::MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& comparator,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* prefix,
                                          rocksdb::Logger* logger) override;
  const char* Name() const override { return "duelease.HashMemtable"; }

 private:
  std::size_t chains_;
};

}  // namespace duelease::store
