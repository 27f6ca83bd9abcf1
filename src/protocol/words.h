// protocol/words.h: from bytes to the words of one request, in either form.
//
//   line form    SCHEDULE unpaid 4711 +30m PAYLOAD "two words"\n
//   array form   *4\r\n$8\r\nSCHEDULE\r\n$6\r\nunpaid\r\n$4\r\n4711\r\n$4\r\n+30m\r\n
//
// A request that begins with `*` is in array form. What has arrived is kept until its request is whole; memory
// grows with the bytes that came, never with the lengths that they promise. The work is linear in the bytes,
// however they are cut, and what is answered does not depend on where they are cut.
//
// Line form: words are separated by one or more spaces; the line ends with LF or CRLF. A word that begins with
// a quote ends at the next one of the same kind, behind which a space or the end of the line must stand:
// "..." with the escapes \" \\ \n \r \t \xHH, any other being an error; '...' literally. Elsewhere a quote
// is a byte like any other, so {"customer":7} needs no quotes as long as it holds no space.
//
// Array form: lengths are plain decimal numbers without sign or leading zeros; lines of it end with CRLF.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "duelease/result.h"
#include "protocol/inbox.h"

namespace duelease::protocol {

struct WordLimits {
  std::size_t request_bytes_max = 1024 * 1024 + 64 * 1024;  // Of one request in array form, all of it.
  std::size_t line_bytes_max = 64 * 1024;                   // Of one request in line form, without its end.
  std::size_t words_max = 1024;
};

// Valid until the next call of feed() or next().
using Words = std::span<const std::string_view>;

class WordReader {
 public:
  explicit WordReader(WordLimits limits) : limits_(limits) {}

  // For the requests that were not taken yet.
  void set_limits(WordLimits limits) { limits_ = limits; }

  // Takes whatever comes: a caller that reads on while requests wait here is one that bytes_held() should stop.
  void feed(std::string_view bytes);

  // The next whole request (empty lines, empty arrays and the array `*-1` are passed over); empty: more bytes
  // are needed. Error (invalid, too_large): the bytes are no request, and where the next one begins is not
  // known. Then every later call answers that error.
  Result<std::optional<Words>> next();

  // Of the requests that were not taken yet.
  std::size_t bytes_held() const { return inbox_.held(); }

 private:
  // Each answers whether a request is whole; `words_` has its words then, none if it is passed over.
  Result<bool> next_line();
  Result<bool> next_array();

  Result<> split_line(std::size_t end);
  Result<std::size_t> read_literal(std::string_view line, std::size_t open);
  Result<std::size_t> read_escaped(std::string_view line, std::size_t open);
  Result<bool> next_word();
  void take(std::size_t size);

  struct Piece {  // Of the request at hand.
    std::size_t begin;
    std::size_t size;
  };

  WordLimits limits_;
  Inbox inbox_{};                // Begins with the request at hand.
  std::size_t scanned_ = 0;      // So much of it has been looked at.
  std::vector<Piece> pieces_{};  // Array form: its words so far.
  // Array form, behind the first number: how many words are not here yet.
  std::optional<std::size_t> words_left_{};
  // Array form, behind the length of a word.
  std::optional<std::size_t> word_size_{};
  std::vector<std::string_view> words_{};
  std::optional<Error> error_{};
};

}  // namespace duelease::protocol
