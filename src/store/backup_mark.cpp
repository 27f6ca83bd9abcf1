#include "store/backup_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

#include "base/limits.h"

namespace duelease::store {

std::filesystem::path without_slash(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

Result<> sync_path(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (done) return {};
  return fail(Code::storage, "syncing " + path.string() + ": " + std::system_category().message(error));
}

Result<> make_folder(const std::filesystem::path& path) {
  std::error_code ec;
  const std::filesystem::path whole = std::filesystem::absolute(path, ec);
  if (ec) return fail(Code::storage, "making folder " + path.string() + ": " + ec.message());
  if (std::filesystem::is_directory(whole, ec)) return {};
  if (whole != whole.root_path()) {
    if (Result<> r = make_folder(whole.parent_path()); !r) return r;
  }
  std::filesystem::create_directory(whole, ec);
  if (ec) return fail(Code::storage, "making folder " + whole.string() + ": " + ec.message());
  return sync_path(whole.parent_path());
}

Result<> write_backup_mark(const std::filesystem::path& folder, std::uint64_t restores) {
  const std::filesystem::path mark = folder / backup_mark_name;
  std::filesystem::path next = mark;
  next += ".tmp";
  {
    std::ofstream out(next, std::ios::trunc);
    out << restores << '\n';
    out.close();
    if (!out) return fail(Code::storage, "writing " + next.string());
  }
  if (Result<> r = sync_path(next); !r) return r;
  std::error_code ec;
  std::filesystem::rename(next, mark, ec);
  if (ec) return fail(Code::storage, "writing " + mark.string() + ": " + ec.message());
  return sync_path(folder);
}

Result<std::uint64_t> read_backup_mark(const std::filesystem::path& folder) {
  std::ifstream in(folder / backup_mark_name);
  if (!in)
    return fail(Code::not_found, folder.string() + " is not a backup: it has no file " + backup_mark_name);
  std::string text;
  std::getline(in, text);
  std::uint64_t restores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), restores);
  if (error != std::errc{} || end != text.data() + text.size() ||
      restores > limits::sequence_max / limits::restore_jump) {
    return fail(Code::corrupt, "the mark of backup " + folder.string() + " does not parse");
  }
  return restores;
}

}  // namespace duelease::store
