// The public API: requests go to the writer, reads to a snapshot of the store.
#include "duelease/engine.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "base/mailbox.h"
#include "duelease/asio.h"
#include "engine/asio.h"
#include "engine/core.h"
#include "engine/engine_parts.h"
#include "engine/foresight.h"
#include "engine/reads.h"
#include "engine/writer.h"
#include "model/rules.h"
#include "model/validate.h"
#include "store/rocks_store.h"

namespace duelease {

using engine::Body;
using engine::Replies;
using engine::Reply;

namespace {

// A thread of the engine's own to run its strand.
class StrandThread {
 public:
  StrandThread() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  ~StrandThread() {
    work_.reset();
    thread_.join();
  }
  StrandThread(const StrandThread&) = delete;
  StrandThread& operator=(const StrandThread&) = delete;
  boost::asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

template <class T>
Result<T> unpack(Result<Reply> reply) {
  if (!reply) return Unexpected{reply.error()};
  return std::get<T>(std::move(*reply));
}

template <class Request>
std::vector<Body> bodies_of(std::vector<Request> requests) {
  std::vector<Body> bodies;
  bodies.reserve(requests.size());
  for (Request& request : requests) bodies.emplace_back(std::move(request));
  return bodies;
}

std::vector<Result<Answer>> unpack_all(Replies replies) {
  std::vector<Result<Answer>> out;
  out.reserve(replies.size());
  for (Result<Reply>& reply : replies) out.push_back(unpack<Answer>(std::move(reply)));
  return out;
}

Result<> validate(const Options& options) {
  const auto within = [](Duration value, std::int64_t min, std::int64_t max) {
    return value.count() >= min && value.count() <= max;
  };
  constexpr std::int64_t hour_ms = 3'600'000;
  if (!within(options.sync_interval, 1, hour_ms)) {
    return fail(Code::invalid, "sync interval is " + std::to_string(options.sync_interval.count()) +
                                   " ms, allowed are 1 to " + std::to_string(hour_ms));
  }
  if (!within(options.restart_grace, 0, hour_ms)) {
    return fail(Code::invalid, "restart grace is " + std::to_string(options.restart_grace.count()) +
                                   " ms, allowed are 0 to " + std::to_string(hour_ms));
  }
  if (options.group_commands_max == 0 || options.commands_waiting_max == 0) {
    return fail(Code::invalid, "a limit of 0 commands lets nothing happen");
  }
  if (options.command_bytes_waiting_max == 0) {
    return fail(Code::invalid, "command bytes waiting are 0, at least 1 is needed");
  }
  constexpr std::size_t memtable_bytes_min = 64 * 1024;
  constexpr std::size_t memtable_bytes_max = std::size_t{64} * 1024 * 1024 * 1024;
  if (options.memtable_bytes < memtable_bytes_min || options.memtable_bytes > memtable_bytes_max) {
    return fail(Code::invalid, "memtable bytes are " + std::to_string(options.memtable_bytes) +
                                   ", allowed are " + std::to_string(memtable_bytes_min) + " to " +
                                   std::to_string(memtable_bytes_max));
  }
  return {};
}

Options completed(Options options) {
  if (!options.clock) options.clock = system_clock();
  if (!options.random) {
    auto generator = std::make_shared<std::mt19937_64>(std::random_device{}());
    options.random = [generator] { return (*generator)(); };
  }
  return options;
}

engine::CoreOptions core_options(const Options& options) {
  engine::CoreOptions out;
  out.upkeep = options.timer;
  out.restart_grace = options.restart_grace;
  out.claims_waiting_max = options.claims_waiting_max;
  out.claim_reply_bytes_max = options.claim_reply_bytes_max;
  out.log = options.log;
  return out;
}

// Closing waits for the disk and for the strand, so it takes a thread: this one, which is there from the start, for
// when an engine is to be closed the system may have no more.
class Closer {
 public:
  Closer() : thread_([this] { run(); }) {}
  ~Closer() { finish(); }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wanted_.notify_one();
  }
  // Waits until all are done. Nothing may be posted after that.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      wanted_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;

  std::thread thread_;  // Last: it uses the others.
};

}  // namespace

// Members are destroyed from the last to the first: the writer goes before the thread and the context
// that its strand and its timer belong to.
struct Engine::Impl {
  Impl(Options the_options, std::unique_ptr<store::Store> opened_store,
       std::unique_ptr<engine::Core> opened_core, std::optional<boost::asio::any_io_executor> executor)
      : options(std::move(the_options)),
        clock(options.clock),
        store(std::move(opened_store)),
        core(std::move(opened_core)) {
    if (!executor) own_thread.emplace();
    writer.emplace(executor ? *executor : own_thread->executor(),
                   executor ? engine::Writer::SyncBy::thread : engine::Writer::SyncBy::strand_if_idle, *store,
                   *core, options);
  }
  ~Impl() {
    writer->close();
    closer.finish();
  }

  void close(std::function<void()> done) {
    closer.post([this, done = std::move(done)] {
      writer->close();
      done();
    });
  }

  template <class T, class Request>
  Result<T> call(Request request) {
    base::Mailbox<Replies> mailbox;
    std::vector<Body> bodies;
    bodies.emplace_back(std::move(request));
    writer->submit(std::move(bodies), [&mailbox](Replies replies) { mailbox.put(std::move(replies)); });
    return unpack<T>(std::move(mailbox.take().front()));
  }

  template <class Request>
  std::vector<Result<Answer>> call_many(std::vector<Request> requests) {
    if (requests.empty()) return {};
    base::Mailbox<Replies> mailbox;
    writer->submit(bodies_of(std::move(requests)),
                   [&mailbox](Replies replies) { mailbox.put(std::move(replies)); });
    return unpack_all(mailbox.take());
  }

  template <class Request>
  void post_many(std::vector<Request> requests, AnswersCallback done) {
    if (requests.empty()) return done({});
    writer->submit(bodies_of(std::move(requests)),
                   [done = std::move(done)](Replies replies) { done(unpack_all(std::move(replies))); });
  }

  template <class T, class Request>
  std::uint64_t post(Request request, Callback<T> done) {
    std::vector<Body> bodies;
    bodies.emplace_back(std::move(request));
    return writer->submit(std::move(bodies), [done = std::move(done)](Replies replies) {
      done(unpack<T>(std::move(replies.front())));
    });
  }

  // Rows of a reconcile: what is known already, and what goes on to the writer.
  struct Sorted {
    std::vector<Result<Answer>> answers;
    std::vector<std::size_t> open;  // Places among the answers: of rows that have something to change.
    std::vector<std::size_t> seen;  // Of those that have not. What was seen may not be on disk yet.
    std::vector<Body> bodies;       // Of the open ones; then a barrier for those that were seen.
  };

  Sorted sort(std::vector<ReconcileRequest> rows) const {
    Sorted out;
    out.answers.reserve(rows.size());
    if (rows.size() > options.commands_waiting_max) {
      out.answers.assign(
          rows.size(),
          duelease::fail(Code::invalid, std::to_string(rows.size()) + " rows in one call, the limit is " +
                                            std::to_string(options.commands_waiting_max)));
      return out;
    }
    const std::unique_ptr<store::Reader> view = store->snapshot();
    engine::Foresight foresight(*view, now().wall);
    for (ReconcileRequest& row : rows) {
      out.answers.push_back(foresight.answer(row));
      const Result<Answer>& seen = out.answers.back();
      const bool changes =
          seen && (seen->outcome == Outcome::scheduled || seen->outcome == Outcome::rescheduled);
      if (!seen || row.dry_run) continue;
      (changes ? out.open : out.seen).push_back(out.answers.size() - 1);
      if (changes) out.bodies.emplace_back(std::move(row));
    }
    if (!out.seen.empty()) out.bodies.emplace_back(engine::Barrier{});
    return out;
  }

  void reconcile(std::vector<ReconcileRequest> rows, AnswersCallback done) {
    Sorted sorted = sort(std::move(rows));
    if (sorted.bodies.empty()) return done(std::move(sorted.answers));
    std::vector<Body> bodies = std::move(sorted.bodies);
    writer->submit(std::move(bodies),
                   [sorted = std::move(sorted), done = std::move(done)](Replies replies) mutable {
                     for (std::size_t i = 0; i < sorted.open.size(); ++i)
                       sorted.answers[sorted.open[i]] = unpack<Answer>(std::move(replies[i]));
                     if (!sorted.seen.empty() && !replies.back()) {
                       const Unexpected failed{replies.back().error()};
                       for (const std::size_t place : sorted.seen) sorted.answers[place] = failed;
                     }
                     done(std::move(sorted.answers));
                   });
  }

  std::vector<Result<Answer>> reconcile(std::vector<ReconcileRequest> rows) {
    base::Mailbox<std::vector<Result<Answer>>> mailbox;
    reconcile(std::move(rows),
              [&mailbox](std::vector<Result<Answer>> answers) { mailbox.put(std::move(answers)); });
    return mailbox.take();
  }

  Now now() const {
    Now now = clock->now();
    now.wall = model::in_calendar(now.wall);
    return now;
  }

  // Leases run on the monotonic clock, which the store does not know.
  engine::LeaseEnd lease_end(Now now) const {
    return [this, now](std::string_view queue, std::string_view id, Token token) -> std::optional<Time> {
      const std::optional<Monotonic> deadline = core->lease_deadline(queue, id, token);
      if (!deadline) return std::nullopt;
      return model::in_calendar(now.wall + (*deadline - now.monotonic));
    };
  }

  const Options options;
  const std::shared_ptr<const Clock> clock;
  const std::unique_ptr<store::Store> store;
  const std::unique_ptr<engine::Core> core;
  std::optional<StrandThread> own_thread;
  Closer closer;
  std::optional<engine::Writer> writer;

  // Guarded by purge_mutex: where the next purge of a queue and state goes on.
  std::mutex purge_mutex;
  std::map<std::pair<std::string, State>, std::string> purge_cursors;
};

// ---- Opening and closing ------------------------------------------------------------------------

namespace engine {

Result<std::unique_ptr<Engine>> open_engine(std::unique_ptr<store::Store> store, Options options,
                                            std::optional<boost::asio::any_io_executor> executor) {
  if (Result<> valid = validate(options); !valid) return Unexpected{valid.error()};
  options = completed(std::move(options));
  Result<std::unique_ptr<Core>> core = Core::open(*store, core_options(options), options.clock->now());
  if (!core) return Unexpected{core.error()};
  try {
    return std::make_unique<Engine>(std::make_unique<Engine::Impl>(std::move(options), std::move(store),
                                                                   std::move(*core), std::move(executor)));
  } catch (
      const std::system_error& error) {  // The one thing in there that can: a thread that does not start.
    return fail(Code::overloaded, std::string("starting the engine's threads: ") + error.what());
  }
}

}  // namespace engine

namespace {

Result<std::unique_ptr<Engine>> open_path(const std::filesystem::path& path, Options options,
                                          std::optional<boost::asio::any_io_executor> executor) {
  if (Result<> valid = validate(options); !valid) return Unexpected{valid.error()};
  store::RocksOptions rocks;
  rocks.create_if_missing = options.create_if_missing;
  rocks.memtable_bytes = options.memtable_bytes;
  rocks.block_cache_bytes = options.block_cache_bytes;
  rocks.log = options.log;
  Result<std::unique_ptr<store::Store>> store = store::open_rocks_store(path, rocks);
  if (!store) return Unexpected{store.error()};
  return engine::open_engine(std::move(*store), std::move(options), std::move(executor));
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const std::filesystem::path& path, Options options) {
  return open_path(path, std::move(options), std::nullopt);
}

Result<std::unique_ptr<Engine>> open_on(boost::asio::any_io_executor executor,
                                        const std::filesystem::path& path, Options options) {
  return open_path(path, std::move(options), std::move(executor));
}

Result<> restore(const std::filesystem::path& backup, const std::filesystem::path& target,
                 Token tokens_above) {
  return store::restore_rocks_store(backup, target, static_cast<std::uint64_t>(tokens_above));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
const Options& Engine::options() const { return impl_->options; }
void Engine::close() { impl_->writer->close(); }
void Engine::close(std::function<void()> done) { impl_->close(std::move(done)); }

// ---- Runs --------------------------------------------------------------------------------------

Result<RunState> Engine::run_open(RunOpenRequest request) {
  return impl_->call<RunState>(std::move(request));
}
void Engine::run_open(RunOpenRequest request, Callback<RunState> done) {
  impl_->post<RunState>(std::move(request), std::move(done));
}

Result<RunState> Engine::run_start(RunStartRequest request) {
  return impl_->call<RunState>(std::move(request));
}
void Engine::run_start(RunStartRequest request, Callback<RunState> done) {
  impl_->post<RunState>(std::move(request), std::move(done));
}

Result<RunState> Engine::run_beat(RunBeatRequest request) {
  return impl_->call<RunState>(std::move(request));
}
void Engine::run_beat(RunBeatRequest request, Callback<RunState> done) {
  impl_->post<RunState>(std::move(request), std::move(done));
}

Result<RunState> Engine::run_done(RunDoneRequest request) {
  return impl_->call<RunState>(std::move(request));
}
void Engine::run_done(RunDoneRequest request, Callback<RunState> done) {
  impl_->post<RunState>(std::move(request), std::move(done));
}

Result<RunState> Engine::run_error(RunErrorRequest request) {
  return impl_->call<RunState>(std::move(request));
}
void Engine::run_error(RunErrorRequest request, Callback<RunState> done) {
  impl_->post<RunState>(std::move(request), std::move(done));
}

// ---- Changes ------------------------------------------------------------------------------------

Result<Answer> Engine::schedule(ScheduleRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::schedule(ScheduleRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}
template <std::same_as<ScheduleRequest> R>
std::vector<Result<Answer>> Engine::schedule(std::vector<R> requests) {
  return impl_->call_many(std::move(requests));
}
template <std::same_as<ScheduleRequest> R>
void Engine::schedule(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), std::move(done));
}
template std::vector<Result<Answer>> Engine::schedule(std::vector<ScheduleRequest>);
template void Engine::schedule(std::vector<ScheduleRequest>, AnswersCallback);

Result<Answer> Engine::reschedule(RescheduleRequest request) {
  return impl_->call<Answer>(std::move(request));
}
void Engine::reschedule(RescheduleRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}

Result<Answer> Engine::cancel(CancelRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::cancel(CancelRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}

template <std::same_as<CancelRequest> R>
std::vector<Result<Answer>> Engine::cancel(std::vector<R> requests) {
  return impl_->call_many(std::move(requests));
}
template <std::same_as<CancelRequest> R>
void Engine::cancel(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), std::move(done));
}
template std::vector<Result<Answer>> Engine::cancel(std::vector<CancelRequest>);
template void Engine::cancel(std::vector<CancelRequest>, AnswersCallback);

Result<Answer> Engine::retry(RetryRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::retry(RetryRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}

Result<Answer> Engine::import_orders(ImportRequest request) {
  return impl_->call<Answer>(std::move(request));
}
void Engine::import_orders(ImportRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}
template <std::same_as<ImportRequest> R>
std::vector<Result<Answer>> Engine::import_orders(std::vector<R> requests) {
  return impl_->call_many(std::move(requests));
}
template <std::same_as<ImportRequest> R>
void Engine::import_orders(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), std::move(done));
}
template std::vector<Result<Answer>> Engine::import_orders(std::vector<ImportRequest>);
template void Engine::import_orders(std::vector<ImportRequest>, AnswersCallback);

Result<Answer> Engine::reconcile(ReconcileRequest request) {
  std::vector<ReconcileRequest> one;
  one.push_back(std::move(request));
  return std::move(impl_->reconcile(std::move(one)).front());
}
void Engine::reconcile(ReconcileRequest request, Callback<Answer> done) {
  std::vector<ReconcileRequest> one;
  one.push_back(std::move(request));
  impl_->reconcile(std::move(one), [done = std::move(done)](std::vector<Result<Answer>> answers) {
    done(std::move(answers.front()));
  });
}
template <std::same_as<ReconcileRequest> R>
std::vector<Result<Answer>> Engine::reconcile(std::vector<R> requests) {
  return impl_->reconcile(std::move(requests));
}
template <std::same_as<ReconcileRequest> R>
void Engine::reconcile(std::vector<R> requests, AnswersCallback done) {
  impl_->reconcile(std::move(requests), std::move(done));
}
template std::vector<Result<Answer>> Engine::reconcile(std::vector<ReconcileRequest>);
template void Engine::reconcile(std::vector<ReconcileRequest>, AnswersCallback);

Result<std::vector<Claimed>> Engine::claim(ClaimRequest request) {
  return impl_->call<std::vector<Claimed>>(std::move(request));
}
ClaimTicket Engine::claim(ClaimRequest request, Callback<std::vector<Claimed>> done) {
  return ClaimTicket{impl_->post<std::vector<Claimed>>(std::move(request), std::move(done))};
}
void Engine::cancel_claim(ClaimTicket ticket) {
  impl_->writer->cancel_claim(static_cast<std::uint64_t>(ticket));
}

Result<std::vector<Claimed>> Engine::pop(PopRequest request) {
  return impl_->call<std::vector<Claimed>>(std::move(request));
}
void Engine::pop(PopRequest request, Callback<std::vector<Claimed>> done) {
  impl_->post<std::vector<Claimed>>(std::move(request), std::move(done));
}

Result<Answer> Engine::complete(CompleteRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::complete(CompleteRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}
template <std::same_as<CompleteRequest> R>
std::vector<Result<Answer>> Engine::complete(std::vector<R> requests) {
  return impl_->call_many(std::move(requests));
}
template <std::same_as<CompleteRequest> R>
void Engine::complete(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), std::move(done));
}
template std::vector<Result<Answer>> Engine::complete(std::vector<CompleteRequest>);
template void Engine::complete(std::vector<CompleteRequest>, AnswersCallback);

Result<Answer> Engine::fail(FailRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::fail(FailRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}

Result<Answer> Engine::release(ReleaseRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::release(ReleaseRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}

Result<Answer> Engine::extend(ExtendRequest request) { return impl_->call<Answer>(std::move(request)); }
void Engine::extend(ExtendRequest request, Callback<Answer> done) {
  impl_->post<Answer>(std::move(request), std::move(done));
}

Result<std::uint64_t> Engine::reap(ReapRequest request) {
  return impl_->call<std::uint64_t>(std::move(request));
}
void Engine::reap(ReapRequest request, Callback<std::uint64_t> done) {
  impl_->post<std::uint64_t>(std::move(request), std::move(done));
}

Result<QueueSettings> Engine::set_queue(QueueSetRequest request) {
  return impl_->call<QueueSettings>(std::move(request));
}
void Engine::set_queue(QueueSetRequest request, Callback<QueueSettings> done) {
  impl_->post<QueueSettings>(std::move(request), std::move(done));
}
Result<QueueSettings> Engine::pause(std::string queue) {
  QueueSetRequest request;
  request.queue = std::move(queue);
  request.create = false;
  request.paused = true;
  return set_queue(std::move(request));
}
Result<QueueSettings> Engine::resume(std::string queue) {
  QueueSetRequest request;
  request.queue = std::move(queue);
  request.create = false;
  request.paused = false;
  return set_queue(std::move(request));
}

// The search is a read, and done here; the writer gets the ids in batches and looks at each again. The
// cursor makes a purge of a million orders a walk over a million rows, and not one from the start for
// every batch.
// NOLINTNEXTLINE(performance-unnecessary-value-param): by value, as all requests are.
Result<std::uint64_t> Engine::purge(PurgeRequest request) {
  if (Result<> valid = model::validate(request); !valid) return Unexpected{valid.error()};
  const std::lock_guard lock(impl_->purge_mutex);
  const Time ended_by = impl_->now().wall - request.older;
  const std::unique_ptr<store::Reader> view = impl_->store->snapshot();
  if (Result<> exists = engine::find_queue(*view, request.queue); !exists) return Unexpected{exists.error()};
  std::string& cursor = impl_->purge_cursors[{request.queue, request.state}];
  std::uint64_t purged = 0;
  const std::string began = cursor;
  bool second_lap = began.empty();
  while (purged < request.limit) {
    const std::size_t batch = std::min<std::size_t>(request.limit - purged, limits::purge_pass_max);
    Result<engine::Ended> ended =
        engine::find_ended(*view, request.queue, request.state, ended_by, batch, cursor);
    if (!ended) return Unexpected{ended.error()};
    if (!ended->ids.empty()) {
      const Result<std::uint64_t> done = impl_->call<std::uint64_t>(
          engine::PurgeBatch{request.queue, request.state, request.older, std::move(ended->ids)});
      if (!done) return done;
      purged += *done;
    }
    cursor = std::move(ended->next);
    if (second_lap && (cursor.empty() || (!began.empty() && cursor >= began))) break;  // All was walked.
    second_lap = second_lap || cursor.empty();
  }
  if (cursor.empty()) impl_->purge_cursors.erase({request.queue, request.state});
  return purged;
}

// ---- Reads --------------------------------------------------------------------------------------

Result<std::optional<Order>> Engine::order(std::string_view queue, std::string_view id) const {
  if (Result<> valid = model::validate_queue_name(queue); !valid) return Unexpected{valid.error()};
  if (Result<> valid = model::validate_id(id); !valid) return Unexpected{valid.error()};
  return engine::read_order(*impl_->store->snapshot(), queue, id, impl_->lease_end(impl_->now()));
}

Result<Page> Engine::list(const ListRequest& request) const {
  return engine::read_list(*impl_->store->snapshot(), request);
}

Result<std::string> Engine::why(std::string_view queue, std::string_view id) const {
  if (Result<> valid = model::validate_queue_name(queue); !valid) return Unexpected{valid.error()};
  if (Result<> valid = model::validate_id(id); !valid) return Unexpected{valid.error()};
  const Now now = impl_->now();
  return engine::read_why(*impl_->store->snapshot(), queue, id, now.wall, impl_->lease_end(now));
}

Result<std::vector<HistoryEntry>> Engine::history(std::string_view queue, std::string_view id,
                                                  std::uint32_t limit) const {
  return engine::read_history(*impl_->store->snapshot(), queue, id, limit, impl_->now().wall);
}

Result<Run> Engine::run(std::string_view queue, std::string_view run) const {
  return engine::read_run(*impl_->store->snapshot(), queue, run);
}

Result<std::vector<std::string>> Engine::runs(std::string_view queue) const {
  return engine::read_runs(*impl_->store->snapshot(), queue);
}

Result<std::vector<std::string>> Engine::queues() const {
  return engine::read_queues(*impl_->store->snapshot());
}

Result<Stats> Engine::stats(std::string_view queue) const {
  return engine::read_stats(*impl_->store->snapshot(), queue, impl_->now().wall);
}

Result<QueueSettings> Engine::queue_settings(std::string_view queue) const {
  return engine::read_settings(*impl_->store->snapshot(), queue);
}

Result<CheckReport> Engine::check(std::string_view queue, std::stop_token stop) const {
  return engine::check_store(*impl_->store->snapshot(), queue, {.stop = std::move(stop), .on_breach = {}});
}

std::vector<Violation> Engine::mended() const {
  std::vector<Violation> out;
  for (const auto& [what, count] : impl_->writer->damage()) out.push_back(Violation{what, count, {}});
  return out;
}

Result<std::uint64_t> Engine::last_sequence() const {
  return engine::read_sequence(*impl_->store->snapshot());
}

Result<ReadMark> Engine::read_mark() const {
  const Time now = impl_->now().wall;
  const Result<std::uint64_t> last = last_sequence();
  if (!last) return Unexpected{last.error()};
  return ReadMark{*last, now};
}

Result<std::optional<std::string>> Engine::app_get(std::string_view key) const {
  return impl_->store->get(store::Family::app, key);
}

Result<std::vector<AppEntry>> Engine::app_list(std::string_view from, std::string_view to,
                                               std::size_t limit) const {
  const std::unique_ptr<store::Reader> view = impl_->store->snapshot();
  const std::unique_ptr<store::Cursor> cursor = view->scan(store::Family::app, from, to);
  std::vector<AppEntry> out;
  for (; cursor->valid() && out.size() < limit; cursor->next()) {
    out.push_back(AppEntry{std::string(cursor->key()), std::string(cursor->value())});
  }
  if (Result<> read = cursor->status(); !read) return Unexpected{read.error()};
  return out;
}

Result<> Engine::backup(const std::filesystem::path& folder) const { return impl_->store->backup(folder); }

}  // namespace duelease
