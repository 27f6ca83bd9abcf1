// client/claims.h: claims, and how long their leases last.
//
// A claim that does not wait goes with all the other requests. One that waits has a channel for itself, which
// is cut when the claim is cancelled: the server forgets a claim whose connection is gone. It may have answered
// it just before, so the claim is then made once more, under the same request id and without waiting.
//
// The wire tells when a lease ends by the server's wall clock, and the two clocks need not agree. So the server
// is asked for its time. Whatever moment between the asking and the answer that time belongs to, no more is left
// of the lease than (its end - that time) - (now - the asking). A step of the server's clock between the
// hand-out and that request can make it wrong; it is never more than the claim asked for. Orders that are handed
// out must not be lost for want of that time: without it, what the claim asked for counts from its first sending.
//
// How long the whole lease was is not on the wire either. Where the claim did not ask for a length it is that of
// the queue, which is asked for, and known for a minute.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/hub.h"

namespace duelease::client {

class Claims {
 public:
  explicit Claims(Hub& hub) : hub_(hub) {}

  // Both from any thread.
  ClaimTicket claim(ClaimRequest request, Callback<std::vector<Claimed>> done);
  void cancel(ClaimTicket ticket);

 private:
  struct Reading {
    Time server{};  // Of its wall clock, at some moment between asked_at and the answer.
    Steady::time_point asked_at{};
  };
  struct Claim {
    std::uint64_t number = 0;
    ClaimRequest request{};
    Callback<std::vector<Claimed>> done{};
    Steady::time_point wait_until{};
    Channel* channel = nullptr;  // Of its own; none: it does not wait.
    bool cancelled = false;
    bool finished = false;
    bool named = false;             // By the caller: the orders may have been handed out before.
    Steady::time_point asked_at{};  // First.
    std::optional<std::vector<Claimed>> orders{};
    std::optional<Reading> clock{};
    std::size_t questions = 0;  // About the time and the queues, not answered yet.
  };
  struct Length {
    std::optional<Duration> lease{};  // Absent: the server does not tell.
    Steady::time_point until{};       // Known for so long.
  };
  using Shared = std::shared_ptr<Claim>;

  // On the client's thread.
  void begin(const Shared& claim);
  void ask_now(const Shared& claim);
  void ask_waiting(const Shared& claim);
  void ask_clock(const Shared& claim);
  void take_orders(const Shared& claim, Result<std::vector<Claimed>> orders);
  void ask_length(const Shared& claim, const std::string& queue);
  void ask_lengths(const Shared& claim);
  void take_clock(const Shared& claim, const Result<protocol::Value>& reply);
  void hand_out(const Shared& claim);
  Duration lease_left(const Claim& claim, const Claimed& order) const;
  void finish(const Shared& claim, Result<std::vector<Claimed>> answer);
  std::string random_id();

  Hub& hub_;
  std::atomic<std::uint64_t> last_number_{0};

  // Client's thread only: those on a channel of their own.
  std::map<std::uint64_t, Shared> waiting_{};
  std::map<std::string, Length> lengths_{};  // By queue.
};

}  // namespace duelease::client
