// What a database said, as a person is told it.
#include <catch2/catch.hpp>

#include "sql_source.h"

using duelease::tools::sql_message;

TEST_CASE("a backend that is not installed names its Debian package", "[sql]") {
  const std::string said = "Failed to find shared library for backend ";
  CHECK_THAT(sql_message(said + "sqlite3", {}), Catch::Contains("libsoci-sqlite3-4.0"));
  CHECK_THAT(sql_message(said + "postgresql", {}), Catch::Contains("libsoci-postgresql4.0"));
  CHECK_THAT(sql_message(said + "mysql", {}), Catch::Contains("libsoci-mysql4.0"));
  CHECK(sql_message(said + "oracle", {}) == said + "oracle");
}

TEST_CASE("a message of a database is one line, without the query that was made of the user's", "[sql]") {
  CHECK(sql_message("Cannot execute query. ERROR:  no such thing\nLINE 1: DECLARE duelease\n          ^\n",
                    {}) == "Cannot execute query. ERROR: no such thing");
  CHECK(sql_message("sqlite3_statement_backend::prepare: near \"x\": syntax error", {}) ==
        "near \"x\": syntax error");
  CHECK(sql_message("", {}).empty());
}

TEST_CASE("errors of MySQL: who may not, what is gone, and what is wrong", "[sql]") {
  using duelease::Code;
  using duelease::tools::mysql_code;
  for (const unsigned number : {1044U, 1045U, 1130U, 1142U, 1143U, 1227U, 1698U}) {
    INFO(number);
    CHECK(mysql_code(number) == Code::denied);
  }
  for (const unsigned number : {1040U, 1053U, 1129U, 1152U, 1203U, 1927U, 2002U, 2003U, 2006U, 2013U}) {
    INFO(number);
    CHECK(mysql_code(number) == Code::unreachable);
  }
  for (const unsigned number : {1049U, 1054U, 1064U, 1146U, 1792U}) {
    INFO(number);
    CHECK(mysql_code(number) == Code::invalid);
  }
}

TEST_CASE("no secret stays in a message", "[sql]") {
  CHECK(sql_message("bad URI \"postgresql://me:pw@h\", pw and pwpw", {"postgresql://me:pw@h", "pw", ""}) ==
        "bad URI \"***\", *** and ******");
  CHECK(sql_message("a * b", {"*"}) == "a *** b");
}
