// duelease/result.h: what a call that can fail returns.
//
// The library throws nothing across its API. A call that can meet something outside the program's
// control (a full disk, a bad value, a store that is locked) returns a Result: either the value or an
// Error. The names follow std::expected, which C++20 does not have yet:
//
//     duelease::Result<duelease::Answer> reply = engine.schedule(request);
//     if (!reply) return report(reply.error());
//     use(reply->outcome);
//
// Ignoring a Result is a compiler warning. Nothing here allocates beyond what T and the message need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace duelease {

// A code exists only where a caller would act differently. On the wire each is a word in capitals without the
// underscore (NOTFOUND). Not all of them have one: locked, newer_format and unreachable never cross it; what has no
// word is told as STORAGE. A client reads ERR (a request that is none) as invalid, and NOAUTH as denied.
enum class Code : std::uint8_t {
  invalid,       // A value is out of range or malformed; the message names the value and the limit.
  too_large,     // Payload, result or application writes above the limit.
  not_found,     // No such queue, run or store.
  not_alive,     // The run has ended.
  busy,          // The run still has orders.
  locked,        // Another process has the store open.
  newer_format,  // The store was written by a newer version; nothing was changed.
  corrupt,       // Bytes on disk do not decode or fail their checksum.
  overloaded,    // Too much is waiting to be done; try again later.
  storage,       // The disk failed. Final for this process: every later change answers this.
  closing,       // The engine, server or client is being closed.
  denied,        // Over a network: not allowed without a password, or not for this user.
  unreachable,   // Over a network: the connection failed; a change may or may not have taken effect.
};

// "invalid", "too_large", ...
std::string_view code_name(Code code);

struct Error {
  Code code = Code::invalid;
  std::string message;  // Says what was wrong and which value, for a person to read.
};

// Marks an Error on its way into a Result: `return Unexpected{Error{...}};`
struct Unexpected {
  Error error;
};

// Shorthand for the above.
inline Unexpected fail(Code code, std::string message) { return Unexpected{Error{code, std::move(message)}}; }

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Unexpected unexpected) : state_(std::in_place_index<1>, std::move(unexpected.error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Each of these requires has_value().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // Requires !has_value().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Unexpected unexpected) : error_(std::move(unexpected.error)), has_value_(false) {}

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool has_value_ = true;
};

}  // namespace duelease
