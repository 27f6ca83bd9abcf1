// WordReader: both forms, however the bytes are cut; every limit; every way to be no request.
#include "protocol/words.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "protocol/largest_allocation.h"
#include "protocol/reply.h"

using namespace duelease;
using namespace duelease::protocol;

namespace {

using Texts = std::vector<std::string>;

struct Read {
  std::vector<Texts> requests{};
  std::string error{};
  std::optional<Code> code{};
};

void take_all(WordReader& reader, Read& read) {
  while (true) {
    const Result<std::optional<Words>> words = reader.next();
    if (!words) {
      read.error = words.error().message;
      read.code = words.error().code;
      return;
    }
    if (!*words) return;
    read.requests.emplace_back((*words)->begin(), (*words)->end());
  }
}

// Cut behind the byte `cut`.
Read read_words(std::string_view bytes, std::size_t cut, const WordLimits& limits) {
  WordReader reader(limits);
  Read read;
  reader.feed(bytes.substr(0, cut));
  take_all(reader, read);
  reader.feed(bytes.substr(cut));
  take_all(reader, read);
  return read;
}

// The same wherever they are cut.
Read read_words(std::string_view bytes, const WordLimits& limits = {}) {
  const Read whole = read_words(bytes, bytes.size(), limits);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const Read parts = read_words(bytes, cut, limits);
    INFO("cut at " << cut << ": " << bytes);
    CHECK(parts.requests == whole.requests);
    CHECK(parts.error == whole.error);
    CHECK(parts.code == whole.code);
  }
  return whole;
}

std::vector<Texts> requests(std::string_view bytes, const WordLimits& limits = {}) {
  const Read read = read_words(bytes, limits);
  INFO(bytes);
  CHECK(read.error == "");
  return read.requests;
}

std::string error(std::string_view bytes, Code code = Code::invalid, const WordLimits& limits = {}) {
  const Read read = read_words(bytes, limits);
  INFO(bytes);
  CHECK(read.code == code);
  return read.error;
}

std::string array(const Texts& words) {
  std::string out;
  print_array(out, words.size());
  for (const std::string& word : words) print_bulk(out, word);
  return out;
}

const Texts ping = {"PING"};

}  // namespace

TEST_CASE("a line is words with spaces between, ended by LF or CRLF", "[words]") {
  CHECK(requests("PING\n") == std::vector<Texts>{ping});
  CHECK(requests("PING\r\n") == std::vector<Texts>{ping});
  CHECK(requests("  SCHEDULE   q 1  +30m \r\n") == std::vector<Texts>{{"SCHEDULE", "q", "1", "+30m"}});
  CHECK(requests("a\tb \x01\xff\n") == std::vector<Texts>{{"a\tb", "\x01\xff"}});
  CHECK(requests(std::string_view("a\0b\n", 4)) == std::vector<Texts>{{std::string("a\0b", 3)}});
  CHECK(requests("a\rb\n") == std::vector<Texts>{{"a\rb"}});
  CHECK(requests("PING") == std::vector<Texts>{});
}

TEST_CASE("lines may follow one another, and those without a word are passed over", "[words]") {
  CHECK(requests("\n\r\n   \nPING\n\nPING\r\n  \r\n") == std::vector<Texts>{ping, ping});
}

TEST_CASE("a word in double quotes has escapes", "[words]") {
  CHECK(requests("PING \"two words\"\n") == std::vector<Texts>{{"PING", "two words"}});
  CHECK(requests(R"(PING "\"\\\n\r\t\x41\x0A\xfF")"
                 "\n") == std::vector<Texts>{{"PING", "\"\\\n\r\tA\n\xff"}});
  CHECK(requests("\"\\x00\"\n") == std::vector<Texts>{{std::string(1, '\0')}});
  CHECK(requests("\"\" \"'\" \"a\"\n") == std::vector<Texts>{{"", "'", "a"}});
}

TEST_CASE("a word in single quotes is taken literally", "[words]") {
  CHECK(requests(R"(PING '{"a": "\n"}' '')"
                 "\n") == std::vector<Texts>{{"PING", R"({"a": "\n"})", ""}});
}

TEST_CASE("a quote inside a word is a byte like any other", "[words]") {
  CHECK(requests("PING {\"customer\":7} it's a\"\n") ==
        std::vector<Texts>{{"PING", "{\"customer\":7}", "it's", "a\""}});
}

TEST_CASE("quotes that do not close, or close in the middle of a word, are an error", "[words]") {
  CHECK(error("PING \"abc\n") == "no closing \" for '\"abc'");
  CHECK(error("PING 'abc\r\n") == "no closing ' for ''abc'");
  CHECK(error("PING \"abc\\\"\n") == "no closing \" for '\"abc\"\"'");
  CHECK(error("PING \"a b\"c\n") == "behind the quoted word 'a b' stands 'c' and not a space");
  CHECK(error("PING 'a''b'\n") == "behind the quoted word 'a' stands ''' and not a space");
  CHECK(error("PING \"\n") == "no closing \" for '\"'");
}

TEST_CASE("an unknown escape is an error that shows it", "[words]") {
  for (const char* escape : {"\\q", "\\0", "\\'", "\\x4", "\\x4g", "\\xg4", "\\N", "\\X41"}) {
    CHECK_THAT(error("PING \"" + std::string(escape) + "\"\n"),
               Catch::StartsWith("'" + std::string(escape).substr(0, 2)) && Catch::Contains("no escape"));
  }
  CHECK_THAT(error("PING \"\\\n"), Catch::Contains("no escape"));
}

TEST_CASE("an array is words of any bytes", "[words]") {
  const Texts any = {"PING", std::string("\0\r\n* $\xff", 7), "", "\"a b\"", std::string(300, 'x')};
  CHECK(requests(array(any) + array(ping)) == std::vector<Texts>{any, ping});
}

TEST_CASE("both forms may follow one another", "[words]") {
  CHECK(requests("PING\n" + array(ping) + "\r\nPING\r\n" + array(ping)) ==
        std::vector<Texts>{ping, ping, ping, ping});
  CHECK(requests(" *1\n") == std::vector<Texts>{{"*1"}});
}

TEST_CASE("empty arrays are passed over", "[words]") {
  CHECK(requests("*0\r\n*-1\r\n" + array(ping) + "*0\r\n") == std::vector<Texts>{ping});
}

TEST_CASE("numbers of the array form are strictly decimal", "[words]") {
  for (const char* number : {"", "+1", " 1", "1 ", "01", "00", "-0", "-2", "-01", "0x1", "1.0", "a", "1\n",
                             "1\rx", "9223372036854775808", "99999999999999999999", "-9223372036854775809"}) {
    INFO(number);
    CHECK_THAT(
        error("*" + std::string(number) + "\r\n$4\r\nPING\r\n"),
        Catch::StartsWith("the number of words '") && Catch::EndsWith("is no number that ends with CRLF"));
    CHECK_THAT(
        error("*1\r\n$" + std::string(number) + "\r\nPING\r\n"),
        Catch::StartsWith("the length of a word '") && Catch::EndsWith("is no number that ends with CRLF"));
  }
  CHECK(error("*1\r\n$-1\r\n") == "the length of a word '-1\\x0d\\x0a' is no number that ends with CRLF");
  CHECK(error("*3x") == "the number of words '3x' is no number that ends with CRLF");  // At once.
}

TEST_CASE("a frame that is broken elsewhere is an error that shows where", "[words]") {
  CHECK(error("*1\r\nPING\r\n") == "a word begins with '$' and its length, not with 'P'");
  CHECK(error("*2\r\n$4\r\nPING\r\n*1\r\n") == "a word begins with '$' and its length, not with '*'");
  CHECK(error("*1\r\n$4\r\nPINGS\r\n") == "behind a word of 4 bytes stands 'S\\x0d' and not CRLF");
  CHECK(error("*1\r\n$4\r\nPING\n\n") == "behind a word of 4 bytes stands '\\x0a\\x0a' and not CRLF");
}

TEST_CASE("requests before a broken one are read, and none behind it", "[words]") {
  const Read read = read_words("PING\n" + array(ping) + "*x\r\nPING\nPING\n");
  CHECK(read.requests == std::vector<Texts>{ping, ping});
  CHECK(read.code == Code::invalid);
}

TEST_CASE("an error is final, and nothing is held any more", "[words]") {
  WordReader reader{{}};
  reader.feed("*x\r\n");
  const Result<std::optional<Words>> first = reader.next();
  REQUIRE(!first);
  CHECK(reader.bytes_held() == 0);
  reader.feed("PING\n");
  CHECK(reader.bytes_held() == 0);
  const Result<std::optional<Words>> second = reader.next();
  REQUIRE(!second);
  CHECK(second.error().message == first.error().message);
}

TEST_CASE("a line has a limit, without its end", "[words]") {
  const WordLimits limits{.line_bytes_max = 10};
  for (const char* end : {"\n", "\r\n"}) {
    CHECK(requests("PING 67890" + std::string(end), limits) == std::vector<Texts>{{"PING", "67890"}});
    CHECK(error("PING 678901" + std::string(end), Code::too_large, limits) ==
          "the line is too long; at most 10 bytes are allowed");
  }
  CHECK(error("PING 678901", Code::too_large, limits) ==
        "the line is too long; at most 10 bytes are allowed");
  CHECK(requests("PING 67890\r", limits) == std::vector<Texts>{});  // Its LF may come.
  error("PING 67890\rx", Code::too_large, limits);
}

TEST_CASE("an array has a limit, all of it, that is checked before its bytes come", "[words]") {
  const std::string request = array({"PING", std::string(100, 'x')});
  CHECK(requests(request, {.request_bytes_max = request.size()}).size() == 1);
  const WordLimits limits{.request_bytes_max = request.size() - 1};
  const std::string said = error(request, Code::too_large, limits);
  CHECK(said == "the request is too large with a word of 100 bytes; at most " +
                    std::to_string(request.size() - 1) + " bytes are allowed");
  CHECK(error(request.substr(0, 20), Code::too_large, limits) == said);
  CHECK_THAT(error("*1\r\n$9223372036854775807\r\n", Code::too_large),
             Catch::Contains("9223372036854775807") && Catch::Contains("1114112"));
  // The limit of lines is another one.
  CHECK(requests("PING 1234567890\n", {.request_bytes_max = 5}).size() == 1);
}

TEST_CASE("the number of words has a limit in both forms", "[words]") {
  const WordLimits limits{.words_max = 3};
  CHECK(requests("a b c\n", limits) == std::vector<Texts>{{"a", "b", "c"}});
  CHECK(error("a b c d\n", Code::too_large, limits) ==
        "the line has too many words; at most 3 words are allowed");
  CHECK(requests(array({"a", "b", "c"}), limits).size() == 1);
  CHECK(error("*4\r\n", Code::too_large, limits) == "the request has 4 words; at most 3 words are allowed");
  CHECK_THAT(error("*9223372036854775807\r\n", Code::too_large), Catch::Contains("9223372036854775807"));
}

TEST_CASE("bytes of requests that were not taken yet are counted", "[words]") {
  WordReader reader{{}};
  reader.feed("PING\n" + array(ping) + "PI");
  const std::size_t size = array(ping).size();
  CHECK(reader.bytes_held() == 5 + size + 2);
  REQUIRE(reader.next());
  CHECK(reader.bytes_held() == size + 2);
  REQUIRE(reader.next());
  CHECK(reader.bytes_held() == 2);
  REQUIRE(reader.next());
  CHECK(reader.bytes_held() == 2);
}

TEST_CASE("a promised length costs no memory", "[words]") {
  constexpr std::size_t much = 1'000'000'000;
  const WordLimits limits{.request_bytes_max = 2 * much, .words_max = 2 * much};
  for (const char* bytes : {"*1000000000\r\n", "*1000000000\r\n$1000000000\r\nx", "*1\r\n$1000000000\r\n"}) {
    reset_largest_allocation();
    WordReader reader(limits);
    reader.feed(bytes);
    const Result<std::optional<Words>> words = reader.next();
    REQUIRE(words.has_value());
    CHECK_FALSE(words->has_value());
    CHECK(largest_allocation() < 200);
  }
}

TEST_CASE("memory follows the bytes that came, and is given back", "[words]") {
  constexpr std::size_t size = 1'000'000;
  const std::string request = array({std::string(size, 'x')});
  WordReader reader{{}};
  reset_largest_allocation();
  for (std::size_t at = 0; at < request.size(); at += 1000) {
    reader.feed(std::string_view(request).substr(at, 1000));
    REQUIRE(reader.next().has_value());
    REQUIRE(largest_allocation() <= 2 * at + 4000);
  }
  REQUIRE(reader.next().has_value());  // The words of the large request go.
  // The buffer is a small one again: had it been kept, this would not need a new one.
  reset_largest_allocation();
  reader.feed(std::string_view(request).substr(0, 60'000));
  CHECK(largest_allocation() >= 60'000);
}

TEST_CASE("large requests that come byte by byte are linear work", "[words]") {
  // Quadratic work would be 10^12 steps for each of these.
  constexpr std::size_t size = 1'000'000;
  const WordLimits limits{.request_bytes_max = 2 * size, .line_bytes_max = size, .words_max = size};
  std::string many_words;
  for (std::size_t i = 0; i < size / 2; ++i) many_words += "a ";
  std::string many_requests;
  for (std::size_t i = 0; i < size / 5; ++i) many_requests += "PING\n";
  for (const std::string& bytes :
       {"\"" + std::string(size - 2, 'x') + "\"\n", array({std::string(size, 'x')}),
        array(Texts(size / 8, "x")), many_words + "\n", many_requests}) {
    const auto begin = std::chrono::steady_clock::now();
    WordReader reader{limits};
    std::size_t read = 0;
    for (const char byte : bytes) {
      reader.feed({&byte, 1});
      const Result<std::optional<Words>> words = reader.next();
      if (!words) FAIL(words.error().message);  // REQUIRE would take longer than all else.
      read += words->has_value() ? 1 : 0;
    }
    CHECK(read == (bytes == many_requests ? size / 5 : 1));
    // And all at once, when the requests are taken one by one.
    WordReader at_once{limits};
    at_once.feed(bytes);
    while (true) {
      const Result<std::optional<Words>> words = at_once.next();
      if (!words) FAIL(words.error().message);
      if (!*words) break;
      --read;
    }
    CHECK(read == 0);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  }
}
