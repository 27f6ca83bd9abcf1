#include "reconcile/fingerprints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#define XXH_INLINE_ALL  // No library to link.
#include <xxhash.h>

namespace duelease::reconcile {

namespace {

constexpr std::size_t buffered_max = 4096;

Unexpected failed(const char* doing) {
  return fail(Code::storage, std::string(doing) + ": " + std::generic_category().message(errno));
}

}  // namespace

Result<Fingerprints> Fingerprints::make() {
  const char* const given = ::getenv("TMPDIR");
  const std::string folder = given && *given ? given : "/tmp";
  std::string name = folder + "/duelease-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return failed(("making a temporary file in folder " + folder).c_str());
  ::unlink(name.c_str());
  return Fingerprints(fd);
}

Fingerprints::~Fingerprints() {
  if (!sorted_.empty()) ::munmap(sorted_.data(), sorted_.size_bytes());
  if (fd_ >= 0) ::close(fd_);
}

Fingerprints::Fingerprints(Fingerprints&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)),
      written_(other.written_),
      sorted_(std::exchange(other.sorted_, {})) {}

Fingerprints& Fingerprints::operator=(Fingerprints&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  std::swap(written_, other.written_);
  std::swap(sorted_, other.sorted_);
  return *this;
}

Fingerprints::Fingerprint Fingerprints::of(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

Result<> Fingerprints::add(std::string_view text) {
  buffer_.push_back(of(text));
  return buffer_.size() < buffered_max ? Result<>{} : flush();
}

Result<> Fingerprints::flush() {
  const auto* bytes = reinterpret_cast<const char*>(buffer_.data());
  std::size_t left = buffer_.size() * sizeof(Fingerprint);
  while (left > 0) {
    const ssize_t count = ::write(fd_, bytes, left);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("writing to the temporary file of a reconcile");
    bytes += count;
    left -= static_cast<std::size_t>(count);
  }
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<> Fingerprints::seal() {
  if (Result<> flushed = flush(); !flushed) return flushed;
  if (written_ == 0) return {};
  void* const mapped =
      ::mmap(nullptr, written_ * sizeof(Fingerprint), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) return failed("mapping the temporary file of a reconcile");
  sorted_ = {static_cast<Fingerprint*>(mapped), written_};
  std::sort(sorted_.begin(), sorted_.end());
  return {};
}

bool Fingerprints::contains(std::string_view text) const {
  return std::binary_search(sorted_.begin(), sorted_.end(), of(text));
}

}  // namespace duelease::reconcile
