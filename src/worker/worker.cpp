// The worker loop.
//
//   loop thread:      claim ---> jobs, ready ---> extend each third of a lease ---> ... until all has ended
//   handler threads:             take one of ready, run the handler, report, take the next
//   source's threads: callbacks of claim, extend, release: note the answer and wake the loop
//
// All state is under one mutex. The loop plans under it what to ask of the source and asks without it: the
// source may answer before its method returns. A job is in the table from the claim's reply until its report
// is answered, so the room left in the table is what may be claimed.
//
// Nothing outlives the loop: it ends when no claim, no job and no call to the source is open.
#include "duelease/worker.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "model/validate.h"

namespace duelease {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint32_t concurrency_max = 1024;
// How long a claim waits before it is made anew. Nothing depends on it.
constexpr Duration claim_wait{3'600'000};
// What befell one order; the others go on.
bool hits_one_order(const Error& error) { return error.code == Code::corrupt; }
// May be gone at the next try. What neither passes nor hits one order ends the worker.
bool may_pass(const Error& error) {
  return error.code == Code::overloaded || error.code == Code::unreachable;
}

// Before the next try of what may pass.
constexpr Duration retry_pause{50};

ReleaseRequest release_of(const Claimed& order) {
  ReleaseRequest request;
  request.queue = order.queue;
  request.id = order.id;
  request.token = order.token;
  return request;
}

// Reports what the handler decided, and waits for the answer.
Result<Answer> send_report(WorkSource& source, const Claimed& order, const Handled& handled) {
  const auto answer = std::make_shared<std::promise<Result<Answer>>>();
  std::future<Result<Answer>> answered = answer->get_future();
  const auto done = [answer](Result<Answer> result) { answer->set_value(std::move(result)); };
  switch (handled.report) {
    case Handled::Report::complete: {
      CompleteRequest request;
      request.queue = order.queue;
      request.id = order.id;
      request.token = order.token;
      request.result = handled.result;
      request.app_writes = handled.app_writes;
      source.complete(std::move(request), done);
      break;
    }
    case Handled::Report::fail: {
      FailRequest request;
      request.queue = order.queue;
      request.id = order.id;
      request.token = order.token;
      request.error = handled.error;
      request.retry_at = handled.retry_at;
      request.final = handled.final;
      source.fail(std::move(request), done);
      break;
    }
    case Handled::Report::release: source.release(release_of(order), done); break;
    case Handled::Report::none: return Answer{.outcome = Outcome::stale};
  }
  return answered.get();
}

using Tally = std::uint64_t WorkerTotals::*;

Tally tally_of(Handled::Report report, Outcome outcome) {
  if (outcome == Outcome::stale) return &WorkerTotals::lost;
  switch (report) {
    case Handled::Report::complete: return &WorkerTotals::completed;
    case Handled::Report::fail: return &WorkerTotals::failed;
    case Handled::Report::release: return &WorkerTotals::released;
    case Handled::Report::none: break;
  }
  return &WorkerTotals::lost;
}

Handled run_handler(const Worker::Handler& handler, const Claimed& order, const LeaseWatch& lease) {
  try {
    return handler(order, lease);
  } catch (const std::exception& thrown) {
    return Handled::failed(thrown.what());
  } catch (...) {
    return Handled::failed("the handler threw something that is no std::exception");
  }
}

}  // namespace

struct Worker::Impl {
 public:
  Impl(std::unique_ptr<WorkSource> owned, WorkSource* source, WorkerOptions options, Handler handler);
  ~Impl();

  Result<> start();
  void request_stop();
  Result<> wait();
  WorkerTotals totals() const;

 private:
  // One order that was claimed and not yet reported on.
  struct Job {
    Claimed order;
    std::shared_ptr<std::atomic<bool>> lost = std::make_shared<std::atomic<bool>>(false);
    Steady::time_point deadline;  // When the lease ends unless an extend is answered.
    Steady::time_point look_at;   // When the loop has something to do for it: extend, or give it up.
  };
  using JobNumber = std::uint64_t;
  using Errand = std::function<void()>;

  ClaimRequest claim_request(std::size_t count) const;
  Duration length_of(const Claimed& order) const;  // Of the lease, when it is extended.

  // The loop. All but run() with mutex_ held.
  void run();
  std::vector<Errand> plan(Steady::time_point now);
  bool can_claim(Steady::time_point now) const;
  void plan_releases(std::vector<Errand>& errands);
  void plan_extends(Steady::time_point now, std::vector<Errand>& errands);
  void sleep(std::unique_lock<std::mutex>& lock, Steady::time_point now);
  bool is_over() const;

  // Errands and answers, on any thread without mutex_.
  void send_claim(ClaimRequest request);
  void take_claimed(Result<std::vector<Claimed>> answer);
  void take_released(JobNumber number, const Result<Answer>& answer);
  void take_extended(JobNumber number, Steady::time_point sent, const Result<Answer>& answer);

  // Handler threads.
  void run_handlers();
  Tally report(const Job& job, Handled handled);
  bool pause_unless_lost(const Job& job);

  // With mutex_ held.
  void add_job(Claimed order, Steady::time_point now);
  void begin(JobNumber number);
  void end_job(JobNumber number, Tally tally);
  void look_again(JobNumber number, Job& job, Steady::time_point at);
  void lose(JobNumber number, Job& job);
  void end_with(const Error& error);
  void end();

  // Constant after construction.
  const std::unique_ptr<WorkSource> owned_source_;
  WorkSource& source_;
  const WorkerOptions options_;
  const Handler handler_;

  // Guarded by mutex_.
  mutable std::mutex mutex_;
  bool started_ = false;
  bool ending_ = false;  // Nothing new is begun.
  bool over_ = false;
  std::optional<Error> error_;
  WorkerTotals totals_;
  JobNumber last_number_ = 0;
  std::map<JobNumber, Job> jobs_;
  std::set<std::pair<Steady::time_point, JobNumber>> agenda_;  // (look_at, job)
  std::deque<JobNumber> ready_;                                // Not begun.
  std::set<JobNumber> unsure_;  // Not to be begun before an extend tells that the lease is not gone.
  std::uint64_t jobs_ended_ = 0;
  std::size_t calls_ = 0;  // Extends and releases under way.
  // The claim under way.
  bool claiming_ = false;
  bool claim_cancelled_ = false;
  std::optional<ClaimTicket> ticket_;
  std::uint64_t jobs_ended_at_claim_ = 0;
  bool idle_at_claim_ = false;
  // Draining: a claim found nothing when so many jobs had ended. The next one may have put something in.
  std::optional<std::uint64_t> found_nothing_at_;
  Steady::time_point claim_again_at_{};
  std::condition_variable loop_wanted_;
  std::condition_variable work_ready_;
  std::condition_variable lease_lost_;
  std::condition_variable ended_;

  // Touched by start() and the destructor only.
  std::vector<std::thread> threads_;
};

// ---- Starting and ending ------------------------------------------------------------------------

Worker::Impl::Impl(std::unique_ptr<WorkSource> owned, WorkSource* source, WorkerOptions options,
                   Handler handler)
    : owned_source_(std::move(owned)),
      source_(source != nullptr ? *source : *owned_source_),
      options_(std::move(options)),
      handler_(std::move(handler)) {}

Worker::Impl::~Impl() {
  request_stop();
  Result<> ended = wait();
  for (std::thread& thread : threads_) thread.join();
}

Result<> Worker::Impl::start() {
  if (!handler_) return duelease::fail(Code::invalid, "the worker has no handler");
  if (options_.concurrency < 1 || options_.concurrency > concurrency_max) {
    return duelease::fail(Code::invalid, "concurrency is " + std::to_string(options_.concurrency) +
                                             ", allowed are 1 to " + std::to_string(concurrency_max));
  }
  if (Result<> valid = model::validate(claim_request(1)); !valid) return valid;
  std::unique_lock lock(mutex_);
  if (started_) return duelease::fail(Code::invalid, "a worker starts once");
  started_ = true;
  over_ = true;  // Until its threads are there: they wait for the mutex.
  try {
    threads_.reserve(options_.concurrency + 1);
    for (std::uint32_t i = 0; i < options_.concurrency; ++i) {
      threads_.emplace_back([this] { run_handlers(); });
    }
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error& error) {
    return duelease::fail(Code::overloaded, std::string("the worker's threads: ") + error.what());
  }
  over_ = false;
  return {};
}

void Worker::Impl::request_stop() {
  const std::lock_guard lock(mutex_);
  end();
}

Result<> Worker::Impl::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return !started_ || over_; });
  if (error_) return Unexpected{*error_};
  return {};
}

WorkerTotals Worker::Impl::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

void Worker::Impl::end() {
  ending_ = true;
  loop_wanted_.notify_one();
}

void Worker::Impl::end_with(const Error& error) {
  if (!error_) error_ = error;
  end();
}

bool Worker::Impl::is_over() const { return ending_ && !claiming_ && jobs_.empty() && calls_ == 0; }

// ---- The loop -----------------------------------------------------------------------------------

void Worker::Impl::run() {
  std::unique_lock lock(mutex_);
  while (!is_over()) {
    const Steady::time_point now = Steady::now();
    const std::vector<Errand> errands = plan(now);
    if (errands.empty()) {
      sleep(lock, now);
      continue;
    }
    lock.unlock();
    for (const Errand& errand : errands) errand();
    lock.lock();
  }
  over_ = true;
  work_ready_.notify_all();
  ended_.notify_all();
}

// What to ask of the source now.
std::vector<Worker::Impl::Errand> Worker::Impl::plan(Steady::time_point now) {
  std::vector<Errand> errands;
  plan_extends(now, errands);
  if (ending_) {
    plan_releases(errands);
    if (claiming_ && ticket_ && !claim_cancelled_) {
      claim_cancelled_ = true;
      errands.emplace_back([this, ticket = *ticket_] { source_.cancel_claim(ticket); });
    }
  } else if (can_claim(now)) {
    claiming_ = true;
    claim_cancelled_ = false;
    jobs_ended_at_claim_ = jobs_ended_;
    idle_at_claim_ = jobs_.empty();
    errands.emplace_back(
        [this, request = claim_request(options_.concurrency - jobs_.size())] { send_claim(request); });
  }
  return errands;
}

bool Worker::Impl::can_claim(Steady::time_point now) const {
  if (claiming_ || jobs_.size() >= options_.concurrency || now < claim_again_at_) return false;
  return found_nothing_at_ != jobs_ended_;
}

// Claimed, but not begun before the end came.
void Worker::Impl::plan_releases(std::vector<Errand>& errands) {
  ready_.insert(ready_.end(), unsure_.begin(), unsure_.end());
  unsure_.clear();
  for (const JobNumber number : ready_) {
    ++calls_;
    errands.emplace_back([this, number, request = release_of(jobs_.at(number).order)] {
      source_.release(request,
                      [this, number](const Result<Answer>& answer) { take_released(number, answer); });
    });
  }
  ready_.clear();
}

void Worker::Impl::plan_extends(Steady::time_point now, std::vector<Errand>& errands) {
  while (!agenda_.empty() && agenda_.begin()->first <= now) {
    const JobNumber number = agenda_.begin()->second;
    Job& job = jobs_.at(number);
    if (job.deadline <= now && !unsure_.contains(number)) {
      lose(number, job);
      continue;
    }
    if (unsure_.contains(number)) {
      agenda_.erase(agenda_.begin());  // The answer tells when to look again.
    } else {
      look_again(number, job, job.deadline);  // Unless the answer comes first.
    }
    ExtendRequest request;
    request.queue = job.order.queue;
    request.id = job.order.id;
    request.token = job.order.token;
    request.lease = length_of(job.order);
    ++calls_;
    errands.emplace_back([this, number, now, request = std::move(request)] {
      source_.extend(
          request, [this, number, now](const Result<Answer>& answer) { take_extended(number, now, answer); });
    });
  }
}

// Until something is to be planned. `now` is that of the plan: what came to pass since wakes at once.
void Worker::Impl::sleep(std::unique_lock<std::mutex>& lock, Steady::time_point now) {
  std::optional<Steady::time_point> wake;
  if (!agenda_.empty()) wake = agenda_.begin()->first;
  if (claim_again_at_ > now) wake = std::min(claim_again_at_, wake.value_or(claim_again_at_));
  if (wake) {
    loop_wanted_.wait_until(lock, *wake);
  } else {
    loop_wanted_.wait(lock);
  }
}

ClaimRequest Worker::Impl::claim_request(std::size_t count) const {
  ClaimRequest request;
  request.queues = options_.queues;
  request.worker = options_.name;
  request.count = static_cast<std::uint32_t>(count);
  request.lease = options_.lease;
  request.wait = options_.drain ? Duration{0} : claim_wait;
  return request;
}

// ---- Answers ------------------------------------------------------------------------------------

void Worker::Impl::send_claim(ClaimRequest request) {
  const ClaimTicket ticket = source_.claim(
      std::move(request), [this](Result<std::vector<Claimed>> answer) { take_claimed(std::move(answer)); });
  const std::lock_guard lock(mutex_);
  if (claiming_) ticket_ = ticket;  // Else it is answered already.
}

void Worker::Impl::take_claimed(Result<std::vector<Claimed>> answer) {
  const Steady::time_point now = Steady::now();
  const std::lock_guard lock(mutex_);
  claiming_ = false;
  ticket_.reset();
  loop_wanted_.notify_one();
  if (!answer) {
    // A drain must come to an end, and the source has had its own patience.
    const bool again = options_.drain ? answer.error().code == Code::overloaded : may_pass(answer.error());
    if (!again) return end_with(answer.error());
    claim_again_at_ = now + retry_pause;
    return;
  }
  if (answer->empty() && options_.drain) {
    if (idle_at_claim_) return end();
    found_nothing_at_ = jobs_ended_at_claim_;
    return;
  }
  for (Claimed& order : *answer) add_job(std::move(order), now);
}

void Worker::Impl::add_job(Claimed order, Steady::time_point now) {
  const JobNumber number = ++last_number_;
  Job& job = jobs_[number];
  job.deadline = now + order.lease;
  job.order = std::move(order);
  ++totals_.claimed;
  if (job.order.lease > Duration{0}) {
    look_again(number, job, now + std::chrono::nanoseconds(job.order.lease) / 3);
    return begin(number);
  }
  unsure_.insert(number);
  look_again(number, job, now);
}

void Worker::Impl::begin(JobNumber number) {
  ready_.push_back(number);
  work_ready_.notify_one();
}

Duration Worker::Impl::length_of(const Claimed& order) const {
  if (options_.lease) return *options_.lease;
  const Duration known = std::max(order.lease, order.lease_length);
  return known > Duration{0} ? known : QueueSettings{}.lease;
}

// An error here leaves the order to its lease, which will run out.
void Worker::Impl::take_released(JobNumber number, const Result<Answer>& answer) {
  const std::lock_guard lock(mutex_);
  --calls_;
  end_job(number, answer ? tally_of(Handled::Report::release, answer->outcome) : &WorkerTotals::lost);
  if (answer || may_pass(answer.error()) || hits_one_order(answer.error())) return;
  end_with(answer.error());
}

void Worker::Impl::take_extended(JobNumber number, Steady::time_point sent, const Result<Answer>& answer) {
  const Steady::time_point now = Steady::now();
  const std::lock_guard lock(mutex_);
  --calls_;
  loop_wanted_.notify_one();
  const auto found = jobs_.find(number);
  if (found == jobs_.end() || found->second.lost->load()) return;
  Job& job = found->second;
  const bool unsure = unsure_.contains(number);
  const bool extended = answer && answer->outcome == Outcome::extended;
  if (extended) {
    // The source counted from a moment after `sent`: this errs on the safe side.
    const Duration lease = length_of(job.order);
    job.deadline = std::max(job.deadline, sent + lease);
    look_again(number, job, sent + std::chrono::nanoseconds(lease) / 3);
    if (unsure_.erase(number) > 0) begin(number);
  } else if (answer || hits_one_order(answer.error())) {
    if (!unsure) return lose(number, job);
    unsure_.erase(number);
    end_job(number, &WorkerTotals::lost);
  } else if (may_pass(answer.error())) {
    look_again(number, job, unsure ? now + retry_pause : std::min(now + retry_pause, job.deadline));
  } else {
    end_with(answer.error());
  }
}

// ---- Jobs ---------------------------------------------------------------------------------------

void Worker::Impl::look_again(JobNumber number, Job& job, Steady::time_point at) {
  agenda_.erase({job.look_at, number});
  job.look_at = at;
  agenda_.emplace(at, number);
}

void Worker::Impl::lose(JobNumber number, Job& job) {
  agenda_.erase({job.look_at, number});
  job.lost->store(true);
  lease_lost_.notify_all();
}

void Worker::Impl::end_job(JobNumber number, Tally tally) {
  const auto found = jobs_.find(number);
  DUELEASE_CHECK(found != jobs_.end());
  agenda_.erase({found->second.look_at, number});
  jobs_.erase(found);
  ++jobs_ended_;
  ++(totals_.*tally);
  loop_wanted_.notify_one();
}

// ---- Handlers -----------------------------------------------------------------------------------

void Worker::Impl::run_handlers() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // After the end has come, the loop releases what is ready.
    work_ready_.wait(lock, [this] { return over_ || (!ready_.empty() && !ending_); });
    if (over_) return;
    const JobNumber number = ready_.front();
    ready_.pop_front();
    const Job& job = jobs_.at(number);  // Stays where it is until end_job().
    lock.unlock();
    const Tally tally = report(job, run_handler(handler_, job.order, LeaseWatch(job.lost)));
    lock.lock();
    end_job(number, tally);
  }
}

Tally Worker::Impl::report(const Job& job, Handled handled) {
  bool refused = false;
  for (;;) {
    const Result<Answer> answer = send_report(source_, job.order, handled);
    if (answer) return tally_of(handled.report, answer->outcome);
    const Error& error = answer.error();
    if (may_pass(error)) {
      if (pause_unless_lost(job)) continue;
    } else if ((error.code == Code::too_large || error.code == Code::invalid) && !refused) {
      // The handler's doing. Said nothing, the order would come back and meet the same fate unseen.
      refused = true;
      handled = Handled::failed("the report was refused: " + error.message);
      continue;
    } else if (!hits_one_order(error)) {
      const std::lock_guard lock(mutex_);
      end_with(error);
    }
    return &WorkerTotals::lost;
  }
}

bool Worker::Impl::pause_unless_lost(const Job& job) {
  std::unique_lock lock(mutex_);
  return !lease_lost_.wait_for(lock, retry_pause, [&job] { return job.lost->load(); });
}

// ---- Worker -------------------------------------------------------------------------------------

Worker::Worker(std::unique_ptr<WorkSource> source, WorkerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(source), nullptr, std::move(options), std::move(handler))) {}
Worker::Worker(WorkSource& source, WorkerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(nullptr, &source, std::move(options), std::move(handler))) {}
Worker::~Worker() = default;

Result<> Worker::start() { return impl_->start(); }
void Worker::request_stop() { impl_->request_stop(); }
void Worker::stop() {
  impl_->request_stop();
  Result<> ended = impl_->wait();
}
Result<> Worker::wait() { return impl_->wait(); }
WorkerTotals Worker::totals() const { return impl_->totals(); }

}  // namespace duelease
