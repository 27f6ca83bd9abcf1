// client/scripted_server.h: a server that says what a test tells it to say.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/asio.h"

namespace duelease::test {

// Each connection has a thread. PING is answered PONG; every other request by the script, which is called by
// those threads: the reply in bytes, empty for none. The clients must be gone before it is destroyed.
class ScriptedServer {
 public:
  using Words = std::vector<std::string>;
  using Script = std::function<std::string(const Words&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    acceptor_thread_ = std::thread([this] { accept(); });
  }
  ~ScriptedServer() {
    ending_ = true;
    boost::asio::ip::tcp::socket last(context_);
    last.connect(acceptor_.local_endpoint());
    last.close();
    acceptor_thread_.join();
    for (std::thread& thread : threads_) thread.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  using Socket = boost::asio::ip::tcp::socket;

  void accept() {
    for (;;) {
      Socket socket(context_);
      acceptor_.accept(socket);
      if (ending_) return;
      threads_.emplace_back([this, taken = std::move(socket)]() mutable { serve(taken); });
    }
  }

  void serve(Socket& socket) {
    std::string input;
    for (;;) {
      char bytes[4096];
      boost::system::error_code error;
      const std::size_t size = socket.read_some(boost::asio::buffer(bytes), error);
      if (error) return;
      input.append(bytes, size);
      for (Words words = take_request(input); !words.empty(); words = take_request(input)) {
        std::string reply = words[0] == "PING" ? "+PONG\r\n" : script_(words);
        for (std::size_t sent = 0; sent < reply.size() && !error;) {
          sent += socket.write_some(boost::asio::buffer(reply.data() + sent, reply.size() - sent), error);
        }
      }
    }
  }

  // The first whole request; none: empty.
  static Words take_request(std::string& input) {
    std::size_t at = 0;
    const auto number = [&] {  // After a mark of one byte.
      const std::size_t end = input.find("\r\n", at);
      if (end == std::string::npos) return std::string::npos;
      const std::size_t value = std::stoul(input.substr(at + 1, end - at - 1));
      at = end + 2;
      return value;
    };
    Words words;
    const std::size_t count = input.empty() ? std::string::npos : number();
    if (count == std::string::npos) return {};
    while (words.size() < count) {
      const std::size_t size = at < input.size() ? number() : std::string::npos;
      if (size == std::string::npos || input.size() < at + size + 2) return {};
      words.push_back(input.substr(at, size));
      at += size + 2;
    }
    input.erase(0, at);
    return words;
  }

  const Script script_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_{
      context_, boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
  std::atomic<bool> ending_{false};
  std::thread acceptor_thread_;
  std::vector<std::thread> threads_;  // Of the acceptor's thread, until it has ended.
};

}  // namespace duelease::test
