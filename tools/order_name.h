// tools/order_name.h: what names one order on the command line: QUEUE ID, or --queue QUEUE --id ID.
#pragma once

#include <string>

#include "arguments.h"

namespace duelease::tools {

struct OrderName {
  std::string queue;
  std::string id;
};

inline void declare_order_name(Arguments& command, OrderName& name) {
  command.text("queue,--queue", name.queue, "QUEUE", "the order's queue").required();
  command.text("id,--id", name.id, "ID", "the order's id").required();
}

}  // namespace duelease::tools
