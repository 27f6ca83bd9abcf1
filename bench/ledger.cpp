#include "ledger.h"

#include "order_id.h"

namespace duelease::bench {

Ledger::Ledger(std::uint64_t first, std::uint64_t count, std::size_t payload_bytes)
    : first_(first), payloads_(payload_bytes), orders_(count) {}

void Ledger::handed(const std::vector<Handed>& orders) {
  for (const Handed& order : orders) {
    const std::uint64_t number = move(order, Seen::never, Seen::handed, "was handed out twice");
    if (order.payload != payloads_.of(number))
      throw Fault("order " + order.id + " came with another payload than it had");
  }
}

void Ledger::completed(const std::vector<Handed>& orders) {
  for (const Handed& order : orders) {
    move(order, Seen::handed, Seen::completed, "was completed twice, or without having been handed out");
  }
}

void Ledger::finish(std::uint64_t count) const {
  for (std::uint64_t i = 0; i < orders_.size(); ++i) {
    const Seen wanted = i < count ? Seen::completed : Seen::never;
    if (orders_[i] != wanted) {
      throw Fault(
          "order " + order_id(first_ + i) +
          (i >= count ? " was handed out before it was scheduled" : " was lost: it was never completed"));
    }
  }
}

std::uint64_t Ledger::move(const Handed& order, Seen from, Seen to, const char* otherwise) {
  const std::optional<std::uint64_t> number = order_number(order.id);
  if (!number || *number < first_ || *number - first_ >= orders_.size()) {
    throw Fault("order " + order.id + " was handed out: no order has that id, or it was not due");
  }
  if (!orders_[*number - first_].compare_exchange_strong(from, to))
    throw Fault("order " + order.id + " " + otherwise);
  return *number;
}

}  // namespace duelease::bench
