// The page about the protocol names every verb with just the words that it takes, and every error code.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "protocol/request.h"

using namespace duelease::protocol;

namespace {

std::string readme() {
  std::ifstream file(DUELEASE_SOURCE_FOLDER "/src/protocol/README.md");
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(file);
  return text.str();
}

// A bar within a cell of a table is written with a backslash.
std::string in_table(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return "| `" + out + "` |";
}

}  // namespace

TEST_CASE("the README of the protocol shows each verb as it is") {
  const std::string text = readme();
  for (const VerbUsage& verb : verbs()) {
    INFO(verb.usage);
    CHECK(text.find(in_table(verb.usage)) != std::string::npos);
  }
}

TEST_CASE("the README of the protocol names each error code") {
  const std::string text = readme();
  for (int code = 0; code <= static_cast<int>(WireCode::closing); ++code) {
    const std::string name(wire_code_name(static_cast<WireCode>(code)));
    INFO(name);
    CHECK(text.find("| `" + name + "` |") != std::string::npos);
  }
}
