// support/simulated_disk.h: what is in a folder, and what would be left of it after a power cut.
//
// POSIX promises of a file only the bytes that an fsync of the file covered, and of its name only what
// an fsync of its folder covered. So the disk keeps both apart from what the program sees: for each file
// which bytes are safe, for each folder which of its names are. Everything else may survive a power
// cut, in whole, in part or not at all; PowerCut says which of these a test wants to see.
//
// A sync that is under way when the power goes may have got to any sector: of bytes that were changed in place the old
// ones may still be there.
//
// Not simulated: the making of folders (kept at once), and disks that lie about an fsync.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace duelease::test {

using FileNumber = std::uint64_t;  // Names may change while a file is open; its number does not.

struct DiskOperation {
  enum class Kind : std::uint8_t {
    create,
    append,
    write,  // At an offset, up to the end of the file.
    truncate,
    sync,
    range_sync,
    sync_folder,
    rename,
    remove,
    link
  };
  Kind kind{};
  FileNumber file = 0;      // All but sync_folder.
  std::string name = {};    // create, rename, remove, link; of the folder: sync_folder.
  std::string target = {};  // rename, link
  std::string bytes = {};   // append, write
  std::uint64_t size = 0;   // truncate; of write: the offset
};

// Which of the states that a disk could be in after the power went.
struct PowerCut {
  // Of each file, what was written since its last sync:
  enum class Tail : std::uint8_t {
    lost,   // nothing
    torn,   // a part, ending at any byte
    whole,  // everything
    mixed,  // of each file one of the above
    scrambled,  // of each sector: its bytes, what was there before, or garbage. Not of files named MANIFEST: RocksDB takes
    // garbage at the end of one for damage and gives up. It writes them in pieces so small that
    // no file system shows a length that it has not written; they are torn instead.
  };
  // Of names that came, went or changed since the last sync of their folder:
  enum class Names : std::uint8_t {
    kept,    // all
    undone,  // none
    some,    // the first few. No later one without an earlier one: file systems keep a journal of them, and
             // RocksDB relies on that when it renames a new CURRENT without a sync of the names before.
  };

  Tail tail = Tail::torn;
  Names names = Names::kept;
  std::uint64_t seed = 0;
};

// Files by their path below the folder.
using Image = std::map<std::string, std::string>;

Image read_folder(const std::filesystem::path& folder);
// Empties the folder first.
void write_folder(const std::filesystem::path& folder, const Image& image);

class SimulatedDisk {
 public:
  SimulatedDisk() = default;
  explicit SimulatedDisk(const Image& safe);

  void apply(const DiskOperation& operation);

  std::optional<FileNumber> find(const std::string& name) const;
  FileNumber next_file() const { return files_.empty() ? 1 : files_.rbegin()->first + 1; }

  Image image_after(const PowerCut& cut) const;

 private:
  struct File {
    std::string bytes;
    // What has changed since the last sync lies between these (no higher: nothing has), and behind the first this was
    // there before.
    std::size_t changed_from = 0;
    std::size_t changed_to = 0;
    std::string before;

    void write(std::size_t at, const std::string& bytes);
    void truncate(std::size_t size);
    void sync();
    std::string after(PowerCut::Tail tail, std::mt19937_64& random) const;
  };
  // One step in a folder, whole or not at all.
  struct NameChange {
    std::string removed = {};  // Empty: none.
    std::string set = {};      // Empty: none.
    FileNumber file = 0;
  };
  using Names = std::map<std::string, FileNumber>;

  static void change(Names& names, const NameChange& change);
  void add_change(NameChange change);
  void sync_folder(const std::string& folder);

  std::map<FileNumber, File> files_;
  Names names_;  // As the program sees them: safe_names_ after all of pending_.
  Names safe_names_;
  std::vector<NameChange> pending_;
};

}  // namespace duelease::test
