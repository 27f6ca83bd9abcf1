// client/channel.h: calls in order, over one connection after another.
//
//   submit --> waiting_ --written--> sent_ --reply--> done
//                 ^                    |
//                 |  connection lost   | repeatable: back to the front of waiting_
//                 +--------------------+ else: answered unreachable
//
// A reply CLOSING says that nothing was done and that the server will be gone, or back, soon: such a call waits
// in later_, and is written again after a pause, on whatever connection there is by then. The connection is
// left alone: a server that shuts down still takes the reports of orders that it has handed out.
//
// No call is answered later than at its deadline. One that was put off stands behind younger ones, so the timer
// is set to the earliest deadline of all: a new call can only bring it forward, and when it rings all are looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/link.h"

namespace duelease::client {

using Steady = std::chrono::steady_clock;

struct Call {
  std::string bytes{};      // The request.
  bool repeatable = false;  // May be sent again when it is not known whether the server has got it.
  Steady::time_point deadline{};
  // Where the request depends on when it is sent: asked for the bytes each time.
  std::function<std::string()> print{};
  // Once. An error reply of the server comes as a value.
  std::function<void(Result<protocol::Value>)> done{};
  // Off: CLOSING is an answer like any other.
  bool waits_out_closing = true;
  Steady::time_point sent_at{};
};

// On the client's thread alone.
class Channel final : public LinkOwner {
 public:
  Channel(boost::asio::io_context& context, const Site& site, std::function<std::uint64_t()> random);

  void submit(Call call);
  // The outcome of the first attempt to connect, which begins now.
  void connect(std::function<void(Result<>)> done);
  // Forgets its calls, unanswered, and closes the connection.
  void abandon();
  // Answers all calls with the error. Nothing may be submitted after that.
  void close(const Error& why);

  bool is_connected() const { return open_; }
  // When the call whose reply is being delivered was sent.
  Steady::time_point reply_sent_at() const { return reply_sent_at_; }

 private:
  void link_open() override;
  void link_written() override;
  void link_received(protocol::Value reply) override;
  void link_lost(Error why) override;

  void start_link();
  void reconnect_later();
  void pump();
  void put_off(Call call);
  void bring_back_later();
  void drop_link(const Error& why);
  std::vector<Call> unwind(const Error& why);
  void expire_at(Steady::time_point deadline);
  void expire();
  std::optional<Steady::time_point> next_deadline() const;

  boost::asio::io_context& context_;
  const Site& site_;
  const std::function<std::uint64_t()> random_;

  std::shared_ptr<Link> link_{};
  bool open_ = false;
  bool writing_ = false;
  std::uint32_t failures_ = 0;  // In a row; a reply ends the row.
  Error last_error_{};
  std::function<void(Result<>)> on_first_{};
  std::deque<Call> waiting_{};
  std::deque<Call> sent_{};
  std::deque<Call> later_{};
  Steady::time_point reply_sent_at_{};
  boost::asio::steady_timer reconnect_;
  bool reconnecting_ = false;
  boost::asio::steady_timer return_;
  boost::asio::steady_timer expiry_;
  std::optional<Steady::time_point> expiry_at_{};
};

}  // namespace duelease::client
