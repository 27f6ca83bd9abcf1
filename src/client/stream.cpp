#include "client/stream.h"

#include <string>

#include "client/asio.h"
// (Boost's own headers come behind the door.)
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace duelease::client {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

namespace {

class PlainStream final : public Stream {
 public:
  explicit PlainStream(asio::io_context& context) : socket_(context) {}

  tcp::socket& socket() override { return socket_; }
  void handshake(Shaken done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(asio::mutable_buffer into, Moved done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void write(asio::const_buffer all, Moved done) override {
    asio::async_write(socket_, all, std::move(done));
  }

 private:
  tcp::socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(asio::io_context& context, const ClientOptions& options, TlsContext tls)
      : tls_(std::move(tls)), stream_(context, *tls_) {
    error_code is_name;
    asio::ip::make_address(options.host, is_name);
    if (is_name) SSL_set_tlsext_host_name(stream_.native_handle(), options.host.c_str());
    stream_.set_verify_mode(ssl::verify_peer);
    if (options.tls.verify_host) stream_.set_verify_callback(ssl::host_name_verification(options.host));
  }

  tcp::socket& socket() override { return stream_.next_layer(); }
  void handshake(Shaken done) override { stream_.async_handshake(ssl::stream_base::client, std::move(done)); }
  void read_some(asio::mutable_buffer into, Moved done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void write(asio::const_buffer all, Moved done) override {
    asio::async_write(stream_, all, std::move(done));
  }

 private:
  const TlsContext tls_;
  ssl::stream<tcp::socket> stream_;
};

Unexpected unusable(const std::string& what, const std::string& file, const error_code& error) {
  return fail(Code::invalid, "TLS: cannot use the " + what + " in " + file + ": " + error.message());
}

}  // namespace

Result<TlsContext> open_tls(const TlsOptions& options) {
  const auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  error_code error;
  if (options.ca_file.empty()) {
    context->set_default_verify_paths(error);
    if (error) return fail(Code::invalid, "TLS: the system's authorities: " + error.message());
  } else {
    context->load_verify_file(options.ca_file, error);
    if (error) return unusable("authorities", options.ca_file, error);
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return fail(Code::invalid, "TLS: a certificate and its key are given together or not at all");
  }
  if (!options.certificate_file.empty()) {
    context->use_certificate_chain_file(options.certificate_file, error);
    if (error) return unusable("certificate", options.certificate_file, error);
    context->use_private_key_file(options.key_file, ssl::context::pem, error);
    if (error) return unusable("key", options.key_file, error);
  }
  return context;
}

std::unique_ptr<Stream> make_stream(asio::io_context& context, const ClientOptions& options,
                                    const TlsContext& tls) {
  if (!tls) return std::make_unique<PlainStream>(context);
  return std::make_unique<TlsStream>(context, options, tls);
}

}  // namespace duelease::client
