// Listening, and the end of it. Connections are told in session.h.
#include "duelease/server.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <system_error>
#include <unordered_map>

#include "server/session.h"

namespace duelease {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using server::Counters;
using server::Loop;
using server::Session;
using server::Shared;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Connections above the limit that are told so, at most a quarter of it; those above are closed without a word.
constexpr std::uint64_t refused_at_once_max = 100;
// After an accept that failed (no file descriptor is left): trying at once again would only spin.
constexpr milliseconds accept_pause{100};
constexpr milliseconds stop_look_every{20};
// With port 0: the port that the first address got may be taken at another one.
constexpr int port_tries = 10;
// What the last replies have to get out, when the deadline of a stop is over.
constexpr milliseconds stop_flush{500};

std::string why(const boost::system::error_code& error) { return error.message(); }

Result<> validate(const ServerOptions& options) {
  const auto within = [](const char* name, std::size_t value, std::size_t min, std::size_t max) -> Result<> {
    if (value >= min && value <= max) return {};
    return fail(Code::invalid, std::string(name) + " is " + std::to_string(value) + ", allowed are " +
                                   std::to_string(min) + " to " + std::to_string(max));
  };
  constexpr std::size_t gigabyte = 1024 * 1024 * 1024;
  for (const Result<>& checked : {
           within("threads", options.threads, 1, 64),
           within("read threads", options.read_threads, 1, 64),
           within("connections", options.connections_max, 1, 10'000'000),
           within("request bytes", options.request_bytes_max, 1024, gigabyte),
           within("line bytes", options.line_bytes_max, 1024, gigabyte),
           within("words", options.words_max, 64, 1'000'000),
           within("requests under way", options.requests_under_way_max, 1, 50'000),
           within("reply bytes", options.reply_bytes_max, 1024, 64 * gigabyte),
           within("unsent bytes", options.unsent_bytes_max, 1024 * 1024, 1024 * gigabyte),
           within("held bytes", options.held_bytes_max, 1024 * 1024, 1024 * gigabyte),
       }) {
    if (!checked) return checked;
  }
  const auto lasts = [](const char* name, Duration value, int min) -> Result<> {
    constexpr Duration year = std::chrono::days{365};
    if (value.count() >= min && value <= year) return {};
    return fail(Code::invalid, std::string(name) + " is " + std::to_string(value.count()) +
                                   " ms, allowed are " + std::to_string(min) + " to " +
                                   std::to_string(year.count()) + " ms");
  };
  for (const Result<>& checked : {
           lasts("idle timeout", options.idle_timeout, 0),
           lasts("handshake timeout", options.handshake_timeout, 1),
           lasts("login timeout", options.login_timeout, 0),
           lasts("write timeout", options.write_timeout, 0),
           lasts("stop deadline", options.stop_deadline, 0),
           lasts("time between two checks", options.check_every, 0),
       }) {
    if (!checked) return checked;
  }
  if (options.addresses.empty()) return fail(Code::invalid, "there is no address to listen on");
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return fail(Code::invalid, "TLS takes a certificate and its key, and one of them is not given");
  }
  if (!options.tls_client_ca.empty() && options.tls_cert.empty()) {
    return fail(Code::invalid, "client certificates take TLS: a certificate and its key");
  }
  return {};
}

Result<std::vector<tcp::endpoint>> endpoints(const ServerOptions& options) {
  std::vector<tcp::endpoint> out;
  for (const std::string& text : options.addresses) {
    boost::system::error_code error;
    const asio::ip::address address = asio::ip::make_address(text, error);
    if (error) return fail(Code::invalid, "\"" + text + "\" is no IP address");
    if (!address.is_loopback() && options.users_file.empty() && !options.insecure) {
      return fail(Code::invalid,
                  "to listen on " + text +
                      " without users would let everybody do everything; give a users file, or "
                      "say insecure");
    }
    out.emplace_back(address, options.port);
  }
  return out;
}

Result<std::unique_ptr<asio::ssl::context>> tls_context(const ServerOptions& options) {
  if (options.tls_cert.empty()) return std::unique_ptr<asio::ssl::context>();
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  boost::system::error_code error;
  const auto complain = [&error](const char* what, const std::filesystem::path& file) {
    return fail(Code::invalid,
                std::string("the ") + what + " " + file.string() + " cannot be used: " + why(error));
  };
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // No state for a resumption is kept here; the client keeps it in a ticket.
  ::SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  constexpr unsigned char session_context[] = "duelease";
  ::SSL_CTX_set_session_id_context(context->native_handle(), session_context, sizeof session_context - 1);
  context->use_certificate_chain_file(options.tls_cert.string(), error);
  if (error) return complain("certificate", options.tls_cert);
  context->use_private_key_file(options.tls_key.string(), asio::ssl::context::pem, error);
  if (error) return complain("key", options.tls_key);
  if (!options.tls_client_ca.empty()) {
    context->load_verify_file(options.tls_client_ca.string(), error);
    if (error) return complain("authority", options.tls_client_ca);
    context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  }
  return context;
}

// A loop and its sessions, which only its thread touches.
struct Member {
  Loop loop;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions;

  // On the loop; returns when it is done.
  void run(const std::function<void()>& task) {
    std::promise<void> done;
    loop.post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  void each(void (Session::*what)()) {
    run([this, what] {
      std::vector<std::shared_ptr<Session>> all;  // A session that closes leaves the map.
      for (const auto& [id, session] : sessions) all.push_back(session);
      for (const std::shared_ptr<Session>& session : all) ((*session).*what)();
    });
  }
};

}  // namespace

struct Server::Impl {
  Impl(Engine& engine, ServerOptions options, std::shared_ptr<server::Users> users,
       std::unique_ptr<asio::ssl::context> tls_settings)
      : tls(std::move(tls_settings)), shared(engine, std::move(options), std::move(users)) {
    for (std::size_t i = 0; i < shared.options.threads; ++i) members.push_back(std::make_unique<Member>());
  }
  ~Impl() { shut_down(); }

  struct Listener {
    explicit Listener(Loop& loop) : acceptor(loop.context()), pause(loop.context()) {}
    tcp::acceptor acceptor;
    asio::steady_timer pause;
    bool failing = false;
  };

  Result<> listen(const std::vector<tcp::endpoint>& where);
  Result<> listen_on(const tcp::endpoint& where);
  void start();
  void accept(Listener& listener);
  void accepted(Listener& listener, const boost::system::error_code& error,
                const std::shared_ptr<tcp::socket>& socket, Member& member);
  void open_session(tcp::socket socket, Member& member, std::uint64_t open);
  void stop_listening();
  void stop();
  void stop_now();
  void shut_down();
  template <class Done>
  void await(steady_clock::time_point until, const Done& done);

  const std::unique_ptr<asio::ssl::context> tls;  // Empty: plain.
  Shared shared;
  std::vector<std::unique_ptr<Member>> members;
  std::uint16_t port = 0;
  bool started = false;

  // On the first loop.
  std::vector<std::unique_ptr<Listener>> listeners;
  std::size_t next_member = 0;

  std::mutex mutex;
  std::condition_variable changed;
  bool now = false;  // Guarded by mutex: a stop is to end at once.

  std::mutex shut_down_mutex;
  bool is_down = false;  // Guarded by shut_down_mutex.
};

// ---- Listening ----------------------------------------------------------------------------------

Result<> Server::Impl::listen(const std::vector<tcp::endpoint>& where) {
  const bool any_port = shared.options.port == 0;
  Result<> listening;
  for (int i = 0; i < (any_port ? port_tries : 1); ++i) {
    listeners.clear();
    port = shared.options.port;
    for (const tcp::endpoint& endpoint : where) {
      listening = listen_on({endpoint.address(), port});
      if (!listening) break;
    }
    if (listening || listeners.empty()) break;  // Or the first address has no port at all.
  }
  if (!listening) return listening;
  for (const std::unique_ptr<Listener>& listener : listeners) {
    const tcp::endpoint bound = listener->acceptor.local_endpoint();
    shared.log(LogLevel::info, "listening on " + bound.address().to_string() + " port " +
                                   std::to_string(bound.port()) + (tls ? " (TLS)" : ""));
  }
  return {};
}

// Of the first one with port 0, the rest get the port.
Result<> Server::Impl::listen_on(const tcp::endpoint& where) {
  auto listener = std::make_unique<Listener>(members[0]->loop);
  tcp::acceptor& acceptor = listener->acceptor;
  boost::system::error_code error;
  acceptor.open(where.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  // So that :: and 0.0.0.0 can both be listened on.
  if (!error && where.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(where, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return fail(Code::storage, "cannot listen on " + where.address().to_string() + " port " +
                                   std::to_string(where.port()) + ": " + why(error));
  }
  port = acceptor.local_endpoint().port();
  listeners.push_back(std::move(listener));
  return {};
}

void Server::Impl::start() {
  for (const std::unique_ptr<Member>& member : members) member->loop.start();
  started = true;
  if (shared.options.check_every.count() > 0) shared.checker.start(shared.options.check_every);
  members[0]->run([this] {
    for (const std::unique_ptr<Listener>& listener : listeners) accept(*listener);
  });
}

void Server::Impl::accept(Listener& listener) {
  Member& member = *members[next_member++ % members.size()];
  const auto socket = std::make_shared<tcp::socket>(member.loop.context());
  listener.acceptor.async_accept(*socket, [this, &listener, &member, socket](const auto& error) {
    accepted(listener, error, socket, member);
  });
}

void Server::Impl::accepted(Listener& listener, const boost::system::error_code& error,
                            const std::shared_ptr<tcp::socket>& socket, Member& member) {
  if (!listener.acceptor.is_open()) return;
  if (error) {
    if (!std::exchange(listener.failing, true)) {
      shared.log(LogLevel::error, "connections cannot be accepted for now: " + why(error));
    }
    listener.pause.expires_after(accept_pause);
    listener.pause.async_wait([this, &listener](const auto& cancelled) {
      if (!cancelled && listener.acceptor.is_open()) accept(listener);
    });
    return;
  }
  listener.failing = false;
  const std::uint64_t open = ++shared.counters.connections;  // With this one.
  if (&member == members[0].get()) {
    open_session(std::move(*socket), member, open);
  } else {
    member.loop.post([this, &member, socket, open] { open_session(std::move(*socket), member, open); });
  }
  accept(listener);
}

void Server::Impl::open_session(tcp::socket socket, Member& member, std::uint64_t open) {
  Counters& counters = shared.counters;
  const bool refused = open > shared.options.connections_max;
  if (refused) {
    Counters::add(counters.connections_refused);
    const std::uint64_t told_max =
        std::min<std::uint64_t>(refused_at_once_max, shared.options.connections_max / 4 + 1);
    if (open > shared.options.connections_max + told_max) {
      Counters::subtract(counters.connections);
      return;
    }
  } else {
    Counters::add(counters.connections_accepted);
  }
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const tcp::endpoint peer = socket.remote_endpoint(ignored);
  const std::string name = peer.address().to_string(ignored) + " port " + std::to_string(peer.port());
  std::unique_ptr<server::Stream> stream = tls ? server::tls_stream(member.loop, std::move(socket), *tls)
                                               : server::plain_stream(member.loop, std::move(socket));
  const std::uint64_t id = ++shared.last_connection;
  const auto session =
      std::make_shared<Session>(shared, member.loop, std::move(stream), id, name, [&member, &counters, id] {
        Counters::subtract(counters.connections);
        member.sessions.erase(id);
      });
  member.sessions.emplace(id, session);
  if (refused) {
    session->start_refused("there are " + std::to_string(shared.options.connections_max) +
                           " connections, which is the limit");
  } else {
    session->start();
  }
}

// ---- The end ------------------------------------------------------------------------------------

void Server::Impl::stop_listening() {
  members[0]->run([this] {
    for (const std::unique_ptr<Listener>& listener : listeners) {
      boost::system::error_code ignored;
      listener->acceptor.close(ignored);
      listener->pause.cancel();
    }
  });
}

// Waits for what no event tells: looks now and then, while a server ends.
template <class Done>
void Server::Impl::await(steady_clock::time_point until, const Done& done) {
  std::unique_lock lock(mutex);
  while (!now && !done() && steady_clock::now() < until) changed.wait_for(lock, stop_look_every);
}

void Server::Impl::stop() {
  const auto deadline = steady_clock::now() + shared.options.stop_deadline;
  {
    const std::lock_guard lock(shut_down_mutex);
    if (is_down) return;
    shared.log(LogLevel::info, "stopping: no new claims, waiting for reports");
    shared.stopping = true;
    stop_listening();
    for (const std::unique_ptr<Member>& member : members) member->each(&Session::stop_waiting);
  }
  const Counters& counters = shared.counters;
  await(deadline, [&] { return counters.claims_under_way == 0 && !shared.leases.any(shared.now()); });
  {
    const std::lock_guard lock(shut_down_mutex);
    if (is_down) return;
    for (const std::unique_ptr<Member>& member : members) member->each(&Session::finish);
  }
  await(std::max(deadline, steady_clock::now() + stop_flush), [&] { return counters.connections == 0; });
  shut_down();
}

void Server::Impl::stop_now() {
  {
    const std::lock_guard lock(mutex);
    now = true;
    changed.notify_all();
  }
  shut_down();
}

void Server::Impl::shut_down() {
  const std::lock_guard lock(shut_down_mutex);
  if (std::exchange(is_down, true)) return;
  shared.stopping = true;
  shared.checker.stop();
  if (!started) return;
  stop_listening();
  for (const std::unique_ptr<Member>& member : members) member->each(&Session::close);
  // Ends when the engine has answered all that the sessions asked: they hold the loops.
  for (const std::unique_ptr<Member>& member : members) member->loop.join();
  shared.log(LogLevel::info, "stopped");
}

// ---- The public API -----------------------------------------------------------------------------

Result<std::unique_ptr<Server>> Server::start(Engine& engine, ServerOptions options) {
  if (Result<> valid = validate(options); !valid) return Unexpected{valid.error()};
  const Result<std::vector<tcp::endpoint>> where = endpoints(options);
  if (!where) return Unexpected{where.error()};
  std::shared_ptr<server::Users> users;
  if (!options.users_file.empty()) {
    Result<std::shared_ptr<server::Users>> read = server::Users::read(options.users_file);
    if (!read) return Unexpected{read.error()};
    users = std::move(*read);
  }
  Result<std::unique_ptr<asio::ssl::context>> tls = tls_context(options);
  if (!tls) return Unexpected{tls.error()};
  if (!options.clock) options.clock = system_clock();
  try {
    auto impl = std::make_unique<Impl>(engine, std::move(options), std::move(users), std::move(*tls));
    if (Result<> listening = impl->listen(*where); !listening) return Unexpected{listening.error()};
    impl->start();
    return std::make_unique<Server>(std::move(impl));
  } catch (const std::system_error& error) {  // A thread that does not start, an epoll that there is not.
    return fail(Code::overloaded, std::string("starting the server: ") + error.what());
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
std::uint16_t Server::port() const { return impl_->port; }
void Server::stop() { impl_->stop(); }
void Server::stop_now() { impl_->stop_now(); }

}  // namespace duelease
