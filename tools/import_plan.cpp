#include "import_plan.h"

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

}  // namespace duelease::tools
