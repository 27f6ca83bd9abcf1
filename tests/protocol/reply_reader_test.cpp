// ReplyReader: RESP2, however the bytes are cut; its limits; every way to be no reply.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "protocol/answer.h"
#include "protocol/largest_allocation.h"
#include "protocol/reply.h"

using namespace duelease;
using namespace duelease::protocol;
using namespace std::string_literals;

namespace {

using Kind = Value::Kind;

// A value as a person would write it.
std::string shown(const Value& value) {
  switch (value.kind) {
    case Kind::simple: return "+" + value.text;
    case Kind::error: return "-" + value.text;
    case Kind::integer: return std::to_string(value.integer);
    case Kind::bulk: return "'" + value.text + "'";
    case Kind::nil: return "nil";
    case Kind::array: break;
  }
  std::string out = "[";
  for (const Value& element : value.array) out += shown(element) + " ";
  return out + "]";
}

struct Read {
  std::string values{};
  std::string error{};
  std::optional<Code> code{};
};

void take_all(ReplyReader& reader, Read& read) {
  while (true) {
    const Result<std::optional<Value>> reply = reader.next();
    if (!reply) {
      read.error = reply.error().message;
      read.code = reply.error().code;
      return;
    }
    if (!*reply) return;
    read.values += shown(**reply) + ";";
  }
}

Read read_replies(std::string_view bytes, std::size_t cut, ReplyLimits limits) {
  ReplyReader reader(limits);
  Read read;
  reader.feed(bytes.substr(0, cut));
  take_all(reader, read);
  reader.feed(bytes.substr(cut));
  take_all(reader, read);
  return read;
}

Read read_replies(std::string_view bytes, ReplyLimits limits = {}) {
  const Read whole = read_replies(bytes, bytes.size(), limits);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const Read parts = read_replies(bytes, cut, limits);
    INFO("cut at " << cut << ": " << bytes);
    CHECK(parts.values == whole.values);
    CHECK(parts.error == whole.error);
    CHECK(parts.code == whole.code);
  }
  return whole;
}

std::string values(std::string_view bytes, ReplyLimits limits = {}) {
  const Read read = read_replies(bytes, limits);
  INFO(bytes);
  CHECK(read.error == "");
  return read.values;
}

std::string error(std::string_view bytes, Code code = Code::invalid, ReplyLimits limits = {}) {
  const Read read = read_replies(bytes, limits);
  INFO(bytes);
  CHECK(read.code == code);
  return read.error;
}

}  // namespace

TEST_CASE("every kind of reply is read", "[reply_reader]") {
  CHECK(values("+OK\r\n") == "+OK;");
  CHECK(values("+\r\n") == "+;");
  CHECK(values("+a long line\r\n+\r\n:1\r\n-\r\n") == "+a long line;+;1;-;");
  CHECK(values("-ERR what was wrong\r\n") == "-ERR what was wrong;");
  CHECK(values(":0\r\n:-1\r\n:9223372036854775807\r\n:-9223372036854775808\r\n") ==
        "0;-1;9223372036854775807;-9223372036854775808;");
  CHECK(values("$0\r\n\r\n$4\r\na\r\nb\r\n") == "'';'a\r\nb';");
  CHECK(values("$-1\r\n*-1\r\n") == "nil;nil;");
  CHECK(values("*0\r\n*2\r\n:1\r\n*2\r\n+a\r\n*0\r\n*1\r\n$1\r\nx\r\n") == "[];[1 [+a [] ] ];['x' ];");
  CHECK(values("*2\r\n:1\r\n") == "");
}

TEST_CASE("what is printed is read", "[reply_reader]") {
  std::string out;
  print_array(out, 5);
  print_simple(out, "a\r\nb");
  print_error(out, WireCode::too_large, "one\ntwo\r");
  print_integer(out, -5);
  print_bulk(out, std::string_view("\0\r\n", 3));
  print_nil(out);
  CHECK(values(out) == "[+a  b -TOOLARGE one two  -5 '\0\r\n' nil ];"s);
}

TEST_CASE("what is no RESP2 is an error that shows it", "[reply_reader]") {
  CHECK(error("hello\r\n") == "a reply begins with one of + - : $ *, not with 'h'");
  CHECK(error("%1\r\n") == "a reply begins with one of + - : $ *, not with '%'");
  CHECK(error("+OK\n") == "'+OK\\x0a' is not a line that ends with CRLF");
  CHECK(error("+O\rK\r\n") == "'+O\\x0dK\\x0d\\x0a' is not a line that ends with CRLF");
  for (const char* line : {":\r\n", ":+1\r\n", ":01\r\n", ":-0\r\n", ":1.0\r\n", ":9223372036854775808\r\n",
                           ":-9223372036854775809\r\n", "$-2\r\n", "*-2\r\n", "$a\r\n", "*\r\n", "$1\n"}) {
    CHECK_THAT(error(line), Catch::EndsWith("is no number that ends with CRLF"));
  }
  CHECK(error("$2\r\nabc\r\n") == "behind a string of 2 bytes stands 'c\\x0d' and not CRLF");
  CHECK(error("*1\r\nx") == "a reply begins with one of + - : $ *, not with 'x'");
}

TEST_CASE("replies before a broken one are read, and the error is final", "[reply_reader]") {
  CHECK(read_replies("+OK\r\n:1\r\nx+OK\r\n").values == "+OK;1;");
}

TEST_CASE("a reply has a limit, that is checked before its bytes come", "[reply_reader]") {
  const ReplyLimits limits{.reply_bytes_max = 20};
  const char* said = "the reply is larger than 20 bytes";
  CHECK(values("$13\r\n1234567890123\r\n+OK\r\n", limits) == "'1234567890123';+OK;");
  CHECK(error("$14\r\n", Code::too_large, limits) == said);
  CHECK(error("$9223372036854775807\r\n", Code::too_large, limits) == said);
  CHECK(values("+12345678901234567\r\n", limits) == "+12345678901234567;");
  CHECK(error("+123456789012345678\r\n", Code::too_large, limits) == said);
  CHECK(error("+12345678901234567890", Code::too_large, limits) == said);
  CHECK(values("*5\r\n+\r\n+\r\n+\r\n+\r\n+\r\n", limits) == "[+ + + + + ];");
  CHECK(error("*6\r\n", Code::too_large, limits) == said);
  CHECK(error("*9223372036854775807\r\n", Code::too_large, limits) == said);
  CHECK(error("*2\r\n$6\r\n123456\r\n$1\r\n", Code::too_large, limits) == said);
}

TEST_CASE("arrays nest to a limit", "[reply_reader]") {
  const ReplyLimits limits{.depth_max = 3};
  CHECK(values("*1\r\n*1\r\n*1\r\n:1\r\n", limits) == "[[[1 ] ] ];");
  CHECK(values("*1\r\n*1\r\n*1\r\n*0\r\n", limits) == "[[[[] ] ] ];");  // An empty one costs nothing.
  CHECK(error("*1\r\n*1\r\n*1\r\n*1\r\n", Code::invalid, limits) ==
        "arrays in the reply are nested deeper than 3 levels");
}

TEST_CASE("a promised length of a reply costs no memory", "[reply_reader]") {
  for (const char* bytes : {"*100000000\r\n", "*100000000\r\n$100000000\r\nx", "$100000000\r\n"}) {
    reset_largest_allocation();
    ReplyReader reader;
    reader.feed(bytes);
    const Result<std::optional<Value>> reply = reader.next();
    REQUIRE(reply.has_value());
    CHECK_FALSE(reply->has_value());
    CHECK(largest_allocation() < 2000);
  }
}

TEST_CASE("memory of a large reply is given back", "[reply_reader]") {
  std::string bytes;
  print_bulk(bytes, std::string(1'000'000, 'x'));
  ReplyReader reader;
  reader.feed(bytes);
  REQUIRE(reader.next().has_value());
  REQUIRE(reader.next().has_value());  // None is left.
  // The buffer is a small one again: had it been kept, this would not need a new one.
  reset_largest_allocation();
  reader.feed(std::string_view(bytes).substr(0, 60'000));
  CHECK(largest_allocation() >= 60'000);
}

TEST_CASE("large replies that come byte by byte are linear work", "[reply_reader]") {
  constexpr std::size_t size = 1'000'000;
  std::string array;
  print_array(array, size / 8);
  for (std::size_t i = 0; i < size / 8; ++i) print_bulk(array, "x");
  std::string bulk;
  print_bulk(bulk, std::string(size, 'x'));
  std::string line;
  print_simple(line, std::string(size, 'x'));
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& bytes : {array, bulk, line}) {
    ReplyReader reader;
    std::size_t read = 0;
    for (const char byte : bytes) {
      reader.feed({&byte, 1});
      const Result<std::optional<Value>> reply = reader.next();
      if (!reply) FAIL(reply.error().message);  // REQUIRE would take longer than all else.
      read += reply->has_value() ? 1 : 0;
    }
    CHECK(read == 1);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}
