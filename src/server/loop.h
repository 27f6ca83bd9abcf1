// server/loop.h: one thread, and the sockets that belong to it. What a session is made of is touched by the
// thread of its loop alone, so it needs no lock.
//
// Answers of the engine come from threads of the engine, a whole commit group at once. They are collected
// here: the loop is woken once for all of them, and each session that got some is told once, after the
// last.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/asio.h"

namespace duelease::server {

// What a loop tells.
class Advancing {
 public:
  virtual void advance() = 0;

 protected:
  ~Advancing() = default;
};

class Loop {
 public:
  using Task = std::function<void()>;
  static constexpr std::size_t read_bytes = 64 * 1024;

  Loop() : work_(context_.get_executor()) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { join(); }

  void start() {
    thread_ = std::thread([this] { context_.run(); });
  }
  // Returns when nothing is left to be done: see work().
  void join() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }
  // While one of these is held, the loop runs.
  auto work() { return boost::asio::make_work_guard(context_); }

  boost::asio::io_context& context() { return context_; }
  // What one read brings. Valid until the next read of any connection of this loop.
  std::array<char, read_bytes>& read_buffer() { return read_buffer_; }

  // From any thread: `task` runs on the loop.
  void post(Task task);
  // On the loop, in a task: `who` advances when the tasks that came with this one have run.
  void advance_later(std::shared_ptr<Advancing> who) { advancing_.push_back(std::move(who)); }

 private:
  void drain();

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
  std::array<char, read_bytes> read_buffer_;
  std::vector<std::shared_ptr<Advancing>> advancing_;

  std::mutex mutex_;
  std::vector<Task> inbox_;  // Guarded by mutex_.
};

}  // namespace duelease::server
