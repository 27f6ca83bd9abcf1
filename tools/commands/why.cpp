// duelease why: says why an order is not being processed now.
#include <memory>

#include "../answer.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

Exit why(const Session& session, const OrderName& name, Target& target) {
  const Result<std::string> reason = target.why(name.queue, name.id);
  if (!reason) return failed(reason.error());
  const Result<std::optional<Order>> order = target.order(name.queue, name.id);
  if (!order) return failed(order.error());
  if (session.json) {
    Json json;
    json["queue"] = json_bytes(name.queue);
    json["id"] = json_bytes(name.id);
    json["state"] = order->has_value() ? Json(state_name((*order)->state)) : Json();
    json["why"] = json_bytes(*reason);
    print_json(json);
  } else {
    say("{}", printable(*reason));
  }
  return order->has_value() ? Exit::ok : Exit::no;
}

}  // namespace

void declare_why(Arguments& root, const Session& session) {
  const auto name = std::make_shared<OrderName>();
  Arguments command = root.command("why", "Say why an order is not being processed now");
  declare_order_name(command, *name);
  command.run([name, &session] {
    return with_target(session, Missing::refuse, [&](Target& target) { return why(session, *name, target); });
  });
}

}  // namespace duelease::tools
