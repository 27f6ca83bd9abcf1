// duelease import from servers: PostgreSQL, MariaDB, Redis. Each is started for its test.
#include "databases.h"
#include "import_runs.h"

using namespace duelease::test;
using nlohmann::json;

namespace {

std::vector<std::string> query_of(const std::string& address, const std::string& sql,
                                  std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"import", "--queue",      "q",      "--id",  "id",
                                        "--due",  "due",          "--from", address, "--query",
                                        sql,      "--durability", "none"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> zset_of(const std::string& address, const std::string& key,
                                 std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"import", "--queue",      "q",   "--from", address, "--zset",
                                        key,      "--durability", "none"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

constexpr const char* postgres_tables = R"(
  CREATE TYPE kind AS ENUM ('book', 'film');
  CREATE TABLE loans(id uuid, due timestamptz, local timestamp, n numeric(30, 10), big bigint, kind kind,
                     late interval, tags text[], info jsonb, gone boolean, none text, f double precision);
  INSERT INTO loans VALUES('6ecd8c99-4036-403d-bf84-cf8400f67836', '2026-12-01 17:00:00.25+08', '2026-12-01 09:00:00',
                           12345678901234567890.0123456789, 9007199254740993, 'film', '1 day 02:03:04', '{a,"b c"}',
                           '{"x": [1, 2.50]}', true, NULL, 0.1);
  CREATE TABLE many AS SELECT i AS id, timestamptz '2026-12-01 00:00:00Z' + i * interval '1 second' AS due,
                              repeat('x', 100) AS note FROM generate_series(1, 20000) AS i;
  CREATE TABLE empty(id int, due timestamptz);
)";

void check_values_of_postgres(const Shop& shop, const std::string& address) {
  const Ran ran = shop.ask(query_of(address, "SELECT * FROM loans;"));
  CHECK(ran.exit == 0);
  check_counts(ran, 1, 1, 0, 0, 0);
  const json order = shop.order("q", "6ecd8c99-4036-403d-bf84-cf8400f67836");
  CHECK(order["due"] == 1'796'115'600'250);
  CHECK(json::parse(order["payload"].get<std::string>()) ==
        json::parse(R"({"id":"6ecd8c99-4036-403d-bf84-cf8400f67836","due":"2026-12-01T09:00:00.25+00:00",
                        "local":"2026-12-01T09:00:00","n":"12345678901234567890.0123456789",
                        "big":"9007199254740993","kind":"film","late":"1 day 02:03:04","tags":"[\"a\",\"b c\"]",
                        "info":"{\"x\":[1,2.50]}","gone":"true","none":null,"f":"0.1"})"));
  check_counts(shop.ask(query_of(address, "SELECT id, local AS due FROM loans", {"--upsert"})), 1, 0, 1, 0,
               0);
  CHECK(shop.order("q", "6ecd8c99-4036-403d-bf84-cf8400f67836")["due"] == 1'796'115'600'000);
  check_counts(shop.ask(query_of(address, "SELECT big AS id, extract(epoch FROM due) AS due FROM loans")), 1,
               1, 0, 0, 0);
  CHECK(shop.order("q", "9007199254740993")["due"] == 1'796'115'600'250);
}

void check_errors_of_postgres(const Shop& shop, const PostgresServer& server) {
  const auto error = [&](const std::string& address, const std::string& sql, int exit) {
    const Ran ran = shop.run(query_of(address, sql));
    INFO(sql << ran.err);
    CHECK(ran.exit == exit);
    CHECK(ran.err.find("open sesame") == std::string::npos);
    CHECK(ran.err.find("open%20sesame") == std::string::npos);
    return ran.err;
  };
  const std::string address = "postgresql://shop:open%20sesame@" + server.at();
  CHECK_THAT(error(address, "SELECT nope FROM loans", 3), Catch::Contains("column \"nope\" does not exist"));
  CHECK_THAT(error(address, "SELECT id FROM many", 3), Catch::Contains("no column \"due\""));
  CHECK_THAT(error(address, "SELECT id FROM empty", 3), Catch::Contains("no column \"due\""));
  CHECK_THAT(error(address, "SELECT id, due, id FROM many", 3), Catch::Contains("\"id\" twice"));
  CHECK_THAT(error(address, "SELECT FROM many", 3), Catch::Contains("no columns"));
  CHECK_THAT(error(address, "DROP TABLE many", 3), Catch::Contains("syntax error"));
  CHECK_THAT(error(address, "SELECT 1; DROP TABLE many", 3), Catch::Contains("syntax error"));
  CHECK_THAT(error(address, "SELECT id, due, 1 / (id - 5000) FROM many", 3),
             Catch::Contains("division by zero"));
  CHECK_THAT(error(address, "SELECT nextval('x')", 3), Catch::Contains("ERROR"));
  CHECK_THAT(error("postgresql://shop:open%20sesam@" + server.at(), "SELECT 1", 1),
             Catch::Contains("password authentication failed"));
  CHECK_THAT(error("postgresql://shop:open sesame@" + server.at(), "SELECT 1", 5), Catch::Contains("%20"));
  CHECK_THAT(error("postgresql://shop:open%20sesame@127.0.0.1:x/y", "SELECT 1", 5), Catch::Contains("\"x\""));
  CHECK_THAT(error("postgresql://shop:open%20sesame@127.0.0.1:1/shop", "SELECT 1", 5),
             Catch::Contains("refused"));
  CHECK_THAT(error(address, "SELECT id, due, pg_terminate_backend(pg_backend_pid()) FROM many", 5),
             Catch::Contains("Connection failed"));
  error(address,
        "SELECT id, due, CASE WHEN id = 5000 THEN pg_terminate_backend(pg_backend_pid()) END FROM many", 5);
  // The summary comes all the same.
  check_counts(shop.ask(query_of(address, "SELECT nope FROM loans")), 0, 0, 0, 0, 0);
  check_counts(shop.ask(query_of(address, "SELECT * FROM empty")), 0, 0, 0, 0, 0);
  CHECK(server.run("SELECT * FROM many LIMIT 1").exit == 0);
}

}  // namespace

TEST_CASE("rows of a real PostgreSQL come with types, zones and digits", "[cli][import][postgresql]") {
  if (skipped(PostgresServer::program("postgres"), "postgresql")) return;
  const PostgresServer server("open sesame");
  const Ran made = server.run(postgres_tables);
  INFO(made.err);
  REQUIRE(made.exit == 0);
  const Shop shop;
  const std::string address = "postgresql://shop:open%20sesame@" + server.at();
  check_values_of_postgres(shop, address);

  const Shop many;
  const Ran all = many.ask(query_of(address, "SELECT * FROM many ORDER BY id"));
  check_counts(all, 20'000, 20'000, 0, 0, 0);
  CHECK(many.order("q", "20000")["due"] == 1'796'083'200'000 + 20'000'000);
  check_counts(many.ask(query_of(address, "SELECT id, due FROM many WHERE id > 19990")), 10, 0, 0, 10, 0);
  check_errors_of_postgres(many, server);
  CHECK(many.stats("q")["WAIT"] == 20'000);
}

TEST_CASE("rows of a real MariaDB come with types, zones and digits", "[cli][import][mysql]") {
  if (skipped(MariadbServer::program(), "mariadb-server-core")) return;
  const MariadbServer server(
      "SET NAMES utf8mb4;\nSET max_recursive_iterations = 100000;\n"
      "CREATE DATABASE shop CHARACTER SET utf8mb4;\n"
      "CREATE TABLE shop.t(id BIGINT UNSIGNED, due TIMESTAMP(3), local DATETIME, n DECIMAL(30,10), e "
      "ENUM('a','b'), "
      "j JSON, x VARBINARY(8), name VARCHAR(9));\n"
      "INSERT INTO shop.t VALUES(18446744073709551615, '2026-12-01 17:00:00.250', '2026-12-01 09:00:00', "
      "12345678901234567890.0123456789, 'b', '{\"x\": 1.50}', 0x00ff, 'Zoë');\n"
      "INSERT INTO shop.t VALUES(2, '2026-12-01 17:00:00', NULL, NULL, NULL, NULL, NULL, '');\n"
      "CREATE TABLE shop.many AS WITH RECURSIVE s AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM s WHERE id "
      "< 20000) "
      "SELECT id, id AS due FROM s;\n");
  const Shop shop;
  const std::string address = "mysql://me:secret@" + server.at() + "/shop";
  const Ran ran = shop.ask(query_of(address, "SELECT * FROM t ORDER BY id DESC"));
  CHECK(ran.exit == 0);
  check_counts(ran, 2, 2, 0, 0, 0);
  const json order = shop.order("q", "18446744073709551615");
  CHECK(order["due"] == 1'796'115'600'250);
  CHECK(json::parse(order["payload"].get<std::string>()) ==
        json::parse(
            R"({"id":"18446744073709551615","due":"2026-12-01 09:00:00.250","local":"2026-12-01 09:00:00",
                        "n":"12345678901234567890.0123456789","e":"b","j":"{\"x\": 1.50}",
                        "x":{"base64":"AP8="},"name":"Zoë"})"));

  const Shop many;
  check_counts(many.ask(query_of(address, "SELECT * FROM many")), 20'000, 20'000, 0, 0, 0);
  const auto error = [&](const std::string& sql) {
    const Ran failed = many.run(query_of(address, sql));
    INFO(sql << failed.err);
    CHECK(failed.exit == 3);
    CHECK(failed.err.find("secret") == std::string::npos);
    return failed.err;
  };
  CHECK_THAT(error("SELECT nope FROM t"), Catch::Contains("nope"));
  CHECK_THAT(error("SELECT id, due FROM t; DROP TABLE t"), Catch::Contains("SQL syntax"));
  CHECK_THAT(error("DROP TABLE t"), Catch::Contains("READ ONLY"));
  CHECK_THAT(error("DELETE FROM t"), Catch::Contains("READ ONLY"));
  CHECK_THAT(error("SET @x = 1"), Catch::Contains("no columns"));
  CHECK_THAT(error("SELECT id, due, id FROM t"), Catch::Contains("\"id\" twice"));
  // Left in the middle: what is still to come is not waited for.
  CHECK(many.run(query_of(address, "SELECT id, 'x' AS due FROM many", {"--strict"})).exit == 3);
  check_counts(many.ask(query_of(address, "SELECT id, due FROM t", {"--upsert"})), 2, 1, 1, 0, 0);
  const Ran gone = many.run(query_of("mysql://me:secret@127.0.0.1:1/shop", "SELECT 1"));
  CHECK(gone.exit == 5);
  CHECK_THAT(gone.err, Catch::Contains("mysql://127.0.0.1:1/shop: Can't connect"));
}

TEST_CASE("members of a real Redis become orders, due at their scores", "[cli][import][redis]") {
  if (skipped(RedisServer::program(), "redis-server")) return;
  const RedisServer server;
  const std::string address = "redis://" + server.at();
  const std::string too_long(256, 'm');
  server.run(
      "ZADD z 1796083200 seconds 1796083200250 milliseconds 1796083200.5 half -1 past\n"
      "ZADD z 1796083200 \"a \\x00\\xff b\" inf never 1e300 far 1796083200 " +
      too_long +
      "\n"
      "SET p:seconds '{\"n\":1}'\nSET string 1\nSELECT 3\nZADD z 7 other\n");
  const Shop shop;
  const Ran ran = shop.ask(zset_of(address, "z"));
  CHECK(ran.exit == 3);
  check_counts(ran, 8, 5, 0, 0, 3);
  for (const json& bad : events_of(ran, "bad")) {
    CHECK_THAT(bad["error"].get<std::string>(),
               Catch::Contains("256 bytes long") || Catch::StartsWith("score: "));
  }
  CHECK(shop.order("q", "seconds")["due"] == 1'796'083'200'000);
  CHECK(shop.order("q", "milliseconds")["due"] == 1'796'083'200'250);
  CHECK(shop.order("q", "half")["due"] == 1'796'083'200'500);
  CHECK(shop.order("q", "past")["due"] == -1'000);
  CHECK(shop.order("q", "seconds")["payload"] == "");
  CHECK(shop.ask({"list", "q"}).json()["orders"].size() == 5);

  const Ran again = shop.ask(zset_of(address, "z"));
  check_counts(again, 8, 0, 0, 0, 3);
  CHECK(summary_of(again)["present"] == 5);
  check_counts(Shop().ask(zset_of(address + "/3", "z", {"--due-unit", "ms"})), 1, 1, 0, 0, 0);

  const Shop with_payloads;
  const Ran payloads = with_payloads.ask(zset_of(address, "z", {"--payload-key", "p:"}));
  CHECK(summary_of(payloads)["scheduled"] == 1);
  CHECK(with_payloads.order("q", "seconds")["payload"] == "{\"n\":1}");
  CHECK_THAT(payloads.out, Catch::Contains("payload \\\"p:half\\\" is not there"));

  const Ran no_key = shop.run(zset_of(address, "none"));
  CHECK(no_key.exit == 3);
  CHECK_THAT(no_key.err, Catch::Contains("there is no key \"none\""));
  CHECK_THAT(shop.run(zset_of(address, "string")).err,
             Catch::Contains("\"string\" is a string, no sorted set"));
  CHECK_THAT(shop.run(zset_of(address + "/99", "z")).err, Catch::Contains("DB index"));
  CHECK(shop.run(zset_of(address, "z", {"--status", "x"})).exit == 2);
  CHECK(shop.run(zset_of("redis://127.0.0.1:1", "z")).exit == 5);
}

TEST_CASE("a sorted set of many members comes in pieces, each member once", "[cli][import][redis]") {
  if (skipped(RedisServer::program(), "redis-server")) return;
  const RedisServer server("open sesame");
  std::string commands;
  for (int i = 0; i < 20'000; ++i) {
    commands += (i % 500 == 0 ? "\nZADD z" : "") + (" 1796083200 m" + std::to_string(i));
  }
  server.run(commands + "\n");
  const Shop shop;
  const Ran ran = shop.ask(zset_of("redis://:open%20sesame@" + server.at(), "z"));
  CHECK(ran.exit == 0);
  const json summary = summary_of(ran);
  CHECK(summary["scheduled"] == 20'000);
  CHECK(summary["refused"] == 0);
  CHECK(summary["rows"] == summary["scheduled"].get<int>() + summary["present"].get<int>());
  CHECK(shop.stats("q")["WAIT"] == 20'000);

  for (const char* login : {"", ":wrong%20secret@", "nobody:wrong%20secret@"}) {
    const Ran denied = shop.run(zset_of("redis://" + std::string(login) + server.at(), "z"));
    CHECK(denied.exit == 1);
    CHECK(denied.err.find("wrong") == denied.err.find("wrong number"));
    CHECK_THAT(denied.err, Catch::Contains("NOAUTH") || Catch::Contains("WRONGPASS"));
  }
}
