// server/client.h: a server with an engine of its own, and a client of it that a test holds by the hand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "duelease/server.h"
#include "protocol/answer.h"
#include "support/live_engine.h"
#include "support/temporary_folder.h"

namespace duelease::test {

// For what another thread does: looks again until it is so.
template <class Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

inline ServerOptions any_port() {
  ServerOptions options;
  options.port = 0;
  options.stop_deadline = std::chrono::minutes{1};
  return options;
}

class LiveServer {
 public:
  explicit LiveServer(ServerOptions options = any_port(), Options engine_options = small_options())
      : engine_(open_live(folder_ / "store", std::move(engine_options))) {
    options.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_ += std::string(line) + "\n";
    };
    server_ = well(Server::start(*engine_, std::move(options)));
  }
  // Also after the first.
  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  Engine& engine() { return *engine_; }
  void end() { server_.reset(); }
  Server& server() { return *server_; }
  std::uint16_t port() const { return server_->port(); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  mutable std::mutex mutex_;
  std::string log_;
  TemporaryFolder folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Server> server_;
};

// The engine answers no change, from the construction on until the end. Reads go on.
class HeldUp {
 public:
  explicit HeldUp(Engine& engine) {
    CancelRequest nothing;
    nothing.queue = "nobody-uses-this";
    nothing.id = "nothing";
    engine.cancel(nothing, [state = state_](const Result<Answer>&) {
      state->begun.set_value();
      state->over.get_future().wait();
    });
    state_->begun.get_future().wait();
  }
  ~HeldUp() { end(); }
  HeldUp(const HeldUp&) = delete;
  HeldUp& operator=(const HeldUp&) = delete;
  void end() {
    if (!std::exchange(ended_, true)) state_->over.set_value();
  }

 private:
  struct State {
    std::promise<void> begun;
    std::promise<void> over;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool ended_ = false;
};

// A reply on one line: +OK, -ERR what, :7, "bytes", nil, [a b].
inline std::string shown(const protocol::Value& value) {
  using Kind = protocol::Value::Kind;
  switch (value.kind) {
    case Kind::simple: return "+" + value.text;
    case Kind::error: return "-" + value.text;
    case Kind::integer: return ":" + std::to_string(value.integer);
    case Kind::bulk: return "\"" + value.text + "\"";
    case Kind::nil: return "nil";
    case Kind::array: break;
  }
  std::string out = "[";
  for (const protocol::Value& element : value.array) out += (out.size() > 1 ? " " : "") + shown(element);
  return out + "]";
}

inline std::string in_array_form(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return out;
}

class Client {
 public:
  // `receive_buffer`: of the socket, for a client that is to be full soon.
  explicit Client(std::uint16_t port, int receive_buffer = 0) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const timeval timeout{.tv_sec = patience.count(), .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd_);
      throw std::runtime_error("cannot connect");
    }
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes) {
    if (!try_send(bytes)) throw std::runtime_error("cannot send");
  }
  bool try_send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // As much as goes at once; how many bytes that was.
  std::size_t send_some(std::string_view bytes) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  // The next reply. Throws when the connection ends or nothing comes.
  protocol::Value value() {
    for (;;) {
      if (auto reply = well(replies_.next())) return *reply;
      char buffer[16 * 1024];
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) throw std::runtime_error(got == 0 ? "the server closed" : "no reply came");
      replies_.feed({buffer, static_cast<std::size_t>(got)});
    }
  }
  std::string reply() { return shown(value()); }
  std::string ask(std::string_view line) {
    send(std::string(line) + "\r\n");
    return reply();
  }
  std::string ask(std::initializer_list<std::string> words) {
    send(in_array_form(words));
    return reply();
  }
  // Whether bytes have come that were not read; does not wait.
  bool has_come() const {
    char byte = 0;
    return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }
  // Takes the replies that have come, does not wait for more; how many they were.
  std::size_t take_replies() {
    char buffer[16 * 1024];
    ssize_t got = 0;
    while ((got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
      replies_.feed({buffer, static_cast<std::size_t>(got)});
    }
    std::size_t count = 0;
    while (well(replies_.next())) ++count;
    return count;
  }
  // Waits for the server to close, behind all that it has said.
  bool closed_by_server() {
    char buffer[16 * 1024];
    ssize_t got = 0;
    while ((got = ::recv(fd_, buffer, sizeof buffer, 0)) > 0) {
    }
    return got == 0 || errno == ECONNRESET;
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // As a machine does whose process was killed with replies unread.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

 private:
  int fd_;
  protocol::ReplyReader replies_;
};

// A number of INFO.
inline std::uint64_t info(Client& client, const std::string& name) {
  client.send("INFO\r\n");
  const std::string text = client.value().text;
  const std::size_t start = text.find("\n" + name + ":");
  if (start == std::string::npos) throw std::runtime_error("INFO has no " + name);
  return std::stoull(text.substr(start + name.size() + 2));
}

}  // namespace duelease::test
