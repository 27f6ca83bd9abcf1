// client/validate.h: what options must look like.
#pragma once

#include "duelease/client.h"
#include "duelease/result.h"

namespace duelease::client {

// Error: invalid, naming the value and the limit.
Result<> validate(const ClientOptions& options);

}  // namespace duelease::client
