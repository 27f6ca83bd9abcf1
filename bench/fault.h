// bench/fault.h: what ends a measurement: a target that does not do what it said, or cannot be started.
#pragma once

#include <stdexcept>

namespace duelease::bench {

class Fault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace duelease::bench
