#include "protocol/words.h"

#include <algorithm>
#include <cstdint>

#include "base/quote.h"
#include "protocol/number_line.h"

namespace duelease::protocol {
namespace {

using base::quote;

Unexpected above(std::string_view what, std::size_t limit, std::string_view unit) {
  return fail(Code::too_large, std::string(what) + "; at most " + std::to_string(limit) + " " +
                                   std::string(unit) + " are allowed");
}

Unexpected broken_number(std::string_view what, std::string_view bytes) {
  return fail(Code::invalid, std::string(what) + " " + quote(bytes) + " is no number that ends with CRLF");
}

std::optional<unsigned char> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned char>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned char>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned char>(c - 'A' + 10);
  return std::nullopt;
}

struct Escape {
  char byte;
  std::size_t size;  // Of the escape, the backslash included.
};

// `text` begins with a backslash.
std::optional<Escape> read_escape(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  switch (text[1]) {
    case '"': return Escape{'"', 2};
    case '\\': return Escape{'\\', 2};
    case 'n': return Escape{'\n', 2};
    case 'r': return Escape{'\r', 2};
    case 't': return Escape{'\t', 2};
    case 'x': break;
    default: return std::nullopt;
  }
  if (text.size() < 4) return std::nullopt;
  const auto high = hex_digit(text[2]);
  const auto low = hex_digit(text[3]);
  if (!high || !low) return std::nullopt;
  return Escape{static_cast<char>(*high << 4 | *low), 4};
}

}  // namespace

void WordReader::feed(std::string_view bytes) {
  if (!error_) inbox_.add(bytes);
}

Result<std::optional<Words>> WordReader::next() {
  words_.clear();
  if (error_) return Unexpected{*error_};
  while (inbox_.held() > 0) {
    const Result<bool> whole = inbox_.rest().front() == '*' ? next_array() : next_line();
    if (!whole) {
      error_ = whole.error();
      inbox_.drop();
      return Unexpected{*error_};
    }
    if (!*whole) return std::optional<Words>();
    if (!words_.empty()) return std::optional<Words>(words_);
  }
  inbox_.tidy();
  return std::optional<Words>();
}

// So large was the request.
void WordReader::take(std::size_t size) {
  inbox_.take(size);
  scanned_ = 0;
  pieces_.clear();
  words_left_.reset();
}

// ---- The line form ----

Result<bool> WordReader::next_line() {
  const std::string_view rest = inbox_.rest();
  const std::size_t found = rest.find('\n', scanned_);
  const bool whole = found != std::string_view::npos;
  std::size_t end = whole ? found : rest.size();
  if (end > 0 && rest[end - 1] == '\r') --end;  // While there is no LF yet: perhaps of the end.
  if (end > limits_.line_bytes_max) return above("the line is too long", limits_.line_bytes_max, "bytes");
  if (!whole) {
    scanned_ = rest.size();
    return false;
  }
  if (Result<> r = split_line(end); !r) return Unexpected{r.error()};
  take(found + 1);
  return true;
}

// Into words. Quoted ones are unescaped where they are: they only get shorter.
Result<> WordReader::split_line(std::size_t end) {
  const std::string_view line = inbox_.rest().substr(0, end);
  std::size_t at = 0;
  while (true) {
    while (at < end && line[at] == ' ') ++at;
    if (at == end) return {};
    if (words_.size() == limits_.words_max)
      return above("the line has too many words", limits_.words_max, "words");
    const char first = line[at];
    if (first == '"' || first == '\'') {
      const Result<std::size_t> after = first == '"' ? read_escaped(line, at) : read_literal(line, at);
      if (!after) return Unexpected{after.error()};
      at = *after;
      if (at < end && line[at] != ' ') {
        return fail(Code::invalid, "behind the quoted word " + quote(words_.back()) + " stands " +
                                       quote(line.substr(at, 1)) + " and not a space");
      }
    } else {
      const std::size_t stop = std::min(line.find(' ', at), end);
      words_.push_back(line.substr(at, stop - at));
      at = stop;
    }
  }
}

// The word '...' that opens at `open`. Answers where it ends.
Result<std::size_t> WordReader::read_literal(std::string_view line, std::size_t open) {
  const std::size_t close = line.find('\'', open + 1);
  if (close == std::string_view::npos)
    return fail(Code::invalid, "no closing ' for " + quote(line.substr(open)));
  words_.push_back(line.substr(open + 1, close - open - 1));
  return close + 1;
}

// The word "..." that opens at `open`. Answers where it ends.
Result<std::size_t> WordReader::read_escaped(std::string_view line, std::size_t open) {
  char* const bytes = inbox_.data();  // Where `line` looks at.
  const std::size_t begin = open + 1;
  std::size_t out = begin;
  for (std::size_t at = begin; at < line.size();) {
    if (line[at] == '"') {
      words_.push_back(line.substr(begin, out - begin));
      return at + 1;
    }
    Escape escape{line[at], 1};
    if (escape.byte == '\\') {
      const std::optional<Escape> read = read_escape(line.substr(at));
      if (!read) {
        return fail(Code::invalid, quote(line.substr(at, 4)) +
                                       " begins with no escape; there are \\\" \\\\ \\n \\r \\t \\xHH");
      }
      escape = *read;
    }
    bytes[out++] = escape.byte;
    at += escape.size;
  }
  return fail(Code::invalid, "no closing \" for " + quote(line.substr(open)));
}

// ---- The array form ----

Result<bool> WordReader::next_array() {
  if (!words_left_) {
    const std::string_view rest = inbox_.rest().substr(1);
    const NumberLine count = read_number_line(rest);
    if (count.state == NumberLine::State::partial) return false;
    if (count.state == NumberLine::State::broken || count.value < -1)
      return broken_number("the number of words", rest.substr(0, count.size));
    if (count.value <= 0) {
      take(1 + count.size);
      return true;
    }
    if (static_cast<std::uint64_t>(count.value) > limits_.words_max)
      return above("the request has " + std::to_string(count.value) + " words", limits_.words_max, "words");
    scanned_ = 1 + count.size;
    words_left_ = static_cast<std::size_t>(count.value);
  }
  while (*words_left_ > 0) {
    const Result<bool> whole = next_word();
    if (!whole || !*whole) return whole;
  }
  for (const Piece& piece : pieces_) words_.push_back(inbox_.rest().substr(piece.begin, piece.size));
  take(scanned_);
  return true;
}

// The next word of an array, in one or more calls. Answers whether it is whole.
Result<bool> WordReader::next_word() {
  std::string_view rest = inbox_.rest().substr(scanned_);
  if (!word_size_) {
    if (rest.empty()) return false;
    if (rest.front() != '$')
      return fail(Code::invalid,
                  "a word begins with '$' and its length, not with " + quote(rest.substr(0, 1)));
    rest.remove_prefix(1);
    const NumberLine size = read_number_line(rest);
    if (size.state == NumberLine::State::partial) return false;
    if (size.state == NumberLine::State::broken || size.value < 0)
      return broken_number("the length of a word", rest.substr(0, size.size));
    const auto bytes = static_cast<std::size_t>(size.value);
    scanned_ += 1 + size.size;
    if (bytes > limits_.request_bytes_max || scanned_ + bytes + 2 > limits_.request_bytes_max)
      return above("the request is too large with a word of " + std::to_string(bytes) + " bytes",
                   limits_.request_bytes_max, "bytes");
    word_size_ = bytes;
    rest.remove_prefix(size.size);
  }
  if (rest.size() < *word_size_ + 2) return false;
  if (const std::string_view end = rest.substr(*word_size_, 2); end != "\r\n")
    return fail(Code::invalid, "behind a word of " + std::to_string(*word_size_) + " bytes stands " +
                                   quote(end) + " and not CRLF");
  pieces_.push_back({scanned_, *word_size_});
  scanned_ += *word_size_ + 2;
  word_size_.reset();
  --*words_left_;
  return true;
}

}  // namespace duelease::protocol
