#include "server/reads.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "protocol/reply.h"
#include "server/rules.h"

namespace duelease::server {
namespace {

namespace p = protocol;

class Reader {
 public:
  Reader(Shared& shared, const User* user, std::string& out) : shared_(shared), user_(user), out_(out) {}

  void operator()(const p::OrderRequest& r) { put(engine().order(r.queue, r.id), p::print_order); }
  void operator()(const p::WhyRequest& r) { put(engine().why(r.queue, r.id), p::print_bulk); }
  void operator()(const p::HistoryRequest& r) {
    put(engine().history(r.queue, r.id, r.limit), p::print_history);
  }
  void operator()(const p::StatsRequest& r) { put(engine().stats(r.queue), p::print_stats); }
  void operator()(const p::QueueShowRequest& r) { put(engine().queue_settings(r.queue), p::print_settings); }
  void operator()(const p::CheckRequest& r) { put(shared_.checker.check(r.queue), p::print_check); }
  void operator()(const p::MarkRequest&) { put(engine().read_mark(), p::print_mark); }
  void operator()(const ListRequest& r) { put(engine().list(r), p::print_page); }
  void operator()(const p::RunShowRequest& r) { put(engine().run(r.queue, r.run), p::print_run); }
  void operator()(const p::RunListRequest& r) { put(engine().runs(r.queue), p::print_names); }
  void operator()(const PurgeRequest& r) {
    put(engine().purge(r), [](std::string& out, std::uint64_t count) {
      p::print_integer(out, static_cast<std::int64_t>(count));
    });
  }
  // A user sees its own.
  void operator()(const p::QueuesRequest&) {
    Result<std::vector<std::string>> names = engine().queues();
    if (names && user_ != nullptr) {
      std::erase_if(*names, [this](const std::string& queue) { return !user_->may_use(queue); });
    }
    put(names, p::print_names);
  }
  void operator()(const p::InfoRequest&);

  template <class Other>
  void operator()(const Other&) {
    DUELEASE_CHECK(false);  // The table of rules sends no other here.
  }

 private:
  Engine& engine() { return shared_.engine; }

  template <class T, class Print>
  void put(const Result<T>& result, const Print& print) {
    if (result) {
      print(out_, *result);
    } else {
      shared_.counters.count(p::wire_code(result.error().code));
      p::print_error(out_, result.error());
    }
  }

  Shared& shared_;
  const User* const user_;
  std::string& out_;
};

void Reader::operator()(const p::InfoRequest&) {
  const auto up = std::chrono::steady_clock::now() - shared_.started;
  std::string text = "# Server\r\nduelease_version:" DUELEASE_VERSION "\r\nprocess_id:";
  text += std::to_string(::getpid()) + "\r\nuptime_in_seconds:";
  text += std::to_string(std::chrono::duration_cast<std::chrono::seconds>(up).count()) + "\r\nstopping:";
  text += shared_.stopping ? "1\r\n" : "0\r\n";
  shared_.counters.print(text);
  text += "# Engine\r\n";
  if (const Result<std::uint64_t> sequence = engine().last_sequence()) {
    text += "last_sequence:" + std::to_string(*sequence) + "\r\n";
  }
  for (const Violation& mended : engine().mended()) {
    text += "mended_" + mended.invariant + ":" + std::to_string(mended.count) + "\r\n";
  }
  shared_.checker.print(text);
  p::print_bulk(out_, text);
}

}  // namespace

std::size_t answer_reads(Shared& shared, const User* user, std::span<p::Request> requests, std::string& out) {
  std::vector<ReconcileRequest> rows;
  for (p::Request& request : requests) {
    auto* const row = std::get_if<ReconcileRequest>(&request);
    if (row == nullptr) break;
    rows.push_back(std::move(*row));
  }
  if (rows.empty()) {
    std::visit(Reader(shared, user, out), requests.front());
    return 1;
  }
  const std::size_t count = rows.size();
  for (const Result<Answer>& answer : shared.engine.reconcile(std::move(rows))) {
    if (answer) {
      shared.counters.count(answer->outcome);
      p::print_answer(out, *answer);
    } else {
      shared.counters.count(p::wire_code(answer.error().code));
      p::print_error(out, answer.error());
    }
  }
  return count;
}

}  // namespace duelease::server
