// tools/source.h: rows from wherever they are kept, one after the other, for import and the like.
//
//     Result<std::unique_ptr<RowSource>> source = open_source(options, columns, stop);
//     SourceRow row;
//     while (true) {
//       const Result<bool> more = (*source)->next(row);
//       if (!more) return fail_with(more.error());  // What was read before stays as it is.
//       if (!*more) break;
//       use(row);
//     }
//
// Memory does not grow with the number of rows. Values are text, whatever their type is where they come from;
// a NULL is absent. One thread uses a source; it throws nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"

namespace duelease::tools {

struct SourceRow {
  std::uint64_t number = 0;  // From 1: the line it begins on, or how many came before it.
  // One a column; a row of a file may have fewer or more.
  std::vector<std::optional<std::string>> values{};
  std::optional<std::string> payload{};  // What an order made of it carries. Absent: the values by column.
  std::string fault{};                   // Not empty: it cannot be used, for this reason, and has no values.
};

// How far it is, in bytes or rows.
struct SourceProgress {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total{};  // Absent: the end is not known.
};

class RowSource {
 public:
  virtual ~RowSource() = default;

  // For messages, without the password of an address.
  virtual const std::string& name() const = 0;
  // What the number of a row counts: "line", "row", "member".
  virtual std::string_view unit() const = 0;
  // The same row may come again: that is how the source works, and no duplicate.
  virtual bool repeats() const { return false; }

  // The names of the values, which may wait for the first of them to come. None: there are no rows, or a stop was
  // asked for.
  virtual Result<std::vector<std::string>> columns() = 0;
  // False: there are no more, or a stop was asked for. Requires that columns() answered some. Error: unreachable,
  // denied (a server), or invalid; no row comes after it.
  virtual Result<bool> next(SourceRow& row) = 0;
  virtual SourceProgress progress() const = 0;
};

}  // namespace duelease::tools
