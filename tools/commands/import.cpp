// duelease import: schedules the rows of a file, of a database's query or of a sorted set of Redis, or takes them over
// with the states that they have.
//
// Rows are sent as they are read, unless they must be looked at together first (--duplicates): then they are staged on
// disk, and nothing is imported before the last one has been read.
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "../import_plan.h"
#include "../import_report.h"
#include "../order_columns.h"
#include "../row_pass.h"
#include "../staged_rows.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ImportOptions {
  ImportPlan plan;
  SourceOptions source;
  std::optional<Duplicates> duplicates;
  std::optional<std::uint64_t> priority;
  std::optional<std::uint64_t> tries;
  std::vector<std::string> status_map;
  bool strict = false;
  bool verbose = false;
};

class Import {
 public:
  Import(const Session& session, const ImportOptions& options, RowSource& source, const StopSignal& stop,
         Target& target)
      : plan_(options.plan),
        target_(target),
        report_(style_of(session, options, source), progress_),
        pass_(source, stop, report_, progress_, options.strict) {}

  Exit run() {
    if (pass_.begin(plan_.columns)) import_rows();
    pass_.note_interrupt();
    report_.finish();
    if (pass_.exit() != Exit::ok) return pass_.exit();
    const Exit taken = complain_of_conflicts();
    return report_.bad_rows() > 0 ? Exit::bad_input : taken;
  }

 private:
  static ImportReport::Style style_of(const Session& session, const ImportOptions& options,
                                      const RowSource& source) {
    const Duplicates duplicates = options.plan.duplicates;
    return {.rows = {.json = session.json, .verbose = options.verbose, .unit = std::string(source.unit())},
            .takes_over = options.plan.takes_over(),
            .may_be_present = source.repeats() || duplicates != Duplicates::first_wins,
            .conflicts_are_fatal = duplicates == Duplicates::refuse};
  }

  void import_rows() {
    const auto answered = [this](const Sent& sent, const Result<Answer>& answer) { on_answer(sent, answer); };
    if (plan_.duplicates != Duplicates::first_wins) return import_staged(answered);
    if (plan_.takes_over()) {
      BatchSender<ImportRequest> sender(take_over(), answered);
      return pass_.send_all(sender, [this](OrderRow row) { return import_request(plan_, std::move(row)); });
    }
    const auto schedule = [this](auto requests) { return target_.schedule(std::move(requests)); };
    BatchSender<ScheduleRequest> sender(schedule, answered);
    pass_.send_all(sender, [this](OrderRow row) { return schedule_request(plan_, std::move(row)); });
  }

  // With orders that were in the queue before: unlike a plain duplicate these are not in good order as they are.
  Exit complain_of_conflicts() const {
    const auto& [left, done] = std::pair(report_.totals().left, report_.totals().refused_done);
    if (left > 0) {
      complain("{} not taken: the owner of the key was not, see above", counted(left, "row"));
    }
    if (done > 0) {
      complain("{} that {} SUCCESS not taken: an order of the queue has the key and is not done, see above",
               counted(done, "row"), done == 1 ? "is" : "are");
    }
    return left + done > 0 ? Exit::no : Exit::ok;
  }

  BatchSender<ImportRequest>::Send take_over() {
    return [this](auto requests) { return target_.import_orders(std::move(requests)); };
  }

  // Nothing is sent before all rows have been read and every conflict is settled.
  void import_staged(const BatchSender<ImportRequest>::OnAnswer& answered) {
    Result<std::unique_ptr<StagedRows>> staged = StagedRows::make();
    if (!staged) return pass_.end_with(failed(staged.error()));
    staged_ = std::move(*staged);
    stage_rows(*staged_);
    if (!pass_.goes_on() || !settle(*staged_)) return;
    progress_.restart();
    // The owners of keys are there before anything is done to the others because of them.
    for (const Fate fate : {Fate::kept, Fate::voided, Fate::grandfathered}) {
      if (pass_.goes_on()) send_staged(fate, answered);
    }
    if (!pass_.goes_on()) return;
    tell_left();
  }

  // Those that an import before has taken are there.
  void tell_left() {
    Result<> looked;
    const Result<> done =
        staged_->each_left([&](std::uint64_t number, const std::string& id, const std::string& owner) {
          if (!looked) return;
          const Result<std::optional<Order>> order = target_.order(plan_.queue, id);
          if (!order) {
            looked = Unexpected{order.error()};
          } else if (*order) {
            report_.present();
          } else {
            report_.left(number, id, owner);
          }
        });
    if (!done || !looked) pass_.end_with(failed(done ? looked.error() : done.error()));
  }

  // And takes all answers.
  void send_staged(Fate fate, const BatchSender<ImportRequest>::OnAnswer& answered) {
    fate_ = fate;
    BatchSender<ImportRequest> sender(take_over(), answered);
    const Result<> done = staged_->each(fate, [&](std::uint64_t number, OrderRow row) {
      ++staged_sent_;
      if (sender.add(number, import_request(plan_, std::move(row)))) {
        progress_.show(staged_sent_, staged_sent_, staged_->rows());
      }
      return pass_.goes_on();
    });
    pass_.finish(sender);
    if (!done) pass_.end_with(failed(done.error()));
  }

  // Who may send orders need not be allowed to see the settings: then a payload is refused when it is sent.
  Result<std::uint32_t> payload_bytes_max() {
    const Result<QueueSettings> settings = target_.queue_settings(plan_.queue);
    if (settings) return settings->payload_bytes_max;
    switch (settings.error().code) {
      case Code::not_found: return QueueSettings{}.payload_bytes_max;
      case Code::denied: return std::numeric_limits<std::uint32_t>::max();
      default: return Unexpected{settings.error()};
    }
  }

  void stage_rows(StagedRows& staged) {
    constexpr std::uint64_t rows_between = 1000;
    const Result<std::uint32_t> bytes_max = payload_bytes_max();
    if (!bytes_max) return pass_.end_with(failed(bytes_max.error()));
    Result<> done;
    pass_.read([&](std::uint64_t number, const OrderRow& row) {
      const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
      if (const Result<> good = check_row(row, plan_.queue, *bytes_max, now); !good) {
        return pass_.row_failed({number, row.id, row.due}, good.error());
      }
      done = staged.add(number, row);
      if (!done) return pass_.end_with(failed(done.error()));
      if (staged.rows() % rows_between == 0) pass_.show_progress();
    });
    if (!pass_.goes_on()) return;
    done = staged.seal();
    if (!done) pass_.end_with(failed(done.error()));
  }

  // False: there is nothing to import.
  bool settle(StagedRows& staged) {
    Result<> done =
        staged.repeated_ids([this](const std::string& id, std::uint64_t rows, std::uint64_t first,
                                   std::uint64_t second) { report_.repeated(id, rows, first, second); });
    if (done && report_.totals().repeated > 0) {
      pass_.end_with(Exit::bad_input, "an id can be held by one order only; nothing is imported");
      return false;
    }
    if (done) {
      done =
          staged.settle(plan_.duplicates, [this](const Conflict& conflict) { report_.conflict(conflict); });
    }
    if (!done) {
      pass_.end_with(failed(done.error()));
      return false;
    }
    report_.conflicts_end();
    if (plan_.duplicates != Duplicates::refuse || report_.totals().conflicts == 0) return true;
    pass_.end_with(Exit::no, "there are duplicates; nothing is imported");
    return false;
  }

  // An order that was there already can have failed since: then it is no reason to make others void.
  static bool has_its_key(const Sent& sent, const Answer& answer) {
    if (answer.outcome == Outcome::scheduled) return true;
    return answer.blocker == sent.id && answer.state != State::failed && answer.state != State::aborted;
  }

  void on_answer(const Sent& sent, const Result<Answer>& answer) {
    if (answer) {
      report_.answered(sent, fate_, *answer);
    } else {
      pass_.row_failed(sent, answer.error());
    }
    if (!staged_ || fate_ != Fate::kept || (answer && has_its_key(sent, *answer))) return;
    const Result<> noted = staged_->not_taken(sent.number);
    if (!noted) pass_.end_with(failed(noted.error()));
  }

  // Constant after construction.
  const ImportPlan& plan_;
  Target& target_;

  Progress progress_;
  ImportReport report_;
  RowPass pass_;
  std::unique_ptr<StagedRows> staged_;  // Where rows must be looked at together.
  std::uint64_t staged_sent_ = 0;
  Fate fate_ = Fate::kept;  // Of the rows that are sent just now.
};

Result<> read_status_map(const std::vector<std::string>& pairs, ColumnPlan& columns) {
  for (const std::string& text : pairs) {
    std::string_view rest = text;
    while (true) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      const std::size_t equals = pair.rfind('=');
      const std::optional<State> state =
          equals == std::string_view::npos ? std::nullopt : state_named(pair.substr(equals + 1));
      if (!state || *state == State::processing) {
        return fail(Code::invalid,
                    fmt::format("--status-map: {} is not WORD=STATE, with WAIT, SUCCESS, FAILED or "
                                "ABORTED",
                                quote(pair)));
      }
      columns.states[std::string(pair.substr(0, equals))] = *state;
      if (pair.size() == rest.size()) break;
      rest.remove_prefix(pair.size() + 1);
    }
  }
  if (!columns.states.empty() && !columns.status) {
    return fail(Code::invalid, "--status-map is for a --status column");
  }
  return {};
}

Result<> check_plan(ImportOptions& options) {
  ImportPlan& plan = options.plan;
  Result<> checked = check_source(options.source);
  if (checked) checked = check_queue_name(plan.queue);
  if (checked) checked = check_columns(options.source, plan.columns);
  if (!checked) return checked;
  if (const auto& run = plan.run; run && (run->empty() || run->size() > 128)) {
    return fail(Code::invalid,
                fmt::format("run {} is {} bytes long: names of runs have 1 - 128", quote(*run), run->size()));
  }
  if (is_zset(options.source) && plan.takes_over()) {
    return fail(Code::invalid, "members of a sorted set have neither states nor duplicates");
  }
  if (plan.takes_over() && (plan.run || plan.upsert)) {
    return fail(Code::invalid,
                "with --status, --created, --ended or --duplicates orders are taken over as they are: "
                "not into a --run, and without --upsert");
  }
  return read_status_map(options.status_map, plan.columns);
}

Exit import(const Session& session, ImportOptions& options) {
  if (options.priority) options.plan.priority = static_cast<std::uint8_t>(*options.priority);
  if (options.tries) options.plan.tries = static_cast<std::uint32_t>(*options.tries);
  // Else a SUCCESS that comes behind a WAIT with its key would be dropped, and its work done again.
  const bool has_states = options.plan.columns.status.has_value();
  options.plan.duplicates =
      options.duplicates.value_or(has_states ? Duplicates::refuse : Duplicates::first_wins);
  const Result<> checked = check_plan(options);
  if (!checked) return failed(checked.error());
  const StopSignal stop;
  const Result<std::unique_ptr<RowSource>> source =
      open_source(options.source, options.plan.columns.names(), stop);
  if (!source) {
    complain("{}", printable(source.error().message));
    return source_exit(source.error());
  }
  return with_target(session, Missing::create,
                     [&](Target& target) { return Import(session, options, **source, stop, target).run(); });
}

std::string read_duplicates(const std::string& text, std::optional<Duplicates>& duplicates) {
  if (text != "refuse" && text != "keep-one" && text != "grandfather") {
    return "one of refuse, keep-one, grandfather";
  }
  duplicates = text == "refuse"     ? Duplicates::refuse
               : text == "keep-one" ? Duplicates::keep_one
                                    : Duplicates::grandfather;
  return {};
}

void declare_states(Arguments& command, const std::shared_ptr<ImportOptions>& options) {
  ColumnPlan& columns = options->plan.columns;
  command.text("--status", columns.status, "COLUMN",
               "the column of the state that a row is in: WAIT, SUCCESS, FAILED or ABORTED");
  command.texts("--status-map", options->status_map, "WORD=STATE[,...]",
                "what other words in it mean: done=SUCCESS,open=WAIT");
  command.text("--created", columns.created, "COLUMN", "the column of the time at which it was made");
  command.text("--ended", columns.ended, "COLUMN", "the column of the time at which it ended");
}

}  // namespace

void declare_import(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ImportOptions>();
  ImportPlan& plan = options->plan;
  Arguments command = root.command(
      "import", "Schedule the rows of a file or of a database; each row is the payload, as a JSON object");
  declare_source(command, options->source);
  command.text("--queue", plan.queue, "QUEUE", "the queue of all of them").required();
  declare_columns(command, plan.columns);
  declare_states(command, options);
  const auto duplicates = [options](const std::string& text) {
    return read_duplicates(text, options->duplicates);
  };
  command.value("--duplicates", duplicates, "POLICY",
                "of rows with one key of which several are WAIT or SUCCESS: refuse (import nothing; the "
                "default with --status), keep-one (the "
                "SUCCESS, else the newest; the rest become ABORTED), grandfather (all as they are)");
  command.text("--run", plan.run, "RUN", "the run that all of them belong to, which must be alive");
  command.number("--priority", options->priority, 0, 255, "0 is the most urgent, 128 the default");
  command.number("--tries", options->tries, 0, 0xFFFFFFFF, "hand-outs until it is FAILED, 0: no limit");
  command.flag("--upsert", plan.upsert, "move orders that are WAIT already instead of refusing");
  command.flag("--strict", options->strict, "stop at the first bad row; the rows before it stay scheduled");
  command.flag("--verbose", options->verbose, "name all refused and bad rows, not just the first 20");
  command.footer(
      "\nDuplicates are refused by name and change nothing: importing the same rows again is safe and exits "
      "0.\n"
      "Bad rows are named with their line, the others are scheduled, and the exit code is 3.\n"
      "A first Ctrl-C ends the import in good order, once a database has answered; a second one at once.\n\n"
      "Examples: duelease --store S import --queue shipping --id OrderID --due RequiredDate orders.csv\n"
      "          duelease --store S import --queue loans --id id --due due_at --from sqlite:library.db \\\n"
      "            --query 'SELECT id, due_at FROM loans WHERE returned IS NULL'\n"
      "          duelease --store S import --queue unpaid --from redis://localhost --zset unpaid\n");
  command.run([options, &session] { return import(session, *options); });
}

}  // namespace duelease::tools
