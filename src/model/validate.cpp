#include "model/validate.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "base/limits.h"

namespace duelease::model {

namespace {

std::string shown(std::string_view value) {
  constexpr std::size_t shown_bytes_max = 64;
  std::string out = "'";
  for (const char c : value.substr(0, shown_bytes_max)) out += (c >= ' ' && c < 0x7f) ? c : '?';
  return out + (value.size() > shown_bytes_max ? "...'" : "'");
}

Result<> in_range(std::string_view what, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return fail(Code::invalid, std::string(what) + " is " + std::to_string(value) + ", allowed are " +
                                 std::to_string(min) + " to " + std::to_string(max));
}

Result<> size_in_range(std::string_view what, std::size_t size, std::size_t min, std::size_t max) {
  if (size >= min && size <= max) return {};
  return fail(Code::invalid, std::string(what) + " has " + std::to_string(size) + " bytes, allowed are " +
                                 std::to_string(min) + " to " + std::to_string(max));
}

Result<> validate_time(std::string_view what, Time time) {
  return in_range(std::string(what) + " (ms)", time.time_since_epoch().count(), limits::time_ms_min,
                  limits::time_ms_max);
}

Result<> validate_lease(Duration lease) {
  return in_range("lease (ms)", lease.count(), limits::lease_ms_min, limits::lease_ms_max);
}

Result<> validate_name(std::string_view queue, std::string_view id) {
  if (Result<> r = validate_queue_name(queue); !r) return r;
  return validate_id(id);
}

Result<> validate_run_name(std::string_view run) {
  return size_in_range("run name", run.size(), 1, limits::run_bytes_max);
}

Result<> validate_app_writes(const std::vector<AppWrite>& writes) {
  if (writes.size() > limits::app_write_count_max) {
    return fail(Code::too_large, std::to_string(writes.size()) + " application writes, the limit is " +
                                     std::to_string(limits::app_write_count_max));
  }
  std::size_t bytes = 0;
  for (const AppWrite& write : writes) {
    if (Result<> r = size_in_range("application key", write.key.size(), 1, limits::app_key_bytes_max); !r)
      return r;
    bytes += write.key.size() + (write.value ? write.value->size() : 0);
  }
  if (bytes > limits::app_write_bytes_max) {
    return fail(Code::too_large, "application writes have " + std::to_string(bytes) +
                                     " bytes, the limit is " + std::to_string(limits::app_write_bytes_max));
  }
  return {};
}

// What every request that may make an order has in it.
template <class Request>
Result<> validate_new_order(const Request& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  if (Result<> r = validate_time("due time", request.due); !r) return r;
  if (request.key) {
    if (Result<> r = size_in_range("key", request.key->size(), 1, limits::key_bytes_max); !r) return r;
  }
  return request.tries ? in_range("tries", *request.tries, 0, limits::tries_max) : Result<>{};
}

Result<> validate_not_after(std::string_view what, Time time, Time now) {
  if (time <= now) return {};
  return fail(Code::invalid, std::string(what) + " is " + std::to_string((time - now).count()) +
                                 " ms in the future, allowed is up to now");
}

bool queue_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == ':' || c == '-';
}

}  // namespace

Result<> validate_queue_name(std::string_view queue) {
  if (Result<> r = size_in_range("queue name", queue.size(), 1, limits::queue_name_bytes_max); !r) return r;
  for (const char c : queue) {
    if (!queue_character(c)) {
      return fail(Code::invalid, "queue name " + shown(queue) + " may hold only A-Z a-z 0-9 . _ : -");
    }
  }
  return {};
}

Result<> validate_id(std::string_view id) { return size_in_range("id", id.size(), 1, limits::id_bytes_max); }

Result<> validate(const ScheduleRequest& request) {
  if (Result<> r = validate_new_order(request); !r) return r;
  if (request.run) {
    if (Result<> r = validate_run_name(*request.run); !r) return r;
  }
  return validate_app_writes(request.app_writes);
}

Result<> validate(const ImportRequest& request) {
  if (Result<> r = validate_new_order(request); !r) return r;
  const State state = request.state;
  if (state == State::processing ||
      std::find(std::begin(all_states), std::end(all_states), state) == std::end(all_states)) {
    return fail(Code::invalid, "an order cannot be imported as " + std::string(state_name(state)) +
                                   "; allowed are WAIT, SUCCESS, FAILED and ABORTED");
  }
  if (request.created_at) {
    if (Result<> r = validate_time("time of creation", *request.created_at); !r) return r;
  }
  if (!request.ended_at) return {};
  if (state == State::wait)
    return fail(Code::invalid, "a WAIT order has not ended, but a time of its end is given");
  return validate_time("time of the end", *request.ended_at);
}

Result<> validate(const ReconcileRequest& request) {
  if (Result<> r = validate_new_order(request); !r) return r;
  return validate_time("time of the reading", request.read_at);
}

Result<> validate(const ClaimRequest& request) {
  if (Result<> r = in_range("number of queues", static_cast<std::int64_t>(request.queues.size()), 1,
                            limits::claim_queues_max);
      !r) {
    return r;
  }
  for (const std::string& queue : request.queues) {
    if (Result<> r = validate_queue_name(queue); !r) return r;
  }
  if (Result<> r = size_in_range("worker name", request.worker.size(), 1, limits::worker_bytes_max); !r)
    return r;
  if (Result<> r = in_range("count", request.count, 1, limits::claim_count_max); !r) return r;
  if (Result<> r = in_range("wait (ms)", request.wait.count(), 0, limits::wait_ms_max); !r) return r;
  if (Result<> r = size_in_range("request id", request.request.size(), 0, limits::request_bytes_max); !r)
    return r;
  return request.lease ? validate_lease(*request.lease) : Result<>{};
}

Result<> validate(const PopRequest& request) {
  if (Result<> r = validate_queue_name(request.queue); !r) return r;
  return in_range("count", request.count, 1, limits::claim_count_max);
}

Result<> validate(const CompleteRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  if (request.result && request.result->size() > limits::result_bytes_max) {
    return fail(Code::too_large, "result has " + std::to_string(request.result->size()) +
                                     " bytes, the limit is " + std::to_string(limits::result_bytes_max));
  }
  return validate_app_writes(request.app_writes);
}

Result<> validate(const FailRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  return request.retry_at ? validate_time("retry time", *request.retry_at) : Result<>{};
}

Result<> validate(const ReleaseRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  return request.due ? validate_time("due time", *request.due) : Result<>{};
}

Result<> validate(const ExtendRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  return validate_lease(request.lease);
}

Result<> validate(const RescheduleRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  return validate_time("due time", request.due);
}

Result<> validate(const CancelRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  if (!request.force || !request.since) return {};
  return fail(Code::invalid,
              "a cancel by force takes orders that are PROCESSING, one with `since` only those that wait");
}

Result<> validate(const RetryRequest& request) {
  if (Result<> r = validate_name(request.queue, request.id); !r) return r;
  return request.due ? validate_time("due time", *request.due) : Result<>{};
}

Result<> validate(const ReapRequest& request) {
  if (Result<> r = validate_queue_name(request.queue); !r) return r;
  return in_range("limit", request.limit, 1, limits::reap_count_max);
}

Result<> validate(const PurgeRequest& request) {
  if (Result<> r = validate_queue_name(request.queue); !r) return r;
  if (request.state != State::success && request.state != State::failed && request.state != State::aborted) {
    return fail(Code::invalid, "purge of " + std::string(state_name(request.state)) +
                                   " orders; only SUCCESS, FAILED and ABORTED have ended");
  }
  if (Result<> r = in_range("age (ms)", request.older.count(), 0, limits::keep_ms_max); !r) return r;
  return in_range("limit", request.limit, 1, limits::purge_count_max);
}

Result<> validate(const QueueSetRequest& request) {
  if (Result<> r = validate_queue_name(request.queue); !r) return r;
  if (request.lease) {
    if (Result<> r = validate_lease(*request.lease); !r) return r;
  }
  if (request.tries) {
    if (Result<> r = in_range("tries", *request.tries, 0, limits::tries_max); !r) return r;
  }
  if (request.backoff_base) {
    if (Result<> r = in_range("backoff base (ms)", request.backoff_base->count(), 0, limits::backoff_ms_max);
        !r) {
      return r;
    }
  }
  if (request.backoff_cap) {
    if (Result<> r = in_range("backoff cap (ms)", request.backoff_cap->count(), 0, limits::backoff_ms_max);
        !r) {
      return r;
    }
  }
  if (request.backoff_jitter_percent) {
    if (Result<> r = in_range("backoff jitter (percent)", *request.backoff_jitter_percent, 0, 100); !r)
      return r;
  }
  if (request.payload_bytes_max) {
    if (Result<> r =
            in_range("payload limit (bytes)", *request.payload_bytes_max, 0, limits::payload_bytes_ceiling);
        !r) {
      return r;
    }
  }
  if (request.keep_success && *request.keep_success) {
    if (Result<> r =
            in_range("time to keep successes (ms)", (*request.keep_success)->count(), 0, limits::keep_ms_max);
        !r) {
      return r;
    }
  }
  if (!request.keep_history) return {};
  return in_range("time to keep history (ms)", request.keep_history->count(), 0, limits::keep_ms_max);
}

Result<> validate(const ListRequest& request) {
  if (Result<> r = validate_queue_name(request.queue); !r) return r;
  return in_range("limit", request.limit, 1, limits::list_count_max);
}

Result<> validate_history(std::string_view queue, std::string_view id, std::uint32_t limit) {
  if (Result<> r = validate_name(queue, id); !r) return r;
  return in_range("limit", limit, 1, limits::history_count_max);
}

Result<> validate_run(std::string_view queue, std::string_view run) {
  if (Result<> r = validate_queue_name(queue); !r) return r;
  return validate_run_name(run);
}

Result<> validate(const RunOpenRequest& request) {
  if (Result<> r = validate_run(request.queue, request.run); !r || !request.ttl) return r;
  return in_range("time to live (ms)", request.ttl->count(), limits::lease_ms_min, limits::lease_ms_max);
}

Result<> validate(const RunStartRequest& request) { return validate_run(request.queue, request.run); }
Result<> validate(const RunBeatRequest& request) { return validate_run(request.queue, request.run); }
Result<> validate(const RunDoneRequest& request) { return validate_run(request.queue, request.run); }
Result<> validate(const RunErrorRequest& request) { return validate_run(request.queue, request.run); }

template <class Request>
Result<> validate_payload(const Request& request, const QueueSettings& settings) {
  if (!request.payload || request.payload->size() <= settings.payload_bytes_max) return {};
  return fail(Code::too_large, "payload has " + std::to_string(request.payload->size()) +
                                   " bytes, the limit of queue " + request.queue + " is " +
                                   std::to_string(settings.payload_bytes_max));
}

template Result<> validate_payload(const ScheduleRequest&, const QueueSettings&);
template Result<> validate_payload(const ImportRequest&, const QueueSettings&);
template Result<> validate_payload(const ReconcileRequest&, const QueueSettings&);

Result<> validate_past(const ImportRequest& request, Time now) {
  if (request.created_at) {
    if (Result<> r = validate_not_after("time of creation", *request.created_at, now); !r) return r;
  }
  return request.ended_at ? validate_not_after("time of the end", *request.ended_at, now) : Result<>{};
}

QueueSettings apply(const QueueSetRequest& request, QueueSettings settings) {
  if (request.lease) settings.lease = *request.lease;
  if (request.tries) settings.tries = *request.tries;
  if (request.backoff_base) settings.backoff_base = *request.backoff_base;
  if (request.backoff_cap) settings.backoff_cap = *request.backoff_cap;
  if (request.backoff_jitter_percent) settings.backoff_jitter_percent = *request.backoff_jitter_percent;
  if (request.payload_bytes_max) settings.payload_bytes_max = *request.payload_bytes_max;
  if (request.keep_success) settings.keep_success = *request.keep_success;
  if (request.keep_history) settings.keep_history = *request.keep_history;
  if (request.paused) settings.paused = *request.paused;
  return settings;
}

}  // namespace duelease::model
