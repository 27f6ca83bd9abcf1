#include "store/keys.h"

#include <utility>

#include "base/bytes.h"

namespace duelease::store {

namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    out.push_back(c);
    if (c == '\0') out.push_back('\xff');
  }
  out.append(2, '\0');
}

// Takes the escaped bytes and their end off the front of `rest`.
std::optional<std::string> take_escaped(std::string_view& rest) {
  std::string out;
  for (std::size_t i = 0; i + 1 < rest.size(); ++i) {
    if (rest[i] != '\0') {
      out.push_back(rest[i]);
      continue;
    }
    ++i;
    if (rest[i] == '\0') {
      rest.remove_prefix(i + 1);
      return out;
    }
    if (rest[i] != '\xff') return std::nullopt;
    out.push_back('\0');
  }
  return std::nullopt;
}

std::string prefix_of_kind(std::string_view queue, char kind) {
  std::string out = queue_prefix(queue);
  out.push_back(kind);
  return out;
}

}  // namespace

std::string queue_prefix(std::string_view queue) {
  std::string out;
  out.reserve(queue.size() + 1);
  out.append(queue);
  out.push_back('\0');
  return out;
}

std::string queue_key(std::string_view queue, const Place& place, std::string_view id) {
  std::string out;
  out.reserve(queue.size() + 10 + id.size());
  out.append(queue);
  out.push_back('\0');
  out.push_back(static_cast<char>(place.priority));
  base::append_i64be(out, place.due.time_since_epoch().count());
  out.append(id);
  return out;
}

std::string order_key(std::string_view queue, std::string_view id) {
  std::string out;
  out.reserve(queue.size() + 1 + id.size());
  out.append(queue);
  out.push_back('\0');
  out.append(id);
  return out;
}

std::string dedup_key(std::string_view queue, std::string_view key) { return order_key(queue, key); }

std::string history_prefix(std::string_view queue, std::string_view id) {
  std::string out = queue_prefix(queue);
  append_escaped(out, id);
  return out;
}

std::string history_key(std::string_view queue, std::string_view id, std::uint64_t sequence) {
  std::string out = history_prefix(queue, id);
  base::append_u64be(out, sequence);
  return out;
}

std::string active_run_prefix(std::string_view queue) { return prefix_of_kind(queue, 'a'); }
std::string active_run_key(std::string_view queue, std::string_view run) {
  return active_run_prefix(queue).append(run);
}

std::string run_prefix(std::string_view queue) { return prefix_of_kind(queue, 'r'); }
std::string run_key(std::string_view queue, std::string_view run) { return run_prefix(queue).append(run); }

std::string run_orders_prefix(std::string_view queue, std::string_view run) {
  std::string out = prefix_of_kind(queue, 'o');
  append_escaped(out, run);
  return out;
}

std::string run_order_key(std::string_view queue, std::string_view run, std::string_view id) {
  return run_orders_prefix(queue, run).append(id);
}

std::string settings_key(std::string_view queue) { return std::string(settings_prefix).append(queue); }
std::string counts_key(std::string_view queue) { return std::string(counts_prefix).append(queue); }

std::string prefix_end(std::string_view prefix) {
  std::string out(prefix);
  while (!out.empty() && out.back() == '\xff') out.pop_back();
  if (!out.empty()) out.back() = static_cast<char>(static_cast<unsigned char>(out.back()) + 1);
  return out;
}

std::optional<QueueEntry> parse_queue_key(std::string_view bytes) {
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  std::string_view rest = bytes.substr(end + 1);
  if (rest.size() < 10) return std::nullopt;  // Priority, due time, and at least one byte of id.
  QueueEntry entry;
  entry.queue = bytes.substr(0, end);
  entry.place.priority = static_cast<std::uint8_t>(rest[0]);
  entry.place.due = Time{Duration{base::read_i64be(rest.substr(1))}};
  entry.id = rest.substr(9);
  return entry;
}

std::optional<OrderName> parse_order_key(std::string_view bytes) {
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos || end == 0 || end + 1 == bytes.size()) return std::nullopt;
  return OrderName{bytes.substr(0, end), bytes.substr(end + 1)};
}

std::optional<HistoryName> parse_history_key(std::string_view bytes) {
  const std::optional<OrderName> name = parse_order_key(bytes);
  if (!name) return std::nullopt;
  std::string_view rest = name->id;
  std::optional<std::string> id = take_escaped(rest);
  if (!id || id->empty() || rest.size() != 8) return std::nullopt;
  return HistoryName{name->queue, std::move(*id), base::read_u64be(rest)};
}

std::optional<RunEntry> parse_run_key(std::string_view bytes) {
  const std::optional<OrderName> name = parse_order_key(bytes);
  if (!name) return std::nullopt;
  std::string_view rest = name->id.substr(1);
  RunEntry entry;
  entry.queue = name->queue;
  switch (name->id[0]) {
    case 'a': entry.kind = RunEntry::Kind::active; break;
    case 'r': entry.kind = RunEntry::Kind::run; break;
    case 'o': entry.kind = RunEntry::Kind::order; break;
    default: return std::nullopt;
  }
  if (entry.kind != RunEntry::Kind::order) {
    entry.run = rest;
  } else if (std::optional<std::string> run = take_escaped(rest)) {
    entry.run = std::move(*run);
    entry.id = rest;
    if (entry.id.empty()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (entry.run.empty()) return std::nullopt;
  return entry;
}

}  // namespace duelease::store
