// duelease/asio.h: the engine in a program that runs on Boost.Asio. Needs Boost 1.74 or newer, headers only.
//
//     boost::asio::awaitable<void> settle(duelease::Engine& engine) {
//       using boost::asio::use_awaitable;
//       duelease::ClaimRequest ask{.queues = {"settle"}, .worker = "w1", .wait = 10s};
//       auto claimed = co_await duelease::async_claim(engine, std::move(ask), use_awaitable);
//       if (!claimed) co_return complain(claimed.error());
//       for (const duelease::Claimed& order : *claimed) {
//         duelease::CompleteRequest report{.queue = order.queue, .id = order.id, .token = order.token};
//         auto done = co_await duelease::async_complete(engine, std::move(report), use_awaitable);
//         ...
//
// Each async_x(service, request, token) does what x of the service does, which is an Engine or a Client, and completes with signature
// void(duelease::Result<T>), where T is what x answers. Errors are in the Result; none of them is an
// exception. The token may be anything that Asio knows: a callback (copyable or not), use_future,
// use_awaitable, ... The handler is posted to its associated executor, which is kept from running out of work
// until then; it is never called from inside async_x. A callback that has no executor of its own
// (boost::asio::bind_executor) runs on Asio's system_executor.
//
// Requests are taken by value, and the service must outlive the operation. What is not here works on the calling
// thread (a Client has callbacks for all of it): of an Engine reads and backup need no executor; purge, pause and resume block until the engine's strand has done
// their changes. (async_set_queue pauses without blocking: set `paused`, and `create` to false.)
//
// For coroutines on GCC 12: never write a braced request inside an expression with co_await; name it on the
// line above and move it in, as shown. That compiler destroys such a temporary twice.
#pragma once

#include <utility>
// Boost 1.74 uses std::exchange without including it. (The blank line keeps the formatter from sorting.)

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <vector>

#include "duelease/engine.h"

namespace duelease {

// An engine without a thread for its changes: they run on a strand of `executor`, which must go on running
// until the engine is closed. A thread of it writes a small group to the log itself, which blocks it as long as a write
// to a file does, and for a sync when a log file begins (once for some ten megabytes). Large groups have a thread of
// the engine's own to write them, for which the strand waits when it is a whole group ahead, and so have syncs.
// Callbacks run on these threads, and at the levels interval and none also on the strand. Errors as Engine::open.
//
// When just one thread runs `executor`, that thread must not block on the engine: no blocking call (purge,
// pause and resume wait for the strand too), and async_close() before the engine is destroyed. The engine's
// timer keeps an io_context from running out of work until then.
Result<std::unique_ptr<Engine>> open_on(boost::asio::any_io_executor executor,
                                        const std::filesystem::path& path, Options options);

// ---- How it is done -----------------------------------------------------------------------------

namespace asio_detail {

// Holds a handler until its answer comes, and brings both to the handler's executor.
template <class Handler>
class Delivery {
 public:
  explicit Delivery(Handler handler)
      : work_(boost::asio::get_associated_executor(handler)), handler_(std::move(handler)) {}

  // Once.
  template <class... Answer>
  void operator()(Answer... answer) {
    const auto executor = work_.get_executor();
    boost::asio::post(executor, [handler = std::move(handler_), work = std::move(work_),
                                 ... held = std::move(answer)]() mutable { handler(std::move(held)...); });
  }

 private:
  boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work_;
  Handler handler_;
};

// std::function is copied, a handler may not be: so the delivery is shared.
template <class T, class Handler>
Callback<T> deliver_to(Handler&& handler) {
  using Shared = Delivery<std::decay_t<Handler>>;
  return [delivery = std::make_shared<Shared>(std::forward<Handler>(handler))](Result<T> answer) {
    (*delivery)(std::move(answer));
  };
}

template <class T, class Service, class Request, class Token>
auto call(Service& service, void (Service::*method)(Request, Callback<T>), Request request, Token&& token) {
  return boost::asio::async_initiate<Token, void(Result<T>)>(
      [&service, method, request = std::move(request)](auto&& handler) mutable {
        (service.*method)(std::move(request), deliver_to<T>(std::forward<decltype(handler)>(handler)));
      },
      token);
}

// Cancels a claim when a stop is asked for, for as long as the claim is under way.
template <class Service>
class ClaimStop {
 public:
  ClaimStop(Service& service, std::stop_token stop) : service_(service), stop_(std::move(stop)) {}

  void started(ClaimTicket ticket) {
    const std::lock_guard lock(mutex_);
    if (!answered_) on_stop_.emplace(stop_, Cancel{&service_, ticket});
  }
  void answered() {
    const std::lock_guard lock(mutex_);
    answered_ = true;
    on_stop_.reset();  // Waits for a cancel that runs this moment.
  }

 private:
  struct Cancel {
    Service* service;
    ClaimTicket ticket;
    void operator()() const { service->cancel_claim(ticket); }
  };

  Service& service_;
  const std::stop_token stop_;
  std::mutex mutex_;
  // Guarded by mutex_.
  bool answered_ = false;
  std::optional<std::stop_callback<Cancel>> on_stop_;
};

}  // namespace asio_detail

// ---- Producers ----------------------------------------------------------------------------------

template <class Service, class Token>
auto async_schedule(Service& service, ScheduleRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::schedule, std::move(request),
                                   std::forward<Token>(token));
}

template <class Service, class Token>
auto async_reschedule(Service& service, RescheduleRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::reschedule, std::move(request),
                                   std::forward<Token>(token));
}

template <class Service, class Token>
auto async_cancel(Service& service, CancelRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::cancel, std::move(request), std::forward<Token>(token));
}

template <class Service, class Token>
auto async_retry(Service& service, RetryRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::retry, std::move(request), std::forward<Token>(token));
}

template <class Service, class Token>
auto async_import_orders(Service& service, ImportRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::import_orders, std::move(request),
                                   std::forward<Token>(token));
}

template <class Service, class Token>
auto async_reconcile(Service& service, ReconcileRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::reconcile, std::move(request),
                                   std::forward<Token>(token));
}

// ---- Workers ------------------------------------------------------------------------------------

// A claim that waits is answered empty as soon as a stop is asked for; so is every later one that is given
// the same stop token, unless an order is due for it.
template <class Service, class Token>
auto async_claim(Service& service, ClaimRequest request, std::stop_token stop, Token&& token) {
  return boost::asio::async_initiate<Token, void(Result<std::vector<Claimed>>)>(
      [&service, request = std::move(request), stop = std::move(stop)](auto&& handler) mutable {
        const auto on_stop = std::make_shared<asio_detail::ClaimStop<Service>>(service, std::move(stop));
        auto deliver =
            asio_detail::deliver_to<std::vector<Claimed>>(std::forward<decltype(handler)>(handler));
        const ClaimTicket ticket =
            service.claim(std::move(request), [on_stop, deliver = std::move(deliver)](auto answer) {
              on_stop->answered();
              deliver(std::move(answer));
            });
        on_stop->started(ticket);
      },
      token);
}

template <class Service, class Token>
auto async_claim(Service& service, ClaimRequest request, Token&& token) {
  return async_claim(service, std::move(request), std::stop_token{}, std::forward<Token>(token));
}

template <class Service, class Token>
auto async_pop(Service& service, PopRequest request, Token&& token) {
  return asio_detail::call<std::vector<Claimed>>(service, &Service::pop, std::move(request),
                                                 std::forward<Token>(token));
}

template <class Service, class Token>
auto async_complete(Service& service, CompleteRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::complete, std::move(request),
                                   std::forward<Token>(token));
}

template <class Service, class Token>
auto async_fail(Service& service, FailRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::fail, std::move(request), std::forward<Token>(token));
}

template <class Service, class Token>
auto async_release(Service& service, ReleaseRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::release, std::move(request),
                                   std::forward<Token>(token));
}

template <class Service, class Token>
auto async_extend(Service& service, ExtendRequest request, Token&& token) {
  return asio_detail::call<Answer>(service, &Service::extend, std::move(request), std::forward<Token>(token));
}

// ---- Runs ---------------------------------------------------------------------------------------

template <class Service, class Token>
auto async_run_open(Service& service, RunOpenRequest request, Token&& token) {
  return asio_detail::call<RunState>(service, &Service::run_open, std::move(request),
                                     std::forward<Token>(token));
}

template <class Service, class Token>
auto async_run_start(Service& service, RunStartRequest request, Token&& token) {
  return asio_detail::call<RunState>(service, &Service::run_start, std::move(request),
                                     std::forward<Token>(token));
}

template <class Service, class Token>
auto async_run_beat(Service& service, RunBeatRequest request, Token&& token) {
  return asio_detail::call<RunState>(service, &Service::run_beat, std::move(request),
                                     std::forward<Token>(token));
}

template <class Service, class Token>
auto async_run_done(Service& service, RunDoneRequest request, Token&& token) {
  return asio_detail::call<RunState>(service, &Service::run_done, std::move(request),
                                     std::forward<Token>(token));
}

template <class Service, class Token>
auto async_run_error(Service& service, RunErrorRequest request, Token&& token) {
  return asio_detail::call<RunState>(service, &Service::run_error, std::move(request),
                                     std::forward<Token>(token));
}

// ---- Upkeep -------------------------------------------------------------------------------------

template <class Service, class Token>
auto async_reap(Service& service, ReapRequest request, Token&& token) {
  return asio_detail::call<std::uint64_t>(service, &Service::reap, std::move(request),
                                          std::forward<Token>(token));
}

template <class Service, class Token>
auto async_set_queue(Service& service, QueueSetRequest request, Token&& token) {
  return asio_detail::call<QueueSettings>(service, &Service::set_queue, std::move(request),
                                          std::forward<Token>(token));
}

// Completes with void() when the engine is closed; then it can be destroyed without waiting.
template <class Token>
auto async_close(Engine& engine, Token&& token) {
  return boost::asio::async_initiate<Token, void()>(
      [&engine](auto&& handler) {
        using Shared = asio_detail::Delivery<std::decay_t<decltype(handler)>>;
        engine.close([delivery = std::make_shared<Shared>(std::forward<decltype(handler)>(handler))] {
          (*delivery)();
        });
      },
      token);
}

}  // namespace duelease
