// beanstalkd with its binlog. A batch is sent in one go and the replies are read behind it. It gives its own ids, so
// ours goes in front of the payload; it knows no order twice, and no duplicate. Its delays are whole seconds, so a due
// time is rounded up to them.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <sstream>

#include "process.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

constexpr std::size_t id_bytes = 16;

class BeanstalkdConnection final : public Connection {
 public:
  explicit BeanstalkdConnection(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      const std::string why = std::strerror(errno);
      ::close(socket_);
      throw Fault("beanstalkd: no connection: " + why);
    }
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~BeanstalkdConnection() override { ::close(socket_); }

  void schedule(std::span<const NewOrder> orders) override {
    const Time now = system_clock()->now().wall;
    for (const NewOrder& order : orders) {
      const auto delay = order.due <= now ? std::chrono::seconds{0}
                                          : std::chrono::ceil<std::chrono::seconds>(order.due - now);
      out_ += "put 0 " + std::to_string(delay.count()) + ' ' + std::to_string(lease_length.count() / 1000) +
              ' ' + std::to_string(id_bytes + order.payload.size()) + "\r\n";
      out_ += order.id;
      out_ += order.payload;
      out_ += "\r\n";
    }
    send();
    for (std::size_t i = 0; i < orders.size(); ++i) expect("INSERTED ");
  }

  std::vector<Handed> claim(unsigned count) override { return claim(count, std::chrono::seconds{0}); }
  std::vector<Handed> claim_one(Duration wait) override {
    return claim(1, std::chrono::ceil<std::chrono::seconds>(wait));
  }

  void complete(std::span<const Handed> orders) override {
    for (const Handed& order : orders) out_ += "delete " + std::to_string(order.place) + "\r\n";
    send();
    for (std::size_t i = 0; i < orders.size(); ++i) expect("DELETED");
  }

  std::uint64_t not_completed() override {
    out_ = "stats-tube default\r\n";
    send();
    std::istringstream head(expect("OK "));
    std::size_t size = 0;
    head >> size;
    std::istringstream lines(bytes(size));
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
      for (const std::string_view name :
           {"current-jobs-ready: ", "current-jobs-delayed: ", "current-jobs-reserved: "}) {
        if (line.starts_with(name)) sum += std::stoull(line.substr(name.size()));
      }
    }
    return sum;
  }

 private:
  std::vector<Handed> claim(unsigned count, std::chrono::seconds wait) {
    for (unsigned i = 0; i < count; ++i)
      out_ += "reserve-with-timeout " + std::to_string(wait.count()) + "\r\n";
    send();
    std::vector<Handed> orders;
    for (unsigned i = 0; i < count; ++i) {
      const std::string reply = line();
      if (reply == "TIMED_OUT") continue;
      if (!reply.starts_with("RESERVED ")) throw Fault("beanstalkd: " + reply);
      std::istringstream words(reply.substr(9));
      Handed order;
      std::size_t size = 0;
      words >> order.place >> size;
      const std::string body = bytes(size);
      order.id = body.substr(0, id_bytes);
      order.payload = body.substr(order.id.size());
      orders.push_back(std::move(order));
    }
    return orders;
  }

  void send() {
    for (std::size_t sent = 0; sent < out_.size();) {
      const ssize_t more = ::send(socket_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) throw Fault(std::string("beanstalkd: ") + std::strerror(errno));
      sent += static_cast<std::size_t>(more);
    }
    out_.clear();
  }
  // What is behind `start`.
  std::string expect(std::string_view start) {
    const std::string reply = line();
    if (!reply.starts_with(start)) throw Fault("beanstalkd: " + reply);
    return reply.substr(start.size());
  }
  std::string line() {
    std::size_t end = 0;
    while ((end = in_.find("\r\n", read_)) == std::string::npos) receive();
    std::string found = in_.substr(read_, end - read_);
    read_ = end + 2;
    return found;
  }
  // And the end of the line behind them.
  std::string bytes(std::size_t size) {
    while (in_.size() - read_ < size + 2) receive();
    std::string found = in_.substr(read_, size);
    read_ += size + 2;
    return found;
  }
  void receive() {
    in_.erase(0, read_);
    read_ = 0;
    std::array<char, 65536> buffer;
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got <= 0) throw Fault("beanstalkd closed the connection");
    in_.append(buffer.data(), static_cast<std::size_t>(got));
  }

  const int socket_;
  std::string out_;
  std::string in_;
  std::size_t read_ = 0;  // How much of `in_` is done with.
};

class BeanstalkdTarget final : public Target {
 public:
  BeanstalkdTarget(const std::filesystem::path& folder, std::string variant)
      : Target(folder), variant_(std::move(variant)), port_(free_port()) {}

  void start() override {
    std::vector<std::string> words = {find_program("beanstalkd").string(),
                                      "-l",
                                      "127.0.0.1",
                                      "-p",
                                      std::to_string(port_),
                                      "-b",
                                      folder().string(),
                                      "-z",
                                      "131072"};  // The largest job, in bytes.
    if (variant_ == "0") words.insert(words.end(), {"-f", "0"});
    process_.emplace(words, folder() / "log");
    process_->wait_until([this] {
      try {
        BeanstalkdConnection connection(port_);
        return true;
      } catch (const Fault&) {
        return false;
      }
    });
  }
  std::unique_ptr<Connection> connect() override { return std::make_unique<BeanstalkdConnection>(port_); }
  void stop() override { process_->stop(SIGTERM); }
  void kill() override { process_->kill(); }
  std::uint64_t resident_bytes() const override { return process_->resident_bytes(); }

 private:
  const std::string variant_;
  const std::uint16_t port_;
  std::optional<Process> process_;
};

TargetInfo info(const TargetChoice&, const std::string& variant) {
  const std::filesystem::path program = find_program("beanstalkd");
  if (program.empty()) return {"", "", "package beanstalkd"};
  return {
      output_of("'" + program.string() + "' -v"),
      variant == "0" ? "binlog, on disk before the reply (-f 0)" : "binlog, synced every 50 ms (the default)",
      ""};
}

std::unique_ptr<Target> make(const TargetChoice&, const std::string& variant,
                             const std::filesystem::path& folder) {
  return std::make_unique<BeanstalkdTarget>(folder, variant);
}

}  // namespace

TargetKind beanstalkd_kind() {
  return {{{"beanstalkd", "its binlog synced every 50 ms, the default"},
           {"beanstalkd:0", "its binlog synced before each reply (-f 0)"}},
          info,
          make};
}

}  // namespace duelease::bench
