#include "support/cutting_proxy.h"

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "engine/asio.h"
// (Boost's own headers come behind the door.)
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace duelease::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

enum class Replies : std::uint8_t { pass, lose_next, hold };

struct Pair {
  explicit Pair(asio::io_context& context) : client(context), server(context) {}
  tcp::socket client;
  tcp::socket server;
  std::array<char, 64 * 1024> to_server{};
  std::array<char, 64 * 1024> to_client{};

  void cut() {
    error_code ignored;
    client.close(ignored);
    server.close(ignored);
  }
};
using SharedPair = std::shared_ptr<Pair>;

}  // namespace

// All but the counter on `thread` only.
struct CuttingProxy::Impl {
  explicit Impl(std::uint16_t target_port) : target(asio::ip::address_v4::loopback(), target_port) {
    listen(0);
    port = acceptor->local_endpoint().port();
  }

  void listen(std::uint16_t at) {
    acceptor.emplace(context, tcp::endpoint(asio::ip::address_v4::loopback(), at));  // Reuses the address.
    accept();
  }

  void accept() {
    const auto pair = std::make_shared<Pair>(context);
    acceptor->async_accept(pair->client, [this, pair](const error_code& error) {
      if (error || !acceptor) return;
      ++connections;
      error_code refused;
      pair->server.connect(target, refused);
      if (refused) {
        pair->cut();
      } else {
        pairs.insert(pair);
        pass_requests(pair);
        pass_replies(pair);
      }
      accept();
    });
  }

  void end(const SharedPair& pair) {
    pair->cut();
    pairs.erase(pair);
  }

  void pass_requests(const SharedPair& pair) {
    pair->client.async_read_some(asio::buffer(pair->to_server),
                                 [this, pair](const error_code& error, std::size_t size) {
                                   if (error) return end(pair);
                                   asio::async_write(pair->server, asio::buffer(pair->to_server.data(), size),
                                                     [this, pair](const error_code& failed, std::size_t) {
                                                       if (failed) return end(pair);
                                                       pass_requests(pair);
                                                     });
                                 });
  }

  void pass_replies(const SharedPair& pair) {
    pair->server.async_read_some(asio::buffer(pair->to_client),
                                 [this, pair](const error_code& error, std::size_t size) {
                                   if (error) return end(pair);
                                   if (replies == Replies::hold) return pass_replies(pair);
                                   if (replies == Replies::lose_next) {
                                     replies = Replies::pass;
                                     return end(pair);
                                   }
                                   asio::async_write(pair->client, asio::buffer(pair->to_client.data(), size),
                                                     [this, pair](const error_code& failed, std::size_t) {
                                                       if (failed) return end(pair);
                                                       pass_replies(pair);
                                                     });
                                 });
  }

  void cut_all() {
    replies = Replies::pass;
    for (const SharedPair& pair : pairs) pair->cut();
    pairs.clear();
  }

  // Runs it on the thread.
  void run(std::function<void()> action) {
    std::promise<void> done;
    asio::post(context, [&] {
      action();
      done.set_value();
    });
    done.get_future().wait();
  }

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  const tcp::endpoint target;
  std::optional<tcp::acceptor> acceptor;
  std::uint16_t port = 0;
  Replies replies = Replies::pass;
  std::set<SharedPair> pairs;
  std::atomic<std::uint64_t> connections{0};
  std::thread thread{};
};

CuttingProxy::CuttingProxy(std::uint16_t target) : impl_(std::make_unique<Impl>(target)) {
  impl_->thread = std::thread([this] { impl_->context.run(); });
}
CuttingProxy::~CuttingProxy() {
  impl_->context.stop();
  impl_->thread.join();
}

std::uint16_t CuttingProxy::port() const { return impl_->port; }
void CuttingProxy::cut() {
  impl_->run([this] { impl_->cut_all(); });
}
void CuttingProxy::lose_next_reply() {
  impl_->run([this] { impl_->replies = Replies::lose_next; });
}
void CuttingProxy::hold_replies() {
  impl_->run([this] { impl_->replies = Replies::hold; });
}
void CuttingProxy::close() {
  impl_->run([this] {
    impl_->acceptor.reset();
    impl_->cut_all();
  });
}
void CuttingProxy::open() {
  impl_->run([this] { impl_->listen(impl_->port); });
}
std::size_t CuttingProxy::open_connections() {
  std::size_t count = 0;
  impl_->run([&] { count = impl_->pairs.size(); });
  return count;
}
std::uint64_t CuttingProxy::connections() const { return impl_->connections; }

}  // namespace duelease::test
