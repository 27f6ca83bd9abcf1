#include "server/stream.h"

#include <algorithm>
#include <array>
#include <optional>

namespace duelease::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

// For a write: all of it, and its user hears of each piece.
auto all_telling(Stream::User user) {
  return [user = std::move(user)](const Error& error, std::size_t written) {
    if (!error && written > 0) user->on_written_some();
    return asio::transfer_all()(error, written);
  };
}

// Waits until there is something to read, and reads it into the buffer of the loop: a connection that is
// idle has no buffer.
class PlainStream final : public Stream {
 public:
  PlainStream(Loop& loop, tcp::socket socket) : loop_(loop), socket_(std::move(socket)) {
    Error ignored;
    socket_.non_blocking(true, ignored);
  }

  void handshake(User user) override { user->on_handshake({}); }

  void read(std::size_t most, User user) override {
    socket_.async_wait(tcp::socket::wait_read, [this, most, user = std::move(user)](Error error) mutable {
      std::size_t count = 0;
      if (!error) count = socket_.read_some(asio::buffer(loop_.read_buffer(), most), error);
      if (error == asio::error::would_block || error == asio::error::interrupted)
        return read(most, std::move(user));
      user->on_read(error, {loop_.read_buffer().data(), count});
    });
  }

  void write(std::string_view bytes, User user) override {
    asio::async_write(socket_, asio::buffer(bytes), all_telling(user),
                      [user](const Error& error, std::size_t) { user->on_written(error); });
  }

  void end_writing(User) override {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void close() override {
    Error ignored;
    socket_.close(ignored);
  }

 private:
  Loop& loop_;
  tcp::socket socket_;
};

// Each connection costs what OpenSSL and Asio keep for it, some 50 KiB.
class TlsStream final : public Stream {
 public:
  TlsStream(Loop& loop, tcp::socket socket, asio::ssl::context& context)
      : loop_(loop), stream_(std::move(socket), context) {}

  void handshake(User user) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [user = std::move(user)](const Error& error) { user->on_handshake(error); });
  }

  // The first bytes are awaited in a small buffer; more of the same record is there already and is then
  // read into the loop's.
  void read(std::size_t most, User user) override {
    stream_.async_read_some(
        asio::buffer(first_, most), [this, most, user = std::move(user)](Error error, std::size_t count) {
          if (error == asio::ssl::error::stream_truncated) error = asio::error::eof;
          std::array<char, Loop::read_bytes>& buffer = loop_.read_buffer();
          std::copy_n(first_.begin(), count, buffer.begin());
          const std::size_t room = std::min(most, buffer.size());
          while (!error && count < room) {
            const int more = ::SSL_pending(stream_.native_handle());
            if (more <= 0) break;
            const int got = ::SSL_read(
                stream_.native_handle(), buffer.data() + count,
                static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(more), room - count)));
            if (got <= 0) break;  // The next read finds out why.
            count += static_cast<std::size_t>(got);
          }
          user->on_read(error, {buffer.data(), count});
        });
  }

  void write(std::string_view bytes, User user) override {
    asio::async_write(stream_, asio::buffer(bytes), all_telling(user),
                      [user](const Error& error, std::size_t) { user->on_written(error); });
  }

  void end_writing(User keep_alive) override {
    stream_.async_shutdown([keep_alive = std::move(keep_alive)](const Error&) {});
  }

  void close() override {
    Error ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  Loop& loop_;
  asio::ssl::stream<tcp::socket> stream_;
  std::array<char, 512> first_{};
};

}  // namespace

std::unique_ptr<Stream> plain_stream(Loop& loop, tcp::socket socket) {
  return std::make_unique<PlainStream>(loop, std::move(socket));
}

std::unique_ptr<Stream> tls_stream(Loop& loop, tcp::socket socket, asio::ssl::context& context) {
  return std::make_unique<TlsStream>(loop, std::move(socket), context);
}

}  // namespace duelease::server
