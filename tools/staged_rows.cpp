#include "staged_rows.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <optional>
#include <string_view>
#include <utility>

#include "text.h"

namespace duelease::tools {
namespace {

// In the queries below: 1 and 3 are WAIT and SUCCESS.
static_assert(static_cast<int>(State::wait) == 1 && static_cast<int>(State::success) == 3);

constexpr const char* schema =
    // Nothing of it outlives the program.
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA cache_size = -16384;"
    "CREATE TABLE rows(number INTEGER PRIMARY KEY, id BLOB, key BLOB, due INTEGER, state INTEGER, created "
    "INTEGER,"
    " ended INTEGER, payload BLOB, fate INTEGER DEFAULT 0, error BLOB DEFAULT '',"
    " owner INTEGER);"
    "CREATE TABLE not_taken(number INTEGER PRIMARY KEY);"
    "BEGIN";

void set_bytes(sqlite3_stmt* statement, int place, std::string_view bytes) {
  ::sqlite3_bind_blob64(statement, place, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_STATIC);
}

void set_time(sqlite3_stmt* statement, int place, std::optional<Time> time) {
  if (time) {
    ::sqlite3_bind_int64(statement, place, time->time_since_epoch().count());
  } else {
    ::sqlite3_bind_null(statement, place);
  }
}

std::string bytes_of(sqlite3_stmt* statement, int column) {
  const auto* const bytes = static_cast<const char*>(::sqlite3_column_blob(statement, column));
  return {bytes == nullptr ? "" : bytes, static_cast<std::size_t>(::sqlite3_column_bytes(statement, column))};
}

std::optional<Time> time_of(sqlite3_stmt* statement, int column) {
  if (::sqlite3_column_type(statement, column) == SQLITE_NULL) return std::nullopt;
  return Time{Duration{::sqlite3_column_int64(statement, column)}};
}

std::uint64_t number_of(sqlite3_stmt* statement, int column) {
  return static_cast<std::uint64_t>(::sqlite3_column_int64(statement, column));
}

State state_of(sqlite3_stmt* statement, int column) {
  return static_cast<State>(::sqlite3_column_int(statement, column));
}

}  // namespace

void StagedRows::CloseDatabase::operator()(sqlite3* database) const { ::sqlite3_close(database); }
void StagedRows::Finalize::operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }

StagedRows::~StagedRows() = default;

Result<std::unique_ptr<StagedRows>> StagedRows::make() {
  std::unique_ptr<StagedRows> staged(new StagedRows());
  sqlite3* database = nullptr;
  // No name: a file that SQLite deletes as soon as it is open.
  const int opened = ::sqlite3_open_v2(
      "", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  staged->database_.reset(database);
  if (opened != SQLITE_OK) return staged->failed();
  const Result<> made = staged->run(schema);
  if (!made) return Unexpected{made.error()};
  Result<Statement> insert = staged->prepare(
      "INSERT INTO rows(number, id, key, due, state, created, ended, payload) VALUES(?, ?, ?, ?, ?, ?, ?, "
      "?)");
  if (!insert) return Unexpected{insert.error()};
  staged->insert_ = std::move(*insert);
  return staged;
}

Unexpected StagedRows::failed() const {
  const char* const why = database_ ? ::sqlite3_errmsg(database_.get()) : "out of memory";
  return fail(Code::storage, fmt::format("the temporary copy of the rows (see TMPDIR): {}", why));
}

Result<> StagedRows::run(const char* sql) {
  if (::sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
  return {};
}

Result<StagedRows::Statement> StagedRows::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  if (::sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr) != SQLITE_OK) return failed();
  return Statement(statement);
}

Result<bool> StagedRows::step(const Statement& statement) const {
  const int stepped = ::sqlite3_step(statement.get());
  if (stepped != SQLITE_ROW && stepped != SQLITE_DONE) return failed();
  return stepped == SQLITE_ROW;
}

Result<> StagedRows::run_for(const Statement& statement, const std::string& key) const {
  ::sqlite3_reset(statement.get());
  set_bytes(statement.get(), 1, key);
  const Result<bool> done = step(statement);
  if (!done) return Unexpected{done.error()};
  return {};
}

Result<> StagedRows::add(std::uint64_t number, const OrderRow& row) {
  sqlite3_stmt* const insert = insert_.get();
  ::sqlite3_reset(insert);
  ::sqlite3_bind_int64(insert, 1, static_cast<sqlite3_int64>(number));
  set_bytes(insert, 2, row.id);
  if (row.key) {
    set_bytes(insert, 3, *row.key);
  } else {
    ::sqlite3_bind_null(insert, 3);
  }
  set_time(insert, 4, row.due);
  ::sqlite3_bind_int(insert, 5, static_cast<int>(row.state));
  set_time(insert, 6, row.created);
  set_time(insert, 7, row.ended);
  set_bytes(insert, 8, row.payload);
  const Result<bool> done = step(insert_);
  if (!done) return Unexpected{done.error()};
  ++rows_;
  return {};
}

Result<> StagedRows::seal() {
  insert_.reset();
  // With the places of the columns that the queries ask for, so that they need the table for little.
  return run(
      "CREATE INDEX by_id ON rows(id);"
      "CREATE INDEX by_key ON rows(key, state, created, number) WHERE key IS NOT NULL;"
      "COMMIT");
}

Result<> StagedRows::repeated_ids(const OnRepeatedId& on_id) {
  Result<Statement> found = prepare(
      "SELECT id, count(*), min(number) AS first, (SELECT number FROM rows AS r WHERE r.id = rows.id"
      " ORDER BY number LIMIT 1 OFFSET 1) FROM rows GROUP BY id HAVING count(*) > 1 ORDER BY first");
  if (!found) return Unexpected{found.error()};
  while (true) {
    const Result<bool> more = step(*found);
    if (!more) return Unexpected{more.error()};
    if (!*more) return {};
    sqlite3_stmt* const row = found->get();
    on_id(bytes_of(row, 0), number_of(row, 1), number_of(row, 2), number_of(row, 3));
  }
}

Result<> StagedRows::prepare_settling() {
  const std::pair<Statement*, const char*> statements[] = {
      {&by_state_, "SELECT state, count(*) FROM rows WHERE key = ? GROUP BY state"},
      {&owner_,
       "SELECT number, id, state FROM rows WHERE key = ? AND state IN (1, 3)"
       " ORDER BY state = 3 DESC, created DESC, number DESC LIMIT 1"},
      {&void_others_,
       "UPDATE rows SET fate = 1, owner = ?2, error = ?3 WHERE key = ?1 AND state = 1 AND number != ?2"},
      {&grandfather_others_,
       "UPDATE rows SET fate = 2, owner = ?2 WHERE key = ?1 AND state IN (1, 3) AND fate = 0 AND number != "
       "?2"},
      {&members_, "SELECT number, id, state, fate FROM rows WHERE key = ?1 ORDER BY number LIMIT ?2"},
  };
  for (const auto& [into, sql] : statements) {
    Result<Statement> prepared = prepare(sql);
    if (!prepared) return Unexpected{prepared.error()};
    *into = std::move(*prepared);
  }
  return {};
}

Result<> StagedRows::settle(Duplicates policy, const std::function<void(const Conflict&)>& on_conflict) {
  // Listed before anything is changed.
  Result<> done =
      run("CREATE TABLE conflicts(first INTEGER PRIMARY KEY, key BLOB);"
          "INSERT INTO conflicts SELECT min(number), key FROM rows WHERE key IS NOT NULL AND state IN (1, 3)"
          " GROUP BY key HAVING count(*) > 1;"
          "BEGIN");
  if (done) done = prepare_settling();
  if (!done) return done;
  Result<Statement> conflicts = prepare("SELECT key FROM conflicts ORDER BY first");
  if (!conflicts) return Unexpected{conflicts.error()};
  while (true) {
    const Result<bool> more = step(*conflicts);
    if (!more) return Unexpected{more.error()};
    if (!*more) break;
    const Result<Conflict> conflict = settle_group(policy, bytes_of(conflicts->get(), 0));
    if (!conflict) return Unexpected{conflict.error()};
    on_conflict(*conflict);
  }
  conflicts->reset();
  for (Statement* statement : {&by_state_, &owner_, &void_others_, &grandfather_others_, &members_}) {
    statement->reset();
  }
  return run("COMMIT");
}

Result<Conflict> StagedRows::settle_group(Duplicates policy, std::string key) {
  Conflict conflict;
  conflict.key = std::move(key);
  Result<> done = count_states(conflict);
  if (done) done = find_owner(conflict);
  if (done) done = decide(policy, conflict);
  if (done) done = list_members(conflict);
  if (!done) return Unexpected{done.error()};
  return conflict;
}

Result<> StagedRows::count_states(Conflict& conflict) {
  ::sqlite3_reset(by_state_.get());
  set_bytes(by_state_.get(), 1, conflict.key);
  while (true) {
    const Result<bool> more = step(by_state_);
    if (!more) return Unexpected{more.error()};
    if (!*more) return {};
    const std::uint64_t count = number_of(by_state_.get(), 1);
    conflict.by_state[static_cast<std::size_t>(state_of(by_state_.get(), 0))] += count;
    conflict.rows += count;
  }
}

Result<> StagedRows::find_owner(Conflict& conflict) {
  ::sqlite3_reset(owner_.get());
  set_bytes(owner_.get(), 1, conflict.key);
  const Result<bool> found = step(owner_);
  if (!found) return Unexpected{found.error()};
  conflict.owner = {number_of(owner_.get(), 0), bytes_of(owner_.get(), 1), state_of(owner_.get(), 2),
                    Fate::kept};
  ::sqlite3_reset(owner_.get());
  return {};
}

// A SUCCESS is never made void: where there are several of them, all but the owner are grandfathered.
Result<> StagedRows::decide(Duplicates policy, Conflict& conflict) {
  if (policy == Duplicates::refuse) return {};
  const auto number = static_cast<sqlite3_int64>(conflict.owner.number);
  if (policy == Duplicates::keep_one) {
    const std::string why = fmt::format("duplicate of {} ({}), which has the same key, at import",
                                        printable(conflict.owner.id), state_name(conflict.owner.state));
    ::sqlite3_reset(void_others_.get());
    ::sqlite3_bind_int64(void_others_.get(), 2, number);
    set_bytes(void_others_.get(), 3, why);
    const Result<> done = run_for(void_others_, conflict.key);
    if (!done) return done;
    conflict.voided = static_cast<std::uint64_t>(::sqlite3_changes64(database_.get()));
  }
  ::sqlite3_reset(grandfather_others_.get());
  ::sqlite3_bind_int64(grandfather_others_.get(), 2, number);
  const Result<> done = run_for(grandfather_others_, conflict.key);
  if (!done) return done;
  conflict.grandfathered = static_cast<std::uint64_t>(::sqlite3_changes64(database_.get()));
  return {};
}

Result<> StagedRows::list_members(Conflict& conflict) {
  ::sqlite3_reset(members_.get());
  set_bytes(members_.get(), 1, conflict.key);
  ::sqlite3_bind_int64(members_.get(), 2, Conflict::members_max);
  while (true) {
    const Result<bool> more = step(members_);
    if (!more) return Unexpected{more.error()};
    if (!*more) return {};
    sqlite3_stmt* const row = members_.get();
    conflict.members.push_back({number_of(row, 0), bytes_of(row, 1), state_of(row, 2),
                                static_cast<Fate>(::sqlite3_column_int(row, 3))});
  }
}

Result<> StagedRows::not_taken(std::uint64_t number) {
  if (!not_taken_) {
    Result<Statement> insert = prepare("INSERT OR IGNORE INTO not_taken VALUES(?)");
    if (!insert) return Unexpected{insert.error()};
    not_taken_ = std::move(*insert);
  }
  ::sqlite3_reset(not_taken_.get());
  ::sqlite3_bind_int64(not_taken_.get(), 1, static_cast<sqlite3_int64>(number));
  const Result<bool> done = step(not_taken_);
  if (!done) return Unexpected{done.error()};
  return {};
}

Result<> StagedRows::each_left(const OnLeft& on_left) {
  Result<Statement> found = prepare(
      "SELECT rows.number, rows.id, owners.id FROM rows JOIN not_taken ON rows.owner = not_taken.number"
      " JOIN rows AS owners ON owners.number = rows.owner ORDER BY rows.number");
  if (!found) return Unexpected{found.error()};
  while (true) {
    const Result<bool> more = step(*found);
    if (!more) return Unexpected{more.error()};
    if (!*more) return {};
    on_left(number_of(found->get(), 0), bytes_of(found->get(), 1), bytes_of(found->get(), 2));
  }
}

Result<> StagedRows::each(Fate fate, const OnRow& on_row) {
  Result<Statement> found = prepare(
      "SELECT number, id, key, due, state, created, ended, payload, error FROM rows WHERE fate = ?"
      " AND (owner IS NULL OR owner NOT IN (SELECT number FROM not_taken)) ORDER BY number");
  if (!found) return Unexpected{found.error()};
  ::sqlite3_bind_int(found->get(), 1, static_cast<int>(fate));
  while (true) {
    const Result<bool> more = step(*found);
    if (!more) return Unexpected{more.error()};
    if (!*more) return {};
    sqlite3_stmt* const row = found->get();
    OrderRow order;
    order.id = bytes_of(row, 1);
    if (::sqlite3_column_type(row, 2) != SQLITE_NULL) order.key = bytes_of(row, 2);
    order.due = *time_of(row, 3);
    order.state = state_of(row, 4);
    order.created = time_of(row, 5);
    order.ended = time_of(row, 6);
    order.payload = bytes_of(row, 7);
    if (fate == Fate::voided) order.state = State::aborted;
    order.grandfather = fate == Fate::grandfathered;
    order.error = bytes_of(row, 8);
    if (!on_row(number_of(row, 0), std::move(order))) return {};
  }
}

}  // namespace duelease::tools
