// PostgreSQL, as people schedule with it: a table with a unique index of the ids that block, and an index of those
// that wait by due time; claims by FOR UPDATE SKIP LOCKED. Prepared statements, a batch in one of them by arrays in
// binary, each a transaction of its own. A complete is compared with the lease that was handed out.
#include <endian.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "process.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

namespace fs = std::filesystem;

constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS orders (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL,
  state smallint NOT NULL DEFAULT 1,  -- 1 WAIT, 2 PROCESSING, 3 SUCCESS, 4 FAILED, 5 ABORTED
  due bigint NOT NULL,
  lease bigint,
  payload bytea NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS orders_block ON orders (id) WHERE state IN (1, 2, 3);
CREATE INDEX IF NOT EXISTS orders_wait ON orders (due) WHERE state = 1;)";

constexpr const char* schedule_sql = R"(
INSERT INTO orders (id, due, payload)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
ON CONFLICT (id) WHERE state IN (1, 2, 3) DO NOTHING)";

constexpr const char* claim_sql = R"(
UPDATE orders SET state = 2, lease = $3
WHERE number IN (SELECT number FROM orders WHERE state = 1 AND due <= $1 ORDER BY due LIMIT $2
                 FOR UPDATE SKIP LOCKED)
RETURNING number, id, payload)";

constexpr const char* complete_sql = R"(
UPDATE orders SET state = 3, lease = NULL
FROM unnest($1::bigint[], $2::bigint[]) AS mine (number, lease)
WHERE orders.number = mine.number AND orders.lease = mine.lease AND state = 2)";

// A new table has no statistics, and the plans that PostgreSQL makes and keeps until it has walk over all of it. With
// statistics it would choose these indexes by itself; here it does from the first row on.
constexpr const char* session_sql = R"(
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;)";

constexpr Oid bytea_type = 17;
constexpr Oid bigint_type = 20;
constexpr Oid text_type = 25;

std::string big_endian(std::uint32_t value) {
  value = htobe32(value);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string big_endian(std::uint64_t value) {
  value = htobe64(value);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// An array of one dimension in the binary format.
class Array {
 public:
  Array(Oid type, std::size_t size) {
    for (const std::uint32_t word : {1U, 0U, type, static_cast<std::uint32_t>(size), 1U})
      bytes_ += big_endian(word);
  }
  void add(std::string_view bytes) {
    bytes_ += big_endian(static_cast<std::uint32_t>(bytes.size()));
    bytes_ += bytes;
  }
  void add(std::uint64_t number) { add(std::string_view(big_endian(number))); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, FreeResult>;

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

class PostgresConnection final : public Connection {
 public:
  explicit PostgresConnection(std::uint16_t port)
      : connection_(PQconnectdb(
            ("host=127.0.0.1 user=bench dbname=postgres client_encoding=UTF8 port=" + std::to_string(port))
                .c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw Fault(why());
  }

  void make_table() { run(schema); }
  void prepare() {
    run(session_sql);
    for (const auto& [name, sql] :
         {std::pair{"schedule", schedule_sql}, {"claim", claim_sql}, {"complete", complete_sql}}) {
      must(ResultPtr(PQprepare(connection_.get(), name, sql, 0, nullptr)));
    }
  }

  void schedule(std::span<const NewOrder> orders) override {
    Array ids(text_type, orders.size());
    Array dues(bigint_type, orders.size());
    Array payloads(bytea_type, orders.size());
    for (const NewOrder& order : orders) {
      ids.add(order.id);
      dues.add(static_cast<std::uint64_t>(order.due.time_since_epoch().count()));
      payloads.add(order.payload);
    }
    expect(*run("schedule", {ids.bytes(), dues.bytes(), payloads.bytes()}), orders.size());
  }

  std::vector<Handed> claim(unsigned count) override {
    const Time at = system_clock()->now().wall;
    const auto due = static_cast<std::uint64_t>(at.time_since_epoch().count());
    const std::uint64_t lease = due + static_cast<std::uint64_t>(lease_length.count());
    const ResultPtr rows =
        run("claim", {big_endian(due), big_endian(std::uint64_t{count}), big_endian(lease)});
    std::vector<Handed> orders(static_cast<std::size_t>(PQntuples(rows.get())));
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const auto field = [&](int column) {
        return std::string_view(
            PQgetvalue(rows.get(), static_cast<int>(i), column),
            static_cast<std::size_t>(PQgetlength(rows.get(), static_cast<int>(i), column)));
      };
      std::memcpy(&orders[i].place, field(0).data(), sizeof orders[i].place);
      orders[i].place = be64toh(orders[i].place);
      orders[i].id = field(1);
      orders[i].payload = field(2);
      orders[i].token = lease;
    }
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    Array numbers(bigint_type, orders.size());
    Array leases(bigint_type, orders.size());
    for (const Handed& order : orders) {
      numbers.add(order.place);
      leases.add(order.token);
    }
    expect(*run("complete", {numbers.bytes(), leases.bytes()}), orders.size());
  }

  std::uint64_t not_completed() override {
    const ResultPtr row = run("SELECT count(*) FROM orders WHERE state IN (1, 2)");
    return std::stoull(PQgetvalue(row.get(), 0, 0));
  }

 private:
  std::string why() const { return std::string("postgres: ") + PQerrorMessage(connection_.get()); }
  ResultPtr must(ResultPtr result) const {
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw Fault(why());
    return result;
  }
  ResultPtr run(const char* sql) const { return must(ResultPtr(PQexec(connection_.get(), sql))); }
  ResultPtr run(const char* prepared, const std::vector<std::string>& arguments) const {
    std::vector<const char*> texts;
    std::vector<int> lengths;
    const std::vector<int> binary(arguments.size(), 1);
    for (const std::string& argument : arguments) {
      texts.push_back(argument.data());
      lengths.push_back(static_cast<int>(argument.size()));
    }
    return must(ResultPtr(PQexecPrepared(connection_.get(), prepared, static_cast<int>(arguments.size()),
                                         texts.data(), lengths.data(), binary.data(), 1)));
  }
  static void expect(PGresult& result, std::size_t count) {
    if (PQcmdTuples(&result) != std::to_string(count)) {
      throw Fault(std::string("postgres: ") + PQcmdTuples(&result) + " of " + std::to_string(count) +
                  " orders were taken");
    }
  }

  std::unique_ptr<PGconn, Finish> connection_;
};

// It refuses to run as root: then as the user that its package makes, or else as nobody.
std::optional<User> user_to_be() {
  if (::geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* const user = ::getpwnam(name)) return User{user->pw_uid, user->pw_gid};
  }
  throw Fault("postgres: does not run as root, and there is neither a user postgres nor nobody");
}

fs::path program(const std::string& name) {
  std::vector<fs::path> places;  // Debian does not have the server's programs in PATH.
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/lib/postgresql", error)) {
    places.push_back(entry.path() / "bin");
  }
  std::ranges::sort(places, std::greater{});
  return find_program(name, places);
}

bool may_pass(const User& user, const fs::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return true;  // Not there yet, so we make it.
  const unsigned bit = info.st_uid == user.uid ? S_IXUSR : info.st_gid == user.gid ? S_IXGRP : S_IXOTH;
  return (info.st_mode & bit) != 0;
}

class PostgresTarget final : public Target {
 public:
  PostgresTarget(const fs::path& folder, unsigned connections_max)
      : Target(folder), connections_max_(connections_max), port_(free_port()), user_(user_to_be()) {}

  void start() override {
    const fs::path data = folder() / "data";
    if (!fs::exists(data)) {
      if (user_ && ::chown(folder().c_str(), user_->uid, user_->gid) != 0) {
        throw Fault("postgres: cannot give it " + folder().string() + ": " + std::strerror(errno));
      }
      Process({program("initdb").string(), "-D", data.string(), "-U", "bench", "-A", "trust", "-E", "UTF8",
               "--locale=C", "--no-sync"},
              folder() / "log", user_)
          .finish();
    }
    std::vector<std::string> words = {program("postgres").string(), "-D", data.string(), "-p",
                                      std::to_string(port_)};
    // What its users are told to set on a machine of its own; fsync and synchronous_commit are on, as they come.
    for (const std::string& setting :
         {std::string("listen_addresses=127.0.0.1"), std::string("unix_socket_directories="),
          std::string("shared_buffers=512MB"), std::string("max_wal_size=4GB"),
          "max_connections=" + std::to_string(connections_max_ + 20)}) {
      words.insert(words.end(), {"-c", setting});
    }
    process_.emplace(words, folder() / "log", user_);
    process_->wait_until([this] {
      try {
        PostgresConnection(port_).make_table();
        return true;
      } catch (const Fault&) {
        return false;
      }
    });
  }
  std::unique_ptr<Connection> connect() override {
    auto connection = std::make_unique<PostgresConnection>(port_);
    connection->prepare();
    return connection;
  }
  void stop() override { process_->stop(SIGINT); }  // Its "fast" shutdown.
  void kill() override { process_->kill(); }
  std::string obstacle() const override {
    for (fs::path at = fs::absolute(folder()); user_ && at.has_relative_path(); at = at.parent_path()) {
      if (!may_pass(*user_, at)) {
        return "it runs as another user than root, who may not pass " + at.string() +
               "; choose another --folder";
      }
    }
    return "";
  }
  std::uint64_t resident_bytes() const override { return process_->resident_bytes(); }

 private:
  const unsigned connections_max_;
  const std::uint16_t port_;
  const std::optional<User> user_;
  std::optional<Process> process_;
};

TargetInfo info(const TargetChoice&, const std::string&) {
  const fs::path found = program("postgres");
  if (found.empty() || program("initdb").empty()) return {"", "", "package postgresql"};
  return {output_of("'" + found.string() + "' --version") + ", client: libpq",
          "on disk before the reply (fsync and synchronous_commit on)", ""};
}

std::unique_ptr<Target> make(const TargetChoice& choice, const std::string&, const fs::path& folder) {
  return std::make_unique<PostgresTarget>(folder, choice.connections_max);
}

}  // namespace

TargetKind postgres_kind() {
  return {{{"postgres", "a table, FOR UPDATE SKIP LOCKED, synchronous_commit on"}}, info, make};
}

}  // namespace duelease::bench
