// base/check.h: DUELEASE_CHECK states what must hold if our own code is right. It stays in release
// builds. It is never used on input: what the world can get wrong is a Result.
#pragma once

namespace duelease::base {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace duelease::base

#define DUELEASE_CHECK(condition)                                     \
  do {                                                                \
    if (!(condition)) [[unlikely]] {                                  \
      ::duelease::base::check_failed(#condition, __FILE__, __LINE__); \
    }                                                                 \
  } while (false)
