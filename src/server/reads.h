// server/reads.h: the requests that only read, answered on the thread of the caller.
#pragma once

#include <string>

#include "protocol/request.h"
#include "server/shared.h"

namespace duelease::server {

// `user`: nobody when the server has no users. Appends the reply to `out`.
void answer_read(Shared& shared, const User* user, const protocol::Request& request, std::string& out);

}  // namespace duelease::server
