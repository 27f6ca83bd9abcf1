#include "support/simulated_disk.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

namespace duelease::test {

namespace fs = std::filesystem;

namespace {

std::string folder_of(const std::string& name) { return fs::path(name).parent_path().string(); }

std::size_t draw(std::mt19937_64& random, std::size_t max) {
  return static_cast<std::size_t>(random() % (max + 1));
}

// Sectors from `from` on go to the disk in any order; those that did not get there show zeros, or what
// was there before.
void scramble(std::string& bytes, std::size_t from, std::mt19937_64& random) {
  constexpr std::size_t sector = 512;
  while (from < bytes.size()) {
    const std::size_t end = std::min(bytes.size(), (from / sector + 1) * sector);
    const std::uint64_t fate = random() % 4;
    for (; from < end; ++from) {
      if (fate == 0) bytes[from] = '\0';
      if (fate == 1) bytes[from] = static_cast<char>(random() & 0xff);
    }
  }
}

std::string bytes_after(const std::string& bytes, std::size_t safe, PowerCut::Tail tail,
                        std::mt19937_64& random) {
  using Tail = PowerCut::Tail;
  const std::size_t unsafe = bytes.size() - safe;
  if (tail == Tail::mixed) {
    constexpr Tail plain[] = {Tail::lost, Tail::torn, Tail::whole};
    tail = plain[random() % std::size(plain)];
  }
  if (tail == Tail::lost) return bytes.substr(0, safe);
  if (tail == Tail::whole) return bytes;
  std::string out = bytes.substr(0, safe + draw(random, unsafe));
  if (tail == Tail::scrambled) scramble(out, safe, random);
  return out;
}

}  // namespace

Image read_folder(const fs::path& folder) {
  Image image;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in) throw std::runtime_error("cannot read " + entry.path().string());
    image.emplace(entry.path().lexically_relative(folder).string(), std::move(bytes));
  }
  return image;
}

void write_folder(const fs::path& folder, const Image& image) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [name, bytes] : image) {
    const fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error("cannot write " + path.string());
  }
}

SimulatedDisk::SimulatedDisk(const Image& safe) {
  for (const auto& [name, bytes] : safe) {
    const FileNumber file = next_file();
    files_.emplace(file, File{bytes, bytes.size()});
    names_.emplace(name, file);
  }
  safe_names_ = names_;
}

std::optional<FileNumber> SimulatedDisk::find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

void SimulatedDisk::apply(const DiskOperation& operation) {
  using Kind = DiskOperation::Kind;
  switch (operation.kind) {
    case Kind::create:
      files_.try_emplace(operation.file);
      add_change({.set = operation.name, .file = operation.file});
      return;
    case Kind::append: files_.at(operation.file).bytes += operation.bytes; return;
    case Kind::truncate: {
      File& file = files_.at(operation.file);
      file.bytes.resize(std::min<std::size_t>(file.bytes.size(), operation.size));
      file.safe = std::min(file.safe, file.bytes.size());
      return;
    }
    case Kind::sync: {
      File& file = files_.at(operation.file);
      file.safe = file.bytes.size();
      return;
    }
    case Kind::range_sync: return;  // Starts the writing, but promises nothing.
    case Kind::sync_folder: sync_folder(operation.name); return;
    case Kind::rename:
      add_change({.removed = operation.name, .set = operation.target, .file = operation.file});
      return;
    case Kind::remove: add_change({.removed = operation.name}); return;
    case Kind::link: add_change({.set = operation.target, .file = operation.file}); return;
  }
}

Image SimulatedDisk::image_after(const PowerCut& cut) const {
  std::mt19937_64 random(cut.seed);
  Names names = safe_names_;
  std::size_t kept = 0;
  if (cut.names == PowerCut::Names::kept) kept = pending_.size();
  if (cut.names == PowerCut::Names::some) kept = draw(random, pending_.size());
  for (std::size_t i = 0; i < kept; ++i) change(names, pending_[i]);
  Image image;
  for (const auto& [name, number] : names) {
    const File& file = files_.at(number);
    const bool torn_only = cut.tail == PowerCut::Tail::scrambled && name.starts_with("MANIFEST");
    const PowerCut::Tail tail = torn_only ? PowerCut::Tail::torn : cut.tail;
    image.emplace(name, bytes_after(file.bytes, file.safe, tail, random));
  }
  return image;
}

void SimulatedDisk::change(Names& names, const NameChange& change) {
  if (!change.removed.empty()) names.erase(change.removed);
  if (!change.set.empty()) names.insert_or_assign(change.set, change.file);
}

void SimulatedDisk::add_change(NameChange added) {
  change(names_, added);
  pending_.push_back(std::move(added));
}

void SimulatedDisk::sync_folder(const std::string& folder) {
  std::vector<NameChange> left;
  for (NameChange& pending : pending_) {
    if (folder_of(pending.set.empty() ? pending.removed : pending.set) == folder) {
      change(safe_names_, pending);
    } else {
      left.push_back(std::move(pending));
    }
  }
  pending_ = std::move(left);
}

}  // namespace duelease::test
