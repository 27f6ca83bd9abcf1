// SQLite in this process: the table of the target postgres, WAL, synchronous FULL. A batch is one transaction of
// prepared statements. One connection a thread; where several write at once one does and the others wait: by
// SQLite's own busy handler, which sleeps, or (sqlite:mutex) for a mutex around each transaction.
#include <sqlite3.h>
#include <unistd.h>

#include <mutex>

#include "process.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

constexpr int busy_timeout_ms = 600'000;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS orders (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 1,
  due INTEGER NOT NULL,
  lease INTEGER,
  payload BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS orders_block ON orders (id) WHERE state IN (1, 2, 3);
CREATE INDEX IF NOT EXISTS orders_wait ON orders (due) WHERE state = 1;)";

constexpr const char* schedule_sql = "INSERT OR IGNORE INTO orders (id, due, payload) VALUES (?, ?, ?)";
constexpr const char* claim_sql = R"(
UPDATE orders SET state = 2, lease = ?3
WHERE number IN (SELECT number FROM orders WHERE state = 1 AND due <= ?1 ORDER BY due LIMIT ?2)
RETURNING number, id, payload)";
constexpr const char* complete_sql =
    "UPDATE orders SET state = 3, lease = NULL WHERE number = ? AND lease = ? AND state = 2";

class SqliteConnection final : public Connection {
 public:
  SqliteConnection(const std::filesystem::path& path, std::mutex* mutex) : mutex_(mutex) {
    sqlite3* db = nullptr;
    const int error = sqlite3_open_v2(
        path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(db);
    must(error);
    must(sqlite3_busy_timeout(db, busy_timeout_ms));
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    run(schema);
    schedule_ = prepare(schedule_sql);
    claim_ = prepare(claim_sql);
    complete_ = prepare(complete_sql);
    not_completed_ = prepare("SELECT count(*) FROM orders WHERE state IN (1, 2)");
  }

  void schedule(std::span<const NewOrder> orders) override {
    in_transaction([&] {
      for (const NewOrder& order : orders) {
        sqlite3_stmt* const insert = schedule_.get();
        must(sqlite3_bind_text(insert, 1, order.id.data(), static_cast<int>(order.id.size()), SQLITE_STATIC));
        must(sqlite3_bind_int64(insert, 2, order.due.time_since_epoch().count()));
        must(sqlite3_bind_blob(insert, 3, order.payload.data(), static_cast<int>(order.payload.size()),
                               SQLITE_STATIC));
        change_one(insert);
      }
    });
  }

  std::vector<Handed> claim(unsigned count) override {
    const Time at = system_clock()->now().wall;
    const std::int64_t lease = (at + lease_length).time_since_epoch().count();
    std::vector<Handed> orders;
    in_transaction([&] {
      sqlite3_stmt* const update = claim_.get();
      must(sqlite3_bind_int64(update, 1, at.time_since_epoch().count()));
      must(sqlite3_bind_int64(update, 2, count));
      must(sqlite3_bind_int64(update, 3, lease));
      int step = 0;
      while ((step = sqlite3_step(update)) == SQLITE_ROW) {
        Handed& order = orders.emplace_back();
        order.place = static_cast<std::uint64_t>(sqlite3_column_int64(update, 0));
        order.id = column(update, 1);
        order.payload = column(update, 2);
        order.token = static_cast<std::uint64_t>(lease);
      }
      must(step);
      must(sqlite3_reset(update));
    });
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    in_transaction([&] {
      for (const Handed& order : orders) {
        sqlite3_stmt* const update = complete_.get();
        must(sqlite3_bind_int64(update, 1, static_cast<std::int64_t>(order.place)));
        must(sqlite3_bind_int64(update, 2, static_cast<std::int64_t>(order.token)));
        change_one(update);
      }
    });
  }

  std::uint64_t not_completed() override {
    must(sqlite3_step(not_completed_.get()));
    const std::int64_t count = sqlite3_column_int64(not_completed_.get(), 0);
    must(sqlite3_reset(not_completed_.get()));
    return static_cast<std::uint64_t>(count);
  }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  void must(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
      throw Fault(std::string("sqlite: ") + sqlite3_errmsg(db_.get()));
    }
  }
  void run(const char* sql) { must(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr)); }
  Statement prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    must(sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    return Statement(statement);
  }
  template <class Work>
  void in_transaction(const Work& work) {
    const auto lock = mutex_ == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*mutex_);
    run("BEGIN IMMEDIATE");
    work();
    run("COMMIT");
  }
  void change_one(sqlite3_stmt* statement) {
    must(sqlite3_step(statement));
    must(sqlite3_reset(statement));
    if (sqlite3_changes(db_.get()) != 1) throw Fault("sqlite: an order was not taken");
  }
  static std::string column(sqlite3_stmt* row, int number) {
    const void* const bytes = sqlite3_column_blob(row, number);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, number));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }

  std::mutex* const mutex_;  // May be null.
  std::unique_ptr<sqlite3, Close> db_;
  Statement schedule_;
  Statement claim_;
  Statement complete_;
  Statement not_completed_;
};

class SqliteTarget final : public Target {
 public:
  SqliteTarget(const std::filesystem::path& folder, bool with_mutex)
      : Target(folder), with_mutex_(with_mutex) {}

  void start() override { connect(); }
  std::unique_ptr<Connection> connect() override {
    return std::make_unique<SqliteConnection>(folder() / "orders.db", with_mutex_ ? &mutex_ : nullptr);
  }
  void stop() override {}
  std::uint64_t resident_bytes() const override { return bench::resident_bytes(::getpid()); }

 private:
  const bool with_mutex_;
  std::mutex mutex_;
};

TargetInfo info(const TargetChoice&, const std::string&) {
  return {std::string("SQLite ") + sqlite3_libversion() + ", in process",
          "on disk when a call returns (WAL, synchronous FULL)", ""};
}

std::unique_ptr<Target> make(const TargetChoice&, const std::string& variant,
                             const std::filesystem::path& folder) {
  return std::make_unique<SqliteTarget>(folder, variant == "mutex");
}

}  // namespace

TargetKind sqlite_kind() {
  return {{{"sqlite", "a table in process, WAL, synchronous FULL, its own busy handler"},
           {"sqlite:mutex", "the same, with a mutex around each transaction"}},
          info,
          make};
}

}  // namespace duelease::bench
