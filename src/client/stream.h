// client/stream.h: the bytes of one connection, plain or TLS.
#pragma once

#include <functional>
#include <memory>

#include "client/asio.h"
#include "duelease/client.h"
#include "duelease/result.h"

namespace boost::asio::ssl {
class context;
}

namespace duelease::client {

using boost::system::error_code;

// Each operation answers by its callback, from the io_context, unless that is destroyed first. After the socket
// was closed they answer an error.
class Stream {
 public:
  using Shaken = std::function<void(const error_code&)>;
  using Moved = std::function<void(const error_code&, std::size_t)>;

  virtual ~Stream() = default;
  // To connect and to close.
  virtual boost::asio::ip::tcp::socket& socket() = 0;
  // Once connected.
  virtual void handshake(Shaken done) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, Moved done) = 0;
  virtual void write(boost::asio::const_buffer all, Moved done) = 0;
};

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// What all TLS connections of a client share. Errors: invalid, with the file that is at fault.
Result<TlsContext> open_tls(const TlsOptions& options);

// `tls` empty: plain.
std::unique_ptr<Stream> make_stream(boost::asio::io_context& context, const ClientOptions& options,
                                    const TlsContext& tls);

}  // namespace duelease::client
