// The memtable, through a database that keeps everything in it: what it holds is what a map holds, whichever way it is
// looked at, and while it grows.
#include "store/hash_memtable.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using duelease::store::HashMemtableFactory;

namespace {

using Rows = std::map<std::string, std::string>;

constexpr std::size_t memtable_bytes = 256 * 1024 * 1024;

// Once a pad is full it is sorted (512 rows); once there are two sheets of a size they are merged (up to 32,768).
constexpr int one_pad = 300;
constexpr int several_sheets = 5'000;
constexpr int largest_sheets = 80'000;

class Database {
 public:
  explicit Database(std::size_t bytes = memtable_bytes) : env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.write_buffer_size = bytes;
    options.memtable_factory = std::make_shared<HashMemtableFactory>(bytes);
    rocksdb::DB* db = nullptr;
    REQUIRE(rocksdb::DB::Open(options, "/db", &db).ok());
    db_.reset(db);
  }

  rocksdb::DB& operator*() { return *db_; }
  rocksdb::DB* operator->() { return db_.get(); }

  void put(const std::string& key, const std::string& value) { REQUIRE(db_->Put({}, key, value).ok()); }
  void erase(const std::string& key) { REQUIRE(db_->Delete({}, key).ok()); }
  std::optional<std::string> get(const std::string& key, const rocksdb::Snapshot* snapshot = nullptr) {
    rocksdb::ReadOptions read;
    read.snapshot = snapshot;
    std::string value;
    const rocksdb::Status status = db_->Get(read, key, &value);
    if (status.IsNotFound()) return std::nullopt;
    REQUIRE(status.ok());
    return value;
  }
  std::unique_ptr<rocksdb::Iterator> walk(const rocksdb::Snapshot* snapshot = nullptr) {
    rocksdb::ReadOptions read;
    read.snapshot = snapshot;
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(read));
  }

 private:
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
};

Rows forward(rocksdb::Iterator& walk) {
  Rows rows;
  for (walk.SeekToFirst(); walk.Valid(); walk.Next()) {
    const std::string key = walk.key().ToString();
    REQUIRE((rows.empty() || rows.rbegin()->first < key));
    rows.emplace_hint(rows.end(), key, walk.value().ToString());
  }
  REQUIRE(walk.status().ok());
  return rows;
}

Rows backward(rocksdb::Iterator& walk) {
  Rows rows;
  for (walk.SeekToLast(); walk.Valid(); walk.Prev()) {
    const std::string key = walk.key().ToString();
    REQUIRE((rows.empty() || rows.begin()->first > key));
    rows.emplace_hint(rows.begin(), key, walk.value().ToString());
  }
  REQUIRE(walk.status().ok());
  return rows;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(engine_); }

  // Of keys of all lengths, many of which begin alike or are the beginning of another; zeros and high bytes too.
  std::string key() {
    static const std::vector<std::string> beginnings = {
        "", "q", std::string("q\0", 2), "queue-with-a-long-name/", "\xff", "a"};
    std::string out = beginnings[static_cast<std::size_t>(below(static_cast<int>(beginnings.size())))];
    for (int left = below(14); left > 0; --left)
      out += std::string("\0\1ab\x7f\x80\xff", 7)[static_cast<std::size_t>(below(7))];
    return out.empty() ? "e" : out;
  }

 private:
  std::mt19937 engine_;
};

void write_some(Database& db, Rows& rows, Random& random, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string key = random.key();
    if (random.below(4) == 0) {
      db.erase(key);
      rows.erase(key);
    } else {
      const std::string value = std::to_string(random.below(1'000'000));
      db.put(key, value);
      rows[key] = value;
    }
  }
}

}  // namespace

TEST_CASE("what a memtable holds is what a map holds", "[memtable]") {
  const int count = GENERATE(0, 1, one_pad, 512, 513, several_sheets, largest_sheets);
  CAPTURE(count);
  Database db;
  Rows rows;
  Random random(static_cast<unsigned>(count));
  write_some(db, rows, random, count);

  const std::unique_ptr<rocksdb::Iterator> walk = db.walk();
  CHECK((forward(*walk) == rows));
  CHECK((backward(*walk) == rows));
  for (int i = 0; i < 2'000; ++i) {
    const std::string key = random.key();
    const auto found = rows.find(key);
    const std::optional<std::string> value = db.get(key);
    REQUIRE(value.has_value() == (found != rows.end()));
    if (value) REQUIRE(*value == found->second);
  }
}

TEST_CASE("a walk begins anywhere and turns anywhere", "[memtable]") {
  const int count = GENERATE(one_pad, several_sheets);
  Database db;
  Rows rows;
  Random random(7);
  write_some(db, rows, random, count);
  const std::unique_ptr<rocksdb::Iterator> walk = db.walk();
  for (int i = 0; i < 500; ++i) {
    const std::string key = random.key();
    auto at = rows.lower_bound(key);
    if (random.below(2) == 0) {
      walk->Seek(key);
    } else {
      walk->SeekForPrev(key);
      at = rows.upper_bound(key);
      at = at == rows.begin() ? rows.end() : std::prev(at);
    }
    for (int step = 0; step < 20; ++step) {
      REQUIRE(walk->Valid() == (at != rows.end()));
      if (!walk->Valid()) break;
      REQUIRE(walk->key().ToString() == at->first);
      REQUIRE(walk->value().ToString() == at->second);
      if (random.below(2) == 0) {
        walk->Next();
        ++at;
      } else {
        walk->Prev();
        at = at == rows.begin() ? rows.end() : std::prev(at);
      }
    }
  }
}

TEST_CASE("a snapshot goes on seeing what was there", "[memtable]") {
  Database db;
  Rows rows;
  Random random(3);
  std::vector<std::pair<const rocksdb::Snapshot*, Rows>> snapshots;
  for (int i = 0; i < 12; ++i) {
    write_some(db, rows, random, 700);
    snapshots.emplace_back(db->GetSnapshot(), rows);
  }
  for (const auto& [snapshot, then] : snapshots) {
    const std::unique_ptr<rocksdb::Iterator> walk = db.walk(snapshot);
    CHECK((forward(*walk) == then));
    CHECK((backward(*walk) == then));
    for (int i = 0; i < 300; ++i) {
      const std::string key = random.key();
      const auto found = then.find(key);
      REQUIRE(db.get(key, snapshot) ==
              (found == then.end() ? std::nullopt : std::optional<std::string>(found->second)));
    }
    db->ReleaseSnapshot(snapshot);
  }
}

TEST_CASE("a walk goes on over what was there when it began", "[memtable]") {
  Database db;
  Rows rows;
  Random random(4);
  write_some(db, rows, random, 1'000);
  const std::unique_ptr<rocksdb::Iterator> walk = db.walk();
  Rows later = rows;
  write_some(db, later, random, several_sheets);
  CHECK((forward(*walk) == rows));
}

TEST_CASE("what goes to a table is what the memtable held", "[memtable]") {
  Database db(1024 * 1024);  // A new memtable every few thousand rows, its number of chains small.
  Rows rows;
  Random random(5);
  write_some(db, rows, random, 60'000);
  REQUIRE(db->Flush({}).ok());
  CHECK((forward(*db.walk()) == rows));
}

TEST_CASE("a row that is written many times is found as it was written last, and as it was at any time",
          "[memtable]") {
  Database db;
  std::vector<const rocksdb::Snapshot*> snapshots;
  for (int i = 0; i < 3'000; ++i) {
    db.put("same", std::to_string(i));
    if (i % 100 == 0) snapshots.push_back(db->GetSnapshot());
  }
  CHECK(db.get("same") == "2999");
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    CHECK(db.get("same", snapshots[i]) == std::to_string(100 * i));
    CHECK(forward(*db.walk(snapshots[i])) == Rows{{"same", std::to_string(100 * i)}});
    db->ReleaseSnapshot(snapshots[i]);
  }
  CHECK(forward(*db.walk()) == Rows{{"same", "2999"}});
}

TEST_CASE("rows behind a chain that is too long to go through are found all the same", "[memtable]") {
  Database db(8 * 1024 * 1024);  // 16,384 chains: with each of the five that get long some keys share it.
  constexpr int keys = 20'000;
  for (int key = 0; key < keys; ++key) db.put("k" + std::to_string(key), std::to_string(key));
  for (int i = 0; i < 1'000; ++i) {
    for (int key = 0; key < 5; ++key) db.put("hot" + std::to_string(key), std::to_string(i));
  }
  for (int key = 0; key < keys; ++key) REQUIRE(db.get("k" + std::to_string(key)) == std::to_string(key));
  for (int key = keys; key < 2 * keys; ++key) REQUIRE_FALSE(db.get("k" + std::to_string(key)));
}

TEST_CASE("readers see whole groups while the writer goes on", "[memtable]") {
  Database db;
  constexpr int groups = 1'500;
  constexpr int group_rows = 20;
  std::atomic<bool> done = false;
  std::atomic<int> walks = 0;
  std::vector<std::thread> readers;
  std::atomic<bool> torn = false;
  readers.reserve(3);
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&, reader] {
      Random random(static_cast<unsigned>(reader));
      while (!done || walks < 3) {
        const rocksdb::Snapshot* const snapshot = db->GetSnapshot();
        rocksdb::ReadOptions read;
        read.snapshot = snapshot;
        const std::unique_ptr<rocksdb::Iterator> walk(db->NewIterator(read));
        int seen = 0;
        for (walk->SeekToFirst(); walk->Valid(); walk->Next()) ++seen;
        std::string last;
        const bool has_last = seen == 0 || db->Get(read, "k" + std::to_string(seen - 1), &last).ok();
        const bool has_next = db->Get(read, "k" + std::to_string(seen), &last).ok();
        if (seen % group_rows != 0 || !has_last || has_next) torn = true;
        db->ReleaseSnapshot(snapshot);
        ++walks;
      }
    });
  }
  for (int group = 0; group < groups; ++group) {
    rocksdb::WriteBatch batch;
    for (int row = 0; row < group_rows; ++row) {
      REQUIRE(batch.Put("k" + std::to_string(group * group_rows + row), "v").ok());
    }
    REQUIRE(db->Write({}, &batch).ok());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  CHECK_FALSE(torn);
  CHECK(forward(*db.walk()).size() == groups * group_rows);
}
