// duelease complete, fail, release, extend: what became of an order that `claim` handed out.
#include <memory>

#include "../answer.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ReportOptions {
  OrderName name;
  std::optional<std::uint64_t> token;
  std::optional<std::string> result;
  std::string error;
  std::optional<Time> time;
  std::optional<Duration> lease;
  bool final = false;
};

using Act = Result<Answer> (*)(Target& target, const ReportOptions& options);

template <class Request>
Request report_of(const ReportOptions& options) {
  Request request;
  request.queue = options.name.queue;
  request.id = options.name.id;
  request.token = Token{*options.token};
  return request;
}

Result<Answer> complete(Target& target, const ReportOptions& options) {
  auto request = report_of<CompleteRequest>(options);
  request.result = options.result;
  return target.complete(std::move(request));
}

Result<Answer> fail(Target& target, const ReportOptions& options) {
  auto request = report_of<FailRequest>(options);
  request.error = options.error;
  request.retry_at = options.time;
  request.final = options.final;
  return target.fail(std::move(request));
}

Result<Answer> release(Target& target, const ReportOptions& options) {
  auto request = report_of<ReleaseRequest>(options);
  request.due = options.time;
  return target.release(std::move(request));
}

Result<Answer> extend(Target& target, const ReportOptions& options) {
  auto request = report_of<ExtendRequest>(options);
  request.lease = *options.lease;
  return target.extend(std::move(request));
}

// The command, with what all of them take.
Arguments declare_report(Arguments& root, const Session& session, const char* name, const char* help, Act act,
                         const std::shared_ptr<ReportOptions>& options) {
  Arguments command = root.command(name, help);
  declare_order_name(command, options->name);
  command.number("token,--token", options->token, 0, 0x7FFFFFFFFFFFFFFF, "the token of the claim").required();
  command.run([options, act, &session] {
    return with_target(session, Missing::refuse,
                       [&](Target& target) { return report(session, options->name, act(target, *options)); });
  });
  return command;
}

}  // namespace

void declare_complete(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ReportOptions>();
  Arguments command =
      declare_report(root, session, "complete", "Report that a claimed order is done", complete, options);
  command.text("--result", options->result, "TEXT", "kept with the order");
}

void declare_fail(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ReportOptions>();
  Arguments command =
      declare_report(root, session, "fail", "Report that a claimed order has failed", fail, options);
  command.text("--error", options->error, "TEXT", "kept with the order");
  command.due("--retry", options->time, session.now, "when to try again, by the queue's backoff by default");
  command.flag("--final", options->final, "no more tries");
}

void declare_release(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ReportOptions>();
  Arguments command = declare_report(root, session, "release",
                                     "Give a claimed order back, the try not counted", release, options);
  command.due("--due", options->time, session.now, "when it falls due, as it was by default");
}

void declare_extend(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ReportOptions>();
  Arguments command = declare_report(root, session, "extend", "Make the lease of a claimed order last longer",
                                     extend, options);
  command.duration("--lease", options->lease, "from now on; it is never shortened").required();
}

}  // namespace duelease::tools
