// duelease/callback.h: how a call that does not block answers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease {

template <class T>
using Callback = std::function<void(Result<T>)>;
using AnswersCallback = std::function<void(std::vector<Result<Answer>>)>;  // One a request, in order.

// Names a waiting claim, to cancel it.
enum class ClaimTicket : std::uint64_t {};

}  // namespace duelease
