#include "engine/command.h"

#include <optional>
#include <string>

namespace duelease::engine {

namespace {

std::size_t bytes_of(const std::string& text) { return text.size(); }

template <class T>
std::size_t bytes_of(const std::optional<T>& value) {
  return value ? bytes_of(*value) : 0;
}

std::size_t bytes_of(const AppWrite& write) {
  return sizeof write + bytes_of(write.key) + bytes_of(write.value);
}

template <class T>
std::size_t bytes_of(const std::vector<T>& values) {
  std::size_t sum = 0;
  for (const T& value : values) sum += bytes_of(value);
  return sum;
}

}  // namespace

std::size_t bytes_of(const Body& body) {
  return sizeof body + std::visit(
                           [](const auto& r) {
                             std::size_t sum = 0;
                             if constexpr (requires { r.id; }) sum += bytes_of(r.id);
                             if constexpr (requires { r.payload; }) sum += bytes_of(r.payload);
                             if constexpr (requires { r.key; }) sum += bytes_of(r.key);
                             if constexpr (requires { r.result; }) sum += bytes_of(r.result);
                             if constexpr (requires { r.error; }) sum += bytes_of(r.error);
                             if constexpr (requires { r.app_writes; }) sum += bytes_of(r.app_writes);
                             if constexpr (requires { r.queues; }) sum += bytes_of(r.queues);
                             if constexpr (requires { r.ids; }) sum += bytes_of(r.ids);
                             return sum;
                           },
                           body);
}

}  // namespace duelease::engine
