// tools/file_reader.h: the bytes of a file, a pipe or standard input, until its end or a stop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fd.h"
#include "source.h"
#include "stop_signal.h"

namespace duelease::tools {

class FileReader {
 public:
  // "-" is standard input. Error: invalid, it cannot be opened.
  static Result<FileReader> open(const std::string& path, const StopSignal& stop);

  const std::string& name() const { return path_; }
  SourceProgress progress() const { return {bytes_, size_}; }
  // Nothing: the end, or a stop. They live until the next call.
  Result<std::string_view> next();
  bool at_end() const { return at_end_; }

 private:
  FileReader(std::string path, Fd file, const StopSignal& stop);

  std::string path_;
  Fd file_;  // Closed: standard input.
  const StopSignal* stop_;
  std::string buffer_;
  std::uint64_t bytes_ = 0;
  bool at_end_ = false;
  std::optional<std::uint64_t> size_;  // Of a regular file.
};

}  // namespace duelease::tools
