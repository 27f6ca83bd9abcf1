// tools/order_columns.h: the options by which a command is told the queue of rows, and what their columns mean.
#pragma once

#include <string_view>

#include "arguments.h"
#include "open_source.h"
#include "row_mapper.h"

namespace duelease::tools {

// --id, --due, --key, --due-unit.
void declare_columns(Arguments& command, ColumnPlan& columns);

// Gives the columns of a sorted set their names. Error: invalid, one is not named.
Result<> check_columns(const SourceOptions& source, ColumnPlan& columns);
// Asked before the first row: else every one would be called bad for it.
Result<> check_queue_name(std::string_view queue);

}  // namespace duelease::tools
