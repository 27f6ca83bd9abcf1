// The rows of a query of a MySQL or MariaDB server.
//
// SOCI holds all rows of a query at once, so it makes the connection, and the rows are read from that by the client
// library itself, which can hand them out as they arrive.
#include <fmt/format.h>
#include <mysqld_error.h>
#include <soci/mysql/soci-mysql.h>
#include <sys/socket.h>

#include <utility>

#include "sql_source.h"

namespace duelease::tools {
namespace {

struct FreeResult {
  void operator()(MYSQL_RES* result) const { ::mysql_free_result(result); }
};

class MysqlSource final : public SqlSource {
 public:
  using SqlSource::SqlSource;
  ~MysqlSource() override;

 private:
  void open() override;
  std::vector<std::string> begin() override;
  bool fetch(SourceRow& row) override;
  Code code_of(const soci::soci_error& error) const override;

  MYSQL* connection() { return static_cast<soci::mysql_session_backend*>(session().get_backend())->conn_; }
  void run(const std::string& statement);
  [[noreturn]] void fail_as_told() {
    throw soci::mysql_soci_error(::mysql_error(connection()), static_cast<int>(::mysql_errno(connection())));
  }

  std::unique_ptr<MYSQL_RES, FreeResult> result_;
  bool at_end_ = false;
};

// In the form that SOCI takes apart.
std::string quoted(std::string_view value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

MysqlSource::~MysqlSource() {
  // To free a result is to read what is left of it.
  if (result_ && !at_end_) ::shutdown(::mysql_get_socket(connection()), SHUT_RDWR);
}

void MysqlSource::open() {
  std::string parameters = fmt::format("host={} port={} charset='utf8mb4' connect_timeout=30",
                                       quoted(address().host), address().port);
  if (!address().user.empty()) parameters += " user=" + quoted(address().user);
  if (!address().password.empty()) parameters += " password=" + quoted(address().password);
  if (!address().path.empty()) parameters += " db=" + quoted(address().path);
  session().open("mysql", parameters);
}

void MysqlSource::run(const std::string& statement) {
  if (::mysql_real_query(connection(), statement.data(), statement.size()) != 0) fail_as_told();
}

std::vector<std::string> MysqlSource::begin() {
  run("SET time_zone = '+00:00'");
  run("SET net_write_timeout = 3600");  // While orders are committed nobody reads.
  // Not just one transaction: a DROP TABLE would end that and go on.
  run("SET SESSION TRANSACTION READ ONLY");
  run(query());
  result_.reset(::mysql_use_result(connection()));
  if (!result_) {
    if (::mysql_errno(connection()) != 0) fail_as_told();
    throw soci::soci_error("the query gives no columns: a SELECT is needed");
  }
  std::vector<std::string> names;
  const unsigned count = ::mysql_num_fields(result_.get());
  const MYSQL_FIELD* const fields = ::mysql_fetch_fields(result_.get());
  for (unsigned i = 0; i < count; ++i) names.emplace_back(fields[i].name, fields[i].name_length);
  return names;
}

bool MysqlSource::fetch(SourceRow& row) {
  const MYSQL_ROW texts = ::mysql_fetch_row(result_.get());
  if (texts == nullptr) {
    at_end_ = true;
    if (::mysql_errno(connection()) != 0) fail_as_told();
    return false;
  }
  const unsigned long* const sizes = ::mysql_fetch_lengths(result_.get());
  for (unsigned i = 0; i < ::mysql_num_fields(result_.get()); ++i) {
    if (texts[i] == nullptr) {
      row.values.emplace_back();
    } else {
      row.values.emplace_back(std::string(texts[i], sizes[i]));
    }
  }
  return true;
}

Code MysqlSource::code_of(const soci::soci_error& error) const {
  const auto* const numbered = dynamic_cast<const soci::mysql_soci_error*>(&error);
  return numbered == nullptr ? Code::invalid : mysql_code(numbered->err_num_);
}

}  // namespace

Code mysql_code(unsigned number) {
  // The client library's own: there is no connection, or it broke.
  if (number >= 2000 && number < 3000) return Code::unreachable;
  switch (number) {
    case ER_DBACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_HOST_NOT_PRIVILEGED:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR: return Code::denied;
    case ER_CON_COUNT_ERROR:
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_HOST_IS_BLOCKED:
    case ER_SERVER_SHUTDOWN:
    case ER_ABORTING_CONNECTION:
    case ER_CONNECTION_KILLED: return Code::unreachable;
    default: return Code::invalid;
  }
}

std::unique_ptr<SqlSource> make_mysql_source(SourceAddress address, std::string query,
                                             const StopSignal& stop) {
  return std::make_unique<MysqlSource>(std::move(address), std::move(query), stop);
}

}  // namespace duelease::tools
