// The rows of a query of an SQLite file. SQLite computes them as they are asked for.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "sql_source.h"
#include "text.h"

namespace duelease::tools {
namespace {

class SqliteSource final : public SqlSource {
 public:
  using SqlSource::SqlSource;

 private:
  void open() override;
  std::vector<std::string> begin() override;
  bool fetch(SourceRow& row) override;
  Code code_of(const soci::soci_error&) const override { return Code::invalid; }  // It is a file.

  std::optional<soci::statement> statement_;
  std::vector<std::string> texts_;
  std::vector<soci::indicator> indicators_;
};

void SqliteSource::open() {
  const std::string path = std::filesystem::absolute(address().path).string();
  // SOCI has no way to write it.
  if (path.find('"') != std::string::npos) throw soci::soci_error("a path with a \" in it is not supported");
  if (!std::ifstream(path)) throw soci::soci_error(std::strerror(errno));
  session().open("sqlite3", fmt::format("readonly=true timeout=30 db=\"{}\"", path));
}

std::vector<std::string> SqliteSource::begin() {
  {
    // SQLite would run the first of several statements and pass over the others: only one that can stand in
    // parentheses will do.
    soci::statement whole(session());
    whole.alloc();
    whole.prepare(fmt::format("SELECT * FROM ({}\n)", query()));
  }
  statement_.emplace(session());
  statement_->alloc();
  statement_->prepare(query());
  soci::details::statement_backend& backend = *statement_->get_backend();
  const std::string parameter = backend.get_parameter_name(0);
  if (!parameter.empty()) {
    throw soci::soci_error(
        fmt::format("the query has a parameter, {}, and no value for it", quote(parameter)));
  }
  const int count = backend.prepare_for_describe();
  std::vector<std::string> names(static_cast<std::size_t>(count));
  texts_.resize(names.size());
  indicators_.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    soci::data_type type{};
    backend.describe_column(static_cast<int>(i) + 1, type, names[i]);
    statement_->exchange(soci::into(texts_[i], indicators_[i]));
  }
  statement_->define_and_bind();
  statement_->execute(false);
  return names;
}

bool SqliteSource::fetch(SourceRow& row) {
  if (!statement_->fetch()) return false;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (indicators_[i] == soci::i_null) {
      row.values.emplace_back();
    } else {
      row.values.emplace_back(std::move(texts_[i]));
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<SqlSource> make_sqlite_source(SourceAddress address, std::string query,
                                              const StopSignal& stop) {
  return std::make_unique<SqliteSource>(std::move(address), std::move(query), stop);
}

}  // namespace duelease::tools
