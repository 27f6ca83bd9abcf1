// What print_request writes, parse_request reads back: random requests of every kind, every field of each.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "duelease/time_text.h"
#include "model/random.h"
#include "protocol/request.h"

using namespace duelease;
using namespace duelease::protocol;
using model_test::Random;

namespace {

// All fields of a request. The bindings do not compile when a field is added, so none is forgotten here.
// Application writes are not on the wire.
auto fields(ScheduleRequest& r) {
  auto& [queue, id, due, payload, key, run, priority, tries, upsert, app_writes] = r;
  return std::tie(queue, id, due, payload, key, run, priority, tries, upsert);
}
auto fields(ClaimRequest& r) {
  auto& [queues, worker, count, lease, wait, request] = r;
  return std::tie(queues, worker, count, lease, wait, request);
}
auto fields(CompleteRequest& r) {
  auto& [queue, id, token, result, app_writes] = r;
  return std::tie(queue, id, token, result);
}
auto fields(FailRequest& r) {
  auto& [queue, id, token, error, retry_at, final] = r;
  return std::tie(queue, id, token, error, retry_at, final);
}
auto fields(ReleaseRequest& r) {
  auto& [queue, id, token, due] = r;
  return std::tie(queue, id, token, due);
}
auto fields(ExtendRequest& r) {
  auto& [queue, id, token, lease] = r;
  return std::tie(queue, id, token, lease);
}
auto fields(RescheduleRequest& r) {
  auto& [queue, id, due] = r;
  return std::tie(queue, id, due);
}
auto fields(CancelRequest& r) {
  auto& [queue, id, force, since] = r;
  return std::tie(queue, id, force, since);
}
auto fields(ImportRequest& r) {
  auto& [queue, id, due, payload, key, priority, tries, state, created, ended, error, grandfather] = r;
  return std::tie(queue, id, due, payload, key, priority, tries, state, created, ended, error, grandfather);
}
auto fields(ReconcileRequest& r) {
  auto& [queue, id, due, payload, key, priority, tries, since, read_at, dry_run] = r;
  return std::tie(queue, id, due, payload, key, priority, tries, since, read_at, dry_run);
}
auto fields(PopRequest& r) {
  auto& [queue, count] = r;
  return std::tie(queue, count);
}
auto fields(RetryRequest& r) {
  auto& [queue, id, due] = r;
  return std::tie(queue, id, due);
}
auto fields(ReapRequest& r) {
  auto& [queue, limit] = r;
  return std::tie(queue, limit);
}
auto fields(ListRequest& r) {
  auto& [queue, state, limit, after] = r;
  return std::tie(queue, state, limit, after);
}
auto fields(PurgeRequest& r) {
  auto& [queue, state, older, limit] = r;
  return std::tie(queue, state, older, limit);
}
auto fields(HistoryRequest& r) {
  auto& [queue, id, limit] = r;
  return std::tie(queue, id, limit);
}
auto fields(RunOpenRequest& r) {
  auto& [queue, run, ttl] = r;
  return std::tie(queue, run, ttl);
}
auto fields(RunStartRequest& r) {
  auto& [queue, run] = r;
  return std::tie(queue, run);
}
auto fields(RunBeatRequest& r) {
  auto& [queue, run] = r;
  return std::tie(queue, run);
}
auto fields(RunDoneRequest& r) {
  auto& [queue, run, force] = r;
  return std::tie(queue, run, force);
}
auto fields(RunErrorRequest& r) {
  auto& [queue, run, reason] = r;
  return std::tie(queue, run, reason);
}
auto fields(RunShowRequest& r) {
  auto& [queue, run] = r;
  return std::tie(queue, run);
}
auto fields(QueueSetRequest& r) {
  auto& [queue, create, lease, tries, base, cap, jitter, payload_bytes_max, keep_success, keep_history,
         paused] = r;
  (void)create;  // Is not sent.
  return std::tie(queue, lease, tries, base, cap, jitter, payload_bytes_max, keep_success, keep_history,
                  paused);
}
auto fields(AuthRequest& r) {
  auto& [user, password] = r;
  return std::tie(user, password);
}
auto fields(HelloRequest& r) {
  auto& [version, auth] = r;
  return std::tie(version, auth);
}
// Requests with no field, one or two.
template <class R>
requires std::is_empty_v<R>
auto fields(R&) { return std::tie(); }
template <class R>
requires requires(R& r) { r.id; }
auto fields(R& r) {
  auto& [queue, id] = r;
  return std::tie(queue, id);
}
template <class R>
auto fields(R& r) {
  auto& [one] = r;
  return std::tie(one);
}

// ---- Random values ----

void fill(Random& dice, std::string& out) {
  const std::uint64_t size = dice.one_in(20) ? 300 : dice.below(6);
  out.clear();
  for (std::uint64_t i = 0; i < size; ++i) {
    out +=
        dice.one_in(4) ? static_cast<char>(dice.below(256)) : dice.pick(std::string_view("aQ \"'\\*$0\r\n,"));
  }
}
void fill(Random& dice, bool& out) { out = dice.one_in(2); }
void fill(Random& dice, State& out) { out = dice.pick(all_states); }
void fill(Random& dice, Time& out) {
  out = Time{
      Duration{dice.between(time_first.time_since_epoch().count(), time_last.time_since_epoch().count())}};
  if (dice.one_in(8)) out = dice.one_in(2) ? time_first : time_last;
}
void fill(Random& dice, Duration& out) {
  out = Duration{dice.one_in(8) ? std::numeric_limits<std::int64_t>::max() : dice.between(0, 100'000)};
}
void fill(Random& dice, Token& out) { out = Token{dice.next() >> (1 + dice.below(60))}; }
void fill(Random& dice, std::uint8_t& out) { out = static_cast<std::uint8_t>(dice.next()); }
void fill(Random& dice, std::uint32_t& out) {
  out = static_cast<std::uint32_t>(dice.next() >> dice.below(60));
}
void fill(Random& dice, AuthRequest& out) {
  fill(dice, out.user);
  fill(dice, out.password);
}
void fill(Random& dice, std::vector<std::string>& out) {
  out.resize(1 + dice.below(5));
  for (std::string& text : out) {
    fill(dice, text);
    std::erase(text, ',');  // Of a claim's queues.
  }
}
void fill(Random& dice, std::uint64_t& out) { out = dice.next() >> (1 + dice.below(60)); }
template <class T>
void fill(Random& dice, std::optional<T>& out) {
  out.reset();
  if (dice.one_in(2)) fill(dice, out.emplace());
}

// ---- The trip ----

bool equal(const AuthRequest& a, const AuthRequest& b) {
  return a.user == b.user && a.password == b.password;
}
bool equal(const std::optional<AuthRequest>& a, const std::optional<AuthRequest>& b) {
  return a.has_value() == b.has_value() && (!a || equal(*a, *b));
}
bool equal(const auto& a, const auto& b) { return a == b; }

template <class R>
void tweak(R&) {}
void tweak(HelloRequest& r) {
  if (!r.version) r.auth.reset();  // AUTH stands behind a version.
}
void tweak(QueueSetRequest& r) { r.paused = true; }  // One field at least.

template <class R>
void round_trip(std::uint64_t seed) {
  Random dice(seed);
  R sent;
  std::apply([&](auto&... field) { (fill(dice, field), ...); }, fields(sent));
  tweak(sent);
  std::string bytes;
  print_request(bytes, sent);
  INFO("seed " << seed << ": " << bytes);

  WordReader reader{{}};
  reader.feed(bytes);
  const Result<std::optional<Words>> words = reader.next();
  REQUIRE(words.has_value());
  REQUIRE(words->has_value());
  CHECK(reader.bytes_held() == 0);
  auto parsed = parse_request(**words, Time{Duration{seed}});
  const auto* refusal = std::get_if<Refusal>(&parsed);
  INFO((refusal != nullptr ? refusal->message : ""));
  REQUIRE(refusal == nullptr);
  R* read = std::get_if<R>(&std::get<Request>(parsed));
  REQUIRE(read != nullptr);
  const auto a = fields(sent);
  const auto b = fields(*read);
  const bool same = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return (equal(std::get<i>(a), std::get<i>(b)) && ... && true);
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(a)>>());
  CHECK(same);
}

template <class... R>
void round_trips(const std::variant<R...>*, std::uint64_t seed) {
  (round_trip<R>(seed), ...);
}

}  // namespace

TEST_CASE("every request that is printed is read back as the same", "[request]") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) round_trips(static_cast<const Request*>(nullptr), seed);
}

TEST_CASE("what is as by default is not printed", "[request]") {
  std::string bytes;
  print_request(bytes, ClaimRequest{.queues = {"a", "b"}, .worker = "w"});
  CHECK(bytes == "*3\r\n$5\r\nCLAIM\r\n$3\r\na,b\r\n$1\r\nw\r\n");
  bytes.clear();
  print_request(bytes, PingRequest{});
  print_request(bytes, CancelRequest{.queue = "q", .id = "i", .force = true});
  CHECK(bytes == "*1\r\n$4\r\nPING\r\n*4\r\n$6\r\nCANCEL\r\n$1\r\nq\r\n$1\r\ni\r\n$5\r\nFORCE\r\n");
}

TEST_CASE("what the engine would refuse is printed and refused, not made something else", "[request]") {
  const auto refused = [](const Request& request) {
    std::string bytes;
    print_request(bytes, request);
    WordReader reader{{}};
    reader.feed(bytes);
    const Result<std::optional<Words>> words = reader.next();
    REQUIRE(words.has_value());
    REQUIRE(words->has_value());
    const auto parsed = parse_request(**words, Time{});
    const auto* refusal = std::get_if<Refusal>(&parsed);
    return refusal != nullptr && refusal->code == WireCode::invalid;
  };
  CHECK(refused(ExtendRequest{.queue = "q", .id = "i", .lease = Duration{-1}}));
  CHECK(refused(RescheduleRequest{.queue = "q", .id = "i", .due = time_last + Duration{1}}));
  CHECK(refused(CompleteRequest{.queue = "q", .id = "i", .token = Token{std::uint64_t{1} << 63}}));
}
