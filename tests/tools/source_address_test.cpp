// What --from names.
#include "source_address.h"

#include <catch2/catch.hpp>

using namespace duelease;
using namespace duelease::tools;

namespace {

SourceAddress address_of(std::string_view text) {
  const Result<SourceAddress> address = parse_source_address(text);
  INFO((address ? "" : address.error().message));
  REQUIRE(address);
  CHECK(address->text == text);
  return *address;
}

std::string error_of(std::string_view text) {
  const Result<SourceAddress> address = parse_source_address(text);
  INFO(text);
  REQUIRE(!address);
  CHECK(address.error().code == Code::invalid);
  return address.error().message;
}

}  // namespace

TEST_CASE("a file of SQLite is named as it stands", "[source_address]") {
  CHECK(address_of("sqlite:a b/c@d:1.db").path == "a b/c@d:1.db");
  CHECK(address_of("sqlite:///srv/a.db").path == "///srv/a.db");
  CHECK(address_of("sqlite:x").shown == "sqlite:x");
}

TEST_CASE("an address has user, password, host, port and name", "[source_address]") {
  const SourceAddress whole = address_of("mysql://me:p%40ss:w@rd@db.shop:3307/my%20shop");
  CHECK(whole.kind == SourceKind::mysql);
  CHECK(whole.user == "me");
  CHECK(whole.password == "p@ss:w@rd");
  CHECK(whole.host == "db.shop");
  CHECK(whole.port == 3307);
  CHECK(whole.path == "my shop");
  CHECK(whole.shown == "mysql://db.shop:3307/my%20shop");

  const SourceAddress redis = address_of("redis://:secret@[::1]");
  CHECK(redis.user.empty());
  CHECK(redis.password == "secret");
  CHECK(redis.host == "::1");
  CHECK(redis.port == 6379);
  CHECK(redis.path.empty());
  CHECK(address_of("redis://h:1/2").path == "2");
  CHECK(address_of("mariadb://h").port == 3306);
}

TEST_CASE("an address of PostgreSQL is its own library's, but for what is secret", "[source_address]") {
  const SourceAddress address =
      address_of("postgresql://me:se%63ret@h1:1,h2:2/shop?sslmode=require&password=x");
  CHECK(address.kind == SourceKind::postgresql);
  CHECK(address.password == "secret");
  CHECK(address.shown == "postgresql://h1:1,h2:2/shop");
  CHECK(address_of("postgres:///shop?host=/run").shown == "postgres:///shop");
}

TEST_CASE("nothing of a password that is not written plainly is shown", "[source_address]") {
  for (const std::string scheme : {"postgresql://", "mysql://", "redis://"}) {
    for (const char* rest : {"me:se/cret@h/db", "me:se?cret@h/db", "me:se@x/cret@h", "me:se/@cret@h",
                             "me:secret", "me:secret/db", ":se/cret@h"}) {
      const std::string error = error_of(scheme + rest);
      INFO(error);
      CHECK((error.find("%2F for /") != std::string::npos || error.find("no port") != std::string::npos));
      CHECK(error.find("se/") == std::string::npos);
      CHECK(error.find("cret") == std::string::npos);
    }
  }
  // Its library takes the first @ for the end of the password, and names the host.
  CHECK_THAT(error_of("postgresql://me:se@cret@h/db"), Catch::Contains("%40 for @"));
  CHECK(address_of("postgresql://[::1]:5432,h:1/db").shown == "postgresql://[::1]:5432,h:1/db");
  CHECK(address_of("mysql://me:se%2Fcret@h/db").password == "se/cret");
}

TEST_CASE("a wrong address is refused without its password", "[source_address]") {
  CHECK_THAT(error_of("oracle://me:secret@h"), Catch::Contains("sqlite:FILE"));
  CHECK_THAT(error_of("secret"), Catch::Contains("sqlite:FILE"));
  CHECK_THAT(error_of("sqlite:"), Catch::Contains("no file"));
  CHECK_THAT(error_of("redis:h"), Catch::Contains("//"));
  CHECK_THAT(error_of("redis://me:secret@"), Catch::Contains("no host"));
  CHECK_THAT(error_of("redis://me:secret@h:x"), Catch::Contains("port \"x\""));
  CHECK_THAT(error_of("redis://me:secret@h:65536"), Catch::Contains("65536"));
  CHECK_THAT(error_of("redis://me:secret@h:0"), Catch::Contains("\"0\""));
  CHECK_THAT(error_of("redis://me:secret%4@h"), Catch::Contains("%"));
  CHECK_THAT(error_of("redis://me:secret@h?x=1"), Catch::Contains("?options"));
  CHECK_THAT(error_of("mysql://me:secret@[::1]x/y"),
             Catch::Contains("no host") || Catch::Contains("is no host"));
  for (const char* text : {"oracle://me:secret@h", "secret", "redis://me:secret@", "redis://me:secret@h:x",
                           "redis://me:secret%4@h", "redis://me:secret@h?x=1"}) {
    CHECK(error_of(text).find("secret") == std::string::npos);
  }
}
