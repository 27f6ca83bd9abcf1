// What each request does.
#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/quote.h"
#include "server/session.h"

namespace duelease::server {
namespace {

namespace p = protocol;

// Small against Options::commands_waiting_max, which refuses a larger batch altogether.
std::size_t batch_max(const Shared& shared) {
  return std::clamp<std::size_t>(shared.engine.options().commands_waiting_max / 16, 1, 512);
}
constexpr std::uint32_t logins_failed_max = 5;
constexpr std::size_t logins_waiting_max = 1024;

// The largest reply to a claim: no order that came over the wire is larger than its request was, and the engine
// answers one at least, however large.
std::size_t claim_reserve(const Shared& shared, std::uint32_t count) {
  const std::size_t order = shared.options.request_bytes_max;
  return std::min(count * order, std::max(shared.engine.options().claim_reply_bytes_max, order));
}

bool says(const std::vector<std::string>& words, std::string_view what) {
  if (words.empty() || words[0].size() != what.size()) return false;
  return std::equal(what.begin(), what.end(), words[0].begin(),
                    [](char a, char b) { return a == std::toupper(static_cast<unsigned char>(b)); });
}

}  // namespace

// ---- From a request to the engine ---------------------------------------------------------------

// One overload for each request that a session takes itself.
class Session::Dispatch {
 public:
  Dispatch(Session& session, std::size_t bytes) : s_(session), bytes_(bytes) {}

  // Producers.
  void operator()(ScheduleRequest& r) { s_.add_to_batch(s_.schedules_, std::move(r), bytes_); }
  void operator()(RescheduleRequest& r) { engine().reschedule(std::move(r), changed()); }
  void operator()(ImportRequest& r) { s_.add_to_batch(s_.imports_, std::move(r), bytes_); }
  void operator()(CancelRequest& r) { engine().cancel(std::move(r), changed()); }
  void operator()(RetryRequest& r) { engine().retry(std::move(r), changed()); }

  void operator()(RunOpenRequest& r) { run(&Engine::run_open, r); }
  void operator()(RunStartRequest& r) { run(&Engine::run_start, r); }
  void operator()(RunBeatRequest& r) { run(&Engine::run_beat, r); }
  void operator()(RunDoneRequest& r) { run(&Engine::run_done, r); }
  void operator()(RunErrorRequest& r) { run(&Engine::run_error, r); }

  // Workers.
  void operator()(ClaimRequest& r) { s_.claim(std::move(r), bytes_); }
  void operator()(PopRequest& r) { s_.pop(std::move(r), bytes_); }
  void operator()(CompleteRequest& r) { s_.add_to_batch(s_.completes_, std::move(r), bytes_); }
  void operator()(FailRequest& r) { report(&Engine::fail, r); }
  void operator()(ReleaseRequest& r) { report(&Engine::release, r); }
  void operator()(ExtendRequest& r) {
    const auto extended = [&s = s_, token = r.token](std::string& out, const Result<Answer>& answer) {
      if (answer && answer->outcome == Outcome::extended) s.shared_.leases.extend(token, answer->at);
      s.print_answer(out, answer);
    };
    engine().extend(std::move(r), s_.callback<Answer>(bytes_, extended));
  }

  // Upkeep.
  void operator()(ReapRequest& r) {
    const auto reaped = [&s = s_](std::string& out, const Result<std::uint64_t>& count) {
      if (!count) return s.print_error(out, count.error());
      p::print_integer(out, static_cast<std::int64_t>(*count));
    };
    engine().reap(std::move(r), s_.callback<std::uint64_t>(bytes_, reaped));
  }
  void operator()(QueueSetRequest& r) {
    const auto set = [&s = s_](std::string& out, const Result<QueueSettings>& settings) {
      if (!settings) return s.print_error(out, settings.error());
      p::print_simple(out, "OK");
    };
    engine().set_queue(std::move(r), s_.callback<QueueSettings>(bytes_, set));
  }
  void operator()(p::PauseRequest& r) { pause(std::move(r.queue), true); }
  void operator()(p::ResumeRequest& r) { pause(std::move(r.queue), false); }

  // To get along.
  void operator()(p::AuthRequest& r) { s_.login(std::move(r), false, bytes_); }
  void operator()(p::HelloRequest& r) { hello(r); }
  void operator()(const p::PingRequest& r) {
    s_.reply_now([&r](std::string& out) {
      if (r.message) return p::print_bulk(out, *r.message);
      p::print_simple(out, "PONG");
    });
  }
  void operator()(const p::EchoRequest& r) {
    s_.reply_now([&r](std::string& out) { p::print_bulk(out, r.message); });
  }
  void operator()(const p::TimeRequest&) {
    const std::int64_t ms = s_.shared_.now().time_since_epoch().count();
    s_.reply_now([ms](std::string& out) {
      p::print_array(out, 2);
      p::print_bulk(out, std::to_string(ms / 1000));
      p::print_bulk(out, std::to_string(ms % 1000 * 1000));
    });
  }
  void operator()(const p::CommandRequest& r) {
    s_.reply_now([&r](std::string& out) {
      if (says(r.words, "COUNT")) return p::print_integer(out, 0);
      p::print_array(out, 0);
    });
  }
  void operator()(const p::ClientRequest& r) {
    if (!says(r.words, "ID") && !says(r.words, "GETNAME") && !says(r.words, "SETNAME") &&
        !says(r.words, "SETINFO")) {
      return s_.refuse({p::WireCode::err, "of CLIENT there are ID, GETNAME, SETNAME and SETINFO"});
    }
    s_.reply_now([&r, id = s_.id_](std::string& out) {
      if (says(r.words, "ID")) return p::print_integer(out, static_cast<std::int64_t>(id));
      if (says(r.words, "GETNAME")) return p::print_nil(out);
      p::print_simple(out, "OK");
    });
  }
  void operator()(const p::SelectRequest& r) {
    if (r.database != "0") return s_.refuse({p::WireCode::err, "there is one database, 0"});
    s_.reply_now([](std::string& out) { p::print_simple(out, "OK"); });
  }
  void operator()(const p::QuitRequest&) {
    s_.reply_now([](std::string& out) { p::print_simple(out, "OK"); });
    s_.last_ = true;
  }

  template <class Read>
  void operator()(const Read&) {
    DUELEASE_CHECK(false);  // The table of rules sends the reads elsewhere.
  }

 private:
  Engine& engine() { return s_.shared_.engine; }
  // What happens by default to the answer to a change.
  Callback<Answer> changed() {
    return s_.callback<Answer>(
        bytes_, [&s = s_](std::string& out, const Result<Answer>& answer) { s.print_answer(out, answer); });
  }
  // After any answer but an error the lease is over.
  template <class Request>
  void report(void (Engine::*method)(Request, Callback<Answer>), Request& request) {
    const auto reported = [&s = s_, token = request.token](std::string& out, const Result<Answer>& answer) {
      if (answer) s.shared_.leases.remove(token);
      s.print_answer(out, answer);
    };
    (engine().*method)(std::move(request), s_.callback<Answer>(bytes_, reported));
  }
  template <class Request>
  void run(void (Engine::*method)(Request, Callback<RunState>), Request& request) {
    const auto changed = [&s = s_](std::string& out, const Result<RunState>& state) {
      if (!state) return s.print_error(out, state.error());
      p::print_run_state(out, *state);
    };
    (engine().*method)(std::move(request), s_.callback<RunState>(bytes_, changed));
  }
  void pause(std::string queue, bool paused) {
    QueueSetRequest request;
    request.queue = std::move(queue);
    request.create = false;
    request.paused = paused;
    (*this)(request);
  }
  void hello(p::HelloRequest& r) {
    if (r.version && *r.version != "2") {
      return s_.reply_now([](std::string& out) { out += "-NOPROTO only protocol version 2 is spoken\r\n"; });
    }
    if (r.auth) return s_.login(std::move(*r.auth), true, bytes_);
    if (s_.shared_.users && s_.user_ == nullptr) {
      return s_.refuse({p::WireCode::no_auth, "say AUTH user password first, or HELLO 2 AUTH user password"});
    }
    s_.reply_now([&s = s_](std::string& out) { s.print_hello(out); });
  }

  Session& s_;
  const std::size_t bytes_;
};

void Session::take(Item item) {
  auto* const request = std::get_if<p::Request>(&item.what);
  if (request == nullptr) {
    submit_batch();
    refuse(std::get<p::Refusal>(item.what));
    last_ = last_ || item.last;
    return;
  }
  const bool is_batched = std::holds_alternative<ScheduleRequest>(*request) ||
                          std::holds_alternative<CompleteRequest>(*request) ||
                          std::holds_alternative<ImportRequest>(*request);
  if (!is_batched) submit_batch();
  std::visit(Dispatch(*this, item.bytes), *request);
}

void Session::refuse(const p::Refusal& refusal) {
  shared_.counters.count(refusal.code);
  reply_now([&refusal](std::string& out) { p::print_error(out, refusal.code, refusal.message); });
}

// ---- Batches: changes of one kind that follow each other ----------------------------------------

template <class Request>
void Session::add_to_batch(std::vector<Request>& batch, Request request, std::size_t bytes) {
  if (batch.empty() || batch.size() >= batch_max(shared_)) {
    submit_batch();  // Or it is one of the other kind.
    batch_slot_ = open_slot();
  }
  add_to(slot(*batch_slot_), bytes);
  batch.push_back(std::move(request));
}

template <class Each>
AnswersCallback Session::batch_callback(Each each) {
  return [self = self(), number = *batch_slot_,
          each = std::move(each)](std::vector<Result<Answer>> answers) mutable {
    Loop& loop = self->loop_;
    loop.post([self = std::move(self), number, each = std::move(each), answers = std::move(answers)] {
      std::string reply;
      for (std::size_t i = 0; i < answers.size(); ++i) {
        each(*self, i, answers[i]);
        self->print_answer(reply, answers[i]);
      }
      self->answered(number, std::move(reply));
    });
  };
}

void Session::submit_batch() {
  if (!batch_slot_) return;
  if (!schedules_.empty()) {
    AnswersCallback done = batch_callback([](Session&, std::size_t, const Result<Answer>&) {});
    shared_.engine.schedule(std::exchange(schedules_, {}), std::move(done));
  } else if (!imports_.empty()) {
    AnswersCallback done = batch_callback([](Session&, std::size_t, const Result<Answer>&) {});
    shared_.engine.import_orders(std::exchange(imports_, {}), std::move(done));
  } else {
    std::vector<Token> tokens;
    tokens.reserve(completes_.size());
    for (const CompleteRequest& request : completes_) tokens.push_back(request.token);
    AnswersCallback done = batch_callback(
        [tokens = std::move(tokens)](Session& session, std::size_t i, const Result<Answer>& answer) {
          if (answer) session.shared_.leases.remove(tokens[i]);
        });
    shared_.engine.complete(std::exchange(completes_, {}), std::move(done));
  }
  batch_slot_.reset();
}

// ---- Others --------------------------------------------------------------------------------------

template <class T, class Print>
Callback<T> Session::callback(std::size_t bytes, Print print, std::size_t reserved) {
  const SlotNumber number = open_slot();
  add_to(slot(number), bytes, reserved);
  return [self = self(), number, print = std::move(print)](Result<T> result) mutable {
    Loop& loop = self->loop_;
    loop.post([self = std::move(self), number, print = std::move(print), result = std::move(result)] {
      std::string reply;
      print(reply, result);
      self->answered(number, std::move(reply));
    });
  };
}

void Session::claim(ClaimRequest request, std::size_t bytes) {
  if (shared_.stopping) return refuse({p::WireCode::closing, "the server is stopping"});
  if (eof_) request.wait = Duration{0};
  const bool waits = request.wait.count() > 0;
  const auto claimed = [this, waits](std::string& out, const Result<std::vector<Claimed>>& orders) {
    if (waits) {
      held_up_ = false;
      waiting_.reset();
      Counters::subtract(shared_.counters.claims_waiting);
    }
    if (orders) {
      Counters::add(shared_.counters.orders_claimed, orders->size());
      shared_.leases.add(id_, *orders, shared_.now());
      p::print_claimed(out, *orders);
    } else {
      print_error(out, orders.error());
    }
    Counters::subtract(shared_.counters.claims_under_way);  // After its leases are known: see Server::stop().
  };
  Counters::add(shared_.counters.claims_under_way);
  const std::size_t reserved = claim_reserve(shared_, request.count);
  auto done = callback<std::vector<Claimed>>(bytes, claimed, reserved);
  if (waits) {
    held_up_ = true;
    Counters::add(shared_.counters.claims_waiting);
  }
  const ClaimTicket ticket = shared_.engine.claim(std::move(request), std::move(done));
  if (waits) waiting_ = ticket;
}

void Session::pop(PopRequest request, std::size_t bytes) {
  if (shared_.stopping) return refuse({p::WireCode::closing, "the server is stopping"});
  const auto popped = [this](std::string& out, const Result<std::vector<Claimed>>& orders) {
    if (!orders) return print_error(out, orders.error());
    Counters::add(shared_.counters.orders_claimed, orders->size());
    p::print_claimed(out, *orders);
  };
  const std::size_t reserved = claim_reserve(shared_, request.count);
  shared_.engine.pop(std::move(request), callback<std::vector<Claimed>>(bytes, popped, reserved));
}

// ---- Logging in ---------------------------------------------------------------------------------

void Session::login(p::AuthRequest request, bool hello, std::size_t bytes) {
  if (!shared_.users) return refuse({p::WireCode::err, "this server has no users: AUTH is not needed"});
  if (request.user.empty()) request.user = "default";
  // Before all who guess passwords meanwhile.
  if (const User* const user = shared_.users->remembered(request.user, request.password)) {
    held_up_ = true;
    const SlotNumber number = open_slot();
    add_to(slot(number), bytes);
    return loop_.post([self = self(), number, user, hello, request = std::move(request)] {
      self->logged_in(number, user, request, hello);
    });
  }
  if (shared_.logins_waiting >= logins_waiting_max) {
    return refuse({p::WireCode::overloaded, std::to_string(logins_waiting_max) + " logins are under way"});
  }
  ++shared_.logins_waiting;
  held_up_ = true;
  const SlotNumber number = open_slot();
  add_to(slot(number), bytes);
  boost::asio::post(shared_.verifiers,
                    [self = self(), number, hello, request = std::move(request)]() mutable {
                      const User* const user = self->shared_.users->find(request.user, request.password);
                      --self->shared_.logins_waiting;
                      Loop& loop = self->loop_;
                      loop.post([self = std::move(self), number, hello, user, request = std::move(request)] {
                        self->logged_in(number, user, request, hello);
                      });
                    });
}

void Session::logged_in(SlotNumber number, const User* user, const p::AuthRequest& request, bool hello) {
  held_up_ = false;
  std::string reply;
  if (user != nullptr) {
    user_ = user;
    if (reader_) reader_->set_limits(word_limits());
    if (hello) {
      print_hello(reply);
    } else {
      p::print_simple(reply, "OK");
    }
  } else {
    Counters::add(shared_.counters.logins_failed);
    shared_.counters.count(p::WireCode::denied);
    shared_.log(LogLevel::warning, "login of " + base::quote(request.user) + " from " + peer_ + " failed");
    last_ = ++logins_failed_ >= logins_failed_max;
    p::print_error(reply, p::WireCode::denied,
                   last_ ? "wrong user or password, once too often" : "wrong user or password");
  }
  answered(number, std::move(reply));
}

// ---- Replies ------------------------------------------------------------------------------------

void Session::print_error(std::string& out, const Error& error) {
  shared_.counters.count(p::wire_code(error.code));
  p::print_error(out, error);
}

void Session::print_answer(std::string& out, const Result<Answer>& answer) {
  if (!answer) return print_error(out, answer.error());
  shared_.counters.count(answer->outcome);
  p::print_answer(out, *answer);
}

void Session::print_hello(std::string& out) const {
  p::print_array(out, 14);
  const auto field = [&out](std::string_view name, std::string_view value) {
    p::print_bulk(out, name);
    p::print_bulk(out, value);
  };
  field("server", "duelease");
  field("version", DUELEASE_VERSION);
  p::print_bulk(out, "proto");
  p::print_integer(out, 2);
  p::print_bulk(out, "id");
  p::print_integer(out, static_cast<std::int64_t>(id_));
  field("mode", "standalone");
  field("role", "master");
  p::print_bulk(out, "modules");
  p::print_array(out, 0);
}

}  // namespace duelease::server
