#include "client/link.h"

#include <netinet/tcp.h>

#include <algorithm>

#include "client/asio.h"
#include "protocol/request.h"
// (Boost's own headers come behind the door.)
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>

namespace duelease::client {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// A claim may wait for days: a server that vanished without a word is noticed after about 30 s.
void keep_alive(tcp::socket& socket) {
  constexpr int quiet_s = 15;
  constexpr int interval_s = 5;
  constexpr int probes = 3;
  error_code ignored;  // A connection without it works as well.
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &quiet_s, sizeof quiet_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace

Link::Link(asio::io_context& context, const Site& site, LinkOwner& owner)
    : site_(site),
      owner_(&owner),
      stream_(make_stream(context, site.options, site.tls)),
      resolver_(context),
      timer_(context) {}

void Link::start() {
  timer_.expires_after(site_.options.connect_timeout);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->open_) return;
    self->lose(Code::unreachable,
               "no connection within " + std::to_string(self->site_.options.connect_timeout.count()) + " ms");
  });
  error_code is_name;
  const asio::ip::address address = asio::ip::make_address(site_.options.host, is_name);
  if (!is_name) return connect_to({tcp::endpoint(address, site_.options.port)});
  resolver_.async_resolve(
      site_.options.host, std::to_string(site_.options.port), tcp::resolver::numeric_service,
      [self = shared_from_this()](const error_code& error, const tcp::resolver::results_type& found) {
        if (error) return self->lose(Code::unreachable, error.message());
        std::vector<tcp::endpoint> endpoints;
        for (const auto& entry : found) endpoints.push_back(entry.endpoint());
        self->connect_to(endpoints);
      });
}

void Link::connect_to(const std::vector<tcp::endpoint>& endpoints) {
  if (owner_ == nullptr) return;
  asio::async_connect(stream_->socket(), endpoints,
                      [self = shared_from_this()](const error_code& error, const tcp::endpoint&) {
                        if (error) return self->lose(Code::unreachable, error.message());
                        self->connected();
                      });
}

void Link::connected() {
  if (owner_ == nullptr) return;
  keep_alive(stream_->socket());
  stream_->handshake([self = shared_from_this()](const error_code& error) {
    if (error) return self->lose(Code::unreachable, "TLS: " + error.message());
    self->greet();
  });
}

void Link::greet() {
  if (owner_ == nullptr) return;
  const ClientOptions& options = site_.options;
  protocol::Request greeting = protocol::PingRequest{};
  if (!options.password.empty()) greeting = protocol::AuthRequest{options.user, options.password};
  std::string bytes;
  protocol::print_request(bytes, greeting);
  write(std::move(bytes));
  read();
}

// A failure to write shows in the read as well, which may first bring the server's last words.
void Link::write(std::string bytes) {
  const auto held = std::make_shared<const std::string>(std::move(bytes));
  stream_->write(asio::buffer(*held), [self = shared_from_this(), held, is_greeting = !open_](
                                          const error_code& error, std::size_t) {
    if (!error && !is_greeting && self->owner_ != nullptr) self->owner_->link_written();
  });
}

void Link::read() {
  stream_->read_some(asio::buffer(input_.get(), input_size_),
                     [self = shared_from_this()](const error_code& error, std::size_t size) {
                       if (self->owner_ == nullptr) return;
                       if (error == asio::error::eof)
                         return self->lose(Code::unreachable, "the server closed the connection");
                       if (error) return self->lose(Code::unreachable, error.message());
                       self->take(std::string_view(self->input_.get(), size));
                       if (self->owner_ == nullptr) return;
                       self->fit_input(size);
                       self->read();
                     });
}

void Link::fit_input(std::size_t came) {
  std::size_t size = input_size_;
  if (came == size) size = std::min(4 * size, input_size_max);
  if (came < input_size_min) size = input_size_min;
  if (size == input_size_) return;
  input_ = std::make_unique_for_overwrite<char[]>(size);
  input_size_ = size;
}

void Link::take(std::string_view bytes) {
  replies_.feed(bytes);
  while (owner_ != nullptr) {
    Result<std::optional<protocol::Value>> reply = replies_.next();
    if (!reply)
      return lose(Code::unreachable, "what answers is no DueLease server: " + reply.error().message);
    if (!*reply) return;
    if (open_) {
      owner_->link_received(std::move(**reply));
    } else {
      take_greeting(**reply);
    }
  }
}

void Link::take_greeting(const protocol::Value& reply) {
  const Result<std::string> text = protocol::read_text(reply);
  if (!text) {
    const bool later = text.error().code == Code::overloaded || text.error().code == Code::closing;
    return lose(later ? Code::unreachable : Code::denied, text.error().message);
  }
  open_ = true;
  timer_.cancel();
  owner_->link_open();
}

void Link::lose(Code code, const std::string& why) {
  LinkOwner* const owner = owner_;
  close();
  if (owner == nullptr) return;
  owner->link_lost(Error{code, site_.options.host + ":" + std::to_string(site_.options.port) + ": " + why});
}

void Link::close() {
  owner_ = nullptr;
  timer_.cancel();
  resolver_.cancel();
  error_code ignored;
  stream_->socket().close(ignored);
}

}  // namespace duelease::client
