// tools/open_source.h: the options by which a command is told where its rows are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "source.h"
#include "stop_signal.h"

namespace duelease::tools {

struct SourceOptions {
  std::optional<std::string> file;  // "-": standard input.
  std::optional<std::string> format;
  std::optional<char> delimiter;
  std::optional<std::string> from;
  std::optional<std::string> query;
  std::optional<std::string> zset;
  std::optional<std::string> payload_key;
};

// FILE, --format, --delimiter, --from, --query, --zset, --payload-key.
void declare_source(Arguments& command, SourceOptions& options);

// Error: invalid, the options do not fit together.
Result<> check_source(const SourceOptions& options);
// The members of a sorted set need no columns named.
bool is_zset(const SourceOptions& options);

// Requires check_source. `columns` are those that will be looked for, for sources whose rows each have others.
Result<std::unique_ptr<RowSource>> open_source(const SourceOptions& options, std::vector<std::string> columns,
                                               const StopSignal& stop);

}  // namespace duelease::tools
