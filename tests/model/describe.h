// model/describe.h: commands and replies in one line each, for a person who looks for what went wrong.
#pragma once

#include <string>
#include <string_view>

#include "duelease/clock.h"
#include "engine/command.h"
#include "engine/core.h"
#include "model/run.h"

namespace duelease::model_test {

// In quotes, with the bytes that are not text as \xHH; a long one is cut, with its size.
std::string shown(std::string_view bytes);
std::string describe(Now now);
std::string describe(const engine::Body& body);
std::string describe(const model::Record& record);
std::string describe(const Answer& answer);
std::string describe(const Claimed& claimed);
std::string describe(const HistoryEntry& entry);
std::string describe(const QueueSettings& settings);
std::string describe(const Counts& counts);
std::string describe(const model::RunRecord& run);
std::string describe(RunState state);
std::string describe(const Result<engine::Reply>& reply);
std::string describe(const engine::Served& served);

// Whether the core answered what the oracle answers: every field that the public headers give a meaning
// for that outcome. The text of an error is not compared.
bool same(const Result<engine::Reply>& expected, const Result<engine::Reply>& actual);

}  // namespace duelease::model_test
