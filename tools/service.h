// tools/service.h: a program that runs until it is told to stop: its signals, and what it tells systemd.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

namespace duelease::tools {

// SIGTERM and SIGINT, as long as it lives. Construct it before any other thread starts: they are blocked in
// every thread and taken by the one that waits for them.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals() { finish(); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns after the first one; `second` is called for the next, on a thread of its own.
  void wait(std::function<void()> second);
  // From now on a signal does nothing.
  void finish();

 private:
  std::thread listener_;
};

// Tells the service manager, where one listens: "READY=1", "STOPPING=1" (see sd_notify(3)).
void notify_service_manager(std::string_view state);

// Makes room for `count` open files, as far as the system lets us. Answers how many there may be.
std::size_t raise_open_files_limit(std::size_t count);

}  // namespace duelease::tools
