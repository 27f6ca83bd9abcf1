// The fuzzer of fault_in_words(); see tools/fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string fault = duelease::fuzz::fault_in_words(bytes);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "broken: %s\n", fault.c_str());
  std::abort();
}
