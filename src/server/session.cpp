#include "server/session.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "protocol/word_values.h"
#include "server/reads.h"

namespace duelease::server {
namespace {

namespace p = protocol;

// Reads of one connection that run as one job, and the reply bytes after which the rest of them waits.
constexpr std::size_t reads_max = 32;
// Of a reconcile: rows share their syncs.
constexpr std::size_t rows_max = 512;
constexpr std::size_t rows_bytes_max = 1024 * 1024;  // With more it is no more of them than of other reads.
constexpr std::size_t reads_reply_bytes = 1024 * 1024;
// And the time after which the others have their turn: a walk may take long.
constexpr std::chrono::milliseconds reads_time{20};

// Where all connections together hold too much, a half request may still have this many bytes.
constexpr std::size_t half_request_bytes_free = 4096;
// Where all connections together have too much unsent, one may still have this many bytes of it.
constexpr std::size_t unsent_bytes_free = 64 * 1024;
// What anybody may send: before a login, where there are users.
constexpr std::size_t stranger_bytes_max = 4096;
constexpr std::size_t stranger_words_max = 16;
// And so many requests may be with the engine, which has a limit of its own
// (Options::commands_waiting_max), before a connection that has some there is read no further.
constexpr std::uint64_t requests_under_way_all = 50'000;

// What is kept of a buffer while nothing is in it.
constexpr std::size_t idle_buffer_bytes = 1024;

// How long a client may take to read the end. It may still be sending; a close before it stops would have the
// system throw away what we said last.
constexpr std::chrono::milliseconds linger{1000};
constexpr std::chrono::milliseconds linger_when_stopping{200};

// A web page can have a browser send what it likes in the body of a POST, also to 127.0.0.1: the lines of its head
// must be the last that are looked at.
bool is_http(std::string_view verb) { return p::same_word(verb, "POST") || p::same_word(verb, "HOST:"); }

}  // namespace

Session::Session(Shared& shared, Loop& loop, std::unique_ptr<Stream> stream, std::uint64_t id,
                 std::string peer, std::function<void()> closed)
    : shared_(shared),
      loop_(loop),
      work_(loop.work()),
      stream_(std::move(stream)),
      id_(id),
      peer_(std::move(peer)),
      on_closed_(std::move(closed)) {
  shared_.leases.opened(id_);
}

Session::~Session() { DUELEASE_CHECK(closed_ && held_accounted_ == 0 && unsent_accounted_ == 0); }

void Session::start() {
  after(shared_.options.handshake_timeout, &Session::handshake_is_late);
  stream_->handshake(self());
}

void Session::start_refused(const std::string& why) {
  refuse({p::WireCode::overloaded, why});
  last_ = true;
  start();
}

void Session::stop_waiting() {
  if (waiting_) shared_.engine.cancel_claim(*waiting_);
}

void Session::finish() {
  if (closed_) return;
  finishing_ = true;
  if (!open_) return close();
  advance();
}

void Session::close() {
  if (closed_) return;
  closed_ = true;
  gone_ = true;
  stop_waiting();
  timer_.reset();
  stream_->close();
  reader_.reset();
  reads_.clear();
  reads_bytes_ = 0;
  parked_.reset();
  for (Slot& slot : slots_) slot.reply = std::string();
  account();  // What is left belongs to slots that are not answered.
  shared_.leases.closed(id_);
  on_closed_();
}

// ---- Events -------------------------------------------------------------------------------------

void Session::on_handshake(const boost::system::error_code& error) {
  if (closed_) return;
  if (error) {
    shared_.log(LogLevel::warning, "TLS with " + peer_ + " failed: " + error.message());
    return close();
  }
  open_ = true;
  last_active_ = login_since_ = std::chrono::steady_clock::now();
  watch();
  advance();
}

void Session::on_read(const boost::system::error_code& error, std::string_view bytes) {
  reading_ = false;
  if (closed_) return;
  if (error) {
    if (error != boost::asio::error::eof || lingering_) return close();
    eof_ = true;
    // Half closed or dead, which looks the same: what was asked is answered, but nothing waits any more.
    stop_waiting();
    return advance();
  }
  last_active_ = std::chrono::steady_clock::now();
  Counters::add(shared_.counters.bytes_read, bytes.size());
  if (!last_ && !finishing_) {
    if (!reader_) {
      reader_.emplace(word_limits());
    }
    reader_->feed(bytes);
    exhausted_ = false;
  }
  advance();
}

void Session::on_written_some() { last_active_ = written_last_ = std::chrono::steady_clock::now(); }

void Session::on_written(const boost::system::error_code& error) {
  is_writing_ = false;
  if (closed_) return;
  if (error) return close();
  last_active_ = std::chrono::steady_clock::now();
  Counters::add(shared_.counters.bytes_written, writing_.size());
  reply_bytes_ -= writing_.size();
  if (writing_.capacity() > idle_buffer_bytes) {
    writing_ = std::string();
  } else {
    writing_.clear();
  }
  advance();
}

// After every event: does all that has become possible.
void Session::advance() {
  if (closed_ || !open_) return;
  account();
  take_requests();
  refuse_half_request();
  write_replies();
  read_more();
  account();
  if (has_ended()) end();
}

// ---- Requests -----------------------------------------------------------------------------------

p::WordLimits Session::word_limits() const {
  const ServerOptions& options = shared_.options;
  p::WordLimits limits{options.request_bytes_max, options.line_bytes_max, options.words_max};
  if (!has_logged_in()) {
    limits.request_bytes_max = std::min(limits.request_bytes_max, stranger_bytes_max);
    limits.line_bytes_max = std::min(limits.line_bytes_max, stranger_bytes_max);
    limits.words_max = std::min(limits.words_max, stranger_words_max);
  }
  return limits;
}

// Whether there may be more to send. Where not, something is: when it has gone it is looked at again.
bool Session::has_room(std::size_t reserved) const {
  const std::size_t unsent = reply_bytes_ + reserved;
  if (unsent >= shared_.options.reply_bytes_max) return false;
  return unsent <= unsent_bytes_free ||
         shared_.counters.bytes_unsent.load(std::memory_order_relaxed) <= shared_.options.unsent_bytes_max;
}

bool Session::reads_are_full() const {
  const bool is_row = !reads_.empty() && std::holds_alternative<ReconcileRequest>(reads_.back());
  if (!is_row || reads_bytes_ >= rows_bytes_max) return reads_.size() >= reads_max;
  return reads_.size() >= rows_max;
}

bool Session::may_take() const {
  const bool held_up = held_up_ || reads_running_ || parked_ || reads_are_full();
  return !last_ && !held_up && under_way_ < shared_.options.requests_under_way_max &&
         has_room(reserved_bytes_);
}

void Session::take_requests() {
  if (parked_ && reads_.empty() && !reads_running_) take(*std::exchange(parked_, std::nullopt));
  while (may_take()) {
    std::optional<Item> item = next_item();
    if (!item) break;
    auto* const request = std::get_if<p::Request>(&item->what);
    const Runs runs = request == nullptr ? Runs::here : rule_of(*request).runs;
    if (runs == Runs::read || runs == Runs::walk) {
      submit_batch();
      reads_.push_back(std::move(*request));
      reads_bytes_ += item->bytes;
    } else if (reads_.empty()) {
      take(std::move(*item));
    } else {
      parked_ = std::move(item);
    }
  }
  submit_batch();
  if (!reads_.empty() && under_way_ == 0 && has_room(0)) run_reads();
}

std::optional<Session::Item> Session::next_item() {
  if (!reader_) return std::nullopt;
  const std::size_t before = reader_->bytes_held();
  const Result<std::optional<p::Words>> words = reader_->next();
  Item item;
  if (!words) {
    const bool too_large = words.error().code == Code::too_large;
    item.what = p::Refusal{too_large ? p::WireCode::too_large : p::WireCode::err, words.error().message};
    if (too_large && !has_logged_in()) std::get<p::Refusal>(item.what).message += " before AUTH";
    item.last = true;
    // Not the message, which shows what came: a password, or a payload.
    shared_.log(LogLevel::warning, "closing the connection of " + peer_ + ", which sent " +
                                       (too_large ? "too large a request" : "what is no request"));
    return item;
  }
  if (!*words) {
    exhausted_ = true;
    if (reader_->bytes_held() == 0) reader_.reset();
    return std::nullopt;
  }
  Counters::add(shared_.counters.requests);
  std::variant<p::Request, p::Refusal> parsed = p::parse_request(**words, shared_.now());
  item.bytes = before - reader_->bytes_held();
  if (is_http((*words)->front())) {
    item.what = p::Refusal{p::WireCode::err, "this is no web server"};
    item.last = true;
    shared_.log(LogLevel::warning, "closing the connection of " + peer_ + ", which speaks HTTP");
    return item;
  }
  if (const auto* const request = std::get_if<p::Request>(&parsed); request != nullptr && shared_.users) {
    if (std::optional<p::Refusal> no = forbidden(user_, *request)) parsed = std::move(*no);
  }
  item.what = std::move(parsed);
  return item;
}

// A request that is not whole, while all connections together hold too much: this one has nothing to wait
// for that would make room, so it must not wait.
void Session::refuse_half_request() {
  if (last_ || !reader_ || !exhausted_ || under_way_ > 0 || !reads_.empty()) return;
  account();
  if (reader_->bytes_held() <= half_request_bytes_free) return;
  if (shared_.counters.bytes_held.load(std::memory_order_relaxed) <= shared_.options.held_bytes_max) return;
  refuse({p::WireCode::overloaded, "all connections together have sent more than " +
                                       std::to_string(shared_.options.held_bytes_max) +
                                       " bytes of requests that are not answered yet"});
  last_ = true;
}

void Session::run_reads() {
  const SlotNumber number = open_slot();
  add_to(slot(number), std::exchange(reads_bytes_, 0));
  reads_running_ = true;
  const auto walks = [](const p::Request& request) { return rule_of(request).runs == Runs::walk; };
  const bool walk = std::any_of(reads_.begin(), reads_.end(), walks);
  auto job = [self = self(), number, user = user_, reads = std::exchange(reads_, {})]() mutable {
    std::string reply;
    std::size_t done = 0;
    const auto until = std::chrono::steady_clock::now() + reads_time;
    const auto goes_on = [&] {
      return reply.size() < reads_reply_bytes && (done == 0 || std::chrono::steady_clock::now() < until);
    };
    while (done < reads.size() && !self->gone_ && goes_on()) {
      done += answer_reads(self->shared_, user, std::span(reads).subspan(done), reply);
    }
    reads.erase(reads.begin(), reads.begin() + static_cast<std::ptrdiff_t>(done));
    Loop& loop = self->loop_;
    loop.post([self = std::move(self), number, reads = std::move(reads), reply = std::move(reply)]() mutable {
      self->reads_running_ = false;
      if (!self->closed_ && !reads.empty()) {
        self->reads_ = std::move(reads);
        self->reads_bytes_ = self->slot(number).request_bytes;  // Rather more than those that are left.
      }
      self->answered(number, std::move(reply));
    });
  };
  boost::asio::post(walk ? shared_.walkers : shared_.readers, std::move(job));
}

// ---- Replies ------------------------------------------------------------------------------------

Session::SlotNumber Session::open_slot() {
  slots_.emplace_back();
  return first_slot_ + slots_.size() - 1;
}

void Session::add_to(Slot& slot, std::size_t request_bytes, std::size_t reply_bytes_reserved) {
  ++slot.requests;
  slot.request_bytes += request_bytes;
  slot.reply_bytes_reserved += reply_bytes_reserved;
  ++under_way_;
  request_bytes_ += request_bytes;
  reserved_bytes_ += reply_bytes_reserved;
  Counters::add(shared_.counters.requests_under_way);
}

void Session::answered(SlotNumber number, std::string reply) {
  Slot& slot = this->slot(number);
  under_way_ -= slot.requests;
  request_bytes_ -= slot.request_bytes;
  reserved_bytes_ -= slot.reply_bytes_reserved;
  Counters::subtract(shared_.counters.requests_under_way, slot.requests);
  slot.ready = true;
  if (closed_) return account();
  reply_bytes_ += reply.size();
  slot.reply = std::move(reply);
  loop_.advance_later(self());
}

void Session::write_replies() {
  if (is_writing_) return;
  while (!slots_.empty() && slots_.front().ready) {
    std::string& reply = slots_.front().reply;
    if (writing_.empty()) {
      writing_ = std::move(reply);
    } else {
      writing_ += reply;
    }
    slots_.pop_front();
    ++first_slot_;
  }
  if (writing_.empty()) return;
  is_writing_ = true;
  written_last_ = std::chrono::steady_clock::now();
  if (!watched_ && shared_.options.write_timeout.count() > 0) watch();
  stream_->write(writing_, self());
}

// ---- The stream ---------------------------------------------------------------------------------

bool Session::may_read() const {
  if (lingering_) return true;
  if (last_ || finishing_) return false;
  const ServerOptions& options = shared_.options;
  // While a claim waits the socket is read on, to see it die.
  const bool may_hold = waiting_ && (!reader_ || reader_->bytes_held() < options.request_bytes_max);
  if (!exhausted_ && !may_hold) return false;
  if (under_way_ >= options.requests_under_way_max) return false;
  if (!has_room(waiting_ ? 0 : reserved_bytes_)) return false;
  const Counters& counters = shared_.counters;
  return under_way_ == 0 || (counters.bytes_held.load(std::memory_order_relaxed) <= options.held_bytes_max &&
                             (waiting_ || counters.requests_under_way.load(std::memory_order_relaxed) <=
                                              requests_under_way_all));
}

void Session::read_more() {
  if (reading_ || eof_ || !may_read()) return;
  reading_ = true;
  stream_->read(has_logged_in() ? Loop::read_bytes : stranger_bytes_max, self());
}

void Session::account() {
  const auto tell = [](Counters::Counter& counter, std::size_t& told, std::size_t now) {
    if (now != told) Counters::add(counter, now - told);  // Modulo 2^64.
    told = now;
  };
  const std::size_t parked = parked_ ? parked_->bytes : 0;
  const std::size_t unread = reader_ ? reader_->bytes_held() : 0;
  tell(shared_.counters.bytes_held, held_accounted_, request_bytes_ + reads_bytes_ + parked + unread);
  tell(shared_.counters.bytes_unsent, unsent_accounted_, closed_ ? 0 : reply_bytes_);
}

bool Session::has_ended() const {
  if (lingering_ || closed_ || is_writing_ || !slots_.empty() || !reads_.empty() || parked_) return false;
  return last_ || ((eof_ || finishing_) && exhausted_);
}

void Session::end() {
  if (eof_) return close();
  lingering_ = true;
  reader_.reset();
  account();
  stream_->end_writing(self());
  after(finishing_ ? linger_when_stopping : linger, &Session::close);
  read_more();
}

// One at a time: a later call takes the place of an earlier one.
void Session::after(std::chrono::milliseconds delay, void (Session::*then)()) {
  timer_.emplace(loop_.context(), delay);
  timer_->async_wait([self = self(), then](const boost::system::error_code& error) {
    if (!error && !self->closed_) ((*self).*then)();
  });
}

void Session::handshake_is_late() {
  if (open_) return;
  shared_.log(LogLevel::warning, "closing the connection of " + peer_ + ", which began no TLS");
  close();
}

// Looks at what must not take too long, and again when the next of it would.
void Session::watch() {
  using std::chrono::steady_clock;
  watched_ = false;
  if (lingering_) return;  // That has the timer.
  const ServerOptions& options = shared_.options;
  const auto now = steady_clock::now();
  std::optional<steady_clock::time_point> next;
  // Answers whether it is too late.
  const auto is_late = [now, &next](steady_clock::time_point since, Duration timeout) {
    if (now - since >= timeout) return true;
    if (!next || since + timeout < *next) next = since + timeout;
    return false;
  };
  const auto complain = [this](LogLevel level, const char* what, Duration timeout) {
    shared_.log(level, "closing the connection of " + peer_ + ", " + what + " for " +
                           std::to_string(timeout.count()) + " ms");
  };

  if (options.idle_timeout.count() > 0) {
    if (under_way_ > 0 || !reads_.empty()) last_active_ = now;
    if (is_late(last_active_, options.idle_timeout)) {
      complain(LogLevel::info, "idle", options.idle_timeout);
      return close();
    }
  }
  if (is_writing_ && options.write_timeout.count() > 0 && is_late(written_last_, options.write_timeout)) {
    complain(LogLevel::warning, "which took no byte of its replies", options.write_timeout);
    return close();
  }
  bool refused = false;
  if (!has_logged_in() && !last_ && options.login_timeout.count() > 0) {
    if (held_up_) login_since_ = now;  // The login waits for us.
    refused = is_late(login_since_, options.login_timeout);
  }
  if (refused) {
    complain(LogLevel::warning, "which did not log in", options.login_timeout);
    refuse(
        {p::WireCode::no_auth, "no login came for " + std::to_string(options.login_timeout.count()) + " ms"});
    last_ = true;
  }
  if (next) {
    // A write that begins in between is not to be seen too late.
    if (options.write_timeout.count() > 0) is_late(now, options.write_timeout);
    watched_ = true;
    after(std::chrono::ceil<std::chrono::milliseconds>(*next - now), &Session::watch);
  } else {
    timer_.reset();
  }
  if (refused) advance();
}

}  // namespace duelease::server
