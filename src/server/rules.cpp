#include "server/rules.h"

#include <array>
#include <string>
#include <variant>

#include "base/quote.h"

namespace duelease::server {
namespace {

namespace p = protocol;

constexpr std::string_view needs_name(Needs needs) {
  switch (needs) {
    case Needs::nothing:
    case Needs::login:
    case Needs::read: return "any";
    case Needs::produce: return "producer";
    case Needs::work: return "worker";
    case Needs::admin: return "admin";
  }
  return "";
}

bool role_gives(Role role, Needs needs) {
  switch (needs) {
    case Needs::nothing:
    case Needs::login:
    case Needs::read: return true;
    case Needs::produce: return role == Role::producer || role == Role::admin;
    case Needs::work: return role == Role::worker || role == Role::admin;
    case Needs::admin: return role == Role::admin;
  }
  return false;
}

// The table: a row for each alternative of Request, which the compiler checks.
template <class Request>
constexpr Rule rule{};
template <>
constexpr Rule rule<ScheduleRequest>{"SCHEDULE", Needs::produce, Runs::change};
template <>
constexpr Rule rule<RescheduleRequest>{"RESCHEDULE", Needs::produce, Runs::change};
template <>
constexpr Rule rule<CancelRequest>{"CANCEL", Needs::produce, Runs::change};
// Says of an order that it is done, which nobody did here.
template <>
constexpr Rule rule<ImportRequest>{"IMPORT", Needs::admin, Runs::change};
template <>
constexpr Rule rule<ReconcileRequest>{"RECONCILE", Needs::produce, Runs::walk};
template <>
constexpr Rule rule<p::MarkRequest>{"MARK", Needs::read, Runs::read};
template <>
constexpr Rule rule<RetryRequest>{"RETRY", Needs::produce, Runs::change};
template <>
constexpr Rule rule<RunOpenRequest>{"RUN OPEN", Needs::produce, Runs::change};
template <>
constexpr Rule rule<RunStartRequest>{"RUN START", Needs::produce, Runs::change};
template <>
constexpr Rule rule<RunBeatRequest>{"RUN BEAT", Needs::produce, Runs::change};
template <>
constexpr Rule rule<RunDoneRequest>{"RUN DONE", Needs::produce, Runs::change};
template <>
constexpr Rule rule<RunErrorRequest>{"RUN ERROR", Needs::produce, Runs::change};
template <>
constexpr Rule rule<ClaimRequest>{"CLAIM", Needs::work, Runs::change};
template <>
constexpr Rule rule<PopRequest>{"POP", Needs::work, Runs::change};
template <>
constexpr Rule rule<CompleteRequest>{"COMPLETE", Needs::work, Runs::change};
template <>
constexpr Rule rule<FailRequest>{"FAIL", Needs::work, Runs::change};
template <>
constexpr Rule rule<ReleaseRequest>{"RELEASE", Needs::work, Runs::change};
template <>
constexpr Rule rule<ExtendRequest>{"EXTEND", Needs::work, Runs::change};
template <>
constexpr Rule rule<ReapRequest>{"REAP", Needs::admin, Runs::change};
template <>
constexpr Rule rule<QueueSetRequest>{"QUEUE SET", Needs::admin, Runs::change};
template <>
constexpr Rule rule<p::PauseRequest>{"PAUSE", Needs::admin, Runs::change};
template <>
constexpr Rule rule<p::ResumeRequest>{"RESUME", Needs::admin, Runs::change};
template <>
constexpr Rule rule<PurgeRequest>{"PURGE", Needs::admin, Runs::walk};
template <>
constexpr Rule rule<p::OrderRequest>{"ORDER", Needs::read, Runs::read};
template <>
constexpr Rule rule<p::QueuesRequest>{"QUEUES", Needs::read, Runs::read};
template <>
constexpr Rule rule<p::QueueShowRequest>{"QUEUE SHOW", Needs::read, Runs::read};
template <>
constexpr Rule rule<p::RunShowRequest>{"RUN SHOW", Needs::read, Runs::read};
template <>
constexpr Rule rule<p::InfoRequest>{"INFO", Needs::login, Runs::read};
template <>
constexpr Rule rule<ListRequest>{"LIST", Needs::read, Runs::walk};
template <>
constexpr Rule rule<p::RunListRequest>{"RUN LIST", Needs::read, Runs::walk};
template <>
constexpr Rule rule<p::WhyRequest>{"WHY", Needs::read, Runs::walk};
template <>
constexpr Rule rule<p::HistoryRequest>{"HISTORY", Needs::read, Runs::walk};
template <>
constexpr Rule rule<p::StatsRequest>{"STATS", Needs::read, Runs::walk};
template <>
constexpr Rule rule<p::CheckRequest>{"CHECK", Needs::read, Runs::walk};
template <>
constexpr Rule rule<p::AuthRequest>{"AUTH", Needs::nothing, Runs::login};
template <>
constexpr Rule rule<p::HelloRequest>{"HELLO", Needs::nothing, Runs::login};
template <>
constexpr Rule rule<p::QuitRequest>{"QUIT", Needs::nothing, Runs::here};
template <>
constexpr Rule rule<p::PingRequest>{"PING", Needs::login, Runs::here};
template <>
constexpr Rule rule<p::EchoRequest>{"ECHO", Needs::login, Runs::here};
template <>
constexpr Rule rule<p::TimeRequest>{"TIME", Needs::login, Runs::here};
template <>
constexpr Rule rule<p::CommandRequest>{"COMMAND", Needs::login, Runs::here};
template <>
constexpr Rule rule<p::ClientRequest>{"CLIENT", Needs::login, Runs::here};
template <>
constexpr Rule rule<p::SelectRequest>{"SELECT", Needs::login, Runs::here};

template <std::size_t... i>
constexpr auto rows(std::index_sequence<i...>) {
  static_assert((!rule<std::variant_alternative_t<i, p::Request>>.verb.empty() && ...));
  return std::array{rule<std::variant_alternative_t<i, p::Request>>...};
}
constexpr auto rules = rows(std::make_index_sequence<std::variant_size_v<p::Request>>());

p::Refusal denied_queue(const User& user, std::string_view queue) {
  return {p::WireCode::denied, "user " + user.name + " must not use queue " + base::quote(queue, 128)};
}

}  // namespace

const Rule& rule_of(const p::Request& request) { return rules[request.index()]; }

std::optional<p::Refusal> forbidden(const User* user, const p::Request& request) {
  const Rule& asked = rule_of(request);
  if (asked.needs == Needs::nothing) return std::nullopt;
  if (user == nullptr) return p::Refusal{p::WireCode::no_auth, "say AUTH user password first"};
  if (!role_gives(user->role, asked.needs)) {
    return p::Refusal{p::WireCode::denied, std::string(asked.verb) + " takes the role " +
                                               std::string(needs_name(asked.needs)) + ", which user " +
                                               user->name + " has not"};
  }
  if (user->may_use_all) return std::nullopt;
  return std::visit(
      [user]<class R>(const R& r) -> std::optional<p::Refusal> {
        if constexpr (requires { r.queues; }) {
          for (const std::string& queue : r.queues) {
            if (!user->may_use(queue)) return denied_queue(*user, queue);
          }
        } else if constexpr (std::is_same_v<R, p::CheckRequest>) {
          if (r.queue.empty()) {
            return p::Refusal{p::WireCode::denied, "CHECK of all queues takes a user of all queues"};
          }
          if (!user->may_use(r.queue)) return denied_queue(*user, r.queue);
        } else if constexpr (requires { r.queue; }) {
          if (!user->may_use(r.queue)) return denied_queue(*user, r.queue);
        }
        return std::nullopt;
      },
      request);
}

}  // namespace duelease::server
