// The public calls: a request is printed on the caller's thread, sent by the hub, and its reply read on the
// client's thread.
#include "duelease/client.h"

#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/mailbox.h"
#include "client/claims.h"
#include "client/hub.h"
#include "client/validate.h"
#include "protocol/answer.h"
#include "protocol/request.h"

namespace duelease {

using client::Call;
using client::Hub;
using client::Steady;
using protocol::Asked;
using protocol::Request;
using protocol::Value;

namespace {

enum class Lane : std::uint8_t { requests, side };  // side: may take long, see ClientOptions::scan_timeout.

// How one kind of request is sent and its reply is read.
template <class T>
struct Kind {
  Result<T> (*read)(const Value&);
  bool repeatable = false;
  Lane lane = Lane::requests;
};

template <Asked asked>
Result<Answer> read_outcome(const Value& value) {
  return protocol::read_answer(value, asked);
}
Result<> read_done(const Value& value) {
  const Result<std::string> text = protocol::read_text(value);
  if (!text) return Unexpected{text.error()};
  return {};
}

constexpr bool repeatable = true;
constexpr Kind<Answer> change{read_outcome<Asked::other>};
constexpr Kind<Answer> report{read_outcome<Asked::other>, repeatable};
constexpr Kind<Answer> rescheduling{read_outcome<Asked::reschedule>};
constexpr Kind<Answer> cancelling{read_outcome<Asked::cancel>};
constexpr Kind<Answer> retrying{read_outcome<Asked::retry>};
constexpr Kind<Answer> importing{read_outcome<Asked::import_order>};
constexpr Kind<Answer> reconciling{read_outcome<Asked::reconcile>, repeatable};
constexpr Kind<ReadMark> marking{protocol::read_mark, repeatable};
constexpr Kind<std::vector<Claimed>> popping{protocol::read_claimed};
constexpr Kind<RunState> changing_run{protocol::read_run_state, repeatable};
constexpr Kind<std::uint64_t> reaping{protocol::read_count};
constexpr Kind<std::uint64_t> purging{protocol::read_count, !repeatable, Lane::side};
constexpr Kind<void> setting{read_done};
constexpr Kind<std::optional<Order>> reading_order{protocol::read_order, repeatable};
constexpr Kind<Page> listing{protocol::read_page, repeatable};
constexpr Kind<std::string> reading_why{protocol::read_text, repeatable};
constexpr Kind<std::vector<HistoryEntry>> reading_history{protocol::read_history, repeatable};
constexpr Kind<std::vector<std::string>> reading_names{protocol::read_names, repeatable};
constexpr Kind<Stats> reading_stats{protocol::read_stats, repeatable};
constexpr Kind<QueueSettings> reading_settings{protocol::read_settings, repeatable};
constexpr Kind<Run> reading_run{protocol::read_run, repeatable};
constexpr Kind<CheckReport> checking{protocol::read_check, repeatable, Lane::side};
constexpr Kind<void> pinging{read_done, repeatable};

// Blocks until the callback that `start` is given was called.
template <class T, class Start>
Result<T> wait_for(const Start& start) {
  base::Mailbox<Result<T>> mailbox;
  start([&mailbox](Result<T> answer) { mailbox.put(std::move(answer)); });
  return mailbox.take();
}

template <class R>
Result<> has_no_app_writes(const R& request) {
  if constexpr (requires { request.app_writes; }) {
    if (!request.app_writes.empty()) {
      return fail(Code::invalid, std::to_string(request.app_writes.size()) +
                                     " application writes: they have no place on the wire");
    }
  }
  return {};
}

}  // namespace

struct Client::Impl {
  explicit Impl(client::Site site) : hub(std::move(site)), claims(hub) {}
  ~Impl() { hub.close(); }  // Answers the claims that wait, so before those go.

  // The call that answers by `done`; refused ones have answered already, and need no end.
  template <class T, class R>
  std::optional<Call> make_call(R request, const Kind<T>& kind, Callback<T> done) {
    Result<> may = has_no_app_writes(request);
    Result<std::string> bytes = may ? hub.print(Request(std::move(request))) : Unexpected{may.error()};
    if (bytes) may = hub.begin();
    if (!bytes || !may) {
      done(Unexpected{bytes ? may.error() : bytes.error()});
      return std::nullopt;
    }
    const ClientOptions& options = hub.options();
    Call call;
    call.bytes = std::move(*bytes);
    call.repeatable = kind.repeatable;
    call.deadline =
        Steady::now() + (kind.lane == Lane::side ? options.scan_timeout : options.request_timeout);
    call.done = [this, read = kind.read, done = std::move(done)](Result<Value> reply) {
      hub.ended();
      if (!reply) return done(Unexpected{reply.error()});
      done(read(*reply));
    };
    return call;
  }

  template <class T, class R>
  void post(R request, const Kind<T>& kind, Callback<T> done) {
    std::optional<Call> call = make_call(std::move(request), kind, std::move(done));
    if (!call) return;
    hub.post([this, lane = kind.lane, made = std::move(*call)](bool open) mutable {
      if (!open) return made.done(Unexpected{Hub::closing()});
      if (lane == Lane::requests) return hub.requests().submit(std::move(made));
      hub.submit_aside(std::move(made));
    });
  }

  template <class T, class R>
  Result<T> call(R request, const Kind<T>& kind) {
    return wait_for<T>([&](Callback<T> done) { post(std::move(request), kind, std::move(done)); });
  }

  // One place for each request. Refused ones are answered on the caller's thread, before the others are posted.
  struct Many {
    Many(std::size_t size, AnswersCallback callback)
        : answers(size, Result<Answer>(Answer{})), left(size), done(std::move(callback)) {}
    std::vector<Result<Answer>> answers;
    std::size_t left;
    const AnswersCallback done;
    void put(std::size_t i, Result<Answer> answer) {
      answers[i] = std::move(answer);
      if (--left == 0) done(std::move(answers));
    }
  };

  template <class R>
  void post_many(std::vector<R> requests, const Kind<Answer>& kind, AnswersCallback done) {
    if (requests.empty()) return done({});
    const std::size_t max = hub.options().requests_in_flight_max;
    if (requests.size() > max) {
      const Unexpected refusal =
          duelease::fail(Code::invalid, std::to_string(requests.size()) + " requests in one call, at most " +
                                            std::to_string(max) + " are allowed");
      return done(std::vector<Result<Answer>>(requests.size(), refusal));
    }
    const auto many = std::make_shared<Many>(requests.size(), std::move(done));
    std::vector<Call> calls;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::optional<Call> call =
          make_call<Answer>(std::move(requests[i]), kind,
                            [many, i](Result<Answer> answer) { many->put(i, std::move(answer)); });
      if (call) calls.push_back(std::move(*call));
    }
    if (calls.empty()) return;
    hub.post([this, made = std::move(calls)](bool open) mutable {
      for (Call& call : made) {
        if (open) {
          hub.requests().submit(std::move(call));
        } else {
          call.done(Unexpected{Hub::closing()});
        }
      }
    });
  }

  template <class R>
  std::vector<Result<Answer>> call_many(std::vector<R> requests, const Kind<Answer>& kind) {
    base::Mailbox<std::vector<Result<Answer>>> mailbox;
    post_many(std::move(requests), kind,
              [&mailbox](std::vector<Result<Answer>> answers) { mailbox.put(std::move(answers)); });
    return mailbox.take();
  }

  // The change answers OK alone: the settings are asked for then.
  template <class R>
  void set_and_show(R request, Callback<QueueSettings> done) {
    const std::string queue = request.queue;
    post<void>(std::move(request), setting, [this, queue, done = std::move(done)](const Result<>& set) {
      if (!set) return done(Unexpected{set.error()});
      post(protocol::QueueShowRequest{queue}, reading_settings, done);
    });
  }

  Hub hub;
  client::Claims claims;
};

// ---- Connecting and closing ---------------------------------------------------------------------

Result<std::unique_ptr<Client>> Client::connect(ClientOptions options) {
  if (Result<> valid = client::validate(options); !valid) return Unexpected{valid.error()};
  if (!options.random) {
    auto generator = std::make_shared<std::mt19937_64>(std::random_device{}());
    options.random = [generator] { return (*generator)(); };
  }
  client::TlsContext tls;
  if (options.tls.enabled) {
    Result<client::TlsContext> opened = client::open_tls(options.tls);
    if (!opened) return Unexpected{opened.error()};
    tls = std::move(*opened);
  }
  const bool wait = options.connect_at_start;
  std::unique_ptr<Impl> impl;
  try {
    impl = std::make_unique<Impl>(client::Site{std::move(options), std::move(tls)});
  } catch (const std::system_error& error) {
    return duelease::fail(Code::overloaded, std::string("starting the client's thread: ") + error.what());
  }
  if (wait) {
    const Result<> connected = wait_for<void>([&impl](const Callback<void>& done) {
      impl->hub.post([&impl, done](bool) { impl->hub.requests().connect(done); });
    });
    if (!connected) return Unexpected{connected.error()};
  }
  return std::make_unique<Client>(std::move(impl));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
void Client::close() { impl_->hub.close(); }
const ClientOptions& Client::options() const { return impl_->hub.options(); }

// ---- Changes ------------------------------------------------------------------------------------

Result<Answer> Client::schedule(ScheduleRequest request) { return impl_->call(std::move(request), change); }
void Client::schedule(ScheduleRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), change, std::move(done));
}
template <std::same_as<ScheduleRequest> R>
std::vector<Result<Answer>> Client::schedule(std::vector<R> requests) {
  return impl_->call_many(std::move(requests), change);
}
template <std::same_as<ScheduleRequest> R>
void Client::schedule(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), change, std::move(done));
}
template std::vector<Result<Answer>> Client::schedule(std::vector<ScheduleRequest>);
template void Client::schedule(std::vector<ScheduleRequest>, AnswersCallback);

Result<Answer> Client::reschedule(RescheduleRequest request) {
  return impl_->call(std::move(request), rescheduling);
}
void Client::reschedule(RescheduleRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), rescheduling, std::move(done));
}

Result<Answer> Client::cancel(CancelRequest request) { return impl_->call(std::move(request), cancelling); }
void Client::cancel(CancelRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), cancelling, std::move(done));
}

template <std::same_as<CancelRequest> R>
std::vector<Result<Answer>> Client::cancel(std::vector<R> requests) {
  return impl_->call_many(std::move(requests), cancelling);
}
template <std::same_as<CancelRequest> R>
void Client::cancel(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), cancelling, std::move(done));
}
template std::vector<Result<Answer>> Client::cancel(std::vector<CancelRequest>);
template void Client::cancel(std::vector<CancelRequest>, AnswersCallback);

Result<Answer> Client::import_orders(ImportRequest request) {
  return impl_->call(std::move(request), importing);
}
void Client::import_orders(ImportRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), importing, std::move(done));
}
template <std::same_as<ImportRequest> R>
std::vector<Result<Answer>> Client::import_orders(std::vector<R> requests) {
  return impl_->call_many(std::move(requests), importing);
}
template <std::same_as<ImportRequest> R>
void Client::import_orders(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), importing, std::move(done));
}
template std::vector<Result<Answer>> Client::import_orders(std::vector<ImportRequest>);
template void Client::import_orders(std::vector<ImportRequest>, AnswersCallback);

Result<Answer> Client::reconcile(ReconcileRequest request) {
  return impl_->call(std::move(request), reconciling);
}
void Client::reconcile(ReconcileRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), reconciling, std::move(done));
}
template <std::same_as<ReconcileRequest> R>
std::vector<Result<Answer>> Client::reconcile(std::vector<R> requests) {
  return impl_->call_many(std::move(requests), reconciling);
}
template <std::same_as<ReconcileRequest> R>
void Client::reconcile(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), reconciling, std::move(done));
}
template std::vector<Result<Answer>> Client::reconcile(std::vector<ReconcileRequest>);
template void Client::reconcile(std::vector<ReconcileRequest>, AnswersCallback);

Result<Answer> Client::retry(RetryRequest request) { return impl_->call(std::move(request), retrying); }
void Client::retry(RetryRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), retrying, std::move(done));
}

Result<std::vector<Claimed>> Client::claim(ClaimRequest request) {
  return wait_for<std::vector<Claimed>>(
      [&](Callback<std::vector<Claimed>> done) { impl_->claims.claim(std::move(request), std::move(done)); });
}
ClaimTicket Client::claim(ClaimRequest request, Callback<std::vector<Claimed>> done) {
  return impl_->claims.claim(std::move(request), std::move(done));
}
void Client::cancel_claim(ClaimTicket ticket) { impl_->claims.cancel(ticket); }

Result<std::vector<Claimed>> Client::pop(PopRequest request) {
  return impl_->call(std::move(request), popping);
}
void Client::pop(PopRequest request, Callback<std::vector<Claimed>> done) {
  impl_->post(std::move(request), popping, std::move(done));
}

Result<Answer> Client::complete(CompleteRequest request) { return impl_->call(std::move(request), report); }
void Client::complete(CompleteRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), report, std::move(done));
}
template <std::same_as<CompleteRequest> R>
std::vector<Result<Answer>> Client::complete(std::vector<R> requests) {
  return impl_->call_many(std::move(requests), report);
}
template <std::same_as<CompleteRequest> R>
void Client::complete(std::vector<R> requests, AnswersCallback done) {
  impl_->post_many(std::move(requests), report, std::move(done));
}
template std::vector<Result<Answer>> Client::complete(std::vector<CompleteRequest>);
template void Client::complete(std::vector<CompleteRequest>, AnswersCallback);

Result<Answer> Client::fail(FailRequest request) { return impl_->call(std::move(request), report); }
void Client::fail(FailRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), report, std::move(done));
}

Result<Answer> Client::release(ReleaseRequest request) { return impl_->call(std::move(request), report); }
void Client::release(ReleaseRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), report, std::move(done));
}

Result<Answer> Client::extend(ExtendRequest request) { return impl_->call(std::move(request), report); }
void Client::extend(ExtendRequest request, Callback<Answer> done) {
  impl_->post(std::move(request), report, std::move(done));
}

Result<RunState> Client::run_open(RunOpenRequest request) {
  return impl_->call(std::move(request), changing_run);
}
void Client::run_open(RunOpenRequest request, Callback<RunState> done) {
  impl_->post(std::move(request), changing_run, std::move(done));
}

Result<RunState> Client::run_start(RunStartRequest request) {
  return impl_->call(std::move(request), changing_run);
}
void Client::run_start(RunStartRequest request, Callback<RunState> done) {
  impl_->post(std::move(request), changing_run, std::move(done));
}

Result<RunState> Client::run_beat(RunBeatRequest request) {
  return impl_->call(std::move(request), changing_run);
}
void Client::run_beat(RunBeatRequest request, Callback<RunState> done) {
  impl_->post(std::move(request), changing_run, std::move(done));
}

Result<RunState> Client::run_done(RunDoneRequest request) {
  return impl_->call(std::move(request), changing_run);
}
void Client::run_done(RunDoneRequest request, Callback<RunState> done) {
  impl_->post(std::move(request), changing_run, std::move(done));
}

Result<RunState> Client::run_error(RunErrorRequest request) {
  return impl_->call(std::move(request), changing_run);
}
void Client::run_error(RunErrorRequest request, Callback<RunState> done) {
  impl_->post(std::move(request), changing_run, std::move(done));
}

Result<std::uint64_t> Client::reap(ReapRequest request) { return impl_->call(std::move(request), reaping); }
void Client::reap(ReapRequest request, Callback<std::uint64_t> done) {
  impl_->post(std::move(request), reaping, std::move(done));
}

Result<std::uint64_t> Client::purge(PurgeRequest request) { return impl_->call(std::move(request), purging); }
void Client::purge(PurgeRequest request, Callback<std::uint64_t> done) {
  impl_->post(std::move(request), purging, std::move(done));
}

Result<QueueSettings> Client::set_queue(QueueSetRequest request) {
  return wait_for<QueueSettings>(
      [&](Callback<QueueSettings> done) { set_queue(std::move(request), std::move(done)); });
}
// The wire has no word for `create`. A queue that exists never goes, so it may be asked for first.
void Client::set_queue(QueueSetRequest request, Callback<QueueSettings> done) {
  if (request.create) return impl_->set_and_show(std::move(request), std::move(done));
  queue_settings(request.queue, [impl = impl_.get(), request, done](const Result<QueueSettings>& found) {
    if (!found) return done(Unexpected{found.error()});
    impl->set_and_show(request, done);
  });
}
Result<QueueSettings> Client::pause(std::string queue) {
  return wait_for<QueueSettings>(
      [&](Callback<QueueSettings> done) { pause(std::move(queue), std::move(done)); });
}
void Client::pause(std::string queue, Callback<QueueSettings> done) {
  impl_->set_and_show(protocol::PauseRequest{std::move(queue)}, std::move(done));
}
Result<QueueSettings> Client::resume(std::string queue) {
  return wait_for<QueueSettings>(
      [&](Callback<QueueSettings> done) { resume(std::move(queue), std::move(done)); });
}
void Client::resume(std::string queue, Callback<QueueSettings> done) {
  impl_->set_and_show(protocol::ResumeRequest{std::move(queue)}, std::move(done));
}

// ---- Reads --------------------------------------------------------------------------------------

Result<std::optional<Order>> Client::order(std::string_view queue, std::string_view id) {
  return wait_for<std::optional<Order>>(
      [&](Callback<std::optional<Order>> done) { order(queue, id, std::move(done)); });
}
// The wire does not repeat the queue's name.
void Client::order(std::string_view queue, std::string_view id, Callback<std::optional<Order>> done) {
  protocol::OrderRequest request{std::string(queue), std::string(id)};
  impl_->post<std::optional<Order>>(
      std::move(request), reading_order,
      [queue = std::string(queue), done = std::move(done)](Result<std::optional<Order>> order) {
        if (order && *order) (*order)->queue = queue;
        done(std::move(order));
      });
}

Result<Page> Client::list(ListRequest request) { return impl_->call(std::move(request), listing); }
void Client::list(ListRequest request, Callback<Page> done) {
  impl_->post(std::move(request), listing, std::move(done));
}

Result<std::string> Client::why(std::string_view queue, std::string_view id) {
  return impl_->call(protocol::WhyRequest{std::string(queue), std::string(id)}, reading_why);
}
void Client::why(std::string_view queue, std::string_view id, Callback<std::string> done) {
  impl_->post(protocol::WhyRequest{std::string(queue), std::string(id)}, reading_why, std::move(done));
}

Result<std::vector<HistoryEntry>> Client::history(std::string_view queue, std::string_view id,
                                                  std::uint32_t limit) {
  return impl_->call(protocol::HistoryRequest{std::string(queue), std::string(id), limit}, reading_history);
}
void Client::history(std::string_view queue, std::string_view id, std::uint32_t limit,
                     Callback<std::vector<HistoryEntry>> done) {
  impl_->post(protocol::HistoryRequest{std::string(queue), std::string(id), limit}, reading_history,
              std::move(done));
}

Result<std::vector<std::string>> Client::queues() {
  return impl_->call(protocol::QueuesRequest{}, reading_names);
}
void Client::queues(Callback<std::vector<std::string>> done) {
  impl_->post(protocol::QueuesRequest{}, reading_names, std::move(done));
}

Result<Stats> Client::stats(std::string_view queue) {
  return impl_->call(protocol::StatsRequest{std::string(queue)}, reading_stats);
}
void Client::stats(std::string_view queue, Callback<Stats> done) {
  impl_->post(protocol::StatsRequest{std::string(queue)}, reading_stats, std::move(done));
}

Result<QueueSettings> Client::queue_settings(std::string_view queue) {
  return impl_->call(protocol::QueueShowRequest{std::string(queue)}, reading_settings);
}
void Client::queue_settings(std::string_view queue, Callback<QueueSettings> done) {
  impl_->post(protocol::QueueShowRequest{std::string(queue)}, reading_settings, std::move(done));
}

Result<Run> Client::run(std::string_view queue, std::string_view run) {
  return wait_for<Run>([&](Callback<Run> done) { this->run(queue, run, std::move(done)); });
}
// As with an order.
void Client::run(std::string_view queue, std::string_view run, Callback<Run> done) {
  protocol::RunShowRequest request{std::string(queue), std::string(run)};
  impl_->post<Run>(std::move(request), reading_run,
                   [queue = std::string(queue), done = std::move(done)](Result<Run> shown) {
                     if (shown) shown->queue = queue;
                     done(std::move(shown));
                   });
}

Result<std::vector<std::string>> Client::runs(std::string_view queue) {
  return impl_->call(protocol::RunListRequest{std::string(queue)}, reading_names);
}
void Client::runs(std::string_view queue, Callback<std::vector<std::string>> done) {
  impl_->post(protocol::RunListRequest{std::string(queue)}, reading_names, std::move(done));
}

Result<CheckReport> Client::check(std::string_view queue) {
  return impl_->call(protocol::CheckRequest{std::string(queue)}, checking);
}
void Client::check(std::string_view queue, Callback<CheckReport> done) {
  impl_->post(protocol::CheckRequest{std::string(queue)}, checking, std::move(done));
}

Result<ReadMark> Client::read_mark() { return impl_->call(protocol::MarkRequest{}, marking); }
void Client::read_mark(Callback<ReadMark> done) {
  impl_->post(protocol::MarkRequest{}, marking, std::move(done));
}

Result<> Client::ping() { return impl_->call(protocol::PingRequest{}, pinging); }
void Client::ping(Callback<void> done) { impl_->post(protocol::PingRequest{}, pinging, std::move(done)); }

}  // namespace duelease
