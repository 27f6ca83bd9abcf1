// The disk that the crash tests trust: it keeps what was synced, and may lose all else.
#include "support/simulated_disk.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "support/faulty_file_system.h"
#include "support/temporary_folder.h"

using namespace duelease::test;

using Kind = DiskOperation::Kind;
using Tail = PowerCut::Tail;
using Names = PowerCut::Names;

namespace {

constexpr Tail all_tails[] = {Tail::lost, Tail::torn, Tail::whole, Tail::mixed, Tail::scrambled};
constexpr Names all_names[] = {Names::kept, Names::undone, Names::some};

// File 1, "a", holds "safe" and its name is safe too.
SimulatedDisk disk_with_a() {
  SimulatedDisk disk;
  disk.apply({.kind = Kind::create, .file = 1, .name = "a"});
  disk.apply({.kind = Kind::append, .file = 1, .bytes = "safe"});
  disk.apply({.kind = Kind::sync, .file = 1});
  disk.apply({.kind = Kind::sync_folder, .name = ""});
  return disk;
}

}  // namespace

TEST_CASE("what was synced is there after any power cut") {
  SimulatedDisk disk = disk_with_a();
  disk.apply({.kind = Kind::append, .file = 1, .bytes = std::string(5000, 'u')});
  for (const Tail tail : all_tails) {
    for (const Names names : all_names) {
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const Image image = disk.image_after({tail, names, seed});
        REQUIRE(image.size() == 1);
        CHECK(image.at("a").substr(0, 4) == "safe");
        CHECK(image.at("a").size() <= 5004);
      }
    }
  }
}

TEST_CASE("what was not synced may be lost, torn, scrambled or kept") {
  SimulatedDisk disk = disk_with_a();
  disk.apply({.kind = Kind::append, .file = 1, .bytes = std::string(5000, 'u')});
  const std::string all = "safe" + std::string(5000, 'u');
  CHECK(disk.image_after({Tail::lost, Names::kept, 1}).at("a") == "safe");
  CHECK(disk.image_after({Tail::whole, Names::kept, 1}).at("a") == all);
  const std::string torn = disk.image_after({Tail::torn, Names::kept, 1}).at("a");
  CHECK(torn.size() > 4);
  CHECK(torn.size() < all.size());
  CHECK(all.starts_with(torn));
  CHECK(torn != disk.image_after({Tail::torn, Names::kept, 2}).at("a"));
  bool scrambled = false;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    scrambled = scrambled || !all.starts_with(disk.image_after({Tail::scrambled, Names::kept, seed}).at("a"));
  }
  CHECK(scrambled);
}

TEST_CASE("of bytes changed in place the old ones may still be there") {
  SimulatedDisk disk = disk_with_a();
  disk.apply({.kind = Kind::append, .file = 1, .bytes = std::string(4096, '0')});
  disk.apply({.kind = Kind::sync, .file = 1});
  const std::string old = "safe" + std::string(4096, '0');
  disk.apply({.kind = Kind::write, .file = 1, .bytes = std::string(2000, 'x'), .size = 4});
  disk.apply({.kind = Kind::write, .file = 1, .bytes = std::string(3000, 'y'), .size = 2004});
  const std::string now = "safe" + std::string(2000, 'x') + std::string(3000, 'y');
  CHECK(disk.image_after({Tail::lost, Names::kept, 0}).at("a") == old);
  CHECK(disk.image_after({Tail::whole, Names::kept, 0}).at("a") == now);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string torn = disk.image_after({Tail::torn, Names::kept, seed}).at("a");
    const auto same =
        static_cast<std::size_t>(std::mismatch(torn.begin(), torn.end(), now.begin()).first - torn.begin());
    CHECK(torn.size() >= old.size());
    CHECK(torn.substr(same) == (same < old.size() ? old.substr(same) : ""));
    const std::string scrambled = disk.image_after({Tail::scrambled, Names::kept, seed}).at("a");
    CHECK(scrambled.starts_with("safe"));
  }
  disk.apply({.kind = Kind::sync, .file = 1});
  CHECK(disk.image_after({Tail::lost, Names::kept, 0}).at("a") == now);
  disk.apply({.kind = Kind::write, .file = 1, .bytes = "z", .size = 10});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {  // What was not written again is not at risk.
    CHECK(disk.image_after({Tail::scrambled, Names::kept, seed}).at("a").substr(512) == now.substr(512));
  }
  disk.apply({.kind = Kind::truncate, .file = 1, .size = 11});
  CHECK(disk.image_after({Tail::lost, Names::kept, 0}).at("a") == now.substr(0, 11));
}

TEST_CASE("a name is safe when its folder was synced") {
  SimulatedDisk disk = disk_with_a();
  disk.apply({.kind = Kind::create, .file = 2, .name = "b"});
  disk.apply({.kind = Kind::append, .file = 2, .bytes = "new"});
  disk.apply({.kind = Kind::sync, .file = 2});  // The file, but not its name.
  CHECK(disk.image_after({Tail::lost, Names::undone, 0}) == Image{{"a", "safe"}});
  CHECK(disk.image_after({Tail::lost, Names::kept, 0}) == Image{{"a", "safe"}, {"b", "new"}});
  disk.apply({.kind = Kind::sync_folder, .name = ""});
  CHECK(disk.image_after({Tail::lost, Names::undone, 0}) == Image{{"a", "safe"}, {"b", "new"}});
}

TEST_CASE("a rename and a delete may be undone, and what they replaced comes back") {
  SimulatedDisk disk = disk_with_a();
  disk.apply({.kind = Kind::create, .file = 2, .name = "b"});
  disk.apply({.kind = Kind::append, .file = 2, .bytes = "new"});
  disk.apply({.kind = Kind::sync, .file = 2});
  disk.apply({.kind = Kind::sync_folder, .name = ""});
  disk.apply({.kind = Kind::rename, .file = 2, .name = "b", .target = "a"});
  CHECK(disk.image_after({Tail::lost, Names::undone, 0}) == Image{{"a", "safe"}, {"b", "new"}});
  CHECK(disk.image_after({Tail::lost, Names::kept, 0}) == Image{{"a", "new"}});
  disk.apply({.kind = Kind::sync_folder, .name = ""});
  disk.apply({.kind = Kind::remove, .file = 2, .name = "a"});
  CHECK(disk.image_after({Tail::lost, Names::undone, 0}) == Image{{"a", "new"}});
  CHECK(disk.image_after({Tail::lost, Names::kept, 0}).empty());
}

TEST_CASE("a file system fails at the operation that was planned") {
  using Fault = FaultyFileSystem::Fault;
  const TemporaryFolder folder;
  FaultyFileSystem disk(folder.path());
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const auto append = [&](const char* bytes) { return file->Append(bytes, {}, nullptr).ok(); };
  REQUIRE(disk.NewWritableFile(folder / "a", {}, &file, nullptr).ok());
  REQUIRE(disk.operations() == 1);

  disk.plan({.at = 3, .kind = Fault::Kind::once, .short_write = true});
  CHECK(append("one "));
  CHECK_FALSE(disk.fired());
  CHECK_FALSE(append("halfgone"));
  CHECK(disk.fired());
  CHECK(append(" two"));
  CHECK(file->Sync({}, nullptr).ok());
  CHECK(read_folder(folder.path()) == Image{{"a", "one half two"}});

  disk.plan({.at = 7, .kind = Fault::Kind::power_cut, .short_write = true});
  CHECK(append(" three"));
  CHECK_FALSE(append("gone"));
  CHECK_FALSE(file->Sync({}, nullptr).ok());
  CHECK_FALSE(disk.DeleteFile(folder / "a", {}, nullptr).ok());
  CHECK(disk.operations() == 9);
  CHECK(read_folder(folder.path()) == Image{{"a", "one half two three"}});
  file.reset();
  disk.drop_unsynced({Tail::lost, Names::kept, 0});
  CHECK(read_folder(folder.path()) == Image{{"a", "one half two"}});
  disk.drop_unsynced({Tail::lost, Names::undone, 0});
  CHECK(read_folder(folder.path()).empty());
}
