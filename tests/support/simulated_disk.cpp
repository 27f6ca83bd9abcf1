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

// Sectors from `from` on go to the disk in any order; those that did not get there show what was there before
// (zeros, where nothing was), or garbage.
void scramble(std::string& bytes, std::size_t from, const std::string& old, std::mt19937_64& random) {
  constexpr std::size_t sector = 512;
  while (from < bytes.size()) {
    const std::size_t end = std::min(bytes.size(), (from / sector + 1) * sector);
    const std::uint64_t fate = random() % 4;
    for (; from < end; ++from) {
      if (fate == 0) bytes[from] = from < old.size() ? old[from] : '\0';
      if (fate == 1) bytes[from] = static_cast<char>(random() & 0xff);
    }
  }
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

// ---- One file -----------------------------------------------------------------------------------

void SimulatedDisk::File::write(std::size_t at, const std::string& written) {
  if (at > bytes.size()) throw std::logic_error("a write behind the end of a file");
  if (at < changed_from) {
    before.insert(0, bytes, at, changed_from - at);
    changed_from = at;
  }
  bytes.replace(at, written.size(), written);  // As much as there is.
  changed_to = std::max(changed_to, at + written.size());
}

void SimulatedDisk::File::truncate(std::size_t size) {
  if (size >= bytes.size()) return;
  bytes.resize(size);
  changed_from = std::min(changed_from, size);
  changed_to = std::min(changed_to, size);
  before.resize(std::min(before.size(), size - changed_from));
}

void SimulatedDisk::File::sync() {
  changed_from = bytes.size();
  changed_to = 0;
  before.clear();
}

std::string SimulatedDisk::File::after(PowerCut::Tail tail, std::mt19937_64& random) const {
  using Tail = PowerCut::Tail;
  if (tail == Tail::mixed) {
    constexpr Tail plain[] = {Tail::lost, Tail::torn, Tail::whole};
    tail = plain[random() % std::size(plain)];
  }
  if (tail == Tail::whole) return bytes;
  const std::string old = bytes.substr(0, changed_from) + before;
  if (tail == Tail::lost) return old;
  const std::size_t torn_at = changed_from + draw(random, std::max(changed_to, changed_from) - changed_from);
  std::string out = bytes.substr(0, torn_at);
  if (tail == Tail::scrambled) scramble(out, changed_from, old, random);
  if (torn_at < old.size()) out += old.substr(torn_at);
  return out;
}

// ---- The disk -----------------------------------------------------------------------------------

SimulatedDisk::SimulatedDisk(const Image& safe) {
  for (const auto& [name, bytes] : safe) {
    const FileNumber file = next_file();
    files_.emplace(file, File{bytes, bytes.size(), 0, {}});
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
    case Kind::append: {
      File& file = files_.at(operation.file);
      return file.write(file.bytes.size(), operation.bytes);
    }
    case Kind::write: return files_.at(operation.file).write(operation.size, operation.bytes);
    case Kind::truncate: return files_.at(operation.file).truncate(operation.size);
    case Kind::sync: return files_.at(operation.file).sync();
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
    image.emplace(name, file.after(tail, random));
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
