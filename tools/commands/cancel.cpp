// duelease cancel: takes an order out of its queue for good.
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct CancelOptions {
  OrderName name;
  bool force = false;
};

}  // namespace

void declare_cancel(Arguments& root, const Session& session) {
  const auto options = std::make_shared<CancelOptions>();
  Arguments command = root.command("cancel", "Abort an order that waits");
  declare_order_name(command, options->name);
  command.flag("--force", options->force, "also while it is being processed: its token is void at once");
  command.run([options, &session] {
    return with_target(session, Missing::refuse, [&](Target& target) {
      CancelRequest request{.queue = options->name.queue, .id = options->name.id, .force = options->force};
      return report(session, options->name, target.cancel(std::move(request)));
    });
  });
}

}  // namespace duelease::tools
