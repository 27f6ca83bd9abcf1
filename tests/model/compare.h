// model/compare.h: whether a store says what the oracle says.
#pragma once

#include <stdexcept>
#include <string>

#include "duelease/clock.h"
#include "model/oracle.h"
#include "model/random.h"
#include "store/memory_store.h"

namespace duelease::model_test {

// The engine and the oracle differ.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `what` is a text, or a function that makes one: that costs nothing while all is well.
template <class What>
void require(bool holds, const What& what) {
  if (holds) return;
  if constexpr (requires { what(); }) {
    throw Mismatch(what());
  } else {
    throw Mismatch(what);
  }
}

// Each of these throws a Mismatch. The store is as of the oracle's last commit.

// Every row of every family, decoded.
void compare_rows(const Oracle& oracle, const store::MemoryStore& store);
// Every read of the public API, for every order and queue.
void compare_reads(const Oracle& oracle, const store::MemoryStore& store, Now now, Random& random);
// The engine's own check finds nothing.
void require_sound(const store::MemoryStore& store, const Oracle& oracle);
// A search for what a purge may remove: all of it, in order, whatever the size of the pages.
void compare_ended(const Oracle& oracle, const store::MemoryStore& store, const PurgeRequest& request,
                   Time now);

}  // namespace duelease::model_test
