// support/live_engine.h: an engine with its threads, on a store of its own.
//
// Nothing here sleeps: what another thread will bring about is waited for, at most patience long, which is
// for a loaded machine under a sanitizer.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "duelease/engine.h"

namespace duelease::test {

inline constexpr std::chrono::seconds patience{120};

// The value; an error is thrown, and the test fails with its text. Unlike Catch's macros it may be used on
// any thread whose exceptions somebody takes.
template <class T>
T well(Result<T> result) {
  if (!result) {
    throw std::runtime_error(std::string(code_name(result.error().code)) + ": " + result.error().message);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline Options small_options() {
  Options options;
  options.memtable_bytes = 4 * 1024 * 1024;
  options.block_cache_bytes = 1024 * 1024;
  return options;
}

inline std::unique_ptr<Engine> open_live(const std::filesystem::path& path,
                                         Options options = small_options()) {
  return well(Engine::open(path, std::move(options)));
}

// A callback, and the future of what it is called with.
template <class T>
class Reply {
 public:
  Callback<T> callback() const {
    return [promise = promise_](Result<T> result) { promise->set_value(std::move(result)); };
  }
  bool arrived() const { return future_.wait_for(std::chrono::seconds{0}) == std::future_status::ready; }
  // Once.
  Result<T> get() {
    if (future_.wait_for(patience) != std::future_status::ready) throw std::runtime_error("no reply came");
    return future_.get();
  }

 private:
  std::shared_ptr<std::promise<Result<T>>> promise_ = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future_ = promise_->get_future();
};

// Has the engine look at its clock, and returns when all is answered that it found to do. What it is asked for
// a queue nobody uses changes nothing; the second time, the answers of the first are out.
inline void look_now(Engine& engine) {
  for (int i = 0; i < 2; ++i) {
    CancelRequest nothing;
    nothing.queue = "nobody-uses-this";
    nothing.id = "nothing";
    well(engine.cancel(nothing));
  }
}

inline ScheduleRequest order_of(std::string queue, std::string id, Time due = Time{}) {
  ScheduleRequest request;
  request.queue = std::move(queue);
  request.id = std::move(id);
  request.due = due;
  return request;
}

// `count` orders "0", "1", ..., due at once, in calls of a thousand.
inline void schedule_many(Engine& engine, const std::string& queue, std::size_t count) {
  std::size_t next = 0;
  while (next < count) {
    std::vector<ScheduleRequest> requests;
    for (std::size_t i = 0; i < 1000 && next < count; ++i)
      requests.push_back(order_of(queue, std::to_string(next++)));
    for (Result<Answer>& answer : engine.schedule(std::move(requests))) {
      if (well(std::move(answer)).outcome != Outcome::scheduled) throw std::runtime_error("not scheduled");
    }
  }
}

inline ClaimRequest claim_of(std::string queue, std::string worker, std::uint32_t count = 1,
                             Duration wait = Duration{0}) {
  ClaimRequest request;
  request.queues = {std::move(queue)};
  request.worker = std::move(worker);
  request.count = count;
  request.wait = wait;
  return request;
}

// A report by the holder of `order`.
template <class Request>
Request report_on(const Claimed& order) {
  Request request;
  request.queue = order.queue;
  request.id = order.id;
  request.token = order.token;
  return request;
}

}  // namespace duelease::test
