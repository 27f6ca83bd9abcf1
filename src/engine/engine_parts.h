// engine/engine_parts.h: an engine from parts of one's own, for tests and for duelease/asio.h.
#pragma once

#include <memory>
#include <optional>

#include "duelease/engine.h"
#include "engine/asio.h"
#include "store/store.h"

namespace duelease::engine {

// `executor`: runs the strand; must go on running until the engine is closed, and no blocking call may be
// made on a thread that alone runs it. Absent: the engine has a thread of its own.
Result<std::unique_ptr<Engine>> open_engine(
    std::unique_ptr<store::Store> store, Options options,
    std::optional<boost::asio::any_io_executor> executor = std::nullopt);

}  // namespace duelease::engine
