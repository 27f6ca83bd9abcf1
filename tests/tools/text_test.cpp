// Bytes made safe for terminals and for JSON.
#include "text.h"

#include <catch2/catch.hpp>

#include "json.h"

using namespace duelease::tools;

TEST_CASE("UTF-8 is told from bytes that only look like it", "[text]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("\xC3\xBC"));          // U+00FC
  CHECK(is_utf8("\xE8\xAE\xA2"));      // U+8BA2
  CHECK(is_utf8("\xF0\x9F\x93\xA6"));  // U+1F4E6
  CHECK(is_utf8("\xF4\x8F\xBF\xBF"));  // U+10FFFF
  CHECK(is_utf8(std::string_view("\0", 1)));
  for (const char* bytes : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                            "\xF0\x80\x80\x80", "\xFF", "a\xE8\xAE", "\xC3(", "\xF8\x88\x80\x80\x80"}) {
    INFO(printable(bytes));
    CHECK(!is_utf8(bytes));
  }
}

TEST_CASE("what could steer a terminal is escaped", "[text]") {
  CHECK(printable("plain \xC3\xBC \xE8\xAE\xA2") == "plain \xC3\xBC \xE8\xAE\xA2");
  CHECK(printable("a\nb\r\tc\\") == "a\\nb\\r\\tc\\\\");
  CHECK(printable(std::string_view("\0\x1B[2J\x7F", 6)) == "\\x00\\x1b[2J\\x7f");
  CHECK(printable("\xC2\x9B") == "\\xc2\\x9b");           // C1: a control sequence in one character.
  CHECK(printable("\xE2\x80\xAE") == "\\xe2\\x80\\xae");  // Right to left from here on.
  CHECK(printable("\xFF\xFE") == "\\xff\\xfe");
  CHECK(printable("") == "");
}

TEST_CASE("long text is cut within its width", "[text]") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abc...");
  CHECK(printable("\n\n\n\n", 6) == "\\n...");
  CHECK(printable("\xFF\xFF\xFF", 6) == "...");
  CHECK(printable("abcdefg", 3) == "...");
  CHECK(printable("abcdefg", 0) == "");
  const std::string wide = "\xE8\xAE\xA2\xE8\xAE\xA2\xE8\xAE\xA2\xE8\xAE\xA2";
  CHECK(printable(wide, 8) == wide);
  CHECK(printable(wide, 7) == "\xE8\xAE\xA2\xE8\xAE\xA2...");
}

TEST_CASE("columns are counted as a terminal draws them", "[text]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("\xC3\xBC") == 1);
  CHECK(display_width("\xE8\xAE\xA2") == 2);
  CHECK(display_width("e\xCC\x81") == 1);
}

TEST_CASE("base64", "[text]") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xFF\xFE\xFD") == "//79");
}

TEST_CASE("bytes in JSON are a string where they are UTF-8, else base64", "[text]") {
  CHECK(json_line(json_bytes("a\"\n")) == R"("a\"\n")");
  CHECK(json_line(json_bytes(std::string_view("\0", 1))) == R"("\u0000")");
  CHECK(json_line(json_bytes("\xFF")) == R"({"base64":"/w=="})");
}

TEST_CASE("a count agrees with its noun", "[text]") {
  CHECK(counted(0, "order") == "0 orders");
  CHECK(counted(1, "order") == "1 order");
  CHECK(counted(2, "order") == "2 orders");
}
