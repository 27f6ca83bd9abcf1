// model/validate.h: what a request must look like before any rule is asked. Each error names the value
// and the limit. Sizes that depend on the queue's settings are checked with the settings at hand.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease::model {

Result<> validate_queue_name(std::string_view queue);
Result<> validate_id(std::string_view id);

Result<> validate(const ScheduleRequest& request);
Result<> validate(const ClaimRequest& request);
Result<> validate(const PopRequest& request);
Result<> validate(const CompleteRequest& request);
Result<> validate(const FailRequest& request);
Result<> validate(const ReleaseRequest& request);
Result<> validate(const ExtendRequest& request);
Result<> validate(const RescheduleRequest& request);
Result<> validate(const CancelRequest& request);
Result<> validate(const RetryRequest& request);
Result<> validate(const ImportRequest& request);
Result<> validate(const ReconcileRequest& request);
Result<> validate(const ReapRequest& request);
Result<> validate(const PurgeRequest& request);
Result<> validate(const QueueSetRequest& request);
Result<> validate(const ListRequest& request);
Result<> validate_history(std::string_view queue, std::string_view id, std::uint32_t limit);
Result<> validate(const RunOpenRequest& request);
Result<> validate(const RunStartRequest& request);
Result<> validate(const RunBeatRequest& request);
Result<> validate(const RunDoneRequest& request);
Result<> validate(const RunErrorRequest& request);
Result<> validate_run(std::string_view queue, std::string_view run);

// Of a ScheduleRequest, ImportRequest or ReconcileRequest.
template <class Request>
Result<> validate_payload(const Request& request, const QueueSettings& settings);

// What is told of the past lies there.
Result<> validate_past(const ImportRequest& request, Time now);

// The settings that come out of `request` on top of `settings`.
QueueSettings apply(const QueueSetRequest& request, QueueSettings settings);

}  // namespace duelease::model
