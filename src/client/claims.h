// client/claims.h: claims, and how long their leases last.
//
// A claim that does not wait goes with all the other requests. One that waits has a channel for itself, which
// is cut when the claim is cancelled: the server forgets a claim whose connection is gone. It may have answered
// it just before, so the claim is then made once more, under the same request id and without waiting.
//
// The wire tells when a lease ends by the server's wall clock, and the two clocks need not agree. So the server
// is asked for its time. Whatever moment between the asking and the answer that time belongs to, no more is left
// of the lease than (its end - that time) - (now - the asking). A step of the server's clock between the
// hand-out and that request can make it wrong; it is never more than the claim asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
    std::optional<std::vector<Claimed>> orders{};
    std::optional<Reading> clock{};
  };
  using Shared = std::shared_ptr<Claim>;

  // On the client's thread.
  void begin(const Shared& claim);
  void ask_now(const Shared& claim);
  void ask_waiting(const Shared& claim);
  void ask_clock(const Shared& claim);
  void take_orders(const Shared& claim, Result<std::vector<Claimed>> orders);
  void take_clock(const Shared& claim, const Result<protocol::Value>& reply);
  void hand_out(const Shared& claim);
  void finish(const Shared& claim, Result<std::vector<Claimed>> answer);
  std::string random_id();

  Hub& hub_;
  std::atomic<std::uint64_t> last_number_{0};

  // Client's thread only: those on a channel of their own.
  std::map<std::uint64_t, Shared> waiting_{};
};

}  // namespace duelease::client
