#include "store/damaged_folder.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "duelease/time_text.h"
#include "store/backup_mark.h"

namespace duelease::store {

namespace {

std::string to_hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace

DamagedFolder::DamagedFolder(std::filesystem::path store, Time now) : store_(std::move(store)), now_(now) {}

Result<> DamagedFolder::make() {
  if (!folder_.empty()) return {};
  std::string name = print_time(now_);
  std::replace(name.begin(), name.end(), ':', '-');
  std::filesystem::path parent = without_slash(store_);
  parent += ".damaged";
  std::filesystem::path folder = parent / name;
  std::error_code ec;
  for (int i = 2; std::filesystem::exists(folder, ec); ++i)
    folder = parent / (name + "." + std::to_string(i));
  if (Result<> made = make_folder(folder); !made) return made;
  folder_ = std::move(folder);
  return {};
}

Result<> DamagedFolder::add(Family family, std::string_view key, std::string_view value) {
  if (Result<> made = make(); !made) return made;
  if (!file_.is_open()) file_.open(records_path(), std::ios::binary | std::ios::trunc);
  file_ << R"({"family":")" << family_names[static_cast<std::size_t>(family)] << R"(","key":")" << to_hex(key)
        << R"(","value":")" << to_hex(value) << "\"}\n";
  if (!file_) return fail(Code::storage, "writing " + records_path().string());
  ++records_;
  is_synced_ = false;
  return {};
}

Result<> DamagedFolder::sync() {
  if (is_synced_) return {};
  file_.flush();
  if (!file_) return fail(Code::storage, "writing " + records_path().string());
  if (Result<> synced = sync_path(records_path()); !synced) return synced;
  is_synced_ = true;
  return sync_path(folder_);
}

Result<> DamagedFolder::copy(const std::filesystem::path& file) {
  if (Result<> made = make(); !made) return made;
  const std::filesystem::path copy = folder_ / file.filename();
  std::error_code ec;
  std::filesystem::copy_file(file, copy, ec);
  if (ec) return fail(Code::storage, "copying " + file.string() + ": " + ec.message());
  if (Result<> synced = sync_path(copy); !synced) return synced;
  return sync_path(folder_);
}

}  // namespace duelease::store
