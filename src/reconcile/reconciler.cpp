// A whole reconcile: rows go on a batch at a time; at the end the queue is walked for orders that no row named.
#include "duelease/reconcile.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "model/validate.h"
#include "reconcile/fingerprints.h"

namespace duelease {

namespace {

// Far below what an engine, a client and a server take at once by default, beside those of others.
constexpr std::size_t batch_max = 1000;

std::uint64_t& count_of(ReconcileReport& report, Outcome outcome) {
  switch (outcome) {
    case Outcome::scheduled: return report.scheduled;
    case Outcome::rescheduled: return report.rescheduled;
    case Outcome::unchanged: return report.unchanged;
    case Outcome::newer: return report.newer;
    case Outcome::duplicate: return report.duplicate;
    default: return report.refused;
  }
}

}  // namespace

bool hits_one_row(const Error& error) {
  return error.code == Code::invalid || error.code == Code::too_large || error.code == Code::corrupt;
}

struct Reconciler::Impl {
  Impl(std::unique_ptr<ReconcileTarget> the_target, ReconcileOptions the_options, ReadMark the_mark)
      : target(std::move(the_target)), options(std::move(the_options)), mark(the_mark) {}

  std::size_t batch_size() const { return std::clamp(target->requests_max(), std::size_t{1}, batch_max); }

  ReconcileRequest request_of(ReconcileRow row) const {
    ReconcileRequest out;
    out.queue = options.queue;
    out.id = std::move(row.id);
    out.due = row.due;
    out.payload = std::move(row.payload);
    out.key = std::move(row.key);
    out.priority = row.priority;
    out.tries = row.tries;
    out.since = mark.since;
    out.read_at = mark.read_at;
    out.dry_run = options.dry_run;
    return out;
  }

  // Whatever the row is answered: its order is in the source.
  void note_named(const std::string& id) {
    if (!named || failure) return;
    if (Result<> added = named->add(id); !added) failure = added.error();
  }

  void count(const Result<Answer>& answer) {
    ++report.rows;
    if (answer) {
      ++count_of(report, answer->outcome);
      return;
    }
    ++report.errors;
    if (!failure && !hits_one_row(answer.error())) failure = answer.error();
  }

  // To rows of a mark that is another store's everything is invalid, as if each were at fault. A sequence only rises.
  Result<> check_store() const {
    const Result<ReadMark> now = target->read_mark();
    if (!now) return Unexpected{now.error()};
    if (now->since >= mark.since) return {};
    return fail(Code::invalid, "the last sequence of the store is " + std::to_string(now->since) +
                                   ", it was " + std::to_string(mark.since) +
                                   " when the reconcile began: this is another store");
  }

  // Orders move while it walks: those have changed after the mark, and are nobody's business. The others stand still,
  // so none is passed over.
  Result<> look_for_vanished(const Vanished& vanished) {
    if (Result<> sealed = named->seal(); !sealed) return sealed;
    ListRequest request;
    request.queue = options.queue;
    request.state = State::wait;
    request.limit = batch_max;
    do {
      Result<Page> page = target->list(request);
      if (!page && page.error().code == Code::not_found) return {};  // No such queue: nothing waits in it.
      if (!page) return Unexpected{page.error()};
      std::erase_if(page->ids, [this](const std::string& id) { return named->contains(id); });
      const Result<> done = options.dry_run ? tell(page->ids, vanished) : cancel(page->ids, vanished);
      if (!done) return done;
      request.after = std::move(page->next);
    } while (!request.after.empty());
    return {};
  }

  void note_vanished(const std::string& id, const Vanished& vanished) {
    ++report.vanished;
    if (vanished) vanished(id);
  }

  Result<> tell(const std::vector<std::string>& ids, const Vanished& vanished) {
    for (const std::string& id : ids) {
      const Result<std::optional<Order>> order = target->order(options.queue, id);
      if (!order && !hits_one_row(order.error())) return Unexpected{order.error()};
      const bool waits_since_then =
          order && *order && (*order)->state == State::wait && (*order)->sequence <= mark.since;
      if (waits_since_then) note_vanished(id, vanished);
    }
    return {};
  }

  Result<> cancel(std::span<const std::string> ids, const Vanished& vanished) {
    while (!ids.empty()) {
      const std::span<const std::string> batch = ids.first(std::min(ids.size(), batch_size()));
      if (Result<> done = cancel_batch(batch, vanished); !done) return done;
      ids = ids.subspan(batch.size());
    }
    return {};
  }

  // The ids are those of the store: an answer that says they are invalid is not about one of them.
  Result<> cancel_batch(std::span<const std::string> ids, const Vanished& vanished) {
    std::vector<CancelRequest> requests;
    for (const std::string& id : ids) {
      CancelRequest& request = requests.emplace_back();
      request.queue = options.queue;
      request.id = id;
      request.since = mark.since;
    }
    const std::vector<Result<Answer>> answers = target->cancel(std::move(requests));
    Result<> done;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] && answers[i]->outcome == Outcome::aborted) note_vanished(ids[i], vanished);
      if (!answers[i] && answers[i].error().code != Code::corrupt) done = Unexpected{answers[i].error()};
    }
    return done;
  }

  const std::unique_ptr<ReconcileTarget> target;
  const ReconcileOptions options;
  const ReadMark mark;
  std::optional<reconcile::Fingerprints> named{};  // With cancel_missing.
  std::optional<Error> failure{};                  // Because of which nothing may be cancelled.
  bool is_finished = false;
  ReconcileReport report{};
};

Result<Reconciler> Reconciler::begin(std::unique_ptr<ReconcileTarget> target, ReconcileOptions options) {
  if (Result<> valid = model::validate_queue_name(options.queue); !valid) return Unexpected{valid.error()};
  const Result<ReadMark> mark = target->read_mark();
  if (!mark) return Unexpected{mark.error()};
  auto impl = std::make_unique<Impl>(std::move(target), std::move(options), *mark);
  if (impl->options.cancel_missing) {
    Result<reconcile::Fingerprints> named = reconcile::Fingerprints::make();
    if (!named) return Unexpected{named.error()};
    impl->named = std::move(*named);
  }
  return Reconciler(std::move(impl));
}

Reconciler::Reconciler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reconciler::~Reconciler() = default;
Reconciler::Reconciler(Reconciler&& other) noexcept = default;
Reconciler& Reconciler::operator=(Reconciler&& other) noexcept = default;

std::vector<Result<Answer>> Reconciler::add(std::vector<ReconcileRow> rows) {
  if (impl_->is_finished) {
    return std::vector<Result<Answer>>(rows.size(),
                                       fail(Code::closing, "a row after the end of the reconcile"));
  }
  std::vector<Result<Answer>> out;
  out.reserve(rows.size());
  for (std::size_t done = 0; done < rows.size();) {
    std::vector<ReconcileRequest> batch;
    for (; done < rows.size() && batch.size() < impl_->batch_size(); ++done) {
      impl_->note_named(rows[done].id);
      batch.push_back(impl_->request_of(std::move(rows[done])));
    }
    std::vector<Result<Answer>> answers = impl_->target->reconcile(std::move(batch));
    for (Result<Answer>& answer : answers) {
      impl_->count(answer);
      out.push_back(std::move(answer));
    }
  }
  return out;
}

Result<ReconcileReport> Reconciler::finish(const Vanished& vanished) {
  if (std::exchange(impl_->is_finished, true))
    return fail(Code::closing, "the reconcile is finished already");
  if (impl_->failure) return Unexpected{*impl_->failure};
  if (impl_->named || impl_->report.errors > 0) {
    if (Result<> same = impl_->check_store(); !same) return Unexpected{same.error()};
  }
  if (impl_->named) {
    if (Result<> walked = impl_->look_for_vanished(vanished); !walked) return Unexpected{walked.error()};
  }
  return impl_->report;
}

const ReconcileReport& Reconciler::report() const { return impl_->report; }

}  // namespace duelease
