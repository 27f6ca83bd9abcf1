#include "row_pass.h"

#include <string>
#include <vector>

#include "duelease/reconcile.h"
#include "text.h"

namespace duelease::tools {

Exit source_exit(const Error& error) {
  switch (error.code) {
    case Code::unreachable: return Exit::try_again;
    case Code::denied: return Exit::no;
    default: return Exit::bad_input;
  }
}

RowPass::RowPass(RowSource& source, const StopSignal& stop, RowReport& report, Progress& progress,
                 bool strict)
    : source_(source), stop_(stop), report_(report), progress_(progress), strict_(strict) {}

bool RowPass::begin(const ColumnPlan& columns) {
  const Result<bool> has_rows = read_header(columns);
  if (!has_rows) end_with(source_exit(has_rows.error()), has_rows.error().message);
  return has_rows && *has_rows;
}

Result<bool> RowPass::read_header(const ColumnPlan& columns) {
  Result<std::vector<std::string>> header = source_.columns();
  if (!header) return Unexpected{header.error()};
  if (header->empty()) return false;
  Result<RowMapper> mapper = RowMapper::from_header(columns, std::move(*header));
  if (!mapper) return Unexpected{mapper.error()};
  mapper_.emplace(std::move(*mapper));
  return true;
}

void RowPass::read(const OnRow& on_row) {
  SourceRow row;
  while (goes_on()) {
    const Result<bool> more = source_.next(row);
    if (!more) return end_with(source_exit(more.error()), more.error().message);
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

void RowPass::show_progress() {
  const SourceProgress progress = source_.progress();
  progress_.show(report_.rows(), progress.done, progress.total);
}

void RowPass::row_failed(const Sent& sent, const Error& error) {
  if (hits_one_row(error)) {
    bad_row(sent.number, quote(sent.id) + ": " + error.message);
  } else if (!target_failed_) {
    target_failed_ = true;
    progress_.hide();
    exit_ = failed(error);
  }
}

void RowPass::bad_row(std::uint64_t number, std::string_view error) {
  report_.bad(number, error);
  if (strict_ && exit_ == Exit::ok) exit_ = Exit::bad_input;
}

void RowPass::note_interrupt() {
  if (stop_.asked() && exit_ == Exit::ok) end_with(Exit::interrupted, "interrupted");
}

void RowPass::end_with(Exit exit, std::string_view what) {
  progress_.hide();
  complain("{}: {}", printable(source_.name()), printable(what));
  exit_ = exit;
}

}  // namespace duelease::tools
