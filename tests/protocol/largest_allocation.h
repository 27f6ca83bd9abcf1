// protocol/largest_allocation.h: how much memory was asked for at once, by operator new, in this program.
#pragma once

#include <cstddef>

namespace duelease {

// Since the last reset; in the whole program, whose tests run one after the other on one thread.
std::size_t largest_allocation();
void reset_largest_allocation();

}  // namespace duelease
