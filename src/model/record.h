// model/record.h: an order as the rules see it. Which queue and id it belongs to is in its key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "duelease/types.h"

namespace duelease::model {

// See duelease::Order for the meaning of each field.
struct Record {
  State state = State::wait;
  Time due{};
  std::optional<Time> asked_due;  // What `due` was asked to be, while it is the time of another try.
  std::uint8_t priority = 128;
  std::uint32_t tries = 0;
  std::uint32_t attempt = 0;
  std::uint32_t tries_used = 0;
  std::uint32_t failures = 0;
  std::uint32_t generation = 1;  // Times this id was scheduled anew; those before lie in the history.
  std::optional<std::string> key;
  std::optional<std::string> run;
  Token token{};
  std::uint64_t sequence = 0;
  std::string worker;
  Time created_at{};
  Time updated_at{};
  std::string error;
  std::string result;
  std::string payload;
  bool grandfathered = false;
  bool vanished = false;

  // Fields that a newer version stored and this one does not know; carried along untouched.
  std::string unknown;

  bool operator==(const Record&) const = default;
};

// A record under a lease.
struct Lease {
  Record record;        // Its token and worker are those of the lease.
  Time expires_at{};    // Wall time, as it stood when the lease was given or extended.
  Duration length{};    // The full length; an open gives no more than this.
  std::string request;  // ClaimRequest::request.
  std::string unknown;

  bool operator==(const Lease&) const = default;
};

}  // namespace duelease::model
