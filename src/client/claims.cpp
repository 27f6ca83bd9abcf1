#include "client/claims.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include "base/quote.h"

namespace duelease::client {

namespace {

// A change to the settings of a queue is noticed so late.
constexpr std::chrono::minutes length_known_for{1};

Result<> validate(const ClaimRequest& request) {
  for (const std::string& queue : request.queues) {
    if (queue.find(',') == std::string::npos) continue;  // The comma parts the names on the wire.
    return fail(Code::invalid, "queue name " + base::quote(queue) + " has a comma");
  }
  return {};
}

Result<std::vector<Claimed>> read_orders(const Result<protocol::Value>& reply) {
  if (!reply) return Unexpected{reply.error()};
  return protocol::read_claimed(*reply);
}

// Seconds and microseconds, as numbers in words. Rounded up: a later time leaves less of a lease.
std::optional<Time> read_time(const protocol::Value& reply) {
  if (reply.kind != protocol::Value::Kind::array || reply.array.size() != 2) return std::nullopt;
  std::int64_t parts[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& text = reply.array[i].text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  }
  return Time{std::chrono::seconds{parts[0]} + Duration{parts[1] / 1000 + 1}};
}

Duration since(Steady::time_point start) { return std::chrono::ceil<Duration>(Steady::now() - start); }

}  // namespace

ClaimTicket Claims::claim(ClaimRequest request, Callback<std::vector<Claimed>> done) {
  const auto claim = std::make_shared<Claim>();
  claim->number = ++last_number_;
  const ClaimTicket ticket{claim->number};
  Result<> may = validate(request);
  if (may) may = hub_.begin();
  if (!may) {
    done(Unexpected{may.error()});
    return ticket;
  }
  claim->request = std::move(request);
  claim->done = std::move(done);
  hub_.post([this, claim](bool open) {
    if (open) return begin(claim);
    finish(claim, Unexpected{Hub::closing()});
  });
  return ticket;
}

void Claims::cancel(ClaimTicket ticket) {
  hub_.post([this, ticket](bool open) {
    const auto found = waiting_.find(static_cast<std::uint64_t>(ticket));
    if (!open || found == waiting_.end()) return;
    const Shared claim = found->second;
    waiting_.erase(found);
    claim->cancelled = true;
    hub_.abandon_aside(*claim->channel);
    if (!hub_.requests().is_connected()) return finish(claim, std::vector<Claimed>{});
    claim->request.wait = Duration{0};
    ask_now(claim);
  });
}

void Claims::begin(const Shared& claim) {
  claim->asked_at = Steady::now();
  claim->named = !claim->request.request.empty();
  if (!claim->named) claim->request.request = random_id();
  if (claim->request.wait == Duration{0}) return ask_now(claim);
  ask_waiting(claim);
}

void Claims::ask_now(const Shared& claim) {
  Result<std::string> bytes = hub_.print(claim->request);
  if (!bytes) return finish(claim, Unexpected{bytes.error()});
  Call call;
  call.bytes = std::move(*bytes);
  call.repeatable = !claim->cancelled;
  call.waits_out_closing = !claim->cancelled;  // Nobody waits for the orders: their leases will run out.
  call.deadline = Steady::now() + hub_.options().request_timeout;
  call.done = [this, claim](const Result<protocol::Value>& reply) { take_orders(claim, read_orders(reply)); };
  hub_.requests().submit(std::move(call));
  ask_clock(claim);  // Right behind it, to spare a round trip.
}

void Claims::ask_waiting(const Shared& claim) {
  const Result<std::string> fits = hub_.print(claim->request);
  if (!fits) return finish(claim, Unexpected{fits.error()});
  claim->wait_until = Steady::now() + claim->request.wait;
  waiting_.emplace(claim->number, claim);
  Call call;
  call.repeatable = true;
  call.deadline = claim->wait_until + hub_.options().request_timeout;
  call.print = [claim] {
    ClaimRequest rest = claim->request;
    const auto left = std::chrono::ceil<Duration>(claim->wait_until - Steady::now());
    rest.wait = std::clamp(left, Duration{0}, rest.wait);
    std::string bytes;
    protocol::print_request(bytes, std::move(rest));
    return bytes;
  };
  call.done = [this, claim](const Result<protocol::Value>& reply) {
    waiting_.erase(claim->number);
    Result<std::vector<Claimed>> orders = read_orders(reply);
    if (orders && !orders->empty()) ask_clock(claim);
    take_orders(claim, std::move(orders));
  };
  claim->channel = hub_.submit_aside(std::move(call));
}

void Claims::ask_clock(const Shared& claim) {
  ++claim->questions;
  Call call;
  protocol::print_request(call.bytes, protocol::TimeRequest{});
  call.repeatable = true;
  call.deadline = Steady::now() + hub_.options().request_timeout;
  call.done = [this, claim](const Result<protocol::Value>& reply) { take_clock(claim, reply); };
  hub_.requests().submit(std::move(call));
}

// Of all queues that there are orders of, unless it is known.
void Claims::ask_lengths(const Shared& claim) {
  if (claim->request.lease) return;
  const Steady::time_point now = Steady::now();
  std::set<std::string> queues;
  for (const Claimed& order : *claim->orders) queues.insert(order.queue);
  for (const std::string& queue : queues) {
    const auto known = lengths_.find(queue);
    if (known == lengths_.end() || known->second.until <= now) ask_length(claim, queue);
  }
}

void Claims::ask_length(const Shared& claim, const std::string& queue) {
  ++claim->questions;
  Call call;
  protocol::print_request(call.bytes, protocol::QueueShowRequest{queue});
  call.repeatable = true;
  call.deadline = Steady::now() + hub_.options().request_timeout;
  call.done = [this, claim, queue](const Result<protocol::Value>& reply) {
    --claim->questions;
    if (reply) {  // Else the next claim asks again.
      const Result<QueueSettings> settings = protocol::read_settings(*reply);
      Length& length = lengths_[queue];
      length.lease = settings ? std::optional(settings->lease) : std::nullopt;
      length.until = Steady::now() + length_known_for;
    }
    hand_out(claim);
  };
  hub_.requests().submit(std::move(call));
}

void Claims::take_orders(const Shared& claim, Result<std::vector<Claimed>> orders) {
  if (!orders || orders->empty()) {
    if (claim->cancelled) return finish(claim, std::vector<Claimed>{});
    return finish(claim, std::move(orders));
  }
  claim->orders = std::move(*orders);
  ask_lengths(claim);
  hand_out(claim);
}

void Claims::take_clock(const Shared& claim, const Result<protocol::Value>& reply) {
  --claim->questions;
  const std::optional<Time> time = reply ? read_time(*reply) : std::nullopt;
  if (time) claim->clock = Reading{*time, hub_.requests().reply_sent_at()};
  hand_out(claim);
}

// Once all is here.
void Claims::hand_out(const Shared& claim) {
  if (claim->finished || !claim->orders || claim->questions > 0) return;
  for (Claimed& order : *claim->orders) {
    order.lease = lease_left(*claim, order);
    const auto known = lengths_.find(order.queue);
    order.lease_length = claim->request.lease.value_or(
        known == lengths_.end() ? Duration{0} : known->second.lease.value_or(Duration{0}));
  }
  finish(claim, std::move(*claim->orders));
}

Duration Claims::lease_left(const Claim& claim, const Claimed& order) const {
  if (claim.clock) {
    const Time server = claim.clock->server + since(claim.clock->asked_at);
    const Duration left = std::max(order.lease_expires_at - server, Duration{0});
    return std::min(left, claim.request.lease.value_or(left));
  }
  if (!claim.request.lease || claim.named) return Duration{0};  // Not known.
  return std::max(*claim.request.lease - since(claim.asked_at), Duration{0});
}

void Claims::finish(const Shared& claim, Result<std::vector<Claimed>> answer) {
  if (claim->finished) return;
  claim->finished = true;
  hub_.ended();
  claim->done(std::move(answer));
}

std::string Claims::random_id() {
  constexpr char hex[] = "0123456789abcdef";
  std::string id;
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = hub_.random();
    for (int i = 0; i < 16; ++i, bits >>= 4) id += hex[bits & 15];
  }
  return id;
}

}  // namespace duelease::client
