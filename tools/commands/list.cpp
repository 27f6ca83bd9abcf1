// duelease list: one page of the orders of a queue.
#include <memory>

#include "../answer.h"
#include "../table.h"
#include "../text.h"
#include "../time_text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ListOptions {
  ListRequest request;
  std::optional<std::uint64_t> limit;
  bool full = false;
};

std::string read_state(const std::string& text, ListRequest& request) {
  request.state = state_named(text);
  return request.state ? "" : "one of WAIT, PROCESSING, SUCCESS, FAILED, ABORTED";
}

void print_orders(const Session& session, const ListOptions& options, const std::vector<Order>& orders,
                  const std::string& next) {
  if (session.json) {
    Json json;
    json["queue"] = options.request.queue;
    json["orders"] = Json::array();
    for (const Order& order : orders) json["orders"].push_back(order_json(order, options.full));
    json["next"] = next.empty() ? Json() : json_bytes(next);
    print_json(json);
    return;
  }
  std::vector<Table::Column> columns = {
      {"id"}, {"state"}, {"due"}, {"attempt", Table::Align::right}, {"key"}};
  if (options.full) columns.push_back({"payload", Table::Align::left, 200});
  Table table(std::move(columns));
  for (const Order& order : orders) {
    std::vector<std::string> row = {order.id, std::string(state_name(order.state)), print_time(order.due),
                                    fmt::format("{}", order.attempt), order.key.value_or("")};
    if (options.full) row.push_back(order.payload);
    table.add(std::move(row));
  }
  write_out(table.text());
  if (!next.empty()) say("more: --after {}", printable(next));
}

Exit list(const Session& session, const ListOptions& options, Target& target) {
  ListRequest request = options.request;
  if (options.limit) request.limit = static_cast<std::uint32_t>(*options.limit);
  const Result<Page> page = target.list(request);
  if (!page) return failed(page.error());
  std::vector<Order> orders;
  for (const std::string& id : page->ids) {
    Result<std::optional<Order>> order = target.order(request.queue, id);
    if (!order) return failed(order.error());
    // Purged since the page was made; or the store is damaged, and then the page without that order is still of
    // use; `check` tells of it.
    if (order->has_value()) orders.push_back(std::move(**order));
  }
  print_orders(session, options, orders, page->next);
  return Exit::ok;
}

}  // namespace

void declare_list(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ListOptions>();
  Arguments command = root.command("list", "List orders: WAIT in the order of claims, else by id");
  command.text("queue,--queue", options->request.queue, "QUEUE", "the queue").required();
  const auto state = [options](const std::string& text) { return read_state(text, options->request); };
  command.value("--state", state, "STATE", "only these: WAIT, PROCESSING, SUCCESS, FAILED, ABORTED");
  command.number("--limit", options->limit, 1, 10000, "at most so many, 100 by default");
  command.text("--after", options->request.after, "CURSOR", "go on behind the page that named this cursor");
  command.flag("--full", options->full, "with payloads and results");
  command.run([options, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return list(session, *options, target); });
  });
}

}  // namespace duelease::tools
