// protocol/answer.h: replies as a client reads them.
//
// Not on the wire, and so left as a new value has them: of an Answer `at`, but for `extended`; of a Claimed
// `lease` (the client computes it from the expiry and its own clock, or knows what it asked for); of an Order
// and a Run `queue`; of a CheckReport `orders` and the examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"
#include "protocol/inbox.h"

namespace duelease::protocol {

// One reply.
struct Value {
  enum class Kind : std::uint8_t { simple, error, integer, bulk, nil, array };
  Kind kind = Kind::nil;
  std::string text{};  // simple, error (code word and message), bulk
  std::int64_t integer = 0;
  std::vector<Value> array{};
};

struct ReplyLimits {
  std::size_t reply_bytes_max = 512 * 1024 * 1024;
  std::size_t depth_max = 8;
};

// From bytes to replies. As WordReader, memory follows the bytes that came, and work is linear in them.
class ReplyReader {
 public:
  explicit ReplyReader(ReplyLimits limits = {}) : limits_(limits) {}
  void feed(std::string_view bytes);
  // The next whole reply; empty: more bytes are needed. Error (invalid, too_large): this is no RESP2, or more of
  // it than the limits allow; every later call answers that error.
  Result<std::optional<Value>> next();

 private:
  // Each answers nothing when more bytes are needed.
  Result<std::optional<Value>> next_element();
  Result<std::optional<Value>> next_line(Value::Kind kind);
  Result<std::optional<Value>> next_number(Value::Kind kind);
  Result<std::optional<Value>> next_bulk();

  std::optional<Value> place(Value element);
  void take(std::size_t size);
  bool fits(std::size_t more) const;

  struct OpenArray {
    Value value{};
    std::size_t left = 0;  // Elements that are not here yet.
  };

  ReplyLimits limits_;
  Inbox inbox_{};
  std::size_t scanned_ = 0;                 // So much of it has been looked at for the end of a line.
  std::size_t taken_ = 0;                   // Bytes of the reply at hand that are read.
  std::optional<std::size_t> bulk_size_{};  // Behind the head of a bulk string.
  std::vector<OpenArray> open_{};
  std::optional<Error> error_{};
};

// Each reads what the function of the same name in reply.h printed. An error reply becomes the Error that it
// was, as far as the wire tells: what it calls ERR is Code::invalid, NOAUTH is Code::denied, and a word that
// is not known here is Code::invalid too, with the whole text for a message. What does not fit the request is
// Code::corrupt, as is an order that the server found damaged (CORRUPT). Fields that are not known here are
// passed over: a later version may have more.

// The names of states are answers too, and some of them are also the reason of a refusal: which it is depends
// on the request. One thing cannot be told apart: RETRY of an order that is WAIT already reads as `requeued`.
enum class Asked : std::uint8_t {
  other,         // FAILED: `failed`, ABORTED: `aborted`, WAIT: `requeued`; PROCESSING, SUCCESS: `refused`.
  reschedule,    // All of them: `refused`.
  cancel,        // All but ABORTED: `refused`.
  retry,         // All but WAIT: `refused`.
  import_order,  // SUCCESS, FAILED, ABORTED: `scheduled` in that state.
  reconcile,     // All of them: `refused`.
};
Result<Answer> read_answer(const Value& value, Asked asked = Asked::other);
Result<std::vector<Claimed>> read_claimed(const Value& value);
Result<std::optional<Order>> read_order(const Value& value);
Result<ReadMark> read_mark(const Value& value);
Result<Page> read_page(const Value& value);
Result<std::vector<HistoryEntry>> read_history(const Value& value);
Result<std::vector<std::string>> read_names(const Value& value);
Result<Stats> read_stats(const Value& value);
Result<QueueSettings> read_settings(const Value& value);
Result<RunState> read_run_state(const Value& value);
Result<Run> read_run(const Value& value);
Result<CheckReport> read_check(const Value& value);
Result<std::uint64_t> read_count(const Value& value);  // REAP, PURGE.
Result<std::string> read_text(const Value& value);     // A simple string or a bulk string: OK, PONG, WHY.

}  // namespace duelease::protocol
