// protocol/request.h: what a client can ask, as values; read from words and written as words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "duelease/types.h"
#include "protocol/words.h"

namespace duelease::protocol {

// What types.h has no request for.
struct OrderRequest {
  std::string queue{};
  std::string id{};
};
struct WhyRequest {
  std::string queue{};
  std::string id{};
};
struct QueuesRequest {};
struct StatsRequest {
  std::string queue{};
};
struct QueueShowRequest {
  std::string queue{};
};
struct PauseRequest {
  std::string queue{};
};
struct ResumeRequest {
  std::string queue{};
};
struct CheckRequest {
  std::string queue{};  // Empty: all.
};

// What client libraries send to get along, as its Redis namesake.
struct PingRequest {
  std::optional<std::string> message{};
};
struct AuthRequest {
  std::string user{};  // Empty: the default user.
  std::string password{};
};
struct HelloRequest {
  std::optional<std::string> version{};  // Only "2" is spoken.
  std::optional<AuthRequest> auth{};
};
struct InfoRequest {};
struct TimeRequest {};
struct CommandRequest {
  std::vector<std::string> words{};  // DOCS, COUNT, ...
};
struct ClientRequest {  // CLIENT SETNAME, SETINFO, ID, GETNAME
  std::vector<std::string> words{};
};
struct SelectRequest {
  std::string database{};  // Only "0" is there.
};
struct QuitRequest {};

using Request =
    std::variant<ScheduleRequest, ClaimRequest, CompleteRequest, FailRequest, ReleaseRequest, ExtendRequest,
                 RescheduleRequest, CancelRequest, PopRequest, RetryRequest, ReapRequest, OrderRequest,
                 ListRequest, WhyRequest, QueuesRequest, StatsRequest, QueueSetRequest, QueueShowRequest,
                 PauseRequest, ResumeRequest, PurgeRequest, CheckRequest, PingRequest, AuthRequest,
                 HelloRequest, InfoRequest, TimeRequest, CommandRequest, ClientRequest, SelectRequest,
                 QuitRequest>;

// The code words of the wire.
enum class WireCode : std::uint8_t {
  err,      // Unknown verb or wrong words.
  invalid,  // A value out of range.
  not_found,
  not_alive,
  busy,
  too_large,
  no_auth,  // Say AUTH first.
  denied,   // The role does not allow it.
  overloaded,
  storage,
  closing,
};

// "ERR", "INVALID", "NOTFOUND", ...
std::string_view wire_code_name(WireCode code);
// Of an error of the engine.
WireCode wire_code(Code code);

struct Refusal {
  WireCode code = WireCode::err;
  std::string message{};
};

// The words of one request, at least one. Relative times are counted from `now`. Ranges that the engine
// checks anyway are left to it; what cannot be written in the request's type is refused here.
std::variant<Request, Refusal> parse_request(Words words, Time now);

// The other way round, in array form, appended to `out`: what a client sends. Every Request that this prints
// parse_request reads back as the same.
void print_request(std::string& out, const Request& request);

}  // namespace duelease::protocol
