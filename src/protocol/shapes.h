// protocol/shapes.h: the table of verbs. What a request looks like in words is said here, once: reading, writing
// and the usage texts follow from it. What client libraries send to get along (AUTH, HELLO, ...) has words of
// another kind and is in greetings.h.
#pragma once

#include <string_view>
#include <tuple>

#include "protocol/request.h"

namespace duelease::protocol {

// A value known by where it stands.
template <class R, class Member>
struct Place {
  std::string_view name;
  Member R::*member;
  bool may_lack = false;  // Of the last one only.
};

// A word and its value, in any order. A bool with no value is a flag.
template <class R, class Member>
struct Option {
  std::string_view word;
  std::string_view value;  // What the value is, for the usage.
  Member R::*member;
};

template <class Places, class Options>
struct Shape {
  std::string_view verb;
  std::string_view second;  // Its second word; empty: none.
  Places places;
  Options options;
  bool needs_option = false;
};

// Clang 14 does not deduce these by itself.
template <class R, class Member>
Place(std::string_view, Member R::*, bool = false) -> Place<R, Member>;
template <class R, class Member>
Option(std::string_view, std::string_view, Member R::*) -> Option<R, Member>;
template <class Places, class Options>
Shape(std::string_view, std::string_view, Places, Options, bool = false) -> Shape<Places, Options>;

template <class... P>
constexpr std::tuple<P...> places(P... place) {
  return {place...};
}
template <class... O>
constexpr std::tuple<O...> options(O... option) {
  return {option...};
}

template <class R>
inline constexpr auto shape = nullptr;

// clang-format off

template <>
inline constexpr auto shape<ScheduleRequest> = Shape{
    "SCHEDULE", {},
    places(Place{"queue", &ScheduleRequest::queue},
           Place{"id", &ScheduleRequest::id},
           Place{"due", &ScheduleRequest::due}),
    options(Option{"PAYLOAD", "bytes", &ScheduleRequest::payload},
            Option{"KEY", "bytes", &ScheduleRequest::key},
            Option{"RUN", "run", &ScheduleRequest::run},
            Option{"PRIORITY", "0-255", &ScheduleRequest::priority},
            Option{"TRIES", "n", &ScheduleRequest::tries},
            Option{"UPSERT", {}, &ScheduleRequest::upsert})};

template <>
inline constexpr auto shape<ClaimRequest> = Shape{
    "CLAIM", {},
    places(Place{"queue[,queue...]", &ClaimRequest::queues},
           Place{"worker", &ClaimRequest::worker}),
    options(Option{"COUNT", "n", &ClaimRequest::count},
            Option{"LEASE", "duration", &ClaimRequest::lease},
            Option{"WAIT", "duration", &ClaimRequest::wait},
            Option{"REQUEST", "id", &ClaimRequest::request})};

template <>
inline constexpr auto shape<CompleteRequest> = Shape{
    "COMPLETE", {},
    places(Place{"queue", &CompleteRequest::queue},
           Place{"id", &CompleteRequest::id},
           Place{"token", &CompleteRequest::token}),
    options(Option{"RESULT", "bytes", &CompleteRequest::result})};

template <>
inline constexpr auto shape<FailRequest> = Shape{
    "FAIL", {},
    places(Place{"queue", &FailRequest::queue},
           Place{"id", &FailRequest::id},
           Place{"token", &FailRequest::token}),
    options(Option{"ERROR", "text", &FailRequest::error},
            Option{"RETRY", "time", &FailRequest::retry_at},
            Option{"FINAL", {}, &FailRequest::final})};

template <>
inline constexpr auto shape<ReleaseRequest> = Shape{
    "RELEASE", {},
    places(Place{"queue", &ReleaseRequest::queue},
           Place{"id", &ReleaseRequest::id},
           Place{"token", &ReleaseRequest::token}),
    options(Option{"DUE", "time", &ReleaseRequest::due})};

template <>
inline constexpr auto shape<ExtendRequest> = Shape{
    "EXTEND", {},
    places(Place{"queue", &ExtendRequest::queue},
           Place{"id", &ExtendRequest::id},
           Place{"token", &ExtendRequest::token},
           Place{"lease", &ExtendRequest::lease}),
    options()};

template <>
inline constexpr auto shape<RescheduleRequest> = Shape{
    "RESCHEDULE", {},
    places(Place{"queue", &RescheduleRequest::queue},
           Place{"id", &RescheduleRequest::id},
           Place{"due", &RescheduleRequest::due}),
    options()};

template <>
inline constexpr auto shape<CancelRequest> = Shape{
    "CANCEL", {},
    places(Place{"queue", &CancelRequest::queue},
           Place{"id", &CancelRequest::id}),
    options(Option{"FORCE", {}, &CancelRequest::force},
            Option{"SINCE", "n", &CancelRequest::since})};

template <>
inline constexpr auto shape<ImportRequest> = Shape{
    "IMPORT", {},
    places(Place{"queue", &ImportRequest::queue},
           Place{"id", &ImportRequest::id},
           Place{"due", &ImportRequest::due}),
    options(Option{"PAYLOAD", "bytes", &ImportRequest::payload},
            Option{"KEY", "bytes", &ImportRequest::key},
            Option{"PRIORITY", "0-255", &ImportRequest::priority},
            Option{"TRIES", "n", &ImportRequest::tries},
            Option{"STATE", "state", &ImportRequest::state},
            Option{"CREATED", "time", &ImportRequest::created_at},
            Option{"ENDED", "time", &ImportRequest::ended_at},
            Option{"ERROR", "text", &ImportRequest::error},
            Option{"GRANDFATHER", {}, &ImportRequest::grandfather})};

template <>
inline constexpr auto shape<ReconcileRequest> = Shape{
    "RECONCILE", {},
    places(Place{"queue", &ReconcileRequest::queue},
           Place{"id", &ReconcileRequest::id},
           Place{"due", &ReconcileRequest::due},
           Place{"since", &ReconcileRequest::since},
           Place{"read_at", &ReconcileRequest::read_at}),
    options(Option{"PAYLOAD", "bytes", &ReconcileRequest::payload},
            Option{"KEY", "bytes", &ReconcileRequest::key},
            Option{"PRIORITY", "0-255", &ReconcileRequest::priority},
            Option{"TRIES", "n", &ReconcileRequest::tries},
            Option{"DRYRUN", {}, &ReconcileRequest::dry_run})};

template <>
inline constexpr auto shape<MarkRequest> = Shape{"MARK", {}, places(), options()};

template <>
inline constexpr auto shape<PopRequest> = Shape{
    "POP", {},
    places(Place{"queue", &PopRequest::queue}),
    options(Option{"COUNT", "n", &PopRequest::count})};

template <>
inline constexpr auto shape<RetryRequest> = Shape{
    "RETRY", {},
    places(Place{"queue", &RetryRequest::queue},
           Place{"id", &RetryRequest::id}),
    options(Option{"DUE", "time", &RetryRequest::due})};

template <>
inline constexpr auto shape<ReapRequest> = Shape{
    "REAP", {},
    places(Place{"queue", &ReapRequest::queue}),
    options(Option{"LIMIT", "n", &ReapRequest::limit})};

template <>
inline constexpr auto shape<OrderRequest> = Shape{
    "ORDER", {},
    places(Place{"queue", &OrderRequest::queue},
           Place{"id", &OrderRequest::id}),
    options()};

template <>
inline constexpr auto shape<ListRequest> = Shape{
    "LIST", {},
    places(Place{"queue", &ListRequest::queue}),
    options(Option{"STATE", "state", &ListRequest::state},
            Option{"LIMIT", "n", &ListRequest::limit},
            Option{"AFTER", "cursor", &ListRequest::after})};

template <>
inline constexpr auto shape<WhyRequest> = Shape{
    "WHY", {},
    places(Place{"queue", &WhyRequest::queue},
           Place{"id", &WhyRequest::id}),
    options()};

template <>
inline constexpr auto shape<HistoryRequest> = Shape{
    "HISTORY", {},
    places(Place{"queue", &HistoryRequest::queue},
           Place{"id", &HistoryRequest::id}),
    options(Option{"LIMIT", "n", &HistoryRequest::limit})};

template <>
inline constexpr auto shape<QueuesRequest> = Shape{"QUEUES", {}, places(), options()};

template <>
inline constexpr auto shape<StatsRequest> = Shape{
    "STATS", {},
    places(Place{"queue", &StatsRequest::queue}),
    options()};

template <>
inline constexpr auto shape<QueueSetRequest> = Shape{
    "QUEUE", "SET",
    places(Place{"queue", &QueueSetRequest::queue}),
    options(Option{"lease", "duration", &QueueSetRequest::lease},
            Option{"tries", "n", &QueueSetRequest::tries},
            Option{"backoff_base", "duration", &QueueSetRequest::backoff_base},
            Option{"backoff_cap", "duration", &QueueSetRequest::backoff_cap},
            Option{"backoff_jitter_percent", "0-100", &QueueSetRequest::backoff_jitter_percent},
            Option{"payload_bytes_max", "n", &QueueSetRequest::payload_bytes_max},
            Option{"keep_success", "duration|forever", &QueueSetRequest::keep_success},
            Option{"keep_history", "duration", &QueueSetRequest::keep_history},
            Option{"paused", "yes|no", &QueueSetRequest::paused}),
    true};

template <>
inline constexpr auto shape<QueueShowRequest> = Shape{
    "QUEUE", "SHOW",
    places(Place{"queue", &QueueShowRequest::queue}),
    options()};

template <>
inline constexpr auto shape<PauseRequest> = Shape{
    "PAUSE", {},
    places(Place{"queue", &PauseRequest::queue}),
    options()};

template <>
inline constexpr auto shape<ResumeRequest> = Shape{
    "RESUME", {},
    places(Place{"queue", &ResumeRequest::queue}),
    options()};

template <>
inline constexpr auto shape<PurgeRequest> = Shape{
    "PURGE", {},
    places(Place{"queue", &PurgeRequest::queue},
           Place{"state", &PurgeRequest::state}),
    options(Option{"OLDER", "duration", &PurgeRequest::older},
            Option{"LIMIT", "n", &PurgeRequest::limit})};

template <>
inline constexpr auto shape<RunOpenRequest> = Shape{
    "RUN", "OPEN",
    places(Place{"queue", &RunOpenRequest::queue},
           Place{"run", &RunOpenRequest::run}),
    options(Option{"TTL", "duration", &RunOpenRequest::ttl})};

template <>
inline constexpr auto shape<RunStartRequest> = Shape{
    "RUN", "START",
    places(Place{"queue", &RunStartRequest::queue},
           Place{"run", &RunStartRequest::run}),
    options()};

template <>
inline constexpr auto shape<RunBeatRequest> = Shape{
    "RUN", "BEAT",
    places(Place{"queue", &RunBeatRequest::queue},
           Place{"run", &RunBeatRequest::run}),
    options()};

template <>
inline constexpr auto shape<RunDoneRequest> = Shape{
    "RUN", "DONE",
    places(Place{"queue", &RunDoneRequest::queue},
           Place{"run", &RunDoneRequest::run}),
    options(Option{"FORCE", {}, &RunDoneRequest::force})};

template <>
inline constexpr auto shape<RunErrorRequest> = Shape{
    "RUN", "ERROR",
    places(Place{"queue", &RunErrorRequest::queue},
           Place{"run", &RunErrorRequest::run}),
    options(Option{"REASON", "text", &RunErrorRequest::reason})};

template <>
inline constexpr auto shape<RunShowRequest> = Shape{
    "RUN", "SHOW",
    places(Place{"queue", &RunShowRequest::queue},
           Place{"run", &RunShowRequest::run}),
    options()};

template <>
inline constexpr auto shape<RunListRequest> = Shape{
    "RUN", "LIST",
    places(Place{"queue", &RunListRequest::queue}),
    options()};

template <>
inline constexpr auto shape<CheckRequest> = Shape{
    "CHECK", {},
    places(Place{"queue", &CheckRequest::queue, true}),
    options()};

template <>
inline constexpr auto shape<PingRequest> = Shape{
    "PING", {},
    places(Place{"message", &PingRequest::message, true}),
    options()};

template <>
inline constexpr auto shape<EchoRequest> = Shape{
    "ECHO", {},
    places(Place{"message", &EchoRequest::message}),
    options()};

template <>
inline constexpr auto shape<SelectRequest> = Shape{
    "SELECT", {},
    places(Place{"database", &SelectRequest::database}),
    options()};

template <>
inline constexpr auto shape<TimeRequest> = Shape{"TIME", {}, places(), options()};

template <>
inline constexpr auto shape<QuitRequest> = Shape{"QUIT", {}, places(), options()};

// clang-format on

}  // namespace duelease::protocol
