// duelease purge: removes orders that have ended.
#include <algorithm>
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct PurgeOptions {
  PurgeRequest request;
  std::optional<Duration> older;
  std::optional<std::uint64_t> limit;
};

constexpr std::uint64_t removed_in_one_call_max = 10'000;

std::string read_ended_state(const std::string& text, PurgeRequest& request) {
  const std::optional<State> state = state_named(text);
  if (state != State::success && state != State::failed && state != State::aborted) {
    return "one of SUCCESS, FAILED, ABORTED";
  }
  request.state = *state;
  return {};
}

Exit purge(const Session& session, const PurgeOptions& options, Target& target) {
  PurgeRequest request = options.request;
  request.older = options.older.value_or(Duration{0});
  std::uint64_t left = options.limit.value_or(~std::uint64_t{0});
  std::uint64_t removed = 0;
  while (left > 0) {
    request.limit = static_cast<std::uint32_t>(std::min(left, removed_in_one_call_max));
    const Result<std::uint64_t> some = target.purge(request);
    if (!some) return failed(some.error());
    if (*some == 0) break;
    removed += *some;
    left -= std::min(left, *some);
  }
  print_answer(session, "purged", removed, fmt::format("{} removed", removed));
  return Exit::ok;
}

}  // namespace

void declare_purge(Arguments& root, const Session& session) {
  const auto options = std::make_shared<PurgeOptions>();
  Arguments command =
      root.command("purge", "Remove orders that have ended; their ids and keys are free then");
  command.text("queue,--queue", options->request.queue, "QUEUE", "the queue").required();
  const auto state = [options](const std::string& text) { return read_ended_state(text, options->request); };
  command.value("--state", state, "STATE", "SUCCESS, FAILED or ABORTED").required();
  command.duration("--older", options->older, "only those that ended so long ago");
  command.number("--limit", options->limit, 1, ~std::uint64_t{0}, "at most so many, all by default");
  command.run([options, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return purge(session, *options, target); });
  });
}

}  // namespace duelease::tools
