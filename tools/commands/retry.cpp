// duelease retry: puts a FAILED order back into its queue.
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct RetryOptions {
  OrderName name;
  std::optional<Time> due;
};

}  // namespace

void declare_retry(Arguments& root, const Session& session) {
  const auto options = std::make_shared<RetryOptions>();
  Arguments command = root.command("retry", "Put a FAILED order back into its queue, with fresh tries");
  declare_order_name(command, options->name);
  command.due("--due", options->due, session.now, "when it falls due, now by default");
  command.run([options, &session] {
    return with_target(session, Missing::refuse, [&](Target& target) {
      RetryRequest request{.queue = options->name.queue, .id = options->name.id, .due = options->due};
      return report(session, options->name, target.retry(std::move(request)));
    });
  });
}

}  // namespace duelease::tools
