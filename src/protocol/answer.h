// protocol/answer.h: replies as a client reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease::protocol {

// One reply.
struct Value {
  enum class Kind : std::uint8_t { simple, error, integer, bulk, nil, array };
  Kind kind = Kind::nil;
  std::string text{};          // simple, error (code word and message), bulk
  std::int64_t integer = 0;
  std::vector<Value> array{};
};

struct ReplyLimits {
  std::size_t reply_bytes_max = 512 * 1024 * 1024;
  std::size_t depth_max = 8;
};

// From bytes to replies. As WordReader, memory follows the bytes that came.
class ReplyReader {
 public:
  explicit ReplyReader(ReplyLimits limits = {}) : limits_(limits) {}
  void feed(std::string_view bytes);
  // The next whole reply; empty: more bytes are needed. Error: this is no RESP2; final.
  Result<std::optional<Value>> next();
};

// Each reads what the function of the same name in reply.h printed. An error reply becomes the Error that it
// was; what does not fit the request is Code::corrupt.
Result<Answer> read_answer(const Value& value);
Result<std::vector<Claimed>> read_claimed(const Value& value);
Result<std::optional<Order>> read_order(const Value& value);
Result<Page> read_page(const Value& value);
Result<std::vector<std::string>> read_names(const Value& value);
Result<Stats> read_stats(const Value& value);
Result<QueueSettings> read_settings(const Value& value);
Result<CheckReport> read_check(const Value& value);
Result<std::uint64_t> read_count(const Value& value);
Result<std::string> read_text(const Value& value);

}  // namespace duelease::protocol
