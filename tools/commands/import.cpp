// duelease import: schedules the rows of a file, of a database's query or of a sorted set of Redis, or takes them over
// with the states that they have.
//
// Rows are sent as they are read, unless they must be looked at together first (--duplicates): then they are staged on
// disk, and nothing is imported before the last one has been read.
#include <algorithm>
#include <functional>
#include <memory>

#include "../batch_sender.h"
#include "../import_plan.h"
#include "../import_report.h"
#include "../open_source.h"
#include "../redis_source.h"
#include "../staged_rows.h"
#include "../stop_signal.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ImportOptions {
  ImportPlan plan;
  SourceOptions source;
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
      : options_(options),
        plan_(options.plan),
        source_(source),
        stop_(stop),
        target_(target),
        report_(style_of(session, options, source), progress_) {}

  Exit run() {
    const Result<bool> has_rows = read_header();
    if (!has_rows) {
      source_failed(has_rows.error());
      return exit_;
    }
    if (*has_rows) import_rows();
    if (stop_.asked() && exit_ == Exit::ok) end_with(Exit::interrupted, "interrupted");
    report_.finish();
    if (exit_ != Exit::ok) return exit_;
    return report_.totals().bad > 0 ? Exit::bad_input : Exit::ok;
  }

 private:
  static ImportReport::Style style_of(const Session& session, const ImportOptions& options,
                                      const RowSource& source) {
    const Duplicates duplicates = options.plan.duplicates;
    return {.json = session.json,
            .verbose = options.verbose,
            .unit = std::string(source.unit()),
            .takes_over = options.plan.takes_over(),
            .may_be_present = source.repeats() || duplicates != Duplicates::first_wins,
            .conflicts_are_fatal = duplicates == Duplicates::refuse};
  }

  // False: there are no rows.
  Result<bool> read_header() {
    Result<std::vector<std::string>> columns = source_.columns();
    if (!columns) return Unexpected{columns.error()};
    if (columns->empty()) return false;
    Result<RowMapper> mapper = RowMapper::from_header(plan_.columns, std::move(*columns));
    if (!mapper) return Unexpected{mapper.error()};
    mapper_.emplace(std::move(*mapper));
    return true;
  }

  void import_rows() {
    const auto answered = [this](const Sent& sent, const Result<Answer>& answer) { on_answer(sent, answer); };
    if (plan_.duplicates != Duplicates::first_wins) return import_staged(answered);
    if (plan_.takes_over()) {
      BatchSender<ImportRequest> sender(take_over(), answered);
      return send_all(sender, [this](OrderRow row) { return import_request(plan_, std::move(row)); });
    }
    const auto schedule = [this](auto requests) { return target_.schedule(std::move(requests)); };
    BatchSender<ScheduleRequest> sender(schedule, answered);
    send_all(sender, [this](OrderRow row) { return schedule_request(plan_, std::move(row)); });
  }

  BatchSender<ImportRequest>::Send take_over() {
    return [this](auto requests) { return target_.import_orders(std::move(requests)); };
  }

  template <class Request, class Make>
  void send_all(BatchSender<Request>& sender, const Make& make) {
    read_rows([&](std::uint64_t number, OrderRow row) {
      if (!sender.add(number, make(std::move(row)))) return;
      const SourceProgress progress = source_.progress();
      progress_.show(report_.totals().rows, progress.done, progress.total);
    });
    if (target_failed_) sender.drop();
    sender.finish();
  }

  // Until the last row, or something ends the import.
  void read_rows(const std::function<void(std::uint64_t number, OrderRow row)>& on_row) {
    SourceRow row;
    while (goes_on()) {
      const Result<bool> more = source_.next(row);
      if (!more) return source_failed(more.error());
      if (!*more) return;
      report_.row();
      const std::uint64_t number = row.number;
      Result<OrderRow> order = mapper_->map(std::move(row));
      if (order) {
        on_row(number, std::move(*order));
      } else {
        bad_row(number, order.error().message);
      }
    }
  }

  bool goes_on() const { return exit_ == Exit::ok && !stop_.asked(); }

  // Nothing is sent before all rows have been read and every conflict is settled.
  void import_staged(const BatchSender<ImportRequest>::OnAnswer& answered) {
    Result<std::unique_ptr<StagedRows>> staged = StagedRows::make();
    if (!staged) return end_with(failed(staged.error()));
    stage_rows(**staged);
    if (!goes_on() || !settle(**staged)) return;
    BatchSender<ImportRequest> sender(take_over(), answered);
    progress_.restart();
    std::uint64_t rows = 0;
    const Result<> done = (*staged)->each([&](std::uint64_t number, OrderRow row) {
      ++rows;
      if (sender.add(number, import_request(plan_, std::move(row)))) {
        progress_.show(rows, rows, (*staged)->rows());
      }
      return goes_on();
    });
    if (target_failed_) sender.drop();
    sender.finish();
    if (!done) end_with(failed(done.error()));
  }

  void stage_rows(StagedRows& staged) {
    constexpr std::uint64_t rows_between = 1000;
    Result<> done;
    read_rows([&](std::uint64_t number, OrderRow row) {
      done = staged.add(number, row);
      if (!done) return end_with(failed(done.error()));
      if (staged.rows() % rows_between != 0) return;
      const SourceProgress progress = source_.progress();
      progress_.show(report_.totals().rows, progress.done, progress.total);
    });
    if (!goes_on()) return;
    done = staged.seal();
    if (!done) end_with(failed(done.error()));
  }

  // False: there is nothing to import.
  bool settle(StagedRows& staged) {
    Result<> done =
        staged.repeated_ids([this](const std::string& id, std::uint64_t rows, std::uint64_t first,
                                   std::uint64_t second) { report_.repeated(id, rows, first, second); });
    if (done && report_.totals().repeated > 0) {
      end_with(Exit::bad_input, "an id can be held by one order only; nothing is imported");
      return false;
    }
    if (done) {
      done =
          staged.settle(plan_.duplicates, [this](const Conflict& conflict) { report_.conflict(conflict); });
    }
    if (!done) {
      end_with(failed(done.error()));
      return false;
    }
    report_.conflicts_end();
    if (plan_.duplicates != Duplicates::refuse || report_.totals().conflicts == 0) return true;
    end_with(Exit::no, "there are duplicates; nothing is imported");
    return false;
  }

  // Complaints about the source as a whole; what was read before stays scheduled.
  void end_with(Exit exit, std::string_view what) {
    progress_.hide();
    complain("{}: {}", printable(source_.name()), printable(what));
    end_with(exit);
  }
  void end_with(Exit exit) { exit_ = exit; }

  void source_failed(const Error& error) {
    switch (error.code) {
      case Code::unreachable: return end_with(Exit::try_again, error.message);
      case Code::denied: return end_with(Exit::no, error.message);
      default: return end_with(Exit::bad_input, error.message);
    }
  }

  void bad_row(std::uint64_t number, std::string_view error) {
    report_.bad(number, error);
    if (options_.strict && exit_ == Exit::ok) exit_ = Exit::bad_input;
  }

  void on_answer(const Sent& sent, const Result<Answer>& answer) {
    if (answer) {
      report_.answered(sent.number, sent.id, *answer);
    } else if (answer.error().code == Code::invalid || answer.error().code == Code::too_large) {
      bad_row(sent.number, quote(sent.id) + ": " + answer.error().message);
    } else if (!target_failed_) {
      // The rest of the batch fails for the same reason.
      target_failed_ = true;
      progress_.hide();
      exit_ = failed(answer.error());
    }
  }

  // Constant after construction.
  const ImportOptions& options_;
  const ImportPlan& plan_;
  RowSource& source_;
  const StopSignal& stop_;
  Target& target_;

  Progress progress_;
  ImportReport report_;
  std::optional<RowMapper> mapper_;  // From the header on.
  bool target_failed_ = false;
  Exit exit_ = Exit::ok;  // Anything else: no more rows are read.
};

bool is_queue_name(std::string_view name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
  return !name.empty() && name.size() <= 128 && name.find_first_not_of(allowed) == std::string_view::npos;
}

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
  const Result<> source = check_source(options.source);
  if (!source) return source;
  // Else every row would be called bad for it.
  if (!is_queue_name(plan.queue)) {
    return fail(Code::invalid,
                fmt::format("queue {}: a name is 1 - 128 of A-Z a-z 0-9 . _ : -", quote(plan.queue)));
  }
  if (const auto& run = plan.run; run && (run->empty() || run->size() > 128)) {
    return fail(Code::invalid,
                fmt::format("run {} is {} bytes long: names of runs have 1 - 128", quote(*run), run->size()));
  }
  if (is_zset(options.source)) {
    if (plan.columns.id.empty()) plan.columns.id = RedisSource::member_column;
    if (plan.columns.due.empty()) plan.columns.due = RedisSource::score_column;
    if (plan.takes_over())
      return fail(Code::invalid, "members of a sorted set have neither states nor duplicates");
  }
  if (plan.columns.id.empty()) return fail(Code::invalid, "--id must name a column");
  if (plan.columns.due.empty()) return fail(Code::invalid, "--due must name a column");
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
  const Result<> checked = check_plan(options);
  if (!checked) return failed(checked.error());
  const StopSignal stop;
  const Result<std::unique_ptr<RowSource>> source =
      open_source(options.source, options.plan.columns.names(), stop);
  if (!source) {
    const Exit exit = failed(source.error());
    return exit == Exit::usage ? Exit::bad_input : exit;
  }
  return with_target(session, Missing::create,
                     [&](Target& target) { return Import(session, options, **source, stop, target).run(); });
}

std::string read_unit(const std::string& text, EpochUnit& unit) {
  if (text != "s" && text != "ms" && text != "auto") return "one of s, ms, auto";
  unit = text == "s" ? EpochUnit::seconds : text == "ms" ? EpochUnit::milliseconds : EpochUnit::automatic;
  return {};
}

std::string read_duplicates(const std::string& text, Duplicates& duplicates) {
  if (text != "refuse" && text != "keep-one" && text != "grandfather") {
    return "one of refuse, keep-one, grandfather";
  }
  duplicates = text == "refuse"     ? Duplicates::refuse
               : text == "keep-one" ? Duplicates::keep_one
                                    : Duplicates::grandfather;
  return {};
}

void declare_columns(Arguments& command, const std::shared_ptr<ImportOptions>& options) {
  ColumnPlan& columns = options->plan.columns;
  command.text("--id", columns.id, "COLUMN", "the column of the id");
  command.text("--due", columns.due, "COLUMN",
               "the column of the due time: a date, a date-time (UTC where it names no zone) or a number");
  command.texts("--key", columns.key, "COLUMN[,COLUMN...]",
                "the columns that make the dedup key; no key where all of them are empty");
  const auto unit = [options](const std::string& text) {
    return read_unit(text, options->plan.columns.unit);
  };
  command.value("--due-unit", unit, "UNIT",
                "what a number counts since 1970: s, ms, or auto (the default: s up to 11 digits, then ms)");
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
  declare_columns(command, options);
  const auto duplicates = [options](const std::string& text) {
    return read_duplicates(text, options->plan.duplicates);
  };
  command.value(
      "--duplicates", duplicates, "POLICY",
      "of rows with one key of which several are WAIT or SUCCESS: refuse (import nothing), keep-one (the "
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
