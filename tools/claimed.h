// tools/claimed.h: orders that were handed out, as a person or a script reads them.
#pragma once

#include <vector>

#include "duelease/types.h"
#include "output.h"
#include "session.h"

namespace duelease::tools {

// Prints them, or the error; no when there are none. JSON: a line an order.
Exit report_claimed(const Session& session, const Result<std::vector<Claimed>>& orders);

}  // namespace duelease::tools
