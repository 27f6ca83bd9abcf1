// server/session.h: one connection, from its first byte to its last.
//
//   bytes --> WordReader --> requests --+--> here (PING, ...)          -------------+
//                                       +--> engine, not waited for    --> answers -+--> slots --> one write
//                                       +--> threads for reads, alone  -------------+
//
// Replies leave in the order of the requests: each request has a place in a row of slots, and what is ready
// at the front of the row is written, all of it in one write; while that write is under way the next ones
// collect. Changes are given to the engine as they come (it keeps their order, and those of one read share
// a sync). A read waits until all before it is answered, and holds up all behind it; so do a claim that
// waits, and AUTH.
//
// Limits. What would cross one is left in the socket, where it costs the client and not us. A claim counts
// as the largest reply that it can have until it is answered.
//
// All of it runs on the thread of its loop, but for two jobs that run on other threads and post what they found to
// the loop: the reads (reads.h), and the hash of a password. They touch what is constant, and Shared.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/reply.h"
#include "protocol/request.h"
#include "protocol/words.h"
#include "server/loop.h"
#include "server/rules.h"
#include "server/shared.h"
#include "server/stream.h"

namespace duelease::server {

class Session final : public StreamUser, public Advancing, public std::enable_shared_from_this<Session> {
 public:
  // `closed` is called once, on the loop.
  Session(Shared& shared, Loop& loop, std::unique_ptr<Stream> stream, std::uint64_t id, std::string peer,
          std::function<void()> closed);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  // Instead: answers OVERLOADED and closes.
  void start_refused(const std::string& why);
  // A claim that waits is answered with nothing.
  void stop_waiting();
  // Answers what came, and closes.
  void finish();
  void close();

  void on_handshake(const boost::system::error_code& error) override;
  void on_read(const boost::system::error_code& error, std::string_view bytes) override;
  void on_written_some() override;
  void on_written(const boost::system::error_code& error) override;
  void advance() override;

 private:
  // One request as it was read, or why it is none.
  struct Item {
    std::variant<protocol::Request, protocol::Refusal> what;
    std::size_t bytes = 0;
    bool last = false;  // Nothing can be read behind it.
  };
  // The place of the reply to some requests that follow each other.
  struct Slot {
    bool ready = false;
    std::string reply;
    // Until it is ready:
    std::size_t requests = 0;
    std::size_t request_bytes = 0;
    std::size_t reply_bytes_reserved = 0;
  };
  using SlotNumber = std::uint64_t;
  class Dispatch;

  // ---- session.cpp: the flow ----
  bool has_logged_in() const { return !shared_.users || user_ != nullptr; }
  protocol::WordLimits word_limits() const;
  bool has_room(std::size_t reserved) const;
  bool reads_are_full() const;
  bool may_take() const;
  bool may_read() const;
  void take_requests();
  std::optional<Item> next_item();
  void run_reads();
  void write_replies();
  void read_more();
  void account();
  void refuse_half_request();
  bool has_ended() const;
  void end();
  void after(std::chrono::milliseconds delay, void (Session::*then)());
  void handshake_is_late();
  void watch();
  std::shared_ptr<Session> self() { return shared_from_this(); }

  SlotNumber open_slot();
  Slot& slot(SlotNumber number) { return slots_[static_cast<std::size_t>(number - first_slot_)]; }
  void add_to(Slot& slot, std::size_t request_bytes, std::size_t reply_bytes_reserved = 0);
  void answered(SlotNumber number, std::string reply);
  template <class Print>
  void reply_now(const Print& print);

  // ---- session_requests.cpp: what each request does ----
  void take(Item item);
  void refuse(const protocol::Refusal& refusal);
  void submit_batch();
  template <class Request>
  void add_to_batch(std::vector<Request>& batch, Request request, std::size_t bytes);
  // For a single request: a callback for the engine, whose answer `print` turns into the reply, on the loop.
  template <class T, class Print>
  Callback<T> callback(std::size_t bytes, Print print, std::size_t reserved = 0);
  // For a batch.
  template <class Each>
  AnswersCallback batch_callback(Each each);
  void claim(ClaimRequest request, std::size_t bytes);
  void pop(PopRequest request, std::size_t bytes);
  void login(protocol::AuthRequest request, bool hello, std::size_t bytes);
  void logged_in(SlotNumber number, const User* user, const protocol::AuthRequest& request, bool hello);
  void print_error(std::string& out, const Error& error);
  void print_answer(std::string& out, const Result<Answer>& answer);
  void print_hello(std::string& out) const;

  // Constant after construction.
  Shared& shared_;
  Loop& loop_;
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  const std::unique_ptr<Stream> stream_;
  const std::uint64_t id_;
  const std::string peer_;
  const std::function<void()> on_closed_;

  // Who it is.
  const User* user_ = nullptr;
  std::uint32_t logins_failed_ = 0;

  // Requests.
  std::optional<protocol::WordReader> reader_;  // Only while there are bytes in it.
  bool exhausted_ = true;                       // No whole request is in reader_.
  std::optional<Item> parked_;                  // Came behind reads_.
  std::vector<protocol::Request> reads_;        // To be run together.
  std::size_t reads_bytes_ = 0;
  bool reads_running_ = false;
  bool held_up_ = false;  // By a claim that waits, or AUTH.
  std::optional<ClaimTicket> waiting_;
  std::vector<ScheduleRequest> schedules_;  // A batch that is collected; at most one of them is not empty.
  std::vector<CompleteRequest> completes_;
  std::vector<ImportRequest> imports_;
  std::optional<SlotNumber> batch_slot_;

  // Replies.
  std::deque<Slot> slots_;
  SlotNumber first_slot_ = 0;
  std::string writing_;
  std::size_t under_way_ = 0;         // Requests in slots that are not ready.
  std::size_t request_bytes_ = 0;     // Of them.
  std::size_t reply_bytes_ = 0;       // Ready or being written.
  std::size_t reserved_bytes_ = 0;    // See Slot.
  std::size_t held_accounted_ = 0;    // What Counters::bytes_held knows of it.
  std::size_t unsent_accounted_ = 0;  // And Counters::bytes_unsent.

  // The stream.
  bool open_ = false;  // The handshake is done.
  bool reading_ = false;
  bool is_writing_ = false;
  bool eof_ = false;        // The client sends no more.
  bool finishing_ = false;  // The server reads no more.
  bool last_ = false;       // Nothing behind what was taken is looked at.
  bool lingering_ = false;  // All is written; waits for the client to close, so that it can read the end.
  bool closed_ = false;
  std::atomic<bool> gone_{false};  // As closed_, for the threads for reads.
  std::optional<boost::asio::steady_timer> timer_;
  bool watched_ = false;  // timer_ will call watch().
  std::chrono::steady_clock::time_point last_active_{};
  std::chrono::steady_clock::time_point login_since_{};   // A login is waited for.
  std::chrono::steady_clock::time_point written_last_{};  // Something of writing_ went, or it began.
};

template <class Print>
void Session::reply_now(const Print& print) {
  if (slots_.empty() || !slots_.back().ready) {
    slots_.emplace_back();
    slots_.back().ready = true;
  }
  std::string& reply = slots_.back().reply;
  const std::size_t before = reply.size();
  print(reply);
  reply_bytes_ += reply.size() - before;
}

}  // namespace duelease::server
