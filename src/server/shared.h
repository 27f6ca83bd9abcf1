// server/shared.h: what all sessions of a server share.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "duelease/engine.h"
#include "duelease/server.h"
#include "server/asio.h"
#include "server/checker.h"
#include "server/counters.h"
#include "server/held_leases.h"
#include "server/users.h"

namespace duelease::server {

struct Shared {
  Shared(Engine& the_engine, ServerOptions the_options, std::shared_ptr<Users> the_users)
      : engine(the_engine),
        options(std::move(the_options)),
        users(std::move(the_users)),
        checker(engine, options.clock, options.log),
        readers(options.read_threads),
        walkers(options.read_threads) {}

  void log(LogLevel level, std::string_view line) const {
    if (options.log) options.log(level, line);
  }
  Time now() const { return options.clock->now().wall; }

  Engine& engine;
  const ServerOptions options;         // clock is never empty.
  const std::shared_ptr<Users> users;  // Empty: everybody may do everything.
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  Counters counters;
  HeldLeases leases;
  Checker checker;
  std::atomic<bool> stopping{false};  // No new claims.
  std::atomic<std::size_t> logins_waiting{0};
  std::atomic<std::uint64_t> last_connection{0};

  // Destroyed first, when their last job is done.
  boost::asio::thread_pool readers;
  boost::asio::thread_pool walkers;
  boost::asio::thread_pool verifiers{2};  // For passwords: as many at a time.
};

}  // namespace duelease::server
