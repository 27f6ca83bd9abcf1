// Which errors end a pass over the rows of a source, and which are those of one row.
#include "row_pass.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace duelease;
using namespace duelease::tools;

namespace {

class NoRows final : public RowSource {
 public:
  const std::string& name() const override { return name_; }
  std::string_view unit() const override { return "line"; }
  Result<std::vector<std::string>> columns() override { return std::vector<std::string>{}; }
  Result<bool> next(SourceRow&) override { return false; }
  SourceProgress progress() const override { return {}; }

 private:
  const std::string name_ = "rows";
};

class Report final : public RowReport {
 public:
  using RowReport::RowReport;
};

}  // namespace

TEST_CASE("a pass goes on after a row whose order does not decode, as the library does", "[row_pass]") {
  NoRows source;
  const StopSignal stop;
  Progress progress;
  Report report({}, progress);
  RowPass pass(source, stop, report, progress);
  std::uint64_t bad = 0;
  for (const Code code : {Code::invalid, Code::too_large, Code::corrupt}) {
    pass.row_failed({.number = 7, .id = "a"}, Error{code, "why"});
    CHECK(pass.exit() == Exit::ok);
    CHECK(report.bad_rows() == ++bad);
  }
  pass.row_failed({.number = 8, .id = "b"}, Error{Code::storage, "why"});
  CHECK(pass.exit() == Exit::store);
  CHECK(report.bad_rows() == bad);
}
