// tools/sql_source.h: the rows that a query gives, through SOCI.
//
// Every value is fetched as the text that the database prints of it, for SOCI's own types would cut integers to 32
// bits and round decimals. Times with a zone are in UTC. The session is read-only.
//
// A database that computes is waited for: a stop takes effect when it has handed out its next rows.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "source.h"
#include "source_address.h"
#include "stop_signal.h"

namespace duelease::tools {

// Connects. Error: unreachable, denied (it is not let in), or invalid (the file, the query).
Result<std::unique_ptr<RowSource>> open_sql_source(SourceAddress address, std::string query,
                                                   const StopSignal& stop);

// What the three have in common. The methods that they implement throw what SOCI throws.
class SqlSource : public RowSource {
 public:
  SqlSource(SourceAddress address, std::string query, const StopSignal& stop);

  Result<> connect();

  const std::string& name() const override { return address_.shown; }
  std::string_view unit() const override { return "row"; }
  Result<std::vector<std::string>> columns() override;
  Result<bool> next(SourceRow& row) override;
  SourceProgress progress() const override { return {rows_, std::nullopt}; }

 protected:
  const SourceAddress& address() const { return address_; }
  const std::string& query() const { return query_; }
  soci::session& session() { return session_; }
  const soci::session& session() const { return session_; }

  // Opens the session.
  virtual void open() = 0;
  // Begins the query, and answers its columns.
  virtual std::vector<std::string> begin() = 0;
  // False: there are no more. Fills in values or fault.
  virtual bool fetch(SourceRow& row) = 0;
  // Of what one of them threw: unreachable, denied, or invalid.
  virtual Code code_of(const soci::soci_error& error) const = 0;

 private:
  Unexpected in_words(const std::exception& exception) const;

  const SourceAddress address_;
  const std::string query_;
  const StopSignal& stop_;
  soci::session session_;
  std::uint64_t rows_ = 0;
};

std::unique_ptr<SqlSource> make_sqlite_source(SourceAddress address, std::string query,
                                              const StopSignal& stop);
std::unique_ptr<SqlSource> make_postgresql_source(SourceAddress address, std::string query,
                                                  const StopSignal& stop);
std::unique_ptr<SqlSource> make_mysql_source(SourceAddress address, std::string query,
                                             const StopSignal& stop);

// What the number of an error of MySQL or MariaDB means.
Code mysql_code(unsigned number);

// What a database said, on one line, and nothing in it that `secrets` names.
std::string sql_message(std::string_view said, const std::vector<std::string>& secrets);

}  // namespace duelease::tools
