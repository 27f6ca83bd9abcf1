// What a request is refused for by itself: the limits that the comments of duelease/types.h name.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "base/limits.h"
#include "model/oracle.h"

namespace duelease::model_test {

namespace {

constexpr Duration day{24LL * 3600 * 1000};

bool is_queue_name(std::string_view name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
  return !name.empty() && name.size() <= 128 && name.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_name(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max;
}

// From year 1 to the end of year 9999.
bool is_time(Time time) {
  using namespace std::chrono;
  return time >= sys_days{year{1} / 1 / 1} && time < sys_days{year{10000} / 1 / 1};
}

bool is_lease(Duration lease) { return lease >= Duration{1} && lease <= 30 * day; }

template <class T>
bool is_within(const std::optional<T>& value, T min, T max) {
  return !value || (*value >= min && *value <= max);
}

std::optional<Code> refusal_of(const std::vector<AppWrite>& writes) {
  if (writes.size() > limits::app_write_count_max) return Code::too_large;
  std::size_t bytes = 0;
  for (const AppWrite& write : writes) {
    if (!is_name(write.key, limits::app_key_bytes_max)) return Code::invalid;
    bytes += write.key.size() + (write.value ? write.value->size() : 0);
  }
  if (bytes > limits::app_write_bytes_max) return Code::too_large;
  return std::nullopt;
}

// Of the rest: whether it is valid. All of them but ScheduleRequest, CompleteRequest, PurgeBatch and Barrier.
bool is_valid(const ClaimRequest& r) {
  return !r.queues.empty() && r.queues.size() <= 64 && std::ranges::all_of(r.queues, is_queue_name) &&
         is_name(r.worker, 128) && r.count >= 1 && r.count <= 10'000 && (!r.lease || is_lease(*r.lease)) &&
         r.wait >= Duration{0} && r.wait <= 30 * day && r.request.size() <= 128;
}
bool is_valid(const PopRequest& r) { return is_queue_name(r.queue) && r.count >= 1 && r.count <= 10'000; }
bool is_valid(const FailRequest& r) { return !r.retry_at || is_time(*r.retry_at); }
bool is_valid(const ReleaseRequest& r) { return !r.due || is_time(*r.due); }
bool is_valid(const ExtendRequest& r) { return is_lease(r.lease); }
bool is_valid(const RescheduleRequest& r) { return is_time(r.due); }
bool is_valid(const CancelRequest& r) { return !r.force || !r.since; }
template <class Request>
bool is_new_order(const Request& r) {
  return is_time(r.due) && (!r.key || is_name(*r.key, 255)) && is_within(r.tries, 0U, limits::tries_max);
}
bool is_valid(const ImportRequest& r) {
  const bool has_ended = r.state == State::success || r.state == State::failed || r.state == State::aborted;
  return is_new_order(r) && (has_ended || (r.state == State::wait && !r.ended_at)) &&
         (!r.created_at || is_time(*r.created_at)) && (!r.ended_at || is_time(*r.ended_at));
}
bool is_valid(const ReconcileRequest& r) { return is_new_order(r) && is_time(r.read_at); }
bool is_valid(const RetryRequest& r) { return !r.due || is_time(*r.due); }
bool is_valid(const ReapRequest& r) { return is_queue_name(r.queue) && r.limit >= 1 && r.limit <= 10'000; }
bool is_valid(const QueueSetRequest& r) {
  const Duration none{0};
  return is_queue_name(r.queue) && (!r.lease || is_lease(*r.lease)) &&
         is_within(r.tries, 0U, limits::tries_max) && is_within(r.backoff_base, none, 365 * day) &&
         is_within(r.backoff_cap, none, 365 * day) && is_within(r.backoff_jitter_percent, 0U, 100U) &&
         is_within(r.payload_bytes_max, 0U, 64U * 1024 * 1024) &&
         is_within(r.keep_history, none, 100 * 365 * day) &&
         (!r.keep_success || is_within(*r.keep_success, none, 100 * 365 * day));
}
bool is_valid(const RunOpenRequest& r) { return !r.ttl || is_lease(*r.ttl); }
bool is_valid(const RunStartRequest&) { return true; }
bool is_valid(const RunBeatRequest&) { return true; }
bool is_valid(const RunDoneRequest&) { return true; }
bool is_valid(const RunErrorRequest&) { return true; }

template <class Request>
constexpr bool is_of_run = requires(const Request& r) {
  r.run.size();
}
&&!requires(const Request& r) { r.id; };

}  // namespace

std::optional<Code> refusal(const engine::Body& body) {
  return std::visit(
      [](const auto& r) -> std::optional<Code> {
        using Request = std::decay_t<decltype(r)>;
        if constexpr (requires { r.id; }) {
          if (!is_queue_name(r.queue) || !is_name(r.id, 255)) return Code::invalid;
        }
        if constexpr (is_of_run<Request>) {
          if (!is_queue_name(r.queue) || !is_name(r.run, 128)) return Code::invalid;
        }
        if constexpr (std::is_same_v<Request, ScheduleRequest>) {
          if (!is_time(r.due) || (r.key && !is_name(*r.key, 255)) || (r.run && !is_name(*r.run, 128)) ||
              !is_within(r.tries, 0U, limits::tries_max)) {
            return Code::invalid;
          }
          return refusal_of(r.app_writes);
        } else if constexpr (std::is_same_v<Request, CompleteRequest>) {
          if (r.result && r.result->size() > 1024 * 1024) return Code::too_large;
          return refusal_of(r.app_writes);
        } else if constexpr (std::is_same_v<Request, engine::PurgeBatch> ||
                             std::is_same_v<Request, engine::Barrier>) {
          return std::nullopt;
        } else {
          return is_valid(r) ? std::nullopt : std::optional{Code::invalid};
        }
      },
      body);
}

}  // namespace duelease::model_test
