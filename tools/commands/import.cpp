// duelease import: schedules the rows of a CSV file.
//
// Reading and committing overlap: while the engine commits one batch the next is read. One batch is under
// way at a time, so answers come in the order of the file and the memory is that of two batches.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <memory>

#include "../csv_reader.h"
#include "../fd.h"
#include "../import_report.h"
#include "../row_mapper.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ImportOptions {
  ImportPlan plan;
  std::string file;
  char delimiter = ',';
  std::optional<std::uint64_t> priority;
  std::optional<std::uint64_t> tries;
  bool strict = false;
  bool verbose = false;
};

constexpr std::size_t batch_rows_max = 1000;
// Payloads can be large: a batch is also full at this many bytes.
constexpr std::size_t batch_bytes_max = 16 * 1024 * 1024;

volatile sig_atomic_t stop_asked = 0;
// Becomes readable then: a flag alone would be missed between the look at it and a read that waits.
int stop_event = -1;

// The first signal ends the import behind the batch under way, with its summary; a second one kills.
void listen_for_interrupt() {
  stop_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = [](int) {
    stop_asked = 1;
    ::eventfd_write(stop_event, 1);
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

class Import {
 public:
  Import(const Session& session, const ImportOptions& options, int fd, Target& target)
      : options_(options),
        fd_(fd),
        target_(target),
        progress_(file_size(fd)),
        report_(session.json, options.verbose, progress_),
        reader_(options.delimiter, [this](CsvRow& row) { return on_row(row); }) {}

  Exit run() {
    read_file();
    send_batch();
    take_answers();
    if (mapper_) report_.finish();
    if (exit_ != Exit::ok) return exit_;
    return report_.totals().bad > 0 ? Exit::bad_input : Exit::ok;
  }

 private:
  struct Batch {
    std::vector<ScheduleRequest> requests;
    std::vector<std::string> ids;
    std::vector<std::uint64_t> lines;
    std::size_t bytes = 0;
  };
  using Answers = std::vector<Result<Answer>>;

  static std::optional<std::uint64_t> file_size(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(status.st_size);
  }

  // Complaints about the file as a whole; what was read before stays scheduled.
  void end_with(Exit exit, std::string_view what) {
    progress_.hide();
    complain("{}: {}", printable(options_.file), printable(what));
    exit_ = exit;
  }

  void read_file() {
    char buffer[256 * 1024];
    while (exit_ == Exit::ok) {
      wait_for_bytes();
      if (stop_asked != 0) return end_with(Exit::interrupted, "interrupted");
      const ssize_t got = ::read(fd_, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return end_with(Exit::bad_input, std::strerror(errno));
      bytes_read_ += static_cast<std::uint64_t>(got);
      const Result<> read =
          got > 0 ? reader_.feed({buffer, static_cast<std::size_t>(got)}) : reader_.finish();
      if (!read) return end_with(Exit::bad_input, read.error().message);
      if (got == 0) break;
    }
    if (exit_ == Exit::ok && !mapper_) end_with(Exit::bad_input, "there is no header");
  }

  // Or for a signal.
  void wait_for_bytes() const {
    pollfd either[] = {{fd_, POLLIN, 0}, {stop_event, POLLIN, 0}};
    ::poll(either, std::size(either), -1);
  }

  bool on_row(CsvRow& row) {
    if (!mapper_) return on_header(row);
    report_.row();
    Result<ScheduleRequest> request = mapper_->map(row);
    if (!request) {
      bad_row(row.line, request.error().message);
    } else {
      batch_.bytes += request->payload ? request->payload->size() : 0;
      batch_.ids.push_back(request->id);
      batch_.lines.push_back(row.line);
      batch_.requests.push_back(std::move(*request));
      if (batch_.requests.size() >= batch_rows_max || batch_.bytes >= batch_bytes_max) send_batch();
    }
    return exit_ == Exit::ok && stop_asked == 0;
  }

  bool on_header(CsvRow& row) {
    Result<RowMapper> mapper = RowMapper::from_header(options_.plan, std::move(row.fields));
    if (!mapper) {
      end_with(Exit::bad_input, mapper.error().message);
      return false;
    }
    mapper_.emplace(std::move(*mapper));
    return true;
  }

  void bad_row(std::uint64_t line, std::string_view error) {
    report_.bad(line, error);
    if (options_.strict && exit_ == Exit::ok) exit_ = Exit::bad_input;
  }

  void send_batch() {
    take_answers();
    if (engine_failed_ || batch_.requests.empty()) return;
    sent_ = std::move(batch_);
    batch_ = Batch();
    answers_ =
        std::async(std::launch::async, [this, requests = std::move(sent_.requests)]() mutable -> Answers {
          return target_.schedule(std::move(requests));
        });
    progress_.show(report_.totals().rows, bytes_read_);
  }

  void take_answers() {
    if (!answers_.valid()) return;
    const Answers answers = answers_.get();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i]) {
        report_.answered(sent_.lines[i], sent_.ids[i], *answers[i]);
      } else if (answers[i].error().code == Code::invalid || answers[i].error().code == Code::too_large) {
        bad_row(sent_.lines[i], quote(sent_.ids[i]) + ": " + answers[i].error().message);
      } else if (!engine_failed_) {
        // The rest of the batch fails for the same reason.
        engine_failed_ = true;
        progress_.hide();
        exit_ = failed(answers[i].error());
      }
    }
  }

  // Constant after construction.
  const ImportOptions& options_;
  const int fd_;
  Target& target_;

  Progress progress_;
  ImportReport report_;
  CsvReader reader_;
  std::optional<RowMapper> mapper_;  // From the header on.
  Batch batch_;                      // Being read.
  Batch sent_;                       // Being committed; its requests are with the engine.
  std::future<Answers> answers_;
  std::uint64_t bytes_read_ = 0;
  bool engine_failed_ = false;
  Exit exit_ = Exit::ok;  // Anything else: no more rows are read.
};

bool is_queue_name(std::string_view name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
  return !name.empty() && name.size() <= 128 && name.find_first_not_of(allowed) == std::string_view::npos;
}

Exit import(const Session& session, ImportOptions& options) {
  // Else every row of the file would be called bad for it.
  if (!is_queue_name(options.plan.queue)) {
    complain("queue {}: a name is 1 - 128 of A-Z a-z 0-9 . _ : -", quote(options.plan.queue));
    return Exit::usage;
  }
  if (const auto& run = options.plan.run; run && (run->empty() || run->size() > 128)) {
    complain("run {} is {} bytes long: names of runs have 1 - 128", quote(*run), run->size());
    return Exit::usage;
  }
  if (options.priority) options.plan.priority = static_cast<std::uint8_t>(*options.priority);
  if (options.tries) options.plan.tries = static_cast<std::uint32_t>(*options.tries);
  const bool standard_input = options.file == "-";
  const Fd file(standard_input ? -1 : ::open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!standard_input && !file.is_open()) {
    complain("cannot read {}: {}", printable(options.file), std::strerror(errno));
    return Exit::bad_input;
  }
  const int fd = standard_input ? STDIN_FILENO : file.get();
  return with_target(session, Missing::create, [&](Target& target) {
    listen_for_interrupt();
    return Import(session, options, fd, target).run();
  });
}

std::string read_unit(const std::string& text, EpochUnit& unit) {
  if (text != "s" && text != "ms" && text != "auto") return "one of s, ms, auto";
  unit = text == "s" ? EpochUnit::seconds : text == "ms" ? EpochUnit::milliseconds : EpochUnit::automatic;
  return {};
}

std::string read_delimiter(const std::string& text, char& delimiter) {
  if (text != "tab" && (text.size() != 1 || text == "\"" || text == "\n" || text == "\r")) {
    return "one character, or \"tab\"";
  }
  delimiter = text == "tab" ? '\t' : text[0];
  return {};
}

}  // namespace

void declare_import(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ImportOptions>();
  ImportPlan& plan = options->plan;
  Arguments command = root.command(
      "import", "Schedule the rows of a CSV file with a header; each row is the payload, as a JSON object");
  command.text("file", options->file, "FILE", "the file, - for stdin").required();
  command.text("--queue", plan.queue, "QUEUE", "the queue of all of them").required();
  command.text("--id", plan.id_column, "COLUMN", "the column of the id").required();
  command
      .text("--due", plan.due_column, "COLUMN",
            "the column of the due time: a date, a date-time (UTC where it names no zone) or a number")
      .required();
  command.texts("--key", plan.key_columns, "COLUMN[,COLUMN...]",
                "the columns that make the dedup key; no key where all of them are empty");
  const auto unit = [options](const std::string& text) { return read_unit(text, options->plan.due_unit); };
  command.value("--due-unit", unit, "UNIT",
                "what a number counts since 1970: s, ms, or auto (the default: s up to 11 digits, then ms)");
  const auto delimiter = [options](const std::string& text) {
    return read_delimiter(text, options->delimiter);
  };
  command.value("--delimiter", delimiter, "CHARACTER", "between fields, or \"tab\"; a comma by default");
  command.text("--run", plan.run, "RUN", "the run that all of them belong to, which must be alive");
  command.number("--priority", options->priority, 0, 255, "0 is the most urgent, 128 the default");
  command.number("--tries", options->tries, 0, 0xFFFFFFFF, "hand-outs until it is FAILED, 0: no limit");
  command.flag("--upsert", plan.upsert, "move orders that are WAIT already instead of refusing");
  command.flag("--strict", options->strict, "stop at the first bad row; the rows before it stay scheduled");
  command.flag("--verbose", options->verbose, "name all refused and bad rows, not just the first 20");
  command.footer(
      "\nDuplicates are refused by name and change nothing: importing the same file again is safe and exits "
      "0.\n"
      "Bad rows are named with their line, the others are scheduled, and the exit code is 3.\n\n"
      "Example: duelease --store S import --queue shipping --id OrderID --due RequiredDate orders.csv\n");
  command.run([options, &session] { return import(session, *options); });
}

}  // namespace duelease::tools
