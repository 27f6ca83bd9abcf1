// What a request must look like: at each limit it is accepted, one beyond it is refused, and the message
// names the value and the limit.
#include "model/validate.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "support/printing.h"

using namespace duelease;

namespace {

struct Case {
  std::string what;
  std::function<Result<>(std::int64_t)> with;  // The request with this value, validated.
  std::int64_t min;
  std::int64_t max;
  Code code = Code::invalid;
  bool min_is_named = true;  // Some limits are just a most.
};

void check_refused(const Case& limit, std::int64_t value) {
  CAPTURE(limit.what, value);
  const Result<> result = limit.with(value);
  REQUIRE_FALSE(result);
  INFO(result.error().message);
  CHECK(result.error().code == limit.code);
  const auto names = [&](std::int64_t number) {
    return result.error().message.find(std::to_string(number)) != std::string::npos;
  };
  CHECK(names(value));
  CHECK((names(limit.max) && (!limit.min_is_named || names(limit.min))));
}

void check_limits(const std::vector<Case>& cases) {
  for (const Case& limit : cases) {
    CAPTURE(limit.what);
    for (const std::int64_t value : {limit.min, limit.max}) {
      const Result<> result = limit.with(value);
      if (!result) FAIL(value << ": " << result.error().message);
    }
    check_refused(limit, limit.max + 1);
    if (limit.min != 0) check_refused(limit, limit.min - 1);  // Below 0 there are durations alone, see there.
  }
}

std::string bytes(std::int64_t count) { return std::string(static_cast<std::size_t>(count), 'x'); }
Time time_of(std::int64_t ms) { return Time{Duration{ms}}; }

constexpr std::int64_t time_min = limits::time_ms_min;
constexpr std::int64_t time_max = limits::time_ms_max;
constexpr std::int64_t u32_max = 0xffff'ffff;

// `set` puts the value into an otherwise sound request.
template <class Request, class Set>
std::function<Result<>(std::int64_t)> with(Request request, Set set) {
  return [request, set](std::int64_t value) {
    Request changed = request;
    set(changed, value);
    return model::validate(changed);
  };
}

const ScheduleRequest schedule{.queue = "q", .id = "x"};
const ClaimRequest claim{.queues = {"q"}, .worker = "w"};
const CompleteRequest complete{.queue = "q", .id = "x", .token = Token{1}};
const FailRequest failure{.queue = "q", .id = "x", .token = Token{1}};
const ReleaseRequest release{.queue = "q", .id = "x", .token = Token{1}};
const ExtendRequest extend{.queue = "q", .id = "x", .token = Token{1}, .lease = Duration{1}};
const RescheduleRequest reschedule{.queue = "q", .id = "x"};
const RetryRequest retry{.queue = "q", .id = "x"};
const QueueSetRequest settings{.queue = "q"};

}  // namespace

TEST_CASE("limits of a schedule", "[validate]") {
  check_limits({
      {"id", with(schedule, [](auto& r, auto v) { r.id = bytes(v); }), 1, 255},
      {"due", with(schedule, [](auto& r, auto v) { r.due = time_of(v); }), time_min, time_max},
      {"key", with(schedule, [](auto& r, auto v) { r.key = bytes(v); }), 1, 255},
      {"run", with(schedule, [](auto& r, auto v) { r.run = bytes(v); }), 1, 128},
      {"tries", with(schedule, [](auto& r, auto v) { r.tries = static_cast<std::uint32_t>(v); }), 0,
       1'000'000},
      {"app writes",
       with(schedule,
            [](auto& r, auto v) {
              r.app_writes.resize(static_cast<std::size_t>(v), {"k", {}});
            }),
       0, 1000, Code::too_large, false},
      {"app key",
       with(schedule,
            [](auto& r, auto v) {
              r.app_writes = {{bytes(v), "value"}};
            }),
       1, 4096},
  });
}

TEST_CASE("limits of claim and pop", "[validate]") {
  const auto count = [](auto& r, std::int64_t v) { r.count = static_cast<std::uint32_t>(v); };
  check_limits({
      {"queues", with(claim, [](auto& r, auto v) { r.queues.assign(static_cast<std::size_t>(v), "q"); }), 1,
       64},
      {"worker", with(claim, [](auto& r, auto v) { r.worker = bytes(v); }), 1, 128},
      {"count", with(claim, count), 1, 10'000},
      {"lease", with(claim, [](auto& r, auto v) { r.lease = Duration{v}; }), 1, limits::lease_ms_max},
      {"wait", with(claim, [](auto& r, auto v) { r.wait = Duration{v}; }), 0, limits::wait_ms_max},
      {"request", with(claim, [](auto& r, auto v) { r.request = bytes(v); }), 0, 128},
      {"pop count", with(PopRequest{.queue = "q"}, count), 1, 10'000},
  });
  check_refused({"wait", with(claim, [](auto& r, auto v) { r.wait = Duration{v}; }), 0, limits::wait_ms_max},
                -1);
}

TEST_CASE("limits of reports", "[validate]") {
  check_limits({
      {"result", with(complete, [](auto& r, auto v) { r.result = bytes(v); }), 0, 1024 * 1024,
       Code::too_large, false},
      {"app writes",
       with(complete,
            [](auto& r, auto v) {
              r.app_writes.resize(static_cast<std::size_t>(v), {"k", {}});
            }),
       0, 1000, Code::too_large, false},
      {"retry time", with(failure, [](auto& r, auto v) { r.retry_at = time_of(v); }), time_min, time_max},
      {"release due", with(release, [](auto& r, auto v) { r.due = time_of(v); }), time_min, time_max},
      {"extend lease", with(extend, [](auto& r, auto v) { r.lease = Duration{v}; }), 1, limits::lease_ms_max},
  });
  check_refused(
      {"lease", with(extend, [](auto& r, auto v) { r.lease = Duration{v}; }), 1, limits::lease_ms_max}, -5);
  FailRequest long_error = failure;
  long_error.error = bytes(1'000'000);  // Cut, not refused.
  CHECK(model::validate(long_error));
}

TEST_CASE("limits of reschedule, retry, reap, purge and list", "[validate]") {
  const auto limit = [](auto& r, std::int64_t v) { r.limit = static_cast<std::uint32_t>(v); };
  check_limits({
      {"reschedule due", with(reschedule, [](auto& r, auto v) { r.due = time_of(v); }), time_min, time_max},
      {"retry due", with(retry, [](auto& r, auto v) { r.due = time_of(v); }), time_min, time_max},
      {"reap limit", with(ReapRequest{.queue = "q"}, limit), 1, 10'000},
      {"purge limit", with(PurgeRequest{.queue = "q"}, limit), 1, 100'000},
      {"purge age", with(PurgeRequest{.queue = "q"}, [](auto& r, auto v) { r.older = Duration{v}; }), 0,
       limits::keep_ms_max},
      {"list limit", with(ListRequest{.queue = "q"}, limit), 1, 10'000},
  });
  check_refused(
      {"purge age", with(PurgeRequest{.queue = "q"}, [](auto& r, auto v) { r.older = Duration{v}; }), 0,
       limits::keep_ms_max},
      -1);
}

TEST_CASE("limits of the settings of a queue", "[validate]") {
  check_limits({
      {"lease", with(settings, [](auto& r, auto v) { r.lease = Duration{v}; }), 1, limits::lease_ms_max},
      {"tries", with(settings, [](auto& r, auto v) { r.tries = static_cast<std::uint32_t>(v); }), 0,
       1'000'000},
      {"base", with(settings, [](auto& r, auto v) { r.backoff_base = Duration{v}; }), 0,
       limits::backoff_ms_max},
      {"cap", with(settings, [](auto& r, auto v) { r.backoff_cap = Duration{v}; }), 0,
       limits::backoff_ms_max},
      {"jitter",
       with(settings, [](auto& r, auto v) { r.backoff_jitter_percent = static_cast<std::uint32_t>(v); }), 0,
       100},
      {"payload",
       with(settings, [](auto& r, auto v) { r.payload_bytes_max = static_cast<std::uint32_t>(v); }), 0,
       64 * 1024 * 1024},
      {"keep", with(settings, [](auto& r, auto v) { r.keep_success = std::optional<Duration>(Duration{v}); }),
       0, limits::keep_ms_max},
      {"history", with(settings, [](auto& r, auto v) { r.keep_history = Duration{v}; }), 0,
       limits::keep_ms_max},
  });
  for (const auto& set : std::vector<std::function<void(QueueSetRequest&)>>{
           [](auto& r) { r.lease = Duration{-1}; }, [](auto& r) { r.backoff_base = Duration{-1}; },
           [](auto& r) { r.backoff_cap = Duration{-1}; }, [](auto& r) { r.keep_history = Duration{-1}; },
           [](auto& r) { r.keep_success = std::optional<Duration>(Duration{-1}); }}) {
    QueueSetRequest request = settings;
    set(request);
    CHECK_FALSE(model::validate(request));
  }
  QueueSetRequest for_ever = settings;
  for_ever.keep_success = std::optional<Duration>();
  CHECK(model::validate(for_ever));
}

TEST_CASE("numbers that do not fit 32 bits would be refused, not cut", "[validate]") {
  // The fields are 32 bits wide; the largest value of the type is refused everywhere.
  for (const auto& check :
       {with(claim, [](auto&r, auto v) { r.count = static_cast<std::uint32_t>(v); }),
        with(schedule, [](auto&r, auto v) { r.tries = static_cast<std::uint32_t>(v); }),
        with(settings, [](auto&r, auto v) { r.payload_bytes_max = static_cast<std::uint32_t>(v); })}) {
    CHECK_FALSE(check(u32_max));
  }
}

TEST_CASE("application writes are limited in bytes, keys and values together", "[validate]") {
  const auto writes = [](std::size_t value_bytes) {
    ScheduleRequest request = schedule;
    request.app_writes = {{"four", std::string(value_bytes, 'x')}, {"gone", std::nullopt}};
    return model::validate(request);
  };
  CHECK(writes(4 * 1024 * 1024 - 8));
  const Result<> beyond = writes(4 * 1024 * 1024 - 7);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Code::too_large);
  CHECK(beyond.error().message.find("4194305") != std::string::npos);
  CHECK(beyond.error().message.find("4194304") != std::string::npos);
}

TEST_CASE("a queue name has 1 to 128 of a few characters", "[validate]") {
  check_limits({{"queue", [](std::int64_t v) { return model::validate_queue_name(bytes(v)); }, 1, 128}});
  for (int c = 0; c < 256; ++c) {
    const std::string name = std::string("a") + static_cast<char>(c);
    const bool allowed = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                         c == '.' || c == '_' || c == ':' || c == '-';
    CAPTURE(c);
    CHECK(model::validate_queue_name(name).has_value() == allowed);
  }
  const Result<> odd = model::validate_queue_name("a b\n" + bytes(90));
  REQUIRE_FALSE(odd);
  // The message shows the name, cut and without control characters.
  CHECK(odd.error().message.find("'a b?xxx") != std::string::npos);
  CHECK(odd.error().message.find("...'") != std::string::npos);
  CHECK(odd.error().message.size() < 200);
}

TEST_CASE("every request has its queue and its id checked", "[validate]") {
  const std::string no_queue = "no queue";
  const std::string long_id = bytes(256);
  const auto refused = [](auto request) { return !model::validate(request).has_value(); };
  const auto check_both = [&](auto request) {
    REQUIRE_FALSE(refused(request));
    auto changed = request;
    changed.queue = no_queue;
    CHECK(refused(changed));
    changed = request;
    changed.id = long_id;
    CHECK(refused(changed));
    changed.id = "";
    CHECK(refused(changed));
    changed.id = std::string("\0\xff any bytes", 12);
    CHECK_FALSE(refused(changed));
  };
  check_both(schedule);
  check_both(complete);
  check_both(failure);
  check_both(release);
  check_both(extend);
  check_both(reschedule);
  check_both(CancelRequest{.queue = "q", .id = "x"});
  check_both(retry);
  CHECK(refused(ClaimRequest{.queues = {"q", no_queue}, .worker = "w"}));
  CHECK(refused(PopRequest{.queue = no_queue}));
  CHECK(refused(ReapRequest{.queue = no_queue}));
  CHECK(refused(PurgeRequest{.queue = no_queue}));
  CHECK(refused(QueueSetRequest{.queue = no_queue}));
  CHECK(refused(ListRequest{.queue = no_queue}));
}

TEST_CASE("limits of the requests about runs", "[validate]") {
  const auto set_run = [](auto& r, auto v) { r.run = bytes(v); };
  check_limits({
      {"run", with(RunOpenRequest{.queue = "q", .run = "r"}, set_run), 1, 128},
      {"run", with(RunStartRequest{"q", "r"}, set_run), 1, 128},
      {"run", with(RunBeatRequest{"q", "r"}, set_run), 1, 128},
      {"run", with(RunDoneRequest{"q", "r"}, set_run), 1, 128},
      {"run", with(RunErrorRequest{"q", "r", ""}, set_run), 1, 128},
      {"time to live",
       with(RunOpenRequest{.queue = "q", .run = "r"}, [](auto& r, auto v) { r.ttl = Duration{v}; }), 1,
       30LL * 24 * 3600 * 1000},
  });
  const auto names_queue = [](const Result<>& result) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::invalid);
    CHECK(result.error().message.find("a b") != std::string::npos);
  };
  names_queue(model::validate(RunOpenRequest{.queue = "a b", .run = "r"}));
  names_queue(model::validate(RunStartRequest{"a b", "r"}));
  names_queue(model::validate(RunBeatRequest{"a b", "r"}));
  names_queue(model::validate(RunDoneRequest{"a b", "r"}));
  names_queue(model::validate(RunErrorRequest{"a b", "r", ""}));
  CHECK(model::validate(RunErrorRequest{"q", "r", std::string(10'000, 'e')}));  // It is cut.
}

TEST_CASE("only orders that have ended are purged", "[validate]") {
  for (const State state : {State::success, State::failed, State::aborted}) {
    CHECK(model::validate(PurgeRequest{.queue = "q", .state = state}));
  }
  for (const State state : {State::wait, State::processing, State{17}}) {
    const Result<> result = model::validate(PurgeRequest{.queue = "q", .state = state});
    REQUIRE_FALSE(result);
    CHECK(result.error().message.find(state_name(state)) != std::string::npos);
  }
}

TEST_CASE("a payload is limited by the settings of its queue", "[validate]") {
  QueueSettings limited;
  limited.payload_bytes_max = 10;
  ScheduleRequest request = schedule;
  CHECK(model::validate_payload(request, limited));
  request.payload = bytes(10);
  CHECK(model::validate_payload(request, limited));
  request.payload = bytes(11);
  const Result<> beyond = model::validate_payload(request, limited);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Code::too_large);
  CHECK(beyond.error().message.find("11 bytes") != std::string::npos);
  CHECK(beyond.error().message.find("is 10") != std::string::npos);
  limited.payload_bytes_max = 0;
  request.payload = "";
  CHECK(model::validate_payload(request, limited));
}

TEST_CASE("settings change where something is given, and nowhere else", "[validate]") {
  QueueSettings before;
  before.lease = Duration{1};
  before.tries = 2;
  before.backoff_base = Duration{3};
  before.backoff_cap = Duration{4};
  before.backoff_jitter_percent = 5;
  before.payload_bytes_max = 6;
  before.keep_success = Duration{7};
  before.keep_history = Duration{8};
  before.paused = true;
  CHECK(model::apply(settings, before) == before);

  QueueSetRequest all = settings;
  all.lease = Duration{30'000};
  all.tries = 25;
  all.backoff_base = Duration{1'000};
  all.backoff_cap = Duration{3'600'000};
  all.backoff_jitter_percent = 10;
  all.payload_bytes_max = 1024 * 1024;
  all.keep_success = std::optional<Duration>();
  all.keep_history = Duration{0};
  all.paused = false;
  CHECK(model::apply(all, before) == QueueSettings{});

  QueueSetRequest one = settings;
  one.tries = 0;
  QueueSettings expected = before;
  expected.tries = 0;
  CHECK(model::apply(one, before) == expected);
}
