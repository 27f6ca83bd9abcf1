#include "open_source.h"

#include <utility>

#include "csv_source.h"
#include "jsonl_source.h"
#include "redis_source.h"
#include "sql_source.h"
#include "text.h"

namespace duelease::tools {
namespace {

bool is_json_lines(const SourceOptions& options) {
  if (options.format) return *options.format == "jsonl";
  return options.file->ends_with(".jsonl") || options.file->ends_with(".ndjson");
}

std::string read_delimiter(const std::string& text, std::optional<char>& delimiter) {
  if (text != "tab" && (text.size() != 1 || text == "\"" || text == "\n" || text == "\r")) {
    return "one character, or \"tab\"";
  }
  delimiter = text == "tab" ? '\t' : text[0];
  return {};
}

std::string read_format(const std::string& text, std::optional<std::string>& format) {
  if (text != "csv" && text != "jsonl") return "one of csv, jsonl";
  format = text;
  return {};
}

Unexpected wrong(const char* what) { return fail(Code::invalid, what); }

Result<> check_file(const SourceOptions& options) {
  if (options.from) return wrong("FILE and --from exclude each other");
  if (options.query || options.zset || options.payload_key) {
    return wrong("--query, --zset and --payload-key are for --from");
  }
  if (options.delimiter && is_json_lines(options)) return wrong("--delimiter is for CSV");
  return {};
}

Result<> check_from(const SourceOptions& options) {
  if (!options.from) return wrong("a FILE is needed, or --from");
  const Result<SourceAddress> address = parse_source_address(*options.from);
  if (!address) return Unexpected{address.error()};
  if (options.format || options.delimiter) return wrong("--format and --delimiter are for a FILE");
  const bool redis = address->kind == SourceKind::redis;
  if (redis && !options.zset) return wrong("--zset must name the sorted set");
  if (redis && options.query) return wrong("--query is for an SQL database");
  if (!redis && !options.query) return wrong("--query must say which rows");
  if (!redis && (options.zset || options.payload_key))
    return wrong("--zset and --payload-key are for redis:");
  return {};
}

}  // namespace

void declare_source(Arguments& command, SourceOptions& options) {
  command.text("file", options.file, "FILE", "CSV with a header, or JSON objects, one a line; - for stdin");
  const auto format = [&options](const std::string& text) { return read_format(text, options.format); };
  command.value("--format", format, "FORMAT",
                "csv or jsonl; by default jsonl where the name ends with .jsonl or .ndjson, else csv");
  const auto delimiter = [&options](const std::string& text) {
    return read_delimiter(text, options.delimiter);
  };
  command.value("--delimiter", delimiter, "CHARACTER", "between fields, or \"tab\"; a comma by default");
  command.text("--from", options.from, "ADDRESS",
               "a database instead of a file: sqlite:FILE, or postgresql://, mysql:// or "
               "redis://USER:PASSWORD@HOST:PORT/DATABASE");
  command.text("--query", options.query, "SELECT", "the rows of an SQL database");
  command.text("--zset", options.zset, "KEY", "the sorted set of Redis: members are ids, scores due times");
  command.text("--payload-key", options.payload_key, "PREFIX",
               "of a sorted set: the payload is what GET answers for PREFIX and the member");
}

Result<> check_source(const SourceOptions& options) {
  return options.file ? check_file(options) : check_from(options);
}

bool is_zset(const SourceOptions& options) { return options.zset.has_value(); }

Result<std::unique_ptr<RowSource>> open_source(const SourceOptions& options, std::vector<std::string> columns,
                                               const StopSignal& stop) {
  if (options.file) {
    Result<FileReader> file = FileReader::open(*options.file, stop);
    if (!file) return Unexpected{file.error()};
    if (is_json_lines(options)) {
      return std::unique_ptr<RowSource>(
          std::make_unique<JsonLinesSource>(std::move(*file), std::move(columns)));
    }
    return std::unique_ptr<RowSource>(
        std::make_unique<CsvSource>(std::move(*file), options.delimiter.value_or(',')));
  }
  Result<SourceAddress> address = parse_source_address(*options.from);
  if (!address) return Unexpected{address.error()};
  if (address->kind == SourceKind::redis) {
    return RedisSource::open(*address, *options.zset, options.payload_key, stop);
  }
  return open_sql_source(std::move(*address), *options.query, stop);
}

}  // namespace duelease::tools
