#include "answer.h"

#include <utility>

#include "text.h"
#include "time_text.h"

namespace duelease::tools {
namespace {

bool is_yes(Outcome outcome) {
  switch (outcome) {
    case Outcome::duplicate:
    case Outcome::stale:
    case Outcome::refused:
    case Outcome::newer:
    case Outcome::not_found: return false;
    default: return true;
  }
}

// `at` of these is the due time, which no server tells.
bool has_due(const Session& session, Outcome outcome) {
  if (session.is_remote()) return false;
  return outcome == Outcome::scheduled || outcome == Outcome::rescheduled || outcome == Outcome::requeued;
}

// What the outcome's own name does not say.
std::string details(const Session& session, const Answer& answer) {
  switch (answer.outcome) {
    case Outcome::duplicate:
      return fmt::format(": blocked by {}, which is {}", printable(answer.blocker), state_name(answer.state));
    case Outcome::refused: return fmt::format(": it is {}", state_name(answer.state));
    case Outcome::not_found: return ": no such order";
    case Outcome::stale: return ": the token is not the current one";
    case Outcome::extended: return fmt::format(": the lease ends {}", print_time(answer.at));
    default: return has_due(session, answer.outcome) ? fmt::format(": due {}", print_time(answer.at)) : "";
  }
}

Json answer_json(const Session& session, const OrderName& name, const Answer& answer) {
  Json json;
  json["outcome"] = outcome_name(answer.outcome);
  json["queue"] = json_bytes(name.queue);
  json["id"] = json_bytes(name.id);
  const bool has_state = answer.outcome != Outcome::not_found && answer.outcome != Outcome::stale;
  if (has_state) json["state"] = state_name(answer.state);
  if (answer.outcome == Outcome::duplicate) json["blocker"] = json_bytes(answer.blocker);
  if (answer.outcome == Outcome::extended) json["lease_expires_at"] = answer.at.time_since_epoch().count();
  if (has_due(session, answer.outcome)) json["due"] = answer.at.time_since_epoch().count();
  return json;
}

Json optional_bytes(const std::optional<std::string>& bytes) { return bytes ? json_bytes(*bytes) : Json(); }

}  // namespace

Exit report(const Session& session, const OrderName& name, const Result<Answer>& answer) {
  if (!answer) return failed(answer.error());
  if (session.json) {
    print_json(answer_json(session, name, *answer));
  } else {
    say("{} {} {}{}", outcome_name(answer->outcome), printable(name.queue), printable(name.id),
        details(session, *answer));
  }
  return is_yes(answer->outcome) ? Exit::ok : Exit::no;
}

void print_answer(const Session& session, const char* field, Json value, const std::string& line) {
  if (!session.json) return say("{}", line);
  Json json;
  json[field] = std::move(value);
  print_json(json);
}

Json order_json(const Order& order, bool with_payload) {
  Json json;
  json["queue"] = order.queue;
  json["id"] = json_bytes(order.id);
  json["state"] = state_name(order.state);
  json["due"] = order.due.time_since_epoch().count();
  json["attempt"] = order.attempt;
  json["failures"] = order.failures;
  json["tries"] = order.tries;
  json["tries_used"] = order.tries_used;
  json["priority"] = order.priority;
  json["key"] = optional_bytes(order.key);
  json["run"] = optional_bytes(order.run);
  json["token"] = static_cast<std::uint64_t>(order.token);
  json["worker"] = json_bytes(order.worker);
  json["lease_expires_at"] =
      order.lease_expires_at ? Json(order.lease_expires_at->time_since_epoch().count()) : Json();
  json["created_at"] = order.created_at.time_since_epoch().count();
  json["updated_at"] = order.updated_at.time_since_epoch().count();
  json["sequence"] = order.sequence;
  json["error"] = json_bytes(order.error);
  if (with_payload) {
    json["result"] = json_bytes(order.result);
    json["payload"] = json_bytes(order.payload);
  }
  return json;
}

std::string time_seen_from(Time time, Time now) {
  if (time > now) return fmt::format("{} (in {})", print_time(time), print_duration(time - now));
  return fmt::format("{} ({} ago)", print_time(time), print_duration(now - time));
}

}  // namespace duelease::tools
