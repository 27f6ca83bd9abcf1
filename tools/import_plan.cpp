#include "import_plan.h"

#include <fmt/format.h>

#include <utility>

namespace duelease::tools {
namespace {

// What both have.
template <class Request>
Request request_of(const ImportPlan& plan, OrderRow& row) {
  Request request;
  request.queue = plan.queue;
  request.id = std::move(row.id);
  request.due = row.due;
  request.payload = std::move(row.payload);
  request.key = std::move(row.key);
  request.priority = plan.priority;
  request.tries = plan.tries;
  return request;
}

Result<> check_size(const char* what, std::size_t bytes) {
  constexpr std::size_t bytes_max = 255;
  if (bytes >= 1 && bytes <= bytes_max) return {};
  return fail(Code::invalid, fmt::format("{} has {} bytes, allowed are 1 to {}", what, bytes, bytes_max));
}

Result<> check_past(const char* what, const std::optional<Time>& time, Time now) {
  if (!time || *time <= now) return {};
  return fail(Code::invalid,
              fmt::format("{} is {} ms in the future, allowed is up to now", what, (*time - now).count()));
}

}  // namespace

ScheduleRequest schedule_request(const ImportPlan& plan, OrderRow row) {
  auto request = request_of<ScheduleRequest>(plan, row);
  request.run = plan.run;
  request.upsert = plan.upsert;
  return request;
}

ImportRequest import_request(const ImportPlan& plan, OrderRow row) {
  auto request = request_of<ImportRequest>(plan, row);
  request.state = row.state;
  request.created_at = row.created;
  request.ended_at = row.ended;
  request.error = std::move(row.error);
  request.grandfather = row.grandfather;
  return request;
}

Result<> check_row(const OrderRow& row, const std::string& queue, std::uint32_t payload_bytes_max, Time now) {
  Result<> checked = check_size("id", row.id.size());
  if (checked && row.key) checked = check_size("key", row.key->size());
  if (checked) checked = check_past("time of creation", row.created, now);
  if (checked) checked = check_past("time of the end", row.ended, now);
  if (!checked) return checked;
  if (row.state == State::wait && row.ended) {
    return fail(Code::invalid, "a WAIT order has not ended, but a time of its end is given");
  }
  if (row.payload.size() <= payload_bytes_max) return {};
  return fail(Code::too_large, fmt::format("payload has {} bytes, the limit of queue {} is {}",
                                           row.payload.size(), queue, payload_bytes_max));
}

}  // namespace duelease::tools
