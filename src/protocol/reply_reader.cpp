// ReplyReader: from bytes to values.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/quote.h"
#include "protocol/answer.h"
#include "protocol/number_line.h"

namespace duelease::protocol {
namespace {

using base::quote;
using Element = Result<std::optional<Value>>;

constexpr std::size_t element_bytes_min = 3;       // "+\r\n"
constexpr std::size_t reserved_elements_max = 16;  // On the word of a head alone.

Unexpected larger_than(std::size_t limit) {
  return fail(Code::too_large, "the reply is larger than " + std::to_string(limit) + " bytes");
}

bool opens(const Value& head) { return head.kind == Value::Kind::array && head.integer > 0; }

}  // namespace

void ReplyReader::feed(std::string_view bytes) {
  if (!error_) inbox_.add(bytes);
}

Element ReplyReader::next() {
  if (error_) return Unexpected{*error_};
  while (true) {
    Element element = next_element();
    if (element && *element && opens(**element)) {
      if (open_.size() < limits_.depth_max) {
        OpenArray& open = open_.emplace_back();
        open.value.kind = Value::Kind::array;
        open.left = static_cast<std::size_t>((*element)->integer);
        open.value.array.reserve(std::min(open.left, reserved_elements_max));
        continue;
      }
      element = fail(Code::invalid, "arrays in the reply are nested deeper than " +
                                        std::to_string(limits_.depth_max) + " levels");
    }
    if (!element) {
      error_ = element.error();
      inbox_.drop();
      open_.clear();
      return element;
    }
    if (!*element) {
      inbox_.tidy();
      return element;
    }
    if (std::optional<Value> reply = place(std::move(**element))) {
      taken_ = 0;
      return reply;
    }
  }
}

// Puts the element where it belongs; answers the reply when it is whole with it.
std::optional<Value> ReplyReader::place(Value element) {
  while (!open_.empty()) {
    OpenArray& open = open_.back();
    open.value.array.push_back(std::move(element));
    if (--open.left > 0) return std::nullopt;
    element = std::move(open.value);
    open_.pop_back();
  }
  return element;
}

// Of an array the head alone: its size is in `integer`.
Element ReplyReader::next_element() {
  if (bulk_size_) return next_bulk();
  if (inbox_.held() == 0) return std::optional<Value>();
  switch (inbox_.rest().front()) {
    case '+': return next_line(Value::Kind::simple);
    case '-': return next_line(Value::Kind::error);
    case ':': return next_number(Value::Kind::integer);
    case '$': return next_number(Value::Kind::bulk);
    case '*': return next_number(Value::Kind::array);
    default:
      return fail(Code::invalid,
                  "a reply begins with one of + - : $ *, not with " + quote(inbox_.rest().substr(0, 1)));
  }
}

Element ReplyReader::next_line(Value::Kind kind) {
  const std::size_t found = inbox_.rest().find('\n', scanned_);
  const bool whole = found != std::string_view::npos;
  const std::size_t size = whole ? found + 1 : inbox_.held();
  if (!fits(size)) return larger_than(limits_.reply_bytes_max);
  if (!whole) {
    scanned_ = size;
    return std::optional<Value>();
  }
  const std::string_view line = inbox_.rest().substr(0, size);
  if (line.find('\r') != size - 2)
    return fail(Code::invalid, quote(line) + " is not a line that ends with CRLF");
  Value value{.kind = kind, .text = std::string(line.substr(1, size - 3))};
  take(size);
  return std::optional<Value>(std::move(value));
}

Element ReplyReader::next_number(Value::Kind kind) {
  const std::string_view line = inbox_.rest();
  const NumberLine number = read_number_line(line.substr(1));
  if (number.state == NumberLine::State::partial) return std::optional<Value>();
  const bool negative = number.value < 0 && kind != Value::Kind::integer;
  if (number.state == NumberLine::State::broken || (negative && number.value != -1))
    return fail(Code::invalid, quote(line.substr(0, 1 + number.size)) + " is no number that ends with CRLF");
  if (!fits(1 + number.size)) return larger_than(limits_.reply_bytes_max);
  take(1 + number.size);
  if (negative) return std::optional<Value>(Value{});

  const auto size = static_cast<std::size_t>(number.value);
  if (kind == Value::Kind::array) {
    if (size > limits_.reply_bytes_max || !fits(size * element_bytes_min))
      return larger_than(limits_.reply_bytes_max);
  } else if (kind == Value::Kind::bulk) {
    if (size > limits_.reply_bytes_max || !fits(size + 2)) return larger_than(limits_.reply_bytes_max);
    bulk_size_ = size;
    return next_bulk();
  }
  return std::optional<Value>(Value{.kind = kind, .integer = number.value});
}

Element ReplyReader::next_bulk() {
  const std::string_view rest = inbox_.rest();
  const std::size_t size = *bulk_size_;
  if (rest.size() < size + 2) return std::optional<Value>();
  if (const std::string_view end = rest.substr(size, 2); end != "\r\n")
    return fail(Code::invalid, "behind a string of " + std::to_string(size) + " bytes stands " + quote(end) +
                                   " and not CRLF");
  Value value{.kind = Value::Kind::bulk, .text = std::string(rest.substr(0, size))};
  take(size + 2);
  bulk_size_.reset();
  return std::optional<Value>(std::move(value));
}

void ReplyReader::take(std::size_t size) {
  inbox_.take(size);
  taken_ += size;
  scanned_ = 0;
}

// So many more bytes still fit into the reply at hand.
bool ReplyReader::fits(std::size_t more) const {
  return taken_ <= limits_.reply_bytes_max && more <= limits_.reply_bytes_max - taken_;
}

}  // namespace duelease::protocol
