// duelease/server.h: an engine on the network.
//
//     auto server = duelease::Server::start(*engine, {.port = 7420});
//     if (!server) return complain(server.error());
//     wait_for_sigterm();
//     (*server)->stop();
//
// The line protocol is told in src/protocol/README.md. A server is a customer of the engine like any
// other: the application that embeds both may go on calling the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/clock.h"
#include "duelease/engine.h"
#include "duelease/options.h"
#include "duelease/result.h"

namespace duelease {

struct ServerOptions {
  // Where
  std::vector<std::string> addresses{"127.0.0.1"};  // Numeric, IPv4 or IPv6.
  std::uint16_t port = 7420;                        // 0: any that is free, of all addresses the same.

  // Security. Without users everybody is admin; then an address that is not of this machine alone is
  // refused, unless `insecure`. With tls_cert and tls_key only TLS is spoken; with tls_client_ca only to
  // clients with a certificate of that authority.
  std::filesystem::path users_file{};  // See make_user_line().
  bool insecure = false;
  std::filesystem::path tls_cert{};
  std::filesystem::path tls_key{};
  std::filesystem::path tls_client_ca{};

  // Limits. What crosses one is answered, or waits at the client; nothing here grows beyond them.
  std::size_t connections_max = 10'000;  // 1 - 10,000,000.
  // Payload limit of the queues + 64 KiB. 1 KiB - 1 GiB. Who has not logged in yet, where there are users, may
  // send 4 KiB and 16 words, in either form.
  std::size_t request_bytes_max = 1024 * 1024 + 64 * 1024;
  std::size_t line_bytes_max = 64 * 1024;          // Of a request in line form. 1 KiB - 1 GiB.
  std::size_t words_max = 1024;                    // Of one request. 64 - 1,000,000.
  std::size_t requests_under_way_max = 1024;       // Of one connection. More are read later. 1 - 50,000.
  std::size_t reply_bytes_max = 64 * 1024 * 1024;  // Unsent, of one connection. As above. 1 KiB - 64 GiB.
  // Unsent, over all connections: while it is crossed, one that has more than 64 KiB of them is read no
  // further. What was asked before is answered all the same. 1 MiB - 1 TiB.
  std::size_t unsent_bytes_max = 1024 * 1024 * 1024;
  // Of requests that came, over all connections. 1 MiB - 1 TiB.
  std::size_t held_bytes_max = 256 * 1024 * 1024;

  // Times, at most a year each.
  Duration idle_timeout{0};            // 0: never. A waiting claim is not idle.
  Duration handshake_timeout{10'000};  // Of TLS. From 1 ms.
  Duration login_timeout{10'000};      // Until the first login, where there are users. 0: never.
  Duration write_timeout{60'000};      // Of a client that takes no byte of what is sent to it. 0: never.
  Duration stop_deadline{10'000};      // See stop(). From 0.
  // Counts violations of the invariants by itself, so long after the last time, on a thread of low priority; what
  // it found is in INFO. It reads all of the store. 0: only when a client asks for it (CHECK).
  Duration check_every{0};

  std::size_t threads = 1;       // For the sockets. 1-64.
  std::size_t read_threads = 2;  // For reads, and as many again for those that walk over a queue. 1-64.
  std::shared_ptr<const Clock>
      clock{};  // What "+30m" counts from. Empty: system_clock(). Give it the engine's.
  // Empty: silent. Called from any thread, by several at once; must not block, nor call the server.
  std::function<void(LogLevel, std::string_view)> log{};
};

class Server {
 public:
  // Listens. `engine` must outlive the server. Errors: invalid (an option, the users file, a certificate),
  // storage (the address cannot be had), overloaded (a thread does not start).
  static Result<std::unique_ptr<Server>> start(Engine& engine, ServerOptions options);

  // As stop_now(). No other call may be in progress.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;  // The one it listens on.

  // Both block until the connections are closed and what the engine was asked is answered. Call them from any
  // thread but one of the engine or the server: neither in a callback nor in `log`. Once more, or from two
  // threads, does no harm.

  // Ends well: takes no more connections, answers new claims CLOSING and waiting ones with what they have,
  // nothing. Everything else is served until no connection holds the lease of an order that it claimed, at
  // most until ServerOptions::stop_deadline is over. Then all that was asked is answered and the
  // connections are closed.
  void stop();
  // Closes every connection; what the engine was asked to do is done. Safe to call while stop() runs,
  // which then ends.
  void stop_now();

  // For the library itself.
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// A line of a users file: `name role queues hash`. `role` is producer, worker, read-only or admin; `queues`
// is `*` or queue names and beginnings of them (`shop.*`), separated by commas. Takes a while and 64 MiB,
// by design.
Result<std::string> make_user_line(std::string_view name, std::string_view role, std::string_view queues,
                                   std::string_view password);

}  // namespace duelease
