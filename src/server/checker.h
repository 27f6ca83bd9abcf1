// server/checker.h: the invariants of the store, counted on request and by itself, and what the last count of all
// of it said: for INFO, and so for whoever watches the server.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "duelease/clock.h"
#include "duelease/engine.h"
#include "duelease/options.h"

namespace duelease::server {

class Checker {
 public:
  using Log = std::function<void(LogLevel, std::string_view)>;

  Checker(Engine& engine, std::shared_ptr<const Clock> clock, Log log);
  ~Checker() { stop(); }
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // From now on it checks all of the store by itself, on a thread of the lowest priority; the first time when
  // `every` is over, and each time so long after the one before.
  void start(Duration every);
  // Ends what is under way, and all that comes later: they answer Code::closing.
  void stop();

  // Any thread. One of the whole store is what INFO tells.
  Result<CheckReport> check(std::string_view queue);

  // "name:value\r\n" for each.
  void print(std::string& out) const;

 private:
  struct Last {
    Time at{};
    double seconds = 0;
    CheckReport report;
  };

  void run(Duration every);

  Engine& engine_;
  const std::shared_ptr<const Clock> clock_;
  const Log log_;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::optional<Last> last_;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace duelease::server
