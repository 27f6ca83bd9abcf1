#include "client/hub.h"

#include <string>
#include <utility>

namespace duelease::client {

Hub::Hub(Site site)
    : site_(std::move(site)),
      work_(context_.get_executor()),
      requests_(std::make_unique<Channel>(context_, site_, site_.options.random)),
      thread_([this] { context_.run(); }) {}

Hub::~Hub() { close(); }

Result<> Hub::begin(std::size_t calls) {
  const std::size_t max = site_.options.requests_in_flight_max;
  if (in_flight_.fetch_add(calls, std::memory_order_relaxed) + calls <= max) return {};
  in_flight_.fetch_sub(calls, std::memory_order_relaxed);
  return fail(Code::overloaded, "more than " + std::to_string(max) + " requests in flight; nothing was sent");
}

void Hub::post(Task task) {
  {
    const std::lock_guard lock(inbox_mutex_);
    if (!closed_) {
      inbox_.push_back(std::move(task));
      if (inbox_.size() == 1) boost::asio::post(context_, [this] { run_inbox(); });
      return;
    }
  }
  task(false);
}

void Hub::run_inbox() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(inbox_mutex_);
    tasks.swap(inbox_);
  }
  for (const Task& task : tasks) task(true);
}

Result<std::string> Hub::print(const protocol::Request& request) const {
  std::string bytes;
  protocol::print_request(bytes, request);
  const std::size_t max = site_.options.request_bytes_max;
  if (bytes.size() <= max) return bytes;
  return fail(Code::too_large, "the request has " + std::to_string(bytes.size()) + " bytes, at most " +
                                   std::to_string(max) + " are sent");
}

Channel& Hub::side() {
  for (const std::unique_ptr<Channel>& channel : sides_) {
    if (channel->is_idle()) return *channel;
  }
  return *sides_.emplace_back(std::make_unique<Channel>(context_, site_, site_.options.random));
}

// What was posted before is run before.
void Hub::close() {
  const std::lock_guard lock(close_mutex_);
  if (!thread_.joinable()) return;
  {
    const std::lock_guard inbox(inbox_mutex_);
    closed_ = true;
    boost::asio::post(context_, [this] {
      run_inbox();
      close_channels();
    });
  }
  thread_.join();
}

// With nothing left to do, the thread ends.
void Hub::close_channels() {
  requests_->close(closing());
  for (const std::unique_ptr<Channel>& channel : sides_) channel->close(closing());
  work_.reset();
}

}  // namespace duelease::client
