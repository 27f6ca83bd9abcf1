// tools/row_pass.h: one pass over the rows of a source: what import and reconcile do alike.
//
//     RowPass pass(source, stop, report, progress);
//     if (pass.begin(columns)) pass.send_all(sender, [](OrderRow row) { return request_of(std::move(row)); });
//     pass.note_interrupt();
//
// Until the last row, or something ends it: exit() is then no longer Exit::ok, and no more rows are read. What was sent
// before stays as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "batch_sender.h"
#include "output.h"
#include "progress.h"
#include "row_mapper.h"
#include "row_report.h"
#include "source.h"
#include "stop_signal.h"

namespace duelease::tools {

// The exit code for a source that failed or could not be opened. Says nothing.
Exit source_exit(const Error& error);

class RowPass {
 public:
  // strict: ends at the first bad row.
  RowPass(RowSource& source, const StopSignal& stop, RowReport& report, Progress& progress,
          bool strict = false);

  // Reads the header. False: there are no rows, or it has ended already.
  bool begin(const ColumnPlan& columns);

  using OnRow = std::function<void(std::uint64_t number, OrderRow row)>;
  void read(const OnRow& on_row);
  // Reads, and sends what `make` makes of each row.
  template <class Request, class Make>
  void send_all(BatchSender<Request>& sender, const Make& make) {
    read([&](std::uint64_t number, OrderRow row) {
      if (sender.add(number, make(std::move(row)))) show_progress();
    });
    finish(sender);
  }
  template <class Request>
  void finish(BatchSender<Request>& sender) {
    if (target_failed_) sender.drop();
    sender.finish();
  }
  void show_progress();

  // Of a row that was sent. It is bad, or the pass ends, for the rest would fail for the same reason.
  void row_failed(const Sent& sent, const Error& error);
  // Ends with Exit::interrupted where that was asked for, and nothing else has ended it.
  void note_interrupt();
  // Complaints about the source as a whole.
  void end_with(Exit exit, std::string_view what);
  void end_with(Exit exit) { exit_ = exit; }

  bool goes_on() const { return exit_ == Exit::ok && !stop_.asked(); }
  Exit exit() const { return exit_; }

 private:
  Result<bool> read_header(const ColumnPlan& columns);
  void bad_row(std::uint64_t number, std::string_view error);

  // Constant after construction.
  RowSource& source_;
  const StopSignal& stop_;
  RowReport& report_;
  Progress& progress_;
  const bool strict_;

  std::optional<RowMapper> mapper_;  // From begin() on.
  bool target_failed_ = false;
  Exit exit_ = Exit::ok;
};

}  // namespace duelease::tools
