// Scenarios of reconciling with the truth while others go on.
#include "duelease/reconcile.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/live_engine.h"
#include "support/manual_clock.h"
#include "support/printing.h"
#include "support/temporary_folder.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

class Loans {
 public:
  Loans() {
    open();
    for (const char* id : {"cancelled", "failed", "gone", "moved", "renewed", "returned"}) schedule(id, due);
    for (const char* id : {"claimed", "completed"}) schedule(id, overdue);
    schedule("overdue", overdue + 1min);
  }
  void open() {
    engine.reset();
    Options options = small_options();
    options.clock = clock_;
    engine = open_live(folder_ / "store", options);
  }
  void schedule(const std::string& id, Time at) { well(engine->schedule(order_of("loans", id, at))); }

  // What others do after the source was read.
  void go_on() {
    schedule("new", due);
    well(engine->reschedule({"loans", "renewed", due + 48h}));
    well(engine->cancel({"loans", "cancelled"}));
    const std::vector<Claimed> claimed = well(engine->claim(claim_of("loans", "w", 2)));
    REQUIRE(claimed.size() == 2);
    CHECK(claimed[0].id == "claimed");
    well(engine->complete(report_on<CompleteRequest>(claimed[1])));
  }

  // The source as it was read before: all but "gone"; "moved" has another due time.
  std::vector<ReconcileRow> source() const {
    std::vector<ReconcileRow> rows;
    for (const char* id : {"cancelled", "renewed", "returned"}) rows.push_back({.id = id, .due = due});
    for (const char* id : {"claimed", "completed"}) rows.push_back({.id = id, .due = overdue});
    rows.push_back({.id = "overdue", .due = overdue + 1min});
    rows.push_back({.id = "moved", .due = due - 1h});
    rows.push_back({.id = "failed", .due = due});
    return rows;
  }

  Order order(const std::string& id) const { return *well(engine->order("loans", id)); }
  // Of all that go_on() did, nothing was undone.
  void check_untouched() const {
    CHECK(order("new").state == State::wait);
    CHECK(order("new").due == due);
    CHECK(order("renewed").due == due + 48h);
    CHECK(order("cancelled").state == State::aborted);
    CHECK(order("claimed").state == State::processing);
    CHECK(order("completed").state == State::success);
    CHECK(order("overdue").due == overdue + 1min);
    CHECK(order("overdue").state == State::wait);
    CHECK(well(engine->check()).violations() == 0);
  }

  std::unique_ptr<Engine> engine;

 private:
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  TemporaryFolder folder_;

 public:
  const Time now = clock_->now().wall;
  const Time due = now + 24h;
  const Time overdue = now - 1h;
};

ReconcileRequest request_of(const ReconcileRow& row, const ReadMark& mark) {
  return {.queue = "loans", .id = row.id, .due = row.due, .since = mark.since, .read_at = mark.read_at};
}

}  // namespace

TEST_CASE("reconcile_race: what others did after the source was read is left alone", "[reconcile_race]") {
  Loans loans;
  Reconciler reconciler = well(Reconciler::begin(*loans.engine, {.queue = "loans", .cancel_missing = true}));
  loans.go_on();
  reconciler.add(loans.source());
  std::vector<std::string> vanished;
  const ReconcileReport report =
      well(reconciler.finish([&](std::string_view id) { vanished.emplace_back(id); }));
  CHECK(report.rows == 8);
  CHECK(report.refused == 3);  // cancelled, claimed, completed
  CHECK(report.newer == 1);    // renewed
  CHECK(report.unchanged == 3);
  CHECK(report.rescheduled == 1);
  CHECK(vanished == std::vector<std::string>{"gone"});
  CHECK(loans.order("gone").state == State::aborted);
  CHECK(loans.order("moved").due == loans.due - 1h);
  loans.check_untouched();
}

TEST_CASE("reconcile_race: a restart in the middle forgets nothing", "[reconcile_race]") {
  Loans loans;
  const ReadMark mark = well(loans.engine->read_mark());
  loans.go_on();
  loans.open();
  std::vector<ReconcileRequest> rows;
  for (const ReconcileRow& row : loans.source()) rows.push_back(request_of(row, mark));
  const std::vector<Outcome> expected = {Outcome::refused,     Outcome::newer,    Outcome::unchanged,
                                         Outcome::refused,     Outcome::refused,  Outcome::unchanged,
                                         Outcome::rescheduled, Outcome::unchanged};
  std::vector<Outcome> outcomes;
  for (const Result<Answer>& answer : loans.engine->reconcile(rows)) outcomes.push_back(answer->outcome);
  CHECK(outcomes == expected);
  CancelRequest gone{.queue = "loans", .id = "gone"};
  gone.since = mark.since;
  CHECK(well(loans.engine->cancel(gone)).outcome == Outcome::aborted);
  loans.open();
  const std::vector<Result<Answer>> again = loans.engine->reconcile(rows);
  CHECK(again[6]->outcome == Outcome::unchanged);
  loans.check_untouched();
}

TEST_CASE("reconcile_race: a source that breaks off removes nothing", "[reconcile_race]") {
  Loans loans;
  {
    Reconciler reconciler =
        well(Reconciler::begin(*loans.engine, {.queue = "loans", .cancel_missing = true}));
    loans.go_on();
    std::vector<ReconcileRow> rows = loans.source();
    rows.resize(2);
    reconciler.add(std::move(rows));
  }
  for (const char* id : {"failed", "gone", "moved", "returned"}) {
    CHECK(loans.order(id).state == State::wait);
    CHECK(loans.order(id).due == loans.due);
  }
  loans.check_untouched();
}

TEST_CASE("reconcile_race: many reconciles beside many workers complete no order twice", "[reconcile_race]") {
  constexpr std::size_t orders = 2000;
  TemporaryFolder folder;
  Options options = small_options();
  options.durability = Durability::none;
  const std::unique_ptr<Engine> engine = open_live(folder / "store", options);
  std::vector<ReconcileRow> rows;
  for (std::size_t i = 0; i < orders; ++i) rows.push_back({.id = std::to_string(i), .due = Time{}});

  std::atomic<std::size_t> completed = 0;
  const auto work = [&] {
    while (completed < orders) {
      for (const Claimed& order : well(engine->claim(claim_of("q", "w", 20, Duration{10})))) {
        const Answer answer = well(engine->complete(report_on<CompleteRequest>(order)));
        if (answer.outcome == Outcome::completed) ++completed;
      }
    }
  };
  const auto reconcile = [&] {
    do {
      Reconciler reconciler = well(Reconciler::begin(*engine, {.queue = "q", .cancel_missing = true}));
      reconciler.add(rows);
      well(reconciler.finish());
    } while (completed < orders);
  };
  std::vector<std::future<void>> threads;
  for (int i = 0; i < 2; ++i) threads.push_back(std::async(std::launch::async, work));
  for (int i = 0; i < 2; ++i) threads.push_back(std::async(std::launch::async, reconcile));
  for (std::future<void>& thread : threads) thread.get();
  CHECK(completed == orders);
  CHECK(well(engine->stats("q")).counts == Counts{0, 0, orders, 0, 0});
  CHECK(well(engine->check()).violations() == 0);
}
