// duelease claim and pop: hand out due orders, for scripts that do their own work.
#include <memory>

#include "../claimed.h"
#include "../text.h"
#include "../worker_name.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ClaimOptions {
  std::string queues;
  std::optional<std::string> worker;
  std::optional<std::uint64_t> count;
  std::optional<Duration> lease;
  std::optional<Duration> wait;
  std::string request;
};

Exit claim(const Session& session, const ClaimOptions& options, Target& target) {
  ClaimRequest request;
  request.queues = split_queues(options.queues);
  request.worker = options.worker.value_or(default_worker_name());
  request.count = static_cast<std::uint32_t>(options.count.value_or(1));
  request.lease = options.lease;
  request.wait = options.wait.value_or(Duration{0});
  request.request = options.request;
  return report_claimed(session, target.claim(std::move(request)));
}

}  // namespace

void declare_claim(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ClaimOptions>();
  Arguments command = root.command("claim", "Take due orders under a lease; exit code 1 if none is due");
  command.text("queue,--queue", options->queues, "QUEUE[,QUEUE...]", "the first named is served first")
      .required();
  command.text("--worker", options->worker, "NAME", "who will report; host and process id by default");
  command.number("--count", options->count, 1, 10'000, "at most so many, 1 by default");
  command.duration("--lease", options->lease, "how long the lease lasts, the queue's by default");
  command.duration("--wait", options->wait, "how long to wait for an order when none is due");
  command.text("--request", options->request, "ID",
               "a claim with the same worker and id answers the same orders while they are held");
  command.footer("\nReport with `complete`, `fail`, `release` or `extend`, naming queue, id and token.\n");
  command.run([options, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return claim(session, *options, target); });
  });
}

void declare_pop(Arguments& root, const Session& session) {
  struct PopOptions {
    std::string queue;
    std::optional<std::uint64_t> count;
  };
  const auto options = std::make_shared<PopOptions>();
  Arguments command = root.command("pop", "Take due orders that are SUCCESS already: at most once");
  command.text("queue,--queue", options->queue, "QUEUE", "the queue").required();
  command.number("--count", options->count, 1, 10'000, "at most so many, 1 by default");
  command.run([options, &session] {
    return with_target(session, Missing::refuse, [&](Target& target) {
      const auto count = static_cast<std::uint32_t>(options->count.value_or(1));
      return report_claimed(session, target.pop({.queue = options->queue, .count = count}));
    });
  });
}

}  // namespace duelease::tools
