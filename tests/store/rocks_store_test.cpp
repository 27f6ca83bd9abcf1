// The store on RocksDB: it does as the store in memory does, and refuses in words what it cannot open.
#include "store/rocks_store.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/open_store.h"
#include "store/records.h"
#include "support/hex.h"
#include "support/simulated_disk.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::store;
using namespace duelease::test;

// ---- The same as in memory ----------------------------------------------------------------------

namespace {

std::string draw_key(std::mt19937_64& random) {
  static constexpr char bytes[] = {'\x00', 'a', 'b', '\xff'};
  std::string out(random() % 4 + 1, '\0');
  for (char& c : out) c = bytes[random() % std::size(bytes)];
  return out;
}

std::vector<Change> draw_changes(std::mt19937_64& random) {
  std::vector<Change> out(random() % 20);
  for (Change& change : out) {
    change.family = static_cast<Family>(random() % family_count);
    change.key = draw_key(random);
    if (change.family == Family::meta) change.key = "counts:" + change.key;  // Not the format.
    if (random() % 3 != 0) change.value = std::string(random() % 2000, static_cast<char>(random()));
  }
  return out;
}

void compare(const Reader& rocks, const Reader& memory, std::mt19937_64& random) {
  for (std::size_t f = 0; f < family_count; ++f) {
    const auto family = static_cast<Family>(f);
    const std::string from = random() % 3 == 0 ? "" : draw_key(random);
    const std::string to = random() % 3 == 0 ? "" : draw_key(random);
    INFO(family_names[f] << " from " << test::hex(from) << " to " << test::hex(to));
    CHECK(*rocks.get(family, from) == *memory.get(family, from));
    CHECK(rows_of(rocks, family, from, to) == rows_of(memory, family, from, to));
  }
}

}  // namespace

TEST_CASE("the store on RocksDB does as the store in memory does") {
  const unsigned seed = GENERATE(range(0U, 6U));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const TemporaryFolder folder;
  MemoryStore memory;
  std::unique_ptr<Store> rocks = open_well(folder / "store");
  for (const auto& [key, value] : rows_of(*rocks, Family::meta)) memory.table(Family::meta)[key] = value;

  for (int step = 0; step < 400; ++step) {
    const std::vector<Change> changes = draw_changes(random);
    REQUIRE(memory.write(changes));
    REQUIRE(rocks->write(changes));
    if (step % 10 == 0) REQUIRE(rocks->sync());
    if (step % 20 == 0) compare(*rocks, memory, random);
    if (step % 50 == 49) {
      // A view stays as it is while the store goes on.
      const std::unique_ptr<Reader> rocks_view = rocks->snapshot();
      const std::unique_ptr<Reader> memory_view = memory.snapshot();
      const std::vector<Change> later = draw_changes(random);
      REQUIRE(memory.write(later));
      REQUIRE(rocks->write(later));
      compare(*rocks_view, *memory_view, random);
    }
    if (step % 100 == 99) {
      rocks.reset();
      rocks = open_well(folder / "store");
    }
  }
  for (std::size_t f = 0; f < family_count; ++f) {
    const MemoryStore::Table& table = memory.table(static_cast<Family>(f));
    CHECK(rows_of(*rocks, static_cast<Family>(f)) == Rows(table.begin(), table.end()));
  }
}

// ---- Opening ------------------------------------------------------------------------------------

TEST_CASE("a new store has its format and sequence 0") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder / "a" / "b" / "store");
  CHECK(*decode_format(**store->get(Family::meta, format_key)) == format_version);
  CHECK(sequence_of(*store) == 0);
}

TEST_CASE("any size of the memtable opens") {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{64} * 1024, std::size_t{1} << 31}) {
    INFO(bytes);
    const TemporaryFolder folder;
    RocksOptions options = small_options();
    options.memtable_bytes = bytes;
    const std::unique_ptr<Store> store = open_well(folder / "store", options);
    put(*store, Family::leases, "q", "1");
    CHECK(*store->get(Family::leases, "q") == std::optional<std::string>("1"));
  }
}

TEST_CASE("a missing store is not made when that was not asked for") {
  const TemporaryFolder folder;
  RocksOptions options = small_options();
  options.create_if_missing = false;
  CHECK(open_badly(folder / "store", options).code == Code::not_found);
  CHECK_FALSE(fs::exists(folder / "store"));
  fs::create_directory(folder / "store");
  CHECK(open_badly(folder / "store", options).code == Code::not_found);
  CHECK(fs::is_empty(folder / "store"));
}

TEST_CASE("a folder of something else is left alone") {
  const TemporaryFolder folder;
  overwrite(folder / "holiday.jpg", "x");
  CHECK(open_badly(folder.path()).code == Code::invalid);
  CHECK(read_folder(folder.path()) == test::Image{{"holiday.jpg", "x"}});
  CHECK_FALSE(open_rocks_store(folder / "holiday.jpg", small_options()));
  CHECK_FALSE(open_rocks_store(folder / "holiday.jpg" / "store", small_options()));
  CHECK(read_folder(folder.path()) == test::Image{{"holiday.jpg", "x"}});
}

TEST_CASE("what an interrupted making of a store has left is no hindrance") {
  const TemporaryFolder folder;
  for (const char* name : {"LOCK", "LOG", "LOG.old.123", "IDENTITY", "000001.dbtmp", "MANIFEST-000001"}) {
    overwrite(folder / name, "");
  }
  open_well(folder.path());
}

TEST_CASE("a store that has lost its file CURRENT is refused, and no new one made over it") {
  for (const bool create : {false, true}) {
    const TemporaryFolder folder;
    make_store(folder.path());
    fs::remove(folder / "CURRENT");
    const test::Image before = read_folder(folder.path());
    RocksOptions options = small_options();
    options.create_if_missing = create;
    const Error error = open_badly(folder.path(), options);
    CHECK(error.code == Code::corrupt);
    CHECK(error.message.find("CURRENT") != std::string::npos);
    CHECK(read_folder(folder.path()) == before);
  }
}

TEST_CASE("a store that another process has open is locked") {
  const TemporaryFolder folder;
  make_store(folder.path());
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t other = ::fork();
  if (other == 0) {  // Only system calls here: the threads of RocksDB were not forked.
    const std::string lock = (folder / "LOCK").string();
    const int file = ::open(lock.c_str(), O_RDWR);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const char locked = ::fcntl(file, F_SETLK, &whole) == 0 ? 'y' : 'n';
    if (::write(ready[1], &locked, 1) == 1) ::pause();
    ::_exit(1);
  }
  char locked = 0;
  CHECK(::read(ready[0], &locked, 1) == 1);
  CHECK(locked == 'y');
  const test::Image before = read_folder(folder.path());
  CHECK(open_badly(folder.path()).code == Code::locked);
  CHECK(read_folder(folder.path()) == before);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  open_well(folder.path());
}

TEST_CASE("a store opened twice in one process is locked, and goes on") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder.path());
  CHECK(open_badly(folder.path()).code == Code::locked);
  put(*store, Family::app, "a", "1");
  CHECK(*store->get(Family::app, "a") == std::optional<std::string>("1"));
}

TEST_CASE("a store opened twice in one process under other names is locked, and goes on") {
  const TemporaryFolder folder;
  std::unique_ptr<Store> store = open_well(folder / "store");
  put(*store, Family::app, "a", "1");
  fs::create_directory_symlink(folder / "store", folder / "alias");
  for (const fs::path& name : {folder / "." / "store", folder / "alias", fs::path(folder / "store" / "")}) {
    INFO(name);
    CHECK(open_badly(name).code == Code::locked);
  }
  put(*store, Family::app, "b", "2");
  store.reset();
  store = open_well(folder / "alias");
  CHECK(rows_of(*store, Family::app) == Rows{{"a", "1"}, {"b", "2"}});
}

TEST_CASE("a slash behind the name of a backup or a restored store changes nothing") {
  const TemporaryFolder folder;
  const std::unique_ptr<Store> store = open_well(folder / "store");
  REQUIRE(store->backup(folder / "backup" / ""));
  REQUIRE(restore_rocks_store(folder / "backup" / "", folder / "again" / "", 0));
  open_well(folder / "again");
}

TEST_CASE("a store of a newer format is refused, and not a byte of it changed") {
  const TemporaryFolder folder;
  make_store(folder.path());
  const bool in_the_log = GENERATE(false, true);
  {
    const std::unique_ptr<Store> store = open_well(folder.path());
    put(*store, Family::meta, std::string(format_key), encode_format(format_version + 1));
  }
  if (!in_the_log) {  // RocksDB itself moves the row into a file; our check comes first otherwise.
    std::vector<std::string> names;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    REQUIRE(rocksdb::DB::ListColumnFamilies({}, folder.path().string(), &names).ok());
    for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions{});
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    REQUIRE(rocksdb::DB::Open({}, folder.path().string(), families, &handles, &db).ok());
    for (rocksdb::ColumnFamilyHandle* handle : handles) REQUIRE(db->DestroyColumnFamilyHandle(handle).ok());
    delete db;
  }
  const test::Image before = read_folder(folder.path());
  const Error error = open_badly(folder.path());
  CHECK(error.code == Code::newer_format);
  CHECK(error.message.find("format 2") != std::string::npos);
  CHECK(read_folder(folder.path()) == before);
}

TEST_CASE("a store without a sane format version is refused") {
  const TemporaryFolder folder;
  make_store(folder.path());
  {
    const std::unique_ptr<Store> store = open_well(folder.path());
    const std::optional<std::string> damaged =
        GENERATE(std::optional<std::string>("\xff"), std::optional<std::string>());
    REQUIRE(store->write(std::vector{Change{Family::meta, std::string(format_key), damaged}}));
  }
  const test::Image before = read_folder(folder.path());
  CHECK(open_badly(folder.path()).code == Code::corrupt);
  CHECK(read_folder(folder.path()) == before);
}

TEST_CASE("a RocksDB database of somebody else is refused, and not a byte of it changed") {
  const TemporaryFolder folder;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  REQUIRE(rocksdb::DB::Open(options, folder.path().string(), &db).ok());
  const bool own_family = GENERATE(false, true);
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  if (own_family) REQUIRE(db->CreateColumnFamily({}, "theirs", &handle).ok());
  REQUIRE(db->Put({}, own_family ? handle : db->DefaultColumnFamily(), "k", "v").ok());
  if (own_family) REQUIRE(db->DestroyColumnFamilyHandle(handle).ok());
  delete db;
  const test::Image before = read_folder(folder.path());
  CHECK(open_badly(folder.path()).code == Code::corrupt);
  CHECK(read_folder(folder.path()) == before);
}

TEST_CASE("a damaged store is refused in words, and not a byte of it changed") {
  const TemporaryFolder folder;
  const fs::path path = folder / "store";
  make_store(path);
  using Damage = std::function<void()>;
  const auto halve = [&](const std::string& part) {
    return [&, part] { fs::resize_file(find_file(path, part), fs::file_size(find_file(path, part)) / 2); };
  };
  const auto flip_in = [&](const std::string& part, double where) {
    return [&, part, where] {
      const fs::path file = find_file(path, part);
      std::string bytes = read_folder(path).at(file.filename().string());
      bytes[static_cast<std::size_t>(static_cast<double>(bytes.size()) * where)] ^= 0x40;
      overwrite(file, bytes);
    };
  };
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"CURRENT is empty", [&] { overwrite(path / "CURRENT", ""); }},
      {"CURRENT is garbage", [&] { overwrite(path / "CURRENT", "garbage"); }},
      {"CURRENT names no file", [&] { overwrite(path / "CURRENT", "MANIFEST-999999\n"); }},
      {"no MANIFEST", [&] { fs::remove(find_file(path, "MANIFEST")); }},
      {"MANIFEST flipped", flip_in("MANIFEST", 0.3)},
      {"no table file", [&] { fs::remove(find_file(path, ".sst")); }},
      {"table file halved", halve(".sst")},
      {"table file's end flipped", flip_in(".sst", 0.999)},
      {"no log file", [&] { fs::remove(find_file(path, ".log")); }},
  };
  for (const auto& [what, damage] : damages) {
    INFO(what);
    const test::Image good = read_folder(path);
    damage();
    const test::Image before = read_folder(path);
    const Error error = open_badly(path);
    INFO(error.message);
    CHECK((error.code == Code::corrupt || error.code == Code::storage));
    CHECK(read_folder(path) == before);
    test::write_folder(path, good);
  }
  const std::unique_ptr<Store> store = open_well(path);
  CHECK(rows_of(*store, Family::orders).size() == 200);
}

TEST_CASE("a store that cannot be opened for damage names the remedy") {
  const TemporaryFolder folder;
  make_store(folder.path());
  const bool in_properties = GENERATE(false, true);  // Else in the first rows, of which the format is one.
  for (const auto& [name, bytes] : read_folder(folder.path())) {
    if (!name.ends_with(".sst")) continue;
    std::string damaged = bytes;
    const std::size_t at = in_properties ? damaged.find("rocksdb.") : 10;
    REQUIRE(at != std::string::npos);
    damaged[at] ^= 0x40;
    overwrite(folder / name, damaged);
  }
  const Error error = open_badly(folder.path());
  CHECK(error.code == Code::corrupt);
  CHECK(error.message.find("restore a backup") != std::string::npos);
}

TEST_CASE("a damaged block is an error of the read that meets it") {
  const TemporaryFolder folder;
  make_store(folder.path());
  const std::size_t rows = rows_of(*open_well(folder.path()), Family::orders).size();
  REQUIRE(rows == 200);
  bool met = false;
  for (const auto& [name, bytes] : read_folder(folder.path())) {
    if (!name.ends_with(".sst")) continue;
    std::string damaged = bytes;
    damaged[damaged.size() / 10] ^= 0x40;  // In the first data block.
    overwrite(folder / name, damaged);
  }
  const Result<std::unique_ptr<Store>> store = open_rocks_store(folder.path(), small_options());
  if (!store) {
    CHECK(store.error().code == Code::corrupt);
    return;
  }
  const std::unique_ptr<Cursor> cursor = (*store)->scan(Family::orders, "", "");
  while (cursor->valid()) cursor->next();
  met = !cursor->status();
  CHECK(met);
  if (met) CHECK(cursor->status().error().code == Code::corrupt);
}

TEST_CASE("a log that ends torn is read up to the tear") {
  const TemporaryFolder folder;
  {
    const std::unique_ptr<Store> store = open_well(folder.path());
    for (int i = 0; i < 10; ++i) put(*store, Family::app, std::to_string(i), std::string(100, 'x'));
  }
  const fs::path log = find_file(folder.path(), ".log");
  fs::resize_file(log, fs::file_size(log) - 150);
  const std::unique_ptr<Store> store = open_well(folder.path());
  const Rows rows = rows_of(*store, Family::app);
  CHECK(rows.size() == 8);
  CHECK(rows.back().first == "7");
}

namespace {

// Leaves in `folder` what kill -9 leaves of a store whose log holds the writes "0", "1", ... and nothing else.
void make_log(const fs::path& folder, int count, std::size_t value_bytes, bool synced) {
  const fs::path live = folder.string() + ".live";
  open_well(live, RocksOptions{});
  const std::unique_ptr<Store> store = open_well(live, RocksOptions{});
  for (int i = 0; i < count; ++i) {
    const Change change{Family::app, std::to_string(i), std::string(value_bytes, 'x')};
    REQUIRE(store->write(std::vector{change}));
    if (synced) REQUIRE(store->sync());
  }
  fs::copy(live, folder, fs::copy_options::recursive);
}

// An open may leave an empty one behind.
fs::path find_log(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) return entry.path();
  }
  FAIL("no log in " << folder);
  return {};
}

// Zeros behind it are space for what was to come: see log_ahead.h. What these tests write ends with another byte.
std::size_t written_bytes(const std::string& log) { return log.find_last_not_of('\0') + 1; }

}  // namespace

// RocksDB alone takes zeros for space that was reserved, and goes on in the next block of 32 KiB. It does
// notice when a record crosses into a block of zeros or out of one; here none does.
TEST_CASE("a log with a block that was never written is read up to there") {
  constexpr std::size_t block = 32 * 1024;
  constexpr std::size_t trial_bytes = 1000;
  const TemporaryFolder folder;
  make_log(folder / "trial", 1, trial_bytes, false);
  const fs::path trial = find_log(folder / "trial");
  const std::size_t overhead =
      written_bytes(read_folder(folder / "trial").at(trial.filename().string())) - trial_bytes;
  make_log(folder / "store", 6, block - overhead - 1, false);  // One more byte says how long the value is.

  const fs::path log = find_log(folder / "store");
  std::string bytes = read_folder(folder / "store").at(log.filename().string());
  REQUIRE(written_bytes(bytes) == 6 * block);
  std::fill_n(bytes.begin() + 2 * block, block, '\0');
  overwrite(log, bytes);
  const Rows rows = rows_of(*open_well(folder / "store"), Family::app);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].first == "0");
  CHECK(rows[1].first == "1");
}

// A tear at the end of the log looks like rot in the middle of it, but for what follows.
TEST_CASE("a log that has rotted in front of synced writes is corrupt, and is left as it is") {
  constexpr int count = 40;
  const std::size_t value_bytes = GENERATE(40, 5000);  // All in one block, and across many.
  const TemporaryFolder folder;
  make_log(folder / "store", count, value_bytes, true);
  const fs::path log = find_log(folder / "store");
  const Image sound = read_folder(folder / "store");
  const std::string bytes = sound.at(log.filename().string());
  const std::size_t written = written_bytes(bytes);
  const std::size_t last_write = written - written / count;
  int corrupt = 0;
  for (std::size_t at = 0; at < written; at += written / 97) {
    INFO("byte " << at << " of " << written);
    std::string rotten = bytes;
    rotten[at] = static_cast<char>(rotten[at] ^ 0x10);
    overwrite(log, rotten);
    if (at < last_write) {
      const Image before = read_folder(folder / "store");
      const Error error = open_badly(folder / "store");
      CHECK(error.code == Code::corrupt);
      CHECK(error.message.find("writes that were on disk cannot be read") != std::string::npos);
      CHECK(read_folder(folder / "store") == before);
      ++corrupt;
    } else {  // Nothing follows that could tell.
      std::string said;
      RocksOptions options = small_options();
      options.log = [&said](LogLevel, std::string_view text) { said = text; };
      CHECK(rows_of(*open_well(folder / "store", options), Family::app).size() == count - 1);
      CHECK(said.find("bytes of its log are no whole write") != std::string::npos);
    }
    write_folder(folder / "store", sound);
  }
  CHECK(corrupt > 80);
}

// What somebody sends may look like a group of a log, with a mark that says that much more was on disk. The power cut
// comes while it is being written.
TEST_CASE("a payload that looks like a group of a log proves nothing when it is torn") {
  const TemporaryFolder folder;
  make_log(folder / "other", 40, 40, true);
  const std::string groups = read_folder(folder / "other").at(find_log(folder / "other").filename().string());
  const std::string payload = groups.substr(0, written_bytes(groups));

  open_well(folder / "live");
  {
    const std::unique_ptr<Store> store = open_well(folder / "live");
    put(*store, Family::app, "0", "x");
    put(*store, Family::app, "1", payload + std::string(200, 'x'));
    fs::copy(folder / "live", folder / "store", fs::copy_options::recursive);
  }
  const fs::path log = find_log(folder / "store");
  std::string bytes = read_folder(folder / "store").at(log.filename().string());
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(written_bytes(bytes)) - 100, 100, '\0');
  overwrite(log, bytes);
  CHECK(rows_of(*open_well(folder / "store"), Family::app) == Rows{{"0", "x"}});
}

TEST_CASE("a store that has no log secret yet gets one that lasts") {
  const TemporaryFolder folder;
  make_store(folder.path());
  const auto secret_of = [](const Store& store) { return *store.get(Family::meta, log_secret_key); };
  const std::optional<std::string> left =
      GENERATE(std::optional<std::string>(), std::optional<std::string>("short"));
  REQUIRE(
      open_well(folder.path())->write(std::vector{Change{Family::meta, std::string(log_secret_key), left}}));
  const std::optional<std::string> drawn = secret_of(*open_well(folder.path()));
  REQUIRE(drawn);
  CHECK(drawn->size() == 8);
  CHECK(secret_of(*open_well(folder.path())) == drawn);
  const TemporaryFolder other;
  CHECK(secret_of(*open_well(other.path())) != drawn);
}

TEST_CASE("rot behind the last write of a log loses nothing") {
  const TemporaryFolder folder;
  make_log(folder / "store", 10, 100, true);
  const fs::path log = find_log(folder / "store");
  std::string bytes = read_folder(folder / "store").at(log.filename().string());
  REQUIRE(bytes.size() > written_bytes(bytes) + 1000);
  bytes[written_bytes(bytes) + GENERATE(0, 1, 6, 7, 900)] = '\x10';
  overwrite(log, bytes);
  CHECK(rows_of(*open_well(folder / "store"), Family::app).size() == 10);
}

TEST_CASE("after anything but a clean close the sequence goes on far above") {
  const TemporaryFolder folder;
  {
    const std::unique_ptr<Store> store = open_well(folder / "store");
    put(*store, Family::meta, std::string(sequence_key), encode_sequence(7));
    fs::copy(folder / "store", folder / "killed", fs::copy_options::recursive);
  }
  CHECK(sequence_of(*open_well(folder / "store")) == 7);
  CHECK(sequence_of(*open_well(folder / "store")) == 7);  // Also when nothing was written in between.
  {
    const std::unique_ptr<Store> store = open_well(folder / "killed");
    CHECK(sequence_of(*store) == 7 + limits::crash_jump);
    fs::copy(folder / "killed", folder / "again", fs::copy_options::recursive);
  }
  CHECK(sequence_of(*open_well(folder / "killed")) == 7 + limits::crash_jump);
  CHECK(sequence_of(*open_well(folder / "again")) == 7 + 2 * limits::crash_jump);
}

TEST_CASE("the sequence never jumps past its end") {
  const TemporaryFolder folder;
  {
    const std::unique_ptr<Store> store = open_well(folder / "store");
    put(*store, Family::meta, std::string(sequence_key), encode_sequence(limits::sequence_max - 5));
    fs::copy(folder / "store", folder / "killed", fs::copy_options::recursive);
  }
  CHECK(sequence_of(*open_well(folder / "killed")) == limits::sequence_max);
}
