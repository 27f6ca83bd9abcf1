// The rows of a query of a PostgreSQL server.
//
// SOCI holds all rows of a query at once, and gives up at columns of a type that it does not know (an enum, an
// interval). So the query is a cursor, of which some rows at a time are fetched, each as the JSON object that
// PostgreSQL makes of it: with all types, in the form of ISO 8601 where they are times, and numbers with all digits.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json_object.h"
#include "sql_source.h"

namespace duelease::tools {
namespace {

constexpr std::size_t rows_max = 1000;
constexpr std::size_t rows_min = 2;  // SOCI does not tell one row from none.
// As many rows are fetched at once as were about this many bytes the last time.
constexpr std::size_t bytes_aim = 1024 * 1024;

class PostgresqlSource final : public SqlSource {
 public:
  using SqlSource::SqlSource;

 private:
  void open() override;
  std::vector<std::string> begin() override;
  bool fetch(SourceRow& row) override;
  Code code_of(const soci::soci_error& error) const override;

  bool fetch_rows();
  std::vector<std::string> columns_of_nothing();

  std::vector<std::string> rows_;  // JSON, of which those before next_ are used up.
  std::size_t next_ = 0;
  std::size_t rows_wanted_ = 10;
};

void PostgresqlSource::open() {
  // SOCI takes words apart at blanks and adds an equals sign where there is none.
  std::string uri = address().text;
  if (uri.find_first_of(" \t\r\n\"") != std::string::npos) {
    throw soci::soci_error("a blank or a quote in an address is written %20 or %22");
  }
  if (uri.find("connect_timeout=") == std::string::npos) {
    uri += uri.find('?') == std::string::npos ? "?connect_timeout=30" : "&connect_timeout=30";
  }
  session().open("postgresql", uri);
  session() << "SET client_encoding = 'UTF8'";
  session() << "SET TIME ZONE 'UTC'";
}

std::vector<std::string> PostgresqlSource::begin() {
  session() << "BEGIN READ ONLY";
  session() << fmt::format("DECLARE duelease CURSOR FOR SELECT row_to_json(q)::text FROM ({}\n) AS q",
                           query());
  if (!fetch_rows()) return columns_of_nothing();
  const Result<std::vector<JsonMember>> members = read_json_object(rows_.front());
  if (!members) throw soci::soci_error(members.error().message);
  std::vector<std::string> names;
  for (const JsonMember& member : *members) names.push_back(member.name);
  if (names.empty()) throw soci::soci_error("the query gives no columns");
  return names;
}

// They still tell whether the query fits.
std::vector<std::string> PostgresqlSource::columns_of_nothing() {
  std::vector<std::string> names;
  try {
    soci::statement statement(session());
    statement.alloc();
    statement.prepare(fmt::format("SELECT * FROM ({}\n) AS q LIMIT 0", query()));
    soci::details::statement_backend& backend = *statement.get_backend();
    const int count = backend.prepare_for_describe();
    for (int i = 1; i <= count; ++i) {
      soci::data_type type{};
      backend.describe_column(i, type, names.emplace_back());
    }
  } catch (const soci::soci_error&) {
    names.clear();  // A type that SOCI does not know.
  }
  return names;
}

bool PostgresqlSource::fetch_rows() {
  rows_.resize(rows_wanted_);
  session() << fmt::format("FETCH {} FROM duelease", rows_wanted_), soci::into(rows_);
  next_ = 0;
  if (rows_.empty()) return false;
  std::size_t bytes = 1;
  for (const std::string& row : rows_) bytes += row.size();
  rows_wanted_ = std::clamp(rows_.size() * bytes_aim / bytes, rows_min, rows_max);
  return true;
}

bool PostgresqlSource::fetch(SourceRow& row) {
  if (next_ == rows_.size() && !fetch_rows()) return false;
  Result<std::vector<JsonMember>> members = read_json_object(rows_[next_++]);
  if (!members) {
    row.fault = members.error().message;
    return true;
  }
  for (JsonMember& member : *members) row.values.push_back(std::move(member.value));
  return true;
}

// Of a login that is refused SOCI tells the words alone, without the SQLSTATE: in a language that is not English it is
// unreachable.
bool is_refused_login(std::string_view said) {
  for (const std::string_view words :
       {"authentication failed", "no password supplied", "no pg_hba.conf entry", "pg_hba.conf rejects",
        "is not permitted to log in", "permission denied"}) {
    if (said.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// A connection that breaks has no SQLSTATE, or one of a class that SOCI does not know (57P01: it was ended).
Code PostgresqlSource::code_of(const soci::soci_error& error) const {
  if (error.get_error_category() == soci::soci_error::no_privilege) return Code::denied;
  if (session().is_connected()) return Code::invalid;
  return is_refused_login(error.get_error_message()) ? Code::denied : Code::unreachable;
}

}  // namespace

std::unique_ptr<SqlSource> make_postgresql_source(SourceAddress address, std::string query,
                                                  const StopSignal& stop) {
  return std::make_unique<PostgresqlSource>(std::move(address), std::move(query), stop);
}

}  // namespace duelease::tools
