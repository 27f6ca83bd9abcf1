// duelease work: runs a command for each due order.
//
// Signals. SIGTERM and SIGINT are blocked in every thread and taken by one that waits for them. The first
// stops the worker: no new orders, the commands that run may end. A second one, or the end of --stop-after,
// ends the commands (SIGTERM, then SIGKILL) and gives their orders back, the try not counted.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <thread>

#include "../json.h"
#include "../shell_command.h"
#include "../text.h"
#include "../time_text.h"
#include "../worker_name.h"
#include "duelease/worker.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct WorkOptions {
  std::string queues;
  std::string command;
  std::optional<std::uint64_t> concurrency;
  std::optional<Duration> lease;
  std::optional<std::string> name;
  std::optional<Duration> kill_after;
  std::optional<Duration> stop_after;
  std::optional<Duration> grace;
  bool drain = false;
  bool verbose = false;
};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

constexpr Duration grace_max = std::chrono::hours{1};  // Of Options::restart_grace.

// What the handlers of all threads share.
class Commands {
 public:
  Commands(const WorkOptions& options, bool json) : options_(options), json_(json) {}

  // The commands that run get SIGTERM, and their orders go back.
  void end_all() { ending_ = true; }

  Handled handle(const Claimed& order, const LeaseWatch& lease) {
    const auto start = std::chrono::steady_clock::now();
    ShellCommand command;
    command.text = options_.command;
    command.input = order.payload;
    command.environment = environment(order);
    command.kill_after = options_.kill_after.value_or(command.kill_after);
    // A variable of the environment ends at a NUL byte: the command would be told another order's id.
    if (order.id.find('\0') != std::string::npos) {
      Handled handled = Handled::failed("the id has a NUL byte in it: no command can be told it");
      handled.final = true;
      return handled;
    }
    ShellEnd end = run_shell_command(command, [&] { return lease.lost() || ending_.load(); });
    const auto took = std::chrono::steady_clock::now() - start;
    const bool lost = lease.lost();
    tell(order, end, lost, std::chrono::duration_cast<Duration>(took));
    if (lost) return Handled::abandon();
    // A command that ended well although it was told to end has done its work.
    if (end.succeeded()) return Handled::done(std::move(end.output));
    return end.given_up ? Handled::release() : Handled::failed(describe(end));
  }

 private:
  static std::vector<std::string> environment(const Claimed& order) {
    return {"DUELEASE_QUEUE=" + order.queue, "DUELEASE_ID=" + order.id,
            fmt::format("DUELEASE_TOKEN={}", static_cast<std::uint64_t>(order.token)),
            fmt::format("DUELEASE_ATTEMPT={}", order.attempt)};
  }

  // One write a line, so that lines of several threads do not mix.
  void tell(const Claimed& order, const ShellEnd& end, bool lost, Duration took) const {
    const char* const what = lost ? "lost" : end.succeeded() ? "done" : end.given_up ? "released" : "failed";
    if (json_) {
      Json json;
      json["event"] = what;
      json["queue"] = order.queue;
      json["id"] = json_bytes(order.id);
      json["token"] = static_cast<std::uint64_t>(order.token);
      json["attempt"] = order.attempt;
      json["ms"] = took.count();
      json["end"] = json_bytes(describe(end));
      print_json(json);
    } else if (options_.verbose || !end.succeeded() || lost) {
      say("{} {} {}: attempt {}, {}, {}", what, order.queue, printable(order.id), order.attempt,
          print_duration(took), printable(describe(end)));
    } else {
      return;
    }
    flush_out();
  }

  const WorkOptions& options_;
  const bool json_;
  std::atomic<bool> ending_{false};
};

// Takes the stop signals for as long as it lives. Construct it before any other thread starts.
class StopSignals {
 public:
  StopSignals() {
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }

  // Before a worker runs there is nothing to end well: while this is done a signal ends the program, as it does any
  // other command. A server may be asked that does not answer.
  template <class Action>
  static void let_through(const Action& action) {
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    action();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }

  void listen(Worker& worker, Commands& commands, std::optional<Duration> stop_after) {
    listener_ = std::thread([this, &worker, &commands, stop_after] {
      if (!await_signal(std::nullopt)) return;
      complain("stopping: no new orders, waiting for the commands that run; once more to end them");
      worker.request_stop();
      await_signal(stop_after);
      // Also reached when the worker has ended; then there is nothing to end.
      commands.end_all();
    });
  }

  // The worker has ended.
  void finish() {
    finished_ = true;
    // It does not end the process: it is blocked, and that thread waits for it.
    ::pthread_kill(listener_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
    listener_.join();
  }

 private:
  // False when it was finish() that sent the signal.
  bool await_signal(std::optional<Duration> at_most) const {
    const sigset_t set = stop_signals();
    if (!at_most) {
      int signal = 0;
      ::sigwait(&set, &signal);
    } else {
      const std::int64_t ms = at_most->count();
      const timespec timeout{.tv_sec = static_cast<time_t>(ms / 1000), .tv_nsec = ms % 1000 * 1'000'000};
      ::sigtimedwait(&set, nullptr, &timeout);
    }
    return !finished_;
  }

  std::atomic<bool> finished_{false};
  std::thread listener_;
};

void print_totals(const Session& session, const WorkerTotals& totals) {
  if (!session.json) {
    say("{} claimed: {} completed, {} failed, {} released, {} lost", totals.claimed, totals.completed,
        totals.failed, totals.released, totals.lost);
    return;
  }
  Json json;
  json["event"] = "summary";
  json["claimed"] = totals.claimed;
  json["completed"] = totals.completed;
  json["failed"] = totals.failed;
  json["released"] = totals.released;
  json["lost"] = totals.lost;
  print_json(json);
}

// What would else look like a worker that hangs, or that had nothing to do.
void tell_of_queues(Target& target, const std::vector<std::string>& queues, bool drain) {
  for (const std::string& queue : queues) {
    const Result<QueueSettings> settings = target.queue_settings(queue);
    if (!settings && settings.error().code == Code::not_found) {
      complain("there is no queue {} yet{}", printable(queue), drain ? "" : ": waiting for its first order");
    } else if (settings && settings->paused) {
      complain("queue {} is paused: nothing of it is handed out", printable(queue));
    }
  }
}

// Why a drained queue can still have orders in PROCESSING: ours have all been reported by then.
void tell_of_leases(Target& target, const std::vector<std::string>& queues) {
  for (const std::string& queue : queues) {
    const Result<Stats> stats = target.stats(queue);
    if (!stats || stats->leases == 0) continue;
    complain("queue {}: {} under lease elsewhere", printable(queue), counted(stats->leases, "order"));
  }
}

Exit work(const Session& session, const WorkOptions& options) {
  if (options.grace && *options.grace > grace_max) {
    complain("--grace: {} is more than {}", print_duration(*options.grace), print_duration(grace_max));
    return Exit::usage;
  }
  StopSignals signals;
  Options open = one_shot_options(session);
  open.timer = true;
  if (options.grace) open.restart_grace = *options.grace;
  const Result<std::unique_ptr<Target>> target = open_target(session, Missing::refuse, std::move(open));
  if (!target) return failed(target.error());

  const std::vector<std::string> queues = split_queues(options.queues);
  const auto tell = [&] { tell_of_queues(**target, queues, options.drain); };
  if ((*target)->is_remote()) {
    StopSignals::let_through(tell);
  } else {
    tell();
  }
  WorkerOptions worker_options;
  worker_options.queues = queues;
  worker_options.name = options.name.value_or(default_worker_name());
  worker_options.concurrency = static_cast<std::uint32_t>(options.concurrency.value_or(1));
  worker_options.lease = options.lease;
  worker_options.drain = options.drain;
  Commands commands(options, session.json);
  const std::unique_ptr<Worker> worker = (*target)->make_worker(
      std::move(worker_options),
      [&](const Claimed& order, const LeaseWatch& lease) { return commands.handle(order, lease); });
  const Result<> started = worker->start();
  if (!started) return failed(started.error());
  signals.listen(*worker, commands, options.stop_after);
  const Result<> ended = worker->wait();
  signals.finish();
  if (options.drain && ended) tell_of_leases(**target, queues);
  print_totals(session, worker->totals());
  return ended ? Exit::ok : failed(ended.error());
}

}  // namespace

void declare_work(Arguments& root, const Session& session) {
  const auto options = std::make_shared<WorkOptions>();
  Arguments command = root.command("work", "Run a command for each due order, until SIGTERM or SIGINT");
  command.text("--queue", options->queues, "QUEUE[,QUEUE...]", "the first named is served first").required();
  command.text("--exec", options->command, "COMMAND", "for /bin/sh -c; gets the payload on stdin").required();
  command.number("--concurrency", options->concurrency, 1, 1024, "commands at a time, 1 by default");
  command.duration("--lease", options->lease,
                   "how long a lease lasts; it is extended while the command runs");
  command.text("--name", options->name, "NAME", "of the worker; host and process id by default");
  command.flag("--drain", options->drain, "end once nothing is due");
  command.duration("--kill-after", options->kill_after,
                   "from SIGTERM to SIGKILL for a command that must end, 5s by default");
  command.duration("--stop-after", options->stop_after,
                   "how long commands may go on when we are to stop; without a limit by default");
  command.duration("--grace", options->grace,
                   "of a store: how long leases last at least from the start, 5s by default");
  command.flag("--verbose", options->verbose, "also tell of orders that were done");
  command.footer(
      "\nThe command finds DUELEASE_QUEUE, DUELEASE_ID, DUELEASE_TOKEN and DUELEASE_ATTEMPT in its "
      "environment.\n"
      "Exit 0 completes the order, the first 64 KiB of its output being the result; anything else fails it.\n"
      "When the lease is lost the command gets SIGTERM and nothing is reported.\n"
      "The exit code is 0 also when orders failed: their queue knows.\n"
      "JSON: a line for each order that ended, and a summary.\n\n"
      "Example: duelease --store S work --queue unpaid,shipping --exec ./settle --concurrency 4\n");
  command.run([options, &session] { return work(session, *options); });
}

}  // namespace duelease::tools
