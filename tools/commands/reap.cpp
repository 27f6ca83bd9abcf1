// duelease reap: puts orders whose lease has run out back into their queue.
#include <algorithm>
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ReapOptions {
  std::optional<std::string> queue;
  std::optional<std::uint64_t> limit;
};

constexpr std::uint64_t reaped_in_one_call_max = 1'000;

Result<std::uint64_t> reap_queue(Target& target, const std::string& queue, std::uint64_t limit) {
  std::uint64_t reaped = 0;
  while (reaped < limit) {
    const auto ask = static_cast<std::uint32_t>(std::min(limit - reaped, reaped_in_one_call_max));
    const Result<std::uint64_t> some = target.reap({.queue = queue, .limit = ask});
    if (!some) return some;
    if (*some == 0) break;
    reaped += *some;
  }
  return reaped;
}

Exit reap(const Session& session, const ReapOptions& options, Target& target) {
  const Result<std::vector<std::string>> queues = chosen_queues(target, options.queue);
  if (!queues) return failed(queues.error());
  const std::uint64_t limit = options.limit.value_or(~std::uint64_t{0});
  std::uint64_t reaped = 0;
  for (const std::string& queue : *queues) {
    const Result<std::uint64_t> some = reap_queue(target, queue, limit - reaped);
    if (!some) return failed(some.error());
    reaped += *some;
  }
  print_answer(session, "reaped", reaped, fmt::format("{} reaped", reaped));
  return Exit::ok;
}

}  // namespace

void declare_reap(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ReapOptions>();
  Arguments command = root.command("reap", "Put orders whose lease has run out back into their queue");
  command.text("queue,--queue", options->queue, "QUEUE", "only this queue");
  command.number("--limit", options->limit, 1, ~std::uint64_t{0}, "at most so many, all by default");
  command.run([options, &session] {
    // Whoever reaps by hand means now: the grace after an open would let every lease outlive this command.
    Options open = one_shot_options(session);
    open.restart_grace = Duration{0};
    const Result<std::unique_ptr<Target>> target = open_target(session, Missing::refuse, std::move(open));
    return target ? reap(session, *options, **target) : failed(target.error());
  });
}

}  // namespace duelease::tools
