// protocol/request.h: what a client can ask, as values; read from words and written as words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
struct HistoryRequest {
  std::string queue{};
  std::string id{};
  std::uint32_t limit = 1000;
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
struct RunShowRequest {
  std::string queue{};
  std::string run{};
};
struct RunListRequest {
  std::string queue{};
};
struct MarkRequest {};
struct CheckRequest {
  std::string queue{};  // Empty: all.
};

// What client libraries send to get along, as its Redis namesake.
struct PingRequest {
  std::optional<std::string> message{};
};
struct EchoRequest {  // redis-cli --pipe ends with one.
  std::string message{};
};
struct AuthRequest {
  std::string user{};  // Empty: the default user.
  std::string password{};
};
struct HelloRequest {                    // Its SETNAME is taken and forgotten.
  std::optional<std::string> version{};  // Only "2" is spoken.
  std::optional<AuthRequest> auth{};
};
struct InfoRequest {};  // Whatever section is named.
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
                 RescheduleRequest, CancelRequest, ImportRequest, ReconcileRequest, MarkRequest, PopRequest,
                 RetryRequest, ReapRequest, OrderRequest, ListRequest, WhyRequest, HistoryRequest,
                 QueuesRequest, StatsRequest, QueueSetRequest, QueueShowRequest, PauseRequest, ResumeRequest,
                 PurgeRequest, RunOpenRequest, RunStartRequest, RunBeatRequest, RunDoneRequest,
                 RunErrorRequest, RunShowRequest, RunListRequest, CheckRequest, PingRequest, EchoRequest,
                 AuthRequest, HelloRequest, InfoRequest, TimeRequest, CommandRequest, ClientRequest,
                 SelectRequest, QuitRequest>;

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
  corrupt,  // What was asked for is damaged; everything else goes on. PROTOCOL.md has no word for it.
  storage,  // The disk failed: final until the server is started again.
  closing,
};

// "ERR", "INVALID", "NOTFOUND", ...
std::string_view wire_code_name(WireCode code);
// Of an error of the library. `storage` also for those that no server answers: of opening a store (locked,
// newer_format), and of a client (unreachable).
WireCode wire_code(Code code);
// The other way round; empty for a word that is none of the above.
std::optional<Code> code_of_wire(std::string_view name);

struct Refusal {
  WireCode code = WireCode::err;
  std::string message{};
};

// The words of one request, at least one. Relative times are counted from `now`. Ranges that the engine
// checks anyway are left to it; what cannot be written in the request's type is refused here.
//
// What the table of README.md leaves open: QUEUE SET takes the fields of QueueSettings by name, `keep_success`
// a duration or `forever`, `paused` yes or no. Each option and field may stand once. A value that does not
// parse or fit is WireCode::invalid and named in the message; any other fault is WireCode::err, with the usage
// of the verb.
std::variant<Request, Refusal> parse_request(Words words, Time now);

// The other way round, in array form, appended to `out`: what a client sends. parse_request reads it back as the
// same request, except for what the wire has no words for: application writes (left out), negative durations,
// times outside the years 1-9999, HELLO with AUTH but no version (2 is written), and claims from no queue or from one with a comma in its name, which the
// engine refuses too.
void print_request(std::string& out, const Request& request);

struct VerbUsage {
  std::string name{};   // "SCHEDULE", "QUEUE SET"
  std::string usage{};  // "SCHEDULE queue id due [PAYLOAD bytes] ..."
};
// All that parse_request takes, in the order of README.md's table. Made once.
std::span<const VerbUsage> verbs();

}  // namespace duelease::protocol
