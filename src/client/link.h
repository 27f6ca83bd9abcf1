// client/link.h: one connection, from its making to its end. It is never made again; a Channel makes a new one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/stream.h"
#include "protocol/answer.h"

namespace duelease::client {

// What every connection of a client has in common.
struct Site {
  ClientOptions options;
  TlsContext tls;  // Empty: plain.
};

class LinkOwner {
 public:
  // The server has answered the greeting. At most once, before the next two.
  virtual void link_open() = 0;
  virtual void link_written() = 0;
  virtual void link_received(protocol::Value reply) = 0;
  // Nothing comes after this.
  virtual void link_lost(Error why) = 0;

 protected:
  ~LinkOwner() = default;
};

// On the client's thread alone. Calls its owner from the io_context only, never from inside its own methods.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(boost::asio::io_context& context, const Site& site, LinkOwner& owner);

  // Connects, shakes hands, and greets: with AUTH where there is a password, else with PING, so that what
  // answers is known to be a server that has room for us.
  void start();
  // The next one when this one is reported written.
  void write(std::string bytes);
  // The owner hears nothing more.
  void close();

 private:
  static constexpr std::size_t input_size_min = 1024;
  static constexpr std::size_t input_size_max = 64 * 1024;

  void connect_to(const std::vector<boost::asio::ip::tcp::endpoint>& endpoints);
  void connected();
  void greet();
  void read();
  void take(std::string_view bytes);
  void fit_input(std::size_t came);
  void take_greeting(const protocol::Value& reply);
  void lose(Code code, const std::string& why);

  const Site& site_;
  LinkOwner* owner_;  // None: closed.
  bool open_ = false;
  std::unique_ptr<Stream> stream_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;  // Until it is open.
  protocol::ReplyReader replies_{};
  // As large as what comes: most connections just wait.
  std::size_t input_size_ = input_size_min;
  std::unique_ptr<char[]> input_ = std::make_unique_for_overwrite<char[]>(input_size_min);
};

}  // namespace duelease::client
