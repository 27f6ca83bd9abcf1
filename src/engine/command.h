// engine/command.h: what can be asked of the core. A command is a plain value that holds all that its
// outcome depends on, besides the state: the same state and the same command give the same changes and
// the same reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "duelease/clock.h"
#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease::engine {

// The part of a purge that changes something. Which ids to look at was found outside the group; each is
// looked at again here.
struct PurgeBatch {
  std::string queue;
  State state = State::failed;
  Duration older{0};
  std::vector<std::string> ids;
};

// Changes nothing. Its reply leaves when all is on disk that was written before it came, and is an error where that
// failed or the engine is closed: what was read from a snapshot taken before it may be acknowledged then.
struct Barrier {};

using Body =
    std::variant<ScheduleRequest, ClaimRequest, PopRequest, CompleteRequest, FailRequest, ReleaseRequest,
                 ExtendRequest, RescheduleRequest, CancelRequest, RetryRequest, ReapRequest, QueueSetRequest,
                 PurgeBatch, RunOpenRequest, RunStartRequest, RunBeatRequest, RunDoneRequest, RunErrorRequest,
                 ImportRequest, ReconcileRequest, Barrier>;

// The answer of all that is asked of a queue and needs one: a queue exists once an order was scheduled in it
// or settings were set.
inline Unexpected no_queue(std::string_view name) {
  return fail(Code::not_found, "no queue " + std::string(name));
}

// The memory that it takes while it waits to be applied, about.
std::size_t bytes_of(const Body& body);

struct Command {
  Now now;
  std::uint64_t seed = 0;    // For jitter.
  std::uint64_t ticket = 0;  // Of a claim: names it while it waits. Unique.
  Body body;
};

// Answer: of all that change one order. Claimed: claim, pop. Number: reap, purge, a barrier (0). RunState: of the runs.
using Reply = std::variant<Answer, std::vector<Claimed>, std::uint64_t, QueueSettings, RunState>;

}  // namespace duelease::engine
