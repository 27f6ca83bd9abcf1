#include "protocol/largest_allocation.h"

#include <cstdlib>
#include <new>

namespace {
std::size_t largest = 0;
}

namespace duelease {
std::size_t largest_allocation() { return largest; }
void reset_largest_allocation() { largest = 0; }
}  // namespace duelease

// All other forms of them end here; but the one that does not throw is the sanitizer's own where there is one.
void* operator new(std::size_t size) {
  if (size > largest) largest = size;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
