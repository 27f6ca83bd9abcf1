#include "client/hub.h"

#include <string>
#include <utility>

namespace duelease::client {

namespace {

constexpr std::chrono::seconds idle_max{3};

}  // namespace

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

// ---- Side channels ------------------------------------------------------------------------------

Channel* Hub::submit_aside(Call call) {
  Channel* const side = take_side();
  if (side == nullptr) {
    call.done(fail(Code::overloaded, "more than " + std::to_string(site_.options.waiting_claims_max) +
                                         " claims that wait, checks and purges; nothing was sent"));
    return nullptr;
  }
  call.done = [this, side, done = std::move(call.done)](Result<protocol::Value> reply) {
    give_back(*side);
    done(std::move(reply));
  };
  side->submit(std::move(call));
  return side;
}

void Hub::abandon_aside(Channel& side) {
  side.abandon();
  give_back(side);
}

Channel* Hub::take_side() {
  if (!idle_.empty()) {
    Channel* const side = idle_.back().side;
    idle_.pop_back();
    return side;
  }
  if (sides_.size() >= site_.options.waiting_claims_max) return nullptr;
  auto made = std::make_unique<Channel>(context_, site_, site_.options.random);
  Channel* const side = made.get();
  sides_.emplace(side, std::move(made));
  return side;
}

void Hub::give_back(Channel& side) {
  idle_.push_back({&side, Steady::now()});
  if (!idle_timer_runs_) await_idle();
}

void Hub::await_idle() {
  if (idle_.empty() || channels_closed_) return;
  idle_timer_runs_ = true;
  idle_timer_.expires_at(idle_.front().since + idle_max);
  idle_timer_.async_wait([this](const error_code& error) {
    idle_timer_runs_ = false;
    if (error) return;
    close_idle_sides();
    await_idle();
  });
}

void Hub::close_idle_sides() {
  const Steady::time_point now = Steady::now();
  while (!idle_.empty() && idle_.front().since + idle_max <= now) {
    const auto found = sides_.find(idle_.front().side);
    idle_.pop_front();
    found->second->close(closing());
    // A timer of it may have rung, and its handler be in line: that one comes first.
    boost::asio::post(context_, [gone = std::move(found->second)] {});
    sides_.erase(found);
  }
}

// ---- The end ------------------------------------------------------------------------------------

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
  channels_closed_ = true;
  idle_timer_.cancel();
  requests_->close(closing());
  for (const auto& [side, owned] : sides_) side->close(closing());
  work_.reset();
}

}  // namespace duelease::client
