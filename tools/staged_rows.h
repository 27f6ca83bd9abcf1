// tools/staged_rows.h: the rows of an import, put down so that they can be looked at together.
//
// A source can be read once only, and has more rows than fit in memory. They go into a temporary SQLite database, which
// has no name in any folder (it lies where the variable TMPDIR says) and so is gone with the program.
//
// Orders that have a key in common form a group; one in which two or more block (WAIT, SUCCESS) is a conflict. Of it
// the owner is the SUCCESS, else the newest that waits: by the time of its creation, where that is known, else the
// last one in the source.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "duelease/result.h"
#include "import_plan.h"
#include "row_mapper.h"

struct sqlite3;
struct sqlite3_stmt;

namespace duelease::tools {

enum class Fate : std::uint8_t { kept, voided, grandfathered };

struct ConflictMember {
  std::uint64_t number = 0;
  std::string id;
  State state = State::wait;  // As the row says.
  Fate fate = Fate::kept;
};

struct Conflict {
  static constexpr std::size_t members_max = 100;

  std::string key;
  std::uint64_t rows = 0;
  std::array<std::uint64_t, 8> by_state{};  // By the number of the state, as the rows say.
  ConflictMember owner;
  std::uint64_t voided = 0;
  std::uint64_t grandfathered = 0;
  std::vector<ConflictMember> members;  // The first of them, in the order of the source.
};

class StagedRows {
 public:
  // Error: storage, here as everywhere below.
  static Result<std::unique_ptr<StagedRows>> make();
  ~StagedRows();
  StagedRows(const StagedRows&) = delete;
  StagedRows& operator=(const StagedRows&) = delete;

  Result<> add(std::uint64_t number, const OrderRow& row);
  // All rows are there. Required before what follows.
  Result<> seal();
  std::uint64_t rows() const { return rows_; }

  // Ids that more than one row has, the first of them first.
  using OnRepeatedId = std::function<void(const std::string& id, std::uint64_t rows,
                                          std::uint64_t first_number, std::uint64_t second_number)>;
  Result<> repeated_ids(const OnRepeatedId& on_id);

  // Decides what becomes of the rows in conflicts, and tells of each of these.
  Result<> settle(Duplicates policy, const std::function<void(const Conflict&)>& on_conflict);

  // The rows of that fate as settled, in the order of the source. False: no more are wanted. Those that are kept must
  // be taken first, and those that were not be told of before the others are asked for.
  using OnRow = std::function<bool(std::uint64_t number, OrderRow row)>;
  Result<> each(Fate fate, const OnRow& on_row);
  Result<> not_taken(std::uint64_t number);
  // Rows that are not what each() tells of, for the owner of their key was not taken.
  using OnLeft = std::function<void(std::uint64_t number, const std::string& id, const std::string& owner)>;
  Result<> each_left(const OnLeft& on_left);

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  StagedRows() = default;
  Unexpected failed() const;
  Result<> run(const char* sql);
  Result<Statement> prepare(const char* sql) const;
  // True: there is a row.
  Result<bool> step(const Statement& statement) const;
  // With the key bound; nothing is answered.
  Result<> run_for(const Statement& statement, const std::string& key) const;

  Result<> prepare_settling();
  Result<Conflict> settle_group(Duplicates policy, std::string key);
  Result<> count_states(Conflict& conflict);
  Result<> find_owner(Conflict& conflict);
  Result<> decide(Duplicates policy, Conflict& conflict);
  Result<> list_members(Conflict& conflict);

  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::uint64_t rows_ = 0;
  Statement insert_;
  Statement not_taken_;
  Statement by_state_;
  Statement owner_;
  Statement void_others_;
  Statement grandfather_others_;
  Statement members_;
};

}  // namespace duelease::tools
