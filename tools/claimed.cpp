#include "claimed.h"

#include "json.h"
#include "table.h"
#include "time_text.h"

namespace duelease::tools {
namespace {

Json optional_bytes(const std::optional<std::string>& bytes) { return bytes ? json_bytes(*bytes) : Json(); }

Json claimed_json(const Claimed& order) {
  Json json;
  json["queue"] = order.queue;
  json["id"] = json_bytes(order.id);
  json["token"] = static_cast<std::uint64_t>(order.token);
  json["attempt"] = order.attempt;
  json["lease_expires_at"] = order.lease_expires_at.time_since_epoch().count();
  json["due"] = order.due.time_since_epoch().count();
  json["key"] = optional_bytes(order.key);
  json["run"] = optional_bytes(order.run);
  json["payload"] = json_bytes(order.payload);
  return json;
}

}  // namespace

Exit report_claimed(const Session& session, const Result<std::vector<Claimed>>& orders) {
  if (!orders) return failed(orders.error());
  if (session.json) {
    for (const Claimed& order : *orders) print_json(claimed_json(order));
    return orders->empty() ? Exit::no : Exit::ok;
  }
  if (orders->empty()) {
    complain("no order is due");
    return Exit::no;
  }
  constexpr auto right = Table::Align::right;
  Table table({{"queue"}, {"id"}, {"token", right}, {"attempt", right}, {"lease ends"}, {"payload"}});
  for (const Claimed& order : *orders) {
    table.add({order.queue, order.id, fmt::format("{}", static_cast<std::uint64_t>(order.token)),
               fmt::format("{}", order.attempt), print_time(order.lease_expires_at), order.payload});
  }
  write_out(table.text());
  return Exit::ok;
}

}  // namespace duelease::tools
