// duelease reconcile: makes a queue what the rows of a file, of a database's query or of a sorted set of Redis say.
//
// It begins before its source is opened: whatever others do from then on is left alone.
#include "duelease/reconcile.h"

#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "../order_columns.h"
#include "../reconcile_report.h"
#include "../row_pass.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ReconcilePlan {
  std::string queue;
  ColumnPlan columns;
  SourceOptions source;
  std::optional<std::uint64_t> priority;
  std::optional<std::uint64_t> tries;
  bool cancel_missing = false;
  bool allow_empty = false;
  bool dry_run = false;
  bool verbose = false;
};

class Reconcile {
 public:
  Reconcile(const Session& session, const ReconcilePlan& plan, RowSource& source, const StopSignal& stop,
            Target& target, Reconciler& reconciler)
      : plan_(plan),
        source_(source),
        target_(target),
        reconciler_(reconciler),
        report_({.rows = {.json = session.json, .verbose = plan.verbose, .unit = std::string(source.unit())},
                 .dry_run = plan.dry_run,
                 .cancels_missing = plan.cancel_missing,
                 .is_remote = target.is_remote()},
                progress_, [this](std::string_view id) { return due_of(id); }),
        pass_(source, stop, report_, progress_) {}

  Exit run() {
    if (pass_.begin(plan_.columns)) send_rows();
    pass_.note_interrupt();
    const bool finished = look_for_missing();
    report_.finish(finished);
    if (pass_.exit() != Exit::ok) return pass_.exit();
    if (report_.bad_rows() > 0) return Exit::bad_input;
    return complain_of_unblocked();
  }

 private:
  Exit complain_of_unblocked() const {
    const std::uint64_t rows = report_.unblocked();
    if (rows == 0) return Exit::ok;
    complain("{} blocked by an order that {} cancelled as missing since: run it again",
             rows == 1 ? "1 row was" : fmt::format("{} rows were", rows), plan_.dry_run ? "would be" : "was");
    return Exit::no;
  }

  void send_rows() {
    const auto send = [this](std::vector<ReconcileRow> rows) { return reconciler_.add(std::move(rows)); };
    const auto on_answer = [this](const Sent& sent, const Result<Answer>& answer) {
      if (answer) {
        report_.answered(sent, *answer);
      } else {
        pass_.row_failed(sent, answer.error());
      }
    };
    BatchSender<ReconcileRow> sender(send, on_answer);
    pass_.send_all(sender, [this](OrderRow row) { return request_of(std::move(row)); });
  }

  ReconcileRow request_of(OrderRow row) const {
    ReconcileRow out;
    out.id = std::move(row.id);
    out.due = row.due;
    out.payload = std::move(row.payload);
    out.key = std::move(row.key);
    if (plan_.priority) out.priority = static_cast<std::uint8_t>(*plan_.priority);
    if (plan_.tries) out.tries = static_cast<std::uint32_t>(*plan_.tries);
    return out;
  }

  // Orders that no row named, where they are to be cancelled. What a source did not come to name, or named in a row
  // that cannot be read, is not missing from it. False: not all were looked for.
  bool look_for_missing() {
    const bool all_named = pass_.exit() == Exit::ok && report_.bad_rows() == 0;
    if (!plan_.cancel_missing) return all_named;
    if (!all_named) {
      complain_that_none_is_cancelled();
      return false;
    }
    if (report_.rows() == 0 && !plan_.allow_empty && is_emptied()) return false;
    const Result<ReconcileReport> done =
        reconciler_.finish([this](std::string_view id) { report_.vanished(id); });
    progress_.hide();
    if (!done) pass_.end_with(failed(done.error()));
    return done.has_value();
  }

  void complain_that_none_is_cancelled() {
    progress_.hide();
    std::string why = "not all of its rows were taken";
    if (pass_.exit() == Exit::ok) {
      why = fmt::format("{} may name any of them", counted(report_.bad_rows(), "bad row"));
    }
    complain("{}: no order is cancelled as missing: {}", printable(source_.name()), why);
  }

  // True: the reconcile would leave nothing waiting, and has ended.
  bool is_emptied() {
    const Result<Stats> stats = target_.stats(plan_.queue);
    if (!stats && stats.error().code == Code::not_found) return false;
    if (!stats) {
      pass_.end_with(failed(stats.error()));
      return true;
    }
    const std::uint64_t waiting = stats->counts.wait;
    if (waiting == 0) return false;
    pass_.end_with(
        Exit::no,
        fmt::format("it has no rows: with --cancel-missing that cancels {} of queue {}; add "
                    "--allow-empty if it is meant",
                    waiting == 1 ? "the only waiting order" : fmt::format("all {} waiting orders", waiting),
                    plan_.queue));
    return true;
  }

  std::optional<Time> due_of(std::string_view id) {
    const Result<std::optional<Order>> order = target_.order(plan_.queue, id);
    if (!order || !*order) return std::nullopt;
    return (*order)->due;
  }

  // Constant after construction.
  const ReconcilePlan& plan_;
  RowSource& source_;
  Target& target_;
  Reconciler& reconciler_;

  Progress progress_;
  ReconcileTold report_;
  RowPass pass_;
};

Result<> check_plan(ReconcilePlan& plan) {
  Result<> checked = check_source(plan.source);
  if (checked) checked = check_queue_name(plan.queue);
  if (checked) checked = check_columns(plan.source, plan.columns);
  if (!checked) return checked;
  if (plan.allow_empty && !plan.cancel_missing) {
    return fail(Code::invalid, "--allow-empty is for --cancel-missing");
  }
  return {};
}

Exit reconcile_with(const Session& session, const ReconcilePlan& plan, Target& target) {
  Result<Reconciler> reconciler = Reconciler::begin(
      target, {.queue = plan.queue, .cancel_missing = plan.cancel_missing, .dry_run = plan.dry_run});
  if (!reconciler) return failed(reconciler.error());
  const StopSignal stop;
  const Result<std::unique_ptr<RowSource>> source = open_source(plan.source, plan.columns.names(), stop);
  if (!source) {
    complain("{}", printable(source.error().message));
    return source_exit(source.error());
  }
  return Reconcile(session, plan, **source, stop, target, *reconciler).run();
}

bool is_absent(const Session& session) {
  const Result<std::string> folder = store_folder(session);
  std::error_code error;
  return folder && !std::filesystem::exists(*folder, error) && !error;
}

// A dry run makes no store, so one that is not there is looked at in one that goes away again.
Exit on_empty_store(Session session, const std::function<Exit(Target&)>& action) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string folder = (parent / "duelease-dry-run-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr) {
    return failed({Code::storage, "no folder can be made in the one for temporary files (see TMPDIR)"});
  }
  session.store = folder + "/store";
  const Exit ended = with_target(session, Missing::create, action);
  std::filesystem::remove_all(folder, error);
  return ended;
}

Exit reconcile(const Session& session, ReconcilePlan& plan) {
  if (const Result<> checked = check_plan(plan); !checked) return failed(checked.error());
  const auto action = [&](Target& target) { return reconcile_with(session, plan, target); };
  if (!plan.dry_run) return with_target(session, Missing::create, action);
  return is_absent(session) ? on_empty_store(session, action) : with_target(session, Missing::refuse, action);
}

}  // namespace

void declare_reconcile(Arguments& root, const Session& session) {
  const auto plan = std::make_shared<ReconcilePlan>();
  Arguments command = root.command(
      "reconcile", "Make a queue what the rows of a file or of a database say: the truth about it");
  declare_source(command, plan->source);
  command.text("--queue", plan->queue, "QUEUE", "the queue of all of them").required();
  declare_columns(command, plan->columns);
  command.number("--priority", plan->priority, 0, 255,
                 "of orders that were missing: 0 is the most urgent, 128 the default");
  command.number("--tries", plan->tries, 0, 0xFFFFFFFF,
                 "of orders that were missing: hand-outs until it is FAILED, 0: no limit");
  command.flag("--cancel-missing", plan->cancel_missing,
               "cancel orders that wait and that no row names, once all rows were read");
  command.flag("--allow-empty", plan->allow_empty,
               "also when there are no rows, which cancels every order that waits");
  command.flag("--dry-run", plan->dry_run,
               "show the difference and change nothing; keys within the source are not compared");
  command.flag("--verbose", plan->verbose,
               "show the difference, all of it; a dry run shows the first 20 of a kind without it");
  command.footer(
      "\nAn order that is missing is scheduled; of one that waits the due time is moved. Nothing else is "
      "touched:\n"
      "what is being processed or has ended is left alone, and so is all that has changed since it began.\n"
      "A source that breaks off, a row that cannot be used, or Ctrl-C: what was done before stays, nothing "
      "is\n"
      "cancelled as missing, and the exit code is not 0. On an empty store it is the rebuild.\n\n"
      "Example: duelease --store S reconcile --queue loans --id id --due due_at --cancel-missing --dry-run "
      "\\\n"
      "           --from postgresql://library@localhost/library \\\n"
      "           --query 'SELECT id, due_at FROM loans WHERE returned IS NULL'\n");
  command.run([plan, &session] { return reconcile(session, *plan); });
}

}  // namespace duelease::tools
