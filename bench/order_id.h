// bench/order_id.h: the ids of the orders, made from their numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duelease::bench {

std::string order_id(std::uint64_t number);  // 16 bytes, in no particular order.
std::optional<std::uint64_t> order_number(std::string_view id);

}  // namespace duelease::bench
