// Members of a JSON object as text.
#include "json_object.h"

#include <catch2/catch.hpp>

using namespace duelease;
using namespace duelease::tools;

namespace {

using Members = std::vector<std::pair<std::string, std::optional<std::string>>>;

Members members_of(std::string_view text) {
  Result<std::vector<JsonMember>> read = read_json_object(text);
  INFO((read ? "" : read.error().message));
  REQUIRE(read);
  Members members;
  for (JsonMember& member : *read) members.emplace_back(member.name, member.value);
  return members;
}

std::string error_of(std::string_view text) {
  const Result<std::vector<JsonMember>> read = read_json_object(text);
  REQUIRE(!read);
  CHECK(read.error().code == Code::invalid);
  return read.error().message;
}

}  // namespace

TEST_CASE("members keep their order, and numbers their digits", "[json_object]") {
  CHECK(
      members_of(R"({"z":"x","a":1796083200123,"n":12345678901234567890123,"f":1.50,"e":-1E+3,"t":true})") ==
      Members{{"z", "x"},
              {"a", "1796083200123"},
              {"n", "12345678901234567890123"},
              {"f", "1.50"},
              {"e", "-1E+3"},
              {"t", "true"}});
  CHECK(members_of("{}").empty());
  CHECK(members_of(" {\"\":null} ") == Members{{"", std::nullopt}});
  CHECK(members_of(R"({"a":1,"a":2})") == Members{{"a", "1"}, {"a", "2"}});
  CHECK(members_of(R"({"a":"\u0000\"\u00e9"})") == Members{{"a", std::string("\0\"\xC3\xA9", 4)}});
}

TEST_CASE("what is nested stays JSON", "[json_object]") {
  CHECK(members_of(
            R"({"a":[1, 2.50 ,"x\"y",null,[],{}], "b" : {"c":{"d":[true,false]},"e":"f"},"g":[[1],[2]]})") ==
        Members{{"a", R"([1,2.50,"x\"y",null,[],{}])"},
                {"b", R"({"c":{"d":[true,false]},"e":"f"})"},
                {"g", "[[1],[2]]"}});
}

TEST_CASE("what is no object is refused", "[json_object]") {
  for (const char* text : {"[1]", "1", "\"a\"", "null", "true", "[]"}) {
    INFO(text);
    CHECK(error_of(text) == "a JSON value that is no object");
  }
  for (const char* text : {"", "{", "{\"a\":1", "{\"a\"}", "{'a':1}", "{\"a\":1}x", "{\"a\":NaN}",
                           "{\"a\":01}", "{\"a\":\"\xFF\"}", "\x01"}) {
    INFO(text);
    CHECK_THAT(error_of(text), Catch::StartsWith("no JSON: byte "));
  }
  CHECK(error_of(std::string(1'000'000, 'x')).size() < 200);
  CHECK_THAT(error_of("{\"a\":" + std::string(1'000'000, '[')), Catch::StartsWith("no JSON"));
}
