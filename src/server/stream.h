// server/stream.h: bytes to and from one client, plain or over TLS; a session does not know which.
//
// At most one read and one write at a time. The user is kept alive until it is told.
#pragma once

#include <memory>
#include <string_view>

#include "server/asio.h"
#include "server/loop.h"

namespace duelease::server {

class StreamUser {
 public:
  virtual void on_handshake(const boost::system::error_code& error) = 0;
  // Some bytes of a write have gone.
  virtual void on_written_some() = 0;
  // `bytes` are valid during the call. An end of the stream is boost::asio::error::eof.
  virtual void on_read(const boost::system::error_code& error, std::string_view bytes) = 0;
  virtual void on_written(const boost::system::error_code& error) = 0;

 protected:
  ~StreamUser() = default;
};

class Stream {
 public:
  using User = std::shared_ptr<StreamUser>;
  virtual ~Stream() = default;
  virtual void handshake(User user) = 0;
  // At most `most` bytes.
  virtual void read(std::size_t most, User user) = 0;
  // `bytes` must stay where they are until on_written().
  virtual void write(std::string_view bytes, User user) = 0;
  // Nothing more will be written. After the last on_written().
  virtual void end_writing(User keep_alive) = 0;
  // What is under way ends with an error.
  virtual void close() = 0;
};

std::unique_ptr<Stream> plain_stream(Loop& loop, boost::asio::ip::tcp::socket socket);
std::unique_ptr<Stream> tls_stream(Loop& loop, boost::asio::ip::tcp::socket socket,
                                   boost::asio::ssl::context& context);

}  // namespace duelease::server
