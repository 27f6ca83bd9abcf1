// duelease order: shows one order.
#include <memory>

#include "../answer.h"
#include "../table.h"
#include "../text.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct OrderOptions {
  OrderName name;
  std::optional<std::string> only;
};

// For a person: what is not there is not listed.
std::string order_table(const Order& order, Time now) {
  Table table({{"", Table::Align::left}, {"", Table::Align::left, 2000}});
  const auto add = [&table](const char* name, std::string value) {
    if (!value.empty()) table.add({name, std::move(value)});
  };
  add("queue", order.queue);
  add("id", order.id);
  add("state", std::string(state_name(order.state)));
  add("due", time_seen_from(order.due, now));
  add("attempt", fmt::format("{}", order.attempt));
  const std::string tries = order.tries == 0 ? fmt::format("{} used, no limit", order.tries_used)
                                             : fmt::format("{} used of {}", order.tries_used, order.tries);
  add("tries", tries);
  add("failures", fmt::format("{}", order.failures));
  add("priority", fmt::format("{}", order.priority));
  add("key", order.key.value_or(""));
  add("run", order.run.value_or(""));
  if (order.token != Token{0}) add("token", fmt::format("{}", static_cast<std::uint64_t>(order.token)));
  add("worker", order.worker);
  if (order.lease_expires_at) add("lease ends", time_seen_from(*order.lease_expires_at, now));
  add("created", print_time(order.created_at));
  add("updated", print_time(order.updated_at));
  add("error", order.error);
  add("result", order.result);
  add("payload", order.payload);
  return table.text();
}

Exit show_order(const Session& session, const OrderOptions& options, Target& target) {
  const Result<std::optional<Order>> found = target.order(options.name.queue, options.name.id);
  if (!found) return failed(found.error());
  if (!found->has_value()) {
    complain("no order {} in queue {}", printable(options.name.id), printable(options.name.queue));
    return Exit::no;
  }
  const Order& order = **found;
  if (options.only) {
    write_out(*options.only == "payload" ? order.payload : order.result);
  } else if (session.json) {
    print_json(order_json(order, true));
  } else {
    write_out(order_table(order, session.now));
  }
  return Exit::ok;
}

}  // namespace

void declare_order(Arguments& root, const Session& session) {
  const auto options = std::make_shared<OrderOptions>();
  Arguments command = root.command("order", "Show an order");
  declare_order_name(command, options->name);
  const auto read_only = [options](const std::string& text) -> std::string {
    if (text != "payload" && text != "result") return "payload or result";
    options->only = text;
    return {};
  };
  command.value("--only", read_only, "FIELD", "just the bytes of its payload or its result");
  command.run([options, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return show_order(session, *options, target); });
  });
}

}  // namespace duelease::tools
