// server/reads.h: the requests that the engine answers on the thread that asks: those that only read; RECONCILE, which
// reads first and seldom writes; and PURGE, which walks over a queue and waits for the disk as it goes. A thread for
// reads or for walks calls it, never a loop.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "protocol/request.h"
#include "server/shared.h"

namespace duelease::server {

// `user`: nobody when the server has no users. Answers the first of the requests (at least one), and appends the reply
// to `out`; of a RECONCILE all that follow it. Returns how many it answered.
std::size_t answer_reads(Shared& shared, const User* user, std::span<protocol::Request> requests,
                         std::string& out);

}  // namespace duelease::server
