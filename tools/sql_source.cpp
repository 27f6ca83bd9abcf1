#include "sql_source.h"

#include <fmt/format.h>

#include <utility>

namespace duelease::tools {
namespace {

struct Backend {
  std::string_view name;  // SOCI's.
  std::string_view package;
};

constexpr Backend backends[] = {{"sqlite3", "libsoci-sqlite3-4.0"},
                                {"postgresql", "libsoci-postgresql4.0"},
                                {"mysql", "libsoci-mysql4.0"}};

// Cuts `text` from where `mark` begins.
void cut_from(std::string_view& text, std::string_view mark) { text = text.substr(0, text.find(mark)); }

}  // namespace

std::string sql_message(std::string_view said, const std::vector<std::string>& secrets) {
  constexpr std::string_view no_backend = "Failed to find shared library for backend ";
  if (said.starts_with(no_backend)) {
    for (const Backend& backend : backends) {
      if (said.substr(no_backend.size()) == backend.name) {
        return fmt::format("the Debian package {} is needed, and not there", backend.package);
      }
    }
  }
  if (said.starts_with("sqlite3_statement_backend::")) said.remove_prefix(said.find(": ") + 2);
  for (const std::string_view mark : {"\nLINE ", "\nCONTEXT:"}) cut_from(said, mark);
  std::string message(said);
  for (const std::string& secret : secrets) {
    for (std::size_t at = 0; !secret.empty() && (at = message.find(secret, at)) != std::string::npos;) {
      message.replace(at, secret.size(), "***");
      at += 3;
    }
  }
  std::string line;
  for (const char c : message) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

SqlSource::SqlSource(SourceAddress address, std::string query, const StopSignal& stop)
    : address_(std::move(address)), query_(std::move(query)), stop_(stop) {}

Unexpected SqlSource::in_words(const std::exception& exception) const {
  const auto* const soci = dynamic_cast<const soci::soci_error*>(&exception);
  const std::string said = soci == nullptr ? exception.what() : soci->get_error_message();
  return fail(soci == nullptr ? Code::invalid : code_of(*soci),
              sql_message(said, {address_.text, address_.password}));
}

Result<> SqlSource::connect() {
  try {
    open();
  } catch (const std::exception& exception) {
    return in_words(exception);
  }
  return {};
}

Result<std::vector<std::string>> SqlSource::columns() {
  try {
    return begin();
  } catch (const std::exception& exception) {
    return in_words(exception);
  }
}

Result<bool> SqlSource::next(SourceRow& row) {
  if (stop_.asked()) return false;
  row = SourceRow{.number = rows_ + 1};
  try {
    if (!fetch(row)) return false;
  } catch (const std::exception& exception) {
    return in_words(exception);
  }
  ++rows_;
  return true;
}

Result<std::unique_ptr<RowSource>> open_sql_source(SourceAddress address, std::string query,
                                                   const StopSignal& stop) {
  const std::size_t end = query.find_last_not_of("; \t\r\n");
  query.resize(end == std::string::npos ? 0 : end + 1);
  if (query.empty()) return fail(Code::invalid, "--query is empty");
  if (query.find('\0') != std::string::npos) return fail(Code::invalid, "--query has a NUL byte in it");
  const auto make = address.kind == SourceKind::sqlite       ? make_sqlite_source
                    : address.kind == SourceKind::postgresql ? make_postgresql_source
                                                             : make_mysql_source;
  std::unique_ptr<SqlSource> source = make(std::move(address), std::move(query), stop);
  const Result<> connected = source->connect();
  if (!connected) {
    return fail(connected.error().code, fmt::format("{}: {}", source->name(), connected.error().message));
  }
  return std::unique_ptr<RowSource>(std::move(source));
}

}  // namespace duelease::tools
