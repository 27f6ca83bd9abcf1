// server/reads.h: the requests that the engine answers on the thread that asks: those that only read, and PURGE, which
// walks over a queue and waits for the disk as it goes. A thread for reads or for walks calls it, never a loop.
#pragma once

#include <string>

#include "protocol/request.h"
#include "server/shared.h"

namespace duelease::server {

// `user`: nobody when the server has no users. Appends the reply to `out`.
void answer_read(Shared& shared, const User* user, const protocol::Request& request, std::string& out);

}  // namespace duelease::server
