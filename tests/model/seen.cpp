#include "model/seen.h"

#include <type_traits>
#include <utility>

namespace duelease::model_test {

namespace {

constexpr std::string_view commands[] = {
    "schedule",   "claim",    "pop",      "complete",  "fail",      "release",   "extend",
    "reschedule", "cancel",   "retry",    "reap",      "set_queue", "purge",     "run_open",
    "run_start",  "run_beat", "run_done", "run_error", "import",    "reconcile", "barrier"};
static_assert(std::size(commands) == std::variant_size_v<engine::Body>);

// Outcomes, then errors, then the rest.
constexpr std::size_t outcome_count = static_cast<std::size_t>(Outcome::not_found) + 1;
constexpr std::size_t error_kind = outcome_count;
constexpr std::size_t some_kind = error_kind + static_cast<std::size_t>(Code::closing) + 1;
constexpr std::size_t none_kind = some_kind + 1;
constexpr std::size_t waits_kind = none_kind + 1;
constexpr std::size_t settings_kind = waits_kind + 1;
constexpr std::size_t run_kind = settings_kind + 1;  // And one more for each further state of a run.

std::size_t kind_of(const std::optional<Result<engine::Reply>>& reply) {
  if (!reply) return waits_kind;
  if (!*reply) return error_kind + static_cast<std::size_t>(reply->error().code);
  return std::visit(
      [](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Answer>) {
          return static_cast<std::size_t>(value.outcome);
        } else if constexpr (std::is_same_v<Value, QueueSettings>) {
          return settings_kind;
        } else if constexpr (std::is_same_v<Value, RunState>) {
          return run_kind + static_cast<std::size_t>(value) - 1;
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
          return value == 0 ? none_kind : some_kind;
        } else {
          return value.empty() ? none_kind : some_kind;
        }
      },
      **reply);
}

std::string name_of(std::size_t kind) {
  if (kind < outcome_count) return std::string(outcome_name(static_cast<Outcome>(kind)));
  if (kind < some_kind) return "error " + std::string(code_name(static_cast<Code>(kind - error_kind)));
  if (kind == some_kind) return "some";
  if (kind == none_kind) return "none";
  if (kind >= run_kind) return std::string(run_state_name(static_cast<RunState>(kind - run_kind + 1)));
  return kind == waits_kind ? "waits" : "settings";
}

constexpr std::size_t at(Outcome outcome) { return static_cast<std::size_t>(outcome); }
constexpr std::size_t at(Code code) { return error_kind + static_cast<std::size_t>(code); }
constexpr std::size_t at(RunState state) { return run_kind + static_cast<std::size_t>(state) - 1; }

// What each command may answer, in the order of `commands`.
const std::array<std::vector<std::size_t>, std::size(commands)>& all_answers() {
  static const std::array<std::vector<std::size_t>, std::size(commands)> all = {{
      {at(Outcome::scheduled), at(Outcome::rescheduled), at(Outcome::duplicate), at(Code::invalid),
       at(Code::too_large), at(Code::not_found), at(Code::not_alive)},
      {some_kind, none_kind, waits_kind, at(Code::overloaded), at(Code::invalid)},
      {some_kind, none_kind, at(Code::invalid)},
      {at(Outcome::completed), at(Outcome::already), at(Outcome::stale), at(Code::invalid),
       at(Code::too_large)},
      {at(Outcome::requeued), at(Outcome::failed), at(Outcome::aborted), at(Outcome::stale),
       at(Code::invalid)},
      {at(Outcome::requeued), at(Outcome::aborted), at(Outcome::stale), at(Code::invalid)},
      {at(Outcome::extended), at(Outcome::stale), at(Code::invalid)},
      {at(Outcome::rescheduled), at(Outcome::refused), at(Outcome::not_found), at(Code::invalid)},
      {at(Outcome::aborted), at(Outcome::refused), at(Outcome::newer), at(Outcome::not_found),
       at(Code::invalid)},
      {at(Outcome::requeued), at(Outcome::duplicate), at(Outcome::refused), at(Outcome::not_found),
       at(Code::invalid), at(Code::not_alive)},
      {some_kind, none_kind, at(Code::invalid)},
      {settings_kind, at(Code::invalid)},
      {some_kind, none_kind},
      {at(RunState::creating), at(RunState::running), at(Code::not_alive), at(Code::invalid)},
      {at(RunState::running), at(Code::not_found), at(Code::not_alive), at(Code::invalid)},
      {at(RunState::creating), at(RunState::running), at(Code::not_found), at(Code::not_alive),
       at(Code::invalid)},
      {at(RunState::done), at(Code::busy), at(Code::not_found), at(Code::not_alive), at(Code::invalid)},
      {at(RunState::error), at(Code::not_found), at(Code::not_alive), at(Code::invalid)},
      {at(Outcome::scheduled), at(Outcome::duplicate), at(Code::invalid), at(Code::too_large)},
      {at(Outcome::scheduled), at(Outcome::rescheduled), at(Outcome::unchanged), at(Outcome::newer),
       at(Outcome::duplicate), at(Outcome::refused), at(Code::invalid), at(Code::too_large)},
      {},  // A barrier: no command of anybody.
  }};
  return all;
}

}  // namespace

void Seen::note(std::size_t command, const std::optional<Result<engine::Reply>>& reply) {
  static_assert(at(RunState::error) < kinds);
  ++replies_[command][kind_of(reply)];
}

void Seen::add(const Seen& other) {
  for (std::size_t command = 0; command < replies_.size(); ++command) {
    for (std::size_t kind = 0; kind < kinds; ++kind) replies_[command][kind] += other.replies_[command][kind];
  }
  for (const auto& [mark, count] : other.marks_) marks_[mark] += count;
}

std::vector<std::string> Seen::missing(const std::vector<std::string>& marks) const {
  std::vector<std::string> out;
  for (std::size_t command = 0; command < replies_.size(); ++command) {
    for (const std::size_t kind : all_answers()[command]) {
      if (replies_[command][kind] == 0) out.push_back(std::string(commands[command]) + ": " + name_of(kind));
    }
  }
  for (const std::string& mark : marks) {
    if (!marks_.contains(mark)) out.push_back(mark);
  }
  return out;
}

std::string Seen::text() const {
  std::string out;
  for (std::size_t command = 0; command < replies_.size(); ++command) {
    out.append(commands[command]).append(":");
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      if (const std::uint64_t count = replies_[command][kind]; count > 0) {
        out += "  " + name_of(kind) + " " + std::to_string(count);
      }
    }
    out += "\n";
  }
  for (const auto& [mark, count] : marks_) out += mark + ": " + std::to_string(count) + "\n";
  return out;
}

}  // namespace duelease::model_test
