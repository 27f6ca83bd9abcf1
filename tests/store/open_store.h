// store/open_store.h: stores on RocksDB as the tests of this folder open, fill and damage them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/keys.h"
#include "store/records.h"
#include "store/rocks_store.h"

namespace duelease::test {

namespace fs = std::filesystem;
using namespace store;

inline RocksOptions small_options() {
  RocksOptions options;
  options.memtable_bytes = 256 * 1024;
  options.block_cache_bytes = 1024 * 1024;
  return options;
}

inline std::unique_ptr<Store> open_well(const fs::path& path, RocksOptions options = small_options()) {
  Result<std::unique_ptr<Store>> store = open_rocks_store(path, options);
  if (!store) FAIL("open: " << code_name(store.error().code) << ": " << store.error().message);
  return std::move(*store);
}

inline Error open_badly(const fs::path& path, RocksOptions options = small_options()) {
  const Result<std::unique_ptr<Store>> store = open_rocks_store(path, options);
  REQUIRE_FALSE(store);
  INFO(store.error().message);
  CHECK(store.error().message.find(path.string()) != std::string::npos);
  return store.error();
}

inline void put(Store& store, Family family, const std::string& key, const std::string& value) {
  REQUIRE(store.write(std::vector{Change{family, key, value}}));
  REQUIRE(store.sync());
}

inline std::uint64_t sequence_of(const Store& store) {
  return *decode_sequence(**store.get(Family::meta, sequence_key));
}

using Rows = std::vector<std::pair<std::string, std::string>>;

inline Rows rows_of(const Reader& reader, Family family, std::string_view from = "",
                    std::string_view to = "") {
  Rows out;
  const std::unique_ptr<Cursor> cursor = reader.scan(family, from, to);
  for (; cursor->valid(); cursor->next()) out.emplace_back(cursor->key(), cursor->value());
  REQUIRE(cursor->status());
  return out;
}

// A store with some rows, flushed to a file, and a few that are in the log only.
inline void make_store(const fs::path& path) {
  std::unique_ptr<Store> store = open_well(path);
  for (int i = 0; i < 200; ++i) {
    put(*store, Family::orders, "q" + std::string(1, '\0') + std::to_string(i), std::string(200, 'x'));
  }
  store.reset();
  store = open_well(path);  // Recovery moves the log into a file.
  put(*store, Family::app, "a", "1");
}

inline fs::path find_file(const fs::path& folder, const std::string& part) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().find(part) != std::string::npos) return entry.path();
  }
  FAIL("no file with " << part << " in its name");
  return {};
}

// No compression makes it smaller.
inline std::string random_text(std::size_t bytes, std::uint32_t seed) {
  std::minstd_rand random(seed + 1);
  std::string out;
  while (out.size() < bytes) out.push_back(static_cast<char>('!' + random() % 90));
  return out;
}

inline void overwrite(const fs::path& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  REQUIRE(out);
}

}  // namespace duelease::test
