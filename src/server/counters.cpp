#include "server/counters.h"

#include <algorithm>
#include <cctype>

namespace duelease::server {
namespace {

void line(std::string& out, std::string name, const Counters::Counter& value) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  out += name + ":" + std::to_string(value.load(std::memory_order_relaxed)) + "\r\n";
}

}  // namespace

void Counters::print(std::string& out) const {
  out += "# Clients\r\n";
  line(out, "connected_clients", connections);
  line(out, "connections_accepted", connections_accepted);
  line(out, "connections_refused", connections_refused);
  line(out, "claims_waiting", claims_waiting);
  line(out, "requests_under_way", requests_under_way);
  line(out, "request_bytes_held", bytes_held);
  line(out, "reply_bytes_unsent", bytes_unsent);
  line(out, "bytes_read", bytes_read);
  line(out, "bytes_written", bytes_written);
  line(out, "logins_failed", logins_failed);
  out += "# Commands\r\n";
  line(out, "requests", requests);
  line(out, "orders_claimed", orders_claimed);
  for (std::size_t i = 0; i < outcomes_size; ++i) {
    line(out, "outcome_" + std::string(outcome_name(static_cast<Outcome>(i))), outcomes_[i]);
  }
  for (std::size_t i = 0; i < errors_size; ++i) {
    line(out, "error_" + std::string(protocol::wire_code_name(static_cast<protocol::WireCode>(i))),
         errors_[i]);
  }
}

}  // namespace duelease::server
