// protocol/words.h: from bytes to the words of one request, in either form.
//
//   line form    SCHEDULE unpaid 4711 +30m PAYLOAD "two words"\n
//   array form   *4\r\n$8\r\nSCHEDULE\r\n$6\r\nunpaid\r\n$4\r\n4711\r\n$4\r\n+30m\r\n
//
// A request that begins with `*` is in array form. What has arrived is kept until its request is whole; memory
// grows with the bytes that came, never with the lengths that they promise.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"

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

  void feed(std::string_view bytes);

  // The next whole request (empty lines and empty arrays are passed over); empty: more bytes are needed.
  // Error (invalid, too_large): the bytes are no request, and where the next one begins is not known. Then
  // every later call answers that error.
  Result<std::optional<Words>> next();

  // Of the requests that were not taken yet.
  std::size_t bytes_held() const;
};

}  // namespace duelease::protocol
