// duelease reschedule: moves an order that waits to another due time.
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct RescheduleOptions {
  OrderName name;
  std::optional<Time> due;
};

}  // namespace

void declare_reschedule(Arguments& root, const Session& session) {
  const auto options = std::make_shared<RescheduleOptions>();
  Arguments command = root.command("reschedule", "Move an order that waits to another due time");
  declare_order_name(command, options->name);
  command.due("--due", options->due, session.now, "when it falls due now").required();
  command.run([options, &session] {
    return with_target(session, Missing::refuse, [&](Target& target) {
      RescheduleRequest request{.queue = options->name.queue, .id = options->name.id, .due = *options->due};
      return report(session, options->name, target.reschedule(std::move(request)));
    });
  });
}

}  // namespace duelease::tools
