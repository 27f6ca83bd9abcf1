#include "file_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace duelease::tools {
namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;

std::optional<std::uint64_t> size_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

FileReader::FileReader(std::string path, Fd file, const StopSignal& stop)
    : path_(std::move(path)),
      file_(std::move(file)),
      stop_(&stop),
      buffer_(buffer_bytes, '\0'),
      size_(size_of(file_.is_open() ? file_.get() : STDIN_FILENO)) {}

Result<FileReader> FileReader::open(const std::string& path, const StopSignal& stop) {
  Fd file(path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (path != "-" && !file.is_open()) {
    return fail(Code::invalid, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  return FileReader(path, std::move(file), stop);
}

Result<std::string_view> FileReader::next() {
  const int fd = file_.is_open() ? file_.get() : STDIN_FILENO;
  while (true) {
    stop_->wait_for_bytes(fd);
    if (stop_->asked()) return std::string_view();
    const ssize_t got = ::read(fd, buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Code::invalid, std::strerror(errno));
    bytes_ += static_cast<std::uint64_t>(got);
    at_end_ = got == 0;
    return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace duelease::tools
