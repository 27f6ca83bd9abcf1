// Large rows lie in files of their own: which ones, what becomes of their space, and what damage to them does.
#include <chrono>
#include <thread>

#include "store/open_store.h"
#include "store/store.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::test;

namespace {

std::string key_of(int i) { return "q" + std::string(1, '\0') + std::to_string(1000 + i); }

std::string small() { return random_text(100, 1'000'000); }
std::string large(int i) { return random_text(4096, static_cast<std::uint32_t>(i)); }

// With rows 0 to 49, of which the odd ones are large, on disk as a clean end leaves them.
void make_mixed_store(const fs::path& path, Family family) {
  std::unique_ptr<Store> store = open_well(path);
  for (int i = 0; i < 50; ++i) put(*store, family, key_of(i), i % 2 == 1 ? large(i) : small());
  store.reset();
  open_well(path);  // Recovery moves the log into files.
}

bool lies_in(const fs::path& folder, const std::string& kind, const std::string& text) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != kind) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (bytes.find(text) != std::string::npos) return true;
  }
  return false;
}

std::uint64_t bytes_of(const fs::path& folder, const std::string& kind) {
  std::uint64_t sum = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code gone;
    const std::uint64_t bytes = entry.path().extension() == kind ? fs::file_size(entry.path(), gone) : 0;
    if (!gone) sum += bytes;
  }
  return sum;
}

}  // namespace

TEST_CASE("large rows of the families that hold payloads lie in files of their own") {
  const Family family = GENERATE(Family::queue, Family::leases, Family::orders, Family::history);
  const TemporaryFolder folder;
  make_mixed_store(folder.path(), family);
  CHECK(lies_in(folder.path(), ".blob", large(1)));
  CHECK_FALSE(lies_in(folder.path(), ".sst", large(1)));
  CHECK_FALSE(lies_in(folder.path(), ".blob", small()));
  const Rows rows = rows_of(*open_well(folder.path()), family);
  REQUIRE(rows.size() == 50);
  CHECK(rows[1].second == large(1));
  CHECK(rows[2].second == small());
}

TEST_CASE("large rows of the application stay in its tables") {
  const TemporaryFolder folder;
  make_mixed_store(folder.path(), Family::app);
  CHECK(bytes_of(folder.path(), ".blob") == 0);
}

// One row in eight stays for ever: so no file dies by itself, and without garbage collection all of them would stay, eight
// times what is alive.
TEST_CASE("the space of large rows that are deleted comes back") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder.path());
  constexpr int rows_a_round = 64;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Change> born;
    std::vector<Change> died;
    for (int i = 0; i < rows_a_round; ++i) {
      const std::string key = key_of(round * rows_a_round + i);
      born.push_back({Family::orders, key, large(i)});
      if (i % 8 != 0) died.push_back({Family::orders, key, std::nullopt});
    }
    REQUIRE(store->write(born));
    REQUIRE(store->write(died));
  }
  const std::uint64_t alive = rows_of(*store, Family::orders).size() * 4096;
  CHECK(alive == std::uint64_t{rounds} * rows_a_round / 8 * 4096);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::uint64_t bytes = 0;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bytes = bytes_of(folder.path(), ".blob");
  } while (bytes > 2 * alive && std::chrono::steady_clock::now() < until);
  INFO(bytes << " bytes for " << alive);
  CHECK(bytes <= 2 * alive);
}

TEST_CASE("a damaged row is an error of the reads that meet it") {
  const TemporaryFolder folder;
  make_mixed_store(folder.path(), Family::orders);
  const fs::path file = find_file(folder.path(), ".blob");
  std::ifstream in(file, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  bytes[bytes.size() - 1000] ^= 0x40;  // In the last one.
  overwrite(file, bytes);

  const std::unique_ptr<Store> store = open_well(folder.path());
  CHECK(store->get(Family::orders, key_of(48)));
  CHECK(store->get(Family::orders, key_of(47)));
  const Result<std::optional<std::string>> read = store->get(Family::orders, key_of(49));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::corrupt);
  const std::unique_ptr<Cursor> cursor = store->scan(Family::orders, "", "");
  while (cursor->valid()) cursor->next();
  REQUIRE_FALSE(cursor->status());
  CHECK(cursor->status().error().code == Code::corrupt);
}

TEST_CASE("a store that has lost large rows is refused as one that has lost a table") {
  const bool is_gone = GENERATE(true, false);
  const TemporaryFolder folder;
  make_mixed_store(folder.path(), Family::orders);
  const fs::path file = find_file(folder.path(), ".blob");
  const std::string name = file.filename().string();
  const fs::path aside = folder / "aside";
  fs::copy_file(file, aside);
  if (is_gone) fs::remove(file);
  if (!is_gone) fs::resize_file(file, fs::file_size(file) / 2);
  const Error error = open_badly(folder.path());
  CHECK(error.code == Code::corrupt);
  CHECK(error.message.find(name + (is_gone ? " is gone" : " has ")) != std::string::npos);
  CHECK(error.message.find("restore a backup") != std::string::npos);
  // The refusal has lost nothing: with the file back, all is there.
  fs::rename(aside, file);
  CHECK(rows_of(*open_well(folder.path()), Family::orders).size() == 50);
}

TEST_CASE("a file of large rows that goes while the store is open is damage too") {
  const TemporaryFolder folder;
  make_mixed_store(folder.path(), Family::orders);
  const std::unique_ptr<Store> store = open_well(folder.path());
  fs::remove(find_file(folder.path(), ".blob"));
  const Result<std::optional<std::string>> read = store->get(Family::orders, key_of(49));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::corrupt);
}
