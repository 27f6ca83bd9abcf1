// client/hub.h: the thread of a client, and its channels: one for all requests, and one for each call that may
// take long. Such a side channel is kept for the next of those, and closed when none comes for a while.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "client/asio.h"
#include "client/channel.h"
#include "protocol/request.h"

namespace duelease::client {

class Hub {
 public:
  // Throws std::system_error when the system has no more threads.
  explicit Hub(Site site);
  ~Hub();  // close()
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // ---- From any thread ----

  // Whether one more call may begin; each that did ends with a call of ended(). The error says why not.
  Result<> begin(std::size_t calls = 1);
  void ended() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }
  // Runs task(true) on the client's thread, in the order of the posts; task(false), at once, when the hub is closed.
  using Task = std::function<void(bool open)>;
  void post(Task task);
  // Closes the channels, and waits for the thread. Not on it.
  void close();

  // The bytes of a request. Error: too_large.
  Result<std::string> print(const protocol::Request& request) const;
  const ClientOptions& options() const { return site_.options; }
  static Error closing() { return Error{Code::closing, "the client was closed"}; }

  // ---- On the client's thread ----

  Channel& requests() { return *requests_; }
  // Submits it on a side channel, and answers that; null: there are too many, and the call was answered so.
  Channel* submit_aside(Call call);
  // Forgets the call on that side channel, unanswered, and closes its connection.
  void abandon_aside(Channel& side);
  // Of options().random.
  std::uint64_t random() { return site_.options.random(); }

 private:
  void run_inbox();
  void close_channels();
  Channel* take_side();
  void give_back(Channel& side);
  void await_idle();
  void close_idle_sides();

  // Constant after construction.
  Site site_;

  // Client's thread only.
  boost::asio::io_context context_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  std::unique_ptr<Channel> requests_;
  std::unordered_map<Channel*, std::unique_ptr<Channel>> sides_{};
  struct Idle {
    Channel* side;
    Steady::time_point since;
  };
  std::deque<Idle>
      idle_{};  // Of the sides, the longest idle first. Taken from the end, so that those in front age.
  boost::asio::steady_timer idle_timer_{context_};
  bool idle_timer_runs_ = false;
  bool channels_closed_ = false;

  std::atomic<std::size_t> in_flight_{0};

  // Guarded by inbox_mutex_.
  std::mutex inbox_mutex_;
  std::vector<Task> inbox_{};
  bool closed_ = false;

  // Guarded by close_mutex_.
  std::mutex close_mutex_;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace duelease::client
