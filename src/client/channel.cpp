#include "client/channel.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/backoff.h"

namespace duelease::client {

namespace {

// What goes into one write. What is not written yet when a connection fails is known not to have arrived.
constexpr std::size_t write_bytes_max = 256 * 1024;

bool is_closing(const protocol::Value& reply) {
  return reply.kind == protocol::Value::Kind::error && reply.text.starts_with("CLOSING");
}

void move_all(std::deque<Call>& from, std::deque<Call>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
  from.clear();
}

Error unanswered(const Error& why) {
  return Error{Code::unreachable, why.message + "; the request was sent, its answer is lost"};
}

Error unsent(const Error& why) {
  const std::string reason = why.message.empty() ? "no connection in time" : why.message;
  return Error{Code::unreachable, reason + "; nothing was sent"};
}

}  // namespace

Channel::Channel(boost::asio::io_context& context, const Site& site, std::function<std::uint64_t()> random)
    : context_(context),
      site_(site),
      random_(std::move(random)),
      reconnect_(context),
      return_(context),
      expiry_(context) {}

void Channel::submit(Call call) {
  expire_at(call.deadline);
  waiting_.push_back(std::move(call));
  if (open_) return pump();
  if (!link_ && !reconnecting_) start_link();
}

void Channel::connect(std::function<void(Result<>)> done) {
  on_first_ = std::move(done);
  start_link();
}

void Channel::abandon() {
  waiting_.clear();
  sent_.clear();
  later_.clear();
  if (link_) link_->close();
  link_.reset();
  open_ = writing_ = false;
}

void Channel::close(const Error& why) {
  std::deque<Call> calls;
  move_all(sent_, calls);
  move_all(later_, calls);
  move_all(waiting_, calls);
  abandon();
  reconnect_.cancel();
  return_.cancel();
  expiry_.cancel();
  if (on_first_) std::exchange(on_first_, nullptr)(Unexpected{why});
  for (Call& call : calls) call.done(Unexpected{why});
}

// ---- The connection -----------------------------------------------------------------------------

void Channel::start_link() {
  link_ = std::make_shared<Link>(context_, site_, *this);
  link_->start();
}

void Channel::link_open() {
  open_ = true;
  if (on_first_) std::exchange(on_first_, nullptr)({});
  pump();
}

void Channel::link_written() {
  writing_ = false;
  pump();
}

void Channel::pump() {
  if (!open_ || writing_) return;
  std::string bytes;
  while (!waiting_.empty() && bytes.size() < write_bytes_max) {
    Call& call = sent_.emplace_back(std::move(waiting_.front()));
    waiting_.pop_front();
    if (call.print) call.bytes = call.print();
    call.sent_at = Steady::now();
    bytes += call.bytes;
  }
  if (bytes.empty()) return;
  writing_ = true;
  link_->write(std::move(bytes));
}

void Channel::link_received(protocol::Value reply) {
  if (sent_.empty()) {  // The server's last words, or no server of ours.
    const Result<std::string> text = protocol::read_text(reply);
    return drop_link(Error{Code::unreachable,
                           "an answer that nobody asked for: " + (text ? *text : text.error().message)});
  }
  failures_ = 0;
  Call call = std::move(sent_.front());
  sent_.pop_front();
  if (call.waits_out_closing && is_closing(reply)) return put_off(std::move(call));
  reply_sent_at_ = call.sent_at;
  call.done(std::move(reply));
}

// ---- When it fails ------------------------------------------------------------------------------

void Channel::link_lost(Error why) {
  const std::vector<Call> answered = unwind(why);
  if (on_first_) std::exchange(on_first_, nullptr)(Unexpected{why});
  for (const Call& call : answered) {
    call.done(Unexpected{why.code == Code::denied ? why : unanswered(why)});
  }
  if (!link_ && !reconnecting_ && !waiting_.empty()) reconnect_later();
}

void Channel::drop_link(const Error& why) {
  if (link_) link_->close();
  link_lost(why);
}

// Puts back what will be sent again; answers what will not.
std::vector<Call> Channel::unwind(const Error& why) {
  link_.reset();
  open_ = writing_ = false;
  ++failures_;
  last_error_ = why;
  std::vector<Call> given_up;
  std::deque<Call> again;
  move_all(later_, again);
  for (Call& call : sent_) {
    if (call.repeatable) {
      again.push_back(std::move(call));
    } else {
      given_up.push_back(std::move(call));
    }
  }
  sent_.clear();
  move_all(waiting_, again);
  waiting_ = std::move(again);
  if (why.code == Code::denied) {  // The next connection would hear the same.
    std::move(waiting_.begin(), waiting_.end(), std::back_inserter(given_up));
    waiting_.clear();
  }
  return given_up;
}

void Channel::reconnect_later() {
  reconnecting_ = true;
  const ClientOptions& options = site_.options;
  reconnect_.expires_after(backoff(options.backoff_base, options.backoff_cap, failures_, random_()));
  reconnect_.async_wait([this](const error_code& error) {
    if (error) return;
    reconnecting_ = false;
    if (!link_ && !waiting_.empty()) start_link();
  });
}

void Channel::put_off(Call call) {
  later_.push_back(std::move(call));
  if (later_.size() > 1) return;  // The timer runs.
  const ClientOptions& options = site_.options;
  return_.expires_after(backoff(options.backoff_base, options.backoff_cap, 4, random_()));
  return_.async_wait([this](const error_code& error) {
    if (!error) bring_back_later();
  });
}

void Channel::bring_back_later() {
  move_all(waiting_, later_);
  waiting_ = std::move(later_);
  later_.clear();
  pump();
}

// ---- Deadlines ----------------------------------------------------------------------------------

std::optional<Steady::time_point> Channel::next_deadline() const {
  std::optional<Steady::time_point> first;
  for (const std::deque<Call>* calls : {&sent_, &later_, &waiting_}) {
    for (const Call& call : *calls) first = std::min(first.value_or(call.deadline), call.deadline);
  }
  return first;
}

// The timer is left alone while it rings early enough: it looks again when it rings.
void Channel::expire_at(Steady::time_point deadline) {
  if (expiry_at_ && *expiry_at_ <= deadline) return;
  expiry_at_ = deadline;
  expiry_.expires_at(deadline);
  expiry_.async_wait([this](const error_code& error) {
    if (error) return;
    expiry_at_.reset();
    expire();
    if (const std::optional<Steady::time_point> next = next_deadline()) expire_at(*next);
  });
}

// A connection that leaves one call without an answer for so long is worth nothing to the others.
void Channel::expire() {
  const Steady::time_point now = Steady::now();
  std::vector<Call> expired;
  const auto take_expired = [&](std::deque<Call>& calls) {
    const auto first = std::stable_partition(calls.begin(), calls.end(),
                                             [now](const Call& call) { return call.deadline > now; });
    std::move(first, calls.end(), std::back_inserter(expired));
    calls.erase(first, calls.end());
  };
  take_expired(sent_);
  const std::size_t sent = expired.size();
  take_expired(later_);
  take_expired(waiting_);
  for (std::size_t i = 0; i < expired.size(); ++i) {
    const Error late{Code::unreachable, "no answer in time"};
    expired[i].done(Unexpected{i < sent ? unanswered(late) : unsent(last_error_)});
  }
  if (sent > 0) drop_link(Error{Code::unreachable, "a request had no answer in time"});
}

}  // namespace duelease::client
