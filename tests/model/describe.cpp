#include "model/describe.h"

#include <sstream>
#include <type_traits>

namespace duelease::model_test {

namespace {

std::string number(std::int64_t value) { return std::to_string(value); }
std::string number(std::uint64_t value) { return std::to_string(value); }
std::string show(Time time) { return number(std::int64_t{time.time_since_epoch().count()}); }
std::string show(Duration duration) { return number(std::int64_t{duration.count()}) + "ms"; }
std::string show(Token token) { return number(static_cast<std::uint64_t>(token)); }
std::string show(const std::string& text) { return shown(text); }
std::string show(bool value) { return value ? "true" : "false"; }
std::string show(std::uint32_t value) { return std::to_string(value); }
std::string show(std::uint64_t value) { return std::to_string(value); }

// One request in words.
class Line {
 public:
  explicit Line(std::string verb) : text_(std::move(verb)) {}

  template <class T>
  Line& add(std::string_view name, const T& value) {
    text_.append(" ").append(name).append("=").append(show(value));
    return *this;
  }
  template <class T>
  Line& add(std::string_view name, const std::optional<T>& value) {
    return value ? add(name, *value) : *this;
  }
  Line& add(const std::vector<AppWrite>& writes) {
    if (!writes.empty()) text_ += " app";
    for (const AppWrite& write : writes) {
      if (text_.size() > 400) return *this;
      text_.append(" ").append(shown(write.key)).append(write.value ? "=" + shown(*write.value) : " deleted");
    }
    return *this;
  }
  Line& flag(std::string_view name, bool is_set) {
    if (is_set) text_.append(" ").append(name);
    return *this;
  }
  Line& list(std::string_view name, const std::vector<std::string>& values) {
    text_.append(" ").append(name).append("=");
    for (std::size_t i = 0; i < values.size() && i < 20; ++i) text_ += shown(values[i]);
    if (values.size() > 20) text_ += "... " + number(std::uint64_t{values.size()});
    return *this;
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

Line line(const ScheduleRequest& r) {
  Line out("schedule");
  out.add("queue", r.queue).add("id", r.id).add("due", r.due).add("payload", r.payload).add("key", r.key);
  if (r.priority) out.add("priority", std::uint32_t{*r.priority});
  return out.add("run", r.run).add("tries", r.tries).flag("upsert", r.upsert).add(r.app_writes);
}
Line line(const ClaimRequest& r) {
  Line out("claim");
  out.list("queues", r.queues).add("worker", r.worker).add("count", r.count).add("lease", r.lease);
  return out.add("wait", r.wait).add("request", r.request);
}
Line line(const PopRequest& r) { return Line("pop").add("queue", r.queue).add("count", r.count); }
Line line(const CompleteRequest& r) {
  Line out("complete");
  return out.add("queue", r.queue)
      .add("id", r.id)
      .add("token", r.token)
      .add("result", r.result)
      .add(r.app_writes);
}
Line line(const FailRequest& r) {
  Line out("fail");
  out.add("queue", r.queue).add("id", r.id).add("token", r.token).add("error", r.error);
  return out.add("retry_at", r.retry_at).flag("final", r.final);
}
Line line(const ReleaseRequest& r) {
  return Line("release").add("queue", r.queue).add("id", r.id).add("token", r.token).add("due", r.due);
}
Line line(const ExtendRequest& r) {
  return Line("extend").add("queue", r.queue).add("id", r.id).add("token", r.token).add("lease", r.lease);
}
Line line(const RescheduleRequest& r) {
  return Line("reschedule").add("queue", r.queue).add("id", r.id).add("due", r.due);
}
Line line(const CancelRequest& r) {
  return Line("cancel").add("queue", r.queue).add("id", r.id).flag("force", r.force).add("since", r.since);
}
Line line(const ImportRequest& r) {
  Line out("import");
  out.add("queue", r.queue).add("id", r.id).add("due", r.due).add("payload", r.payload).add("key", r.key);
  if (r.priority) out.add("priority", std::uint32_t{*r.priority});
  out.add("tries", r.tries).add("state", std::string(state_name(r.state))).add("created_at", r.created_at);
  return out.add("ended_at", r.ended_at).add("error", r.error).flag("grandfather", r.grandfather);
}
Line line(const ReconcileRequest& r) {
  Line out("reconcile");
  out.add("queue", r.queue).add("id", r.id).add("due", r.due).add("payload", r.payload).add("key", r.key);
  if (r.priority) out.add("priority", std::uint32_t{*r.priority});
  return out.add("tries", r.tries).add("since", r.since).add("read_at", r.read_at);
}
Line line(const RetryRequest& r) {
  return Line("retry").add("queue", r.queue).add("id", r.id).add("due", r.due);
}
Line line(const ReapRequest& r) { return Line("reap").add("queue", r.queue).add("limit", r.limit); }
Line line(const QueueSetRequest& r) {
  Line out("set_queue");
  out.add("queue", r.queue).add("lease", r.lease).add("tries", r.tries).add("backoff_base", r.backoff_base);
  out.add("backoff_cap", r.backoff_cap).add("jitter", r.backoff_jitter_percent).add("paused", r.paused);
  out.add("payload_bytes_max", r.payload_bytes_max)
      .flag("keep_success=for ever", r.keep_success && !*r.keep_success)
      .flag("create=no", !r.create);
  out.add("keep_history", r.keep_history);
  return r.keep_success ? out.add("keep_success", *r.keep_success) : out;
}
Line line(const engine::Barrier&) { return Line("barrier"); }
Line line(const engine::PurgeBatch& r) {
  Line out("purge");
  out.add("queue", r.queue).add("state", std::string(state_name(r.state))).add("older", r.older);
  return out.list("ids", r.ids);
}
Line line(const RunOpenRequest& r) {
  return Line("run_open").add("queue", r.queue).add("run", r.run).add("ttl", r.ttl);
}
Line line(const RunStartRequest& r) { return Line("run_start").add("queue", r.queue).add("run", r.run); }
Line line(const RunBeatRequest& r) { return Line("run_beat").add("queue", r.queue).add("run", r.run); }
Line line(const RunDoneRequest& r) {
  return Line("run_done").add("queue", r.queue).add("run", r.run).flag("force", r.force);
}
Line line(const RunErrorRequest& r) {
  return Line("run_error").add("queue", r.queue).add("run", r.run).add("reason", r.reason);
}

}  // namespace

std::string shown(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::size_t shown_max = 24;
  std::string out = "\"";
  for (const char c : bytes.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) {
      out += c;
    } else {
      out.append("\\x").append({digits[byte >> 4], digits[byte & 0xf]});
    }
  }
  return out + (bytes.size() > shown_max ? "...\"(" + std::to_string(bytes.size()) + ")" : "\"");
}

std::string describe(Now now) {
  return "wall " + show(now.wall) + " mono " + number(std::int64_t{now.monotonic.time_since_epoch().count()});
}

std::string describe(const engine::Body& body) {
  return std::visit([](const auto& request) { return line(request).text(); }, body);
}

std::string describe(const model::Record& r) {
  Line out{std::string(state_name(r.state))};
  out.add("due", r.due)
      .add("priority", std::uint32_t{r.priority})
      .add("tries", r.tries)
      .add("attempt", r.attempt);
  out.add("tries_used", r.tries_used)
      .add("failures", r.failures)
      .add("generation", r.generation)
      .add("key", r.key);
  out.add("run", r.run).add("token", r.token).add("sequence", Token{r.sequence}).add("worker", r.worker);
  out.add("created_at", r.created_at).add("updated_at", r.updated_at).add("error", r.error);
  out.flag("grandfathered", r.grandfathered).flag("vanished", r.vanished);
  return out.add("result", r.result).add("payload", r.payload).add("unknown", r.unknown).text();
}

std::string describe(const Answer& answer) {
  Line out{std::string(outcome_name(answer.outcome))};
  out.add("state", std::string(state_name(answer.state))).add("at", answer.at);
  return answer.outcome == Outcome::duplicate ? out.add("blocker", answer.blocker).text() : out.text();
}

std::string describe(const Claimed& c) {
  Line out("[");
  out.add("queue", c.queue).add("id", c.id).add("token", c.token).add("attempt", c.attempt);
  out.add("expires", c.lease_expires_at).add("due", c.due).add("payload", c.payload).add("key", c.key);
  return out.add("run", c.run).add("lease", c.lease).text() + "]";
}

std::string describe(const QueueSettings& s) {
  Line out("settings");
  out.add("lease", s.lease).add("tries", s.tries).add("backoff_base", s.backoff_base);
  out.add("backoff_cap", s.backoff_cap).add("jitter", s.backoff_jitter_percent);
  out.add("payload_bytes_max", s.payload_bytes_max).add("keep_success", s.keep_success);
  return out.add("keep_history", s.keep_history).add("paused", s.paused).text();
}

std::string describe(const HistoryEntry& e) {
  Line out{std::string(history_event_name(e.event))};
  out.add("state", std::string(state_name(e.state))).add("at", e.at).add("due", e.due);
  out.add("worker", e.worker).add("token", e.token).add("attempt", e.attempt).add("reason", e.reason);
  return out.add("sequence", Token{e.sequence}).text();
}

std::string describe(const Counts& c) {
  return "wait " + number(c.wait) + " processing " + number(c.processing) + " success " + number(c.success) +
         " failed " + number(c.failed) + " aborted " + number(c.aborted);
}

std::string describe(const model::RunRecord& r) {
  Line out{std::string(run_state_name(r.state))};
  out.add("ttl", r.ttl).add("expires_at", r.expires_at).add("opened_at", r.opened_at);
  out.add("started_at", r.started_at).add("ended_at", r.ended_at).add("reason", r.reason);
  out.add("unknown", r.unknown);
  return out.text() + " counts: " + describe(r.counts) + " purged: " + describe(r.purged);
}

std::string describe(RunState state) { return "run " + std::string(run_state_name(state)); }

std::string describe(const Result<engine::Reply>& reply) {
  if (!reply)
    return "error " + std::string(code_name(reply.error().code)) + " " + shown(reply.error().message);
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::uint64_t>) {
          return number(value);
        } else if constexpr (std::is_same_v<Value, std::vector<Claimed>>) {
          std::string out = std::to_string(value.size()) + " orders";
          for (std::size_t i = 0; i < value.size() && i < 10; ++i) out += " " + describe(value[i]);
          return out;
        } else {
          return describe(value);
        }
      },
      *reply);
}

std::string describe(const engine::Served& served) {
  return "claim " + number(served.ticket) + ": " + describe(served.reply);
}

// ---- Comparing ----------------------------------------------------------------------------------

namespace {

bool same_value(const Answer& a, const Answer& b) {
  if (a.outcome != b.outcome) return false;
  switch (a.outcome) {
    case Outcome::stale:
    case Outcome::not_found: return true;
    case Outcome::duplicate: return a.state == b.state && a.blocker == b.blocker;
    case Outcome::scheduled:
    case Outcome::rescheduled:
    case Outcome::unchanged:
    case Outcome::requeued:
    case Outcome::extended: return a.state == b.state && a.at == b.at;
    default: return a.state == b.state;
  }
}

bool same_value(const std::vector<Claimed>& a, const std::vector<Claimed>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Claimed& x, const Claimed& y) {
    return x.queue == y.queue && x.id == y.id && x.token == y.token && x.attempt == y.attempt &&
           x.lease_expires_at == y.lease_expires_at && x.due == y.due && x.payload == y.payload &&
           x.key == y.key && x.run == y.run && x.lease == y.lease;
  });
}

bool same_value(std::uint64_t a, std::uint64_t b) { return a == b; }
bool same_value(const QueueSettings& a, const QueueSettings& b) { return a == b; }
bool same_value(RunState a, RunState b) { return a == b; }

}  // namespace

bool same(const Result<engine::Reply>& expected, const Result<engine::Reply>& actual) {
  if (expected.has_value() != actual.has_value()) return false;
  if (!expected) return expected.error().code == actual.error().code;
  if (expected->index() != actual->index()) return false;
  return std::visit(
      [&](const auto& value) { return same_value(value, std::get<std::decay_t<decltype(value)>>(*actual)); },
      *expected);
}

}  // namespace duelease::model_test
