// A whole reconcile on a live engine, and what it writes.
#include "duelease/reconcile.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_parts.h"
#include "reconcile/fingerprints.h"
#include "store/memory_store.h"
#include "support/live_engine.h"
#include "support/manual_clock.h"
#include "support/printing.h"
#include "support/temporary_folder.h"
#include "support/watched_store.h"

using namespace duelease;
using namespace duelease::test;
using namespace std::chrono_literals;

namespace {

constexpr Time noon{Duration{1'800'000'000'000}};

// The truth: orders "0" to "count - 1", due a minute apart.
std::vector<ReconcileRow> truth(std::size_t count) {
  std::vector<ReconcileRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].id = std::to_string(i);
    rows[i].due = noon + i * 1min;
    rows[i].payload = "p" + rows[i].id;
  }
  return rows;
}

struct Watched {
  explicit Watched(std::size_t commands_waiting_max = 100'000) {
    Options options = small_options();
    options.commands_waiting_max = commands_waiting_max;
    options.clock = clock;
    engine = well(engine::open_engine(
        std::make_unique<WatchedStore>(std::make_unique<store::MemoryStore>(), watch), options, {}));
  }
  Reconciler begin(bool cancel_missing = false, bool dry_run = false) {
    return well(
        Reconciler::begin(*engine, {.queue = "q", .cancel_missing = cancel_missing, .dry_run = dry_run}));
  }
  // The whole of it.
  ReconcileReport reconcile(std::vector<ReconcileRow> rows, bool cancel_missing = false,
                            bool dry_run = false) {
    Reconciler reconciler = begin(cancel_missing, dry_run);
    reconciler.add(std::move(rows));
    return well(reconciler.finish([this](std::string_view id) { vanished.emplace_back(id); }));
  }
  Counts counts() const { return well(engine->stats("q")).counts; }
  State state(const std::string& id) const { return well(engine->order("q", id))->state; }

  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  const std::shared_ptr<StoreWatch> watch = std::make_shared<StoreWatch>();
  std::unique_ptr<Engine> engine;
  std::vector<std::string> vanished;
};

// Of which the calls alone are known.
struct Calls {
  Result<ReadMark> read_mark() { return engine->read_mark(); }
  std::vector<Result<Answer>> reconcile(std::vector<ReconcileRequest> rows) {
    return engine->reconcile(std::move(rows));
  }
  std::vector<Result<Answer>> cancel(std::vector<CancelRequest> requests) {
    return engine->cancel(std::move(requests));
  }
  Result<Page> list(const ListRequest& request) {
    Result<Page> page = engine->list(request);
    if (after_list) after_list();
    return page;
  }
  Result<std::optional<Order>> order(std::string_view queue, std::string_view id) {
    return engine->order(queue, id);
  }

  Engine* engine;
  std::function<void()> after_list{};
};

}  // namespace

TEST_CASE("on an empty store a reconcile is the rebuild of the queue", "[reconcile]") {
  Watched w;
  const ReconcileReport report = w.reconcile(truth(2500), true);
  CHECK(report.rows == 2500);
  CHECK(report.scheduled == 2500);
  CHECK(report.vanished == 0);
  CHECK(w.counts() == Counts{2500, 0, 0, 0, 0});
  CHECK(well(w.engine->order("q", "7"))->payload == "p7");
  CHECK(well(w.engine->order("q", "7"))->due == noon + 7min);
  CHECK(well(w.engine->check()).violations() == 0);
}

TEST_CASE("a source without a row, and a queue that is not there", "[reconcile]") {
  Watched w;
  CHECK(w.reconcile({}, true).rows == 0);
  CHECK(well(w.engine->queues()).empty());
}

TEST_CASE("rows that change nothing write nothing", "[reconcile]") {
  Watched w;
  w.reconcile(truth(2500));
  look_now(*w.engine);
  const std::uint64_t sequence = well(w.engine->last_sequence());
  const std::uint64_t writes = w.watch->writes();
  const std::uint64_t syncs = w.watch->syncs();
  const bool dry_run = GENERATE(false, true);
  const ReconcileReport report = w.reconcile(truth(2500), true, dry_run);
  CHECK(report.unchanged == 2500);
  CHECK(report.rows == 2500);
  CHECK(w.vanished.empty());
  CHECK(well(w.engine->last_sequence()) == sequence);
  CHECK(w.watch->writes() == writes);
  CHECK(w.watch->syncs() == syncs);
}

TEST_CASE("rows that change something share a sync", "[reconcile]") {
  Watched w;
  const std::uint64_t syncs = w.watch->syncs();
  w.reconcile(truth(1000));
  CHECK(w.watch->syncs() <= syncs + 3);
}

TEST_CASE("a dry run tells what a reconcile would do, and does nothing", "[reconcile]") {
  Watched w;
  w.reconcile(truth(10));
  std::vector<ReconcileRow> rows = truth(12);
  rows.erase(rows.begin() + 3, rows.begin() + 5);
  rows[0].due += 1h;
  rows[8].key = "k";  // "10"
  ScheduleRequest owner = order_of("q", "owner", noon);
  owner.key = "k";
  well(w.engine->schedule(owner));
  rows.push_back({.id = "owner", .due = noon});
  const std::uint64_t sequence = well(w.engine->last_sequence());
  const std::uint64_t writes = w.watch->writes();

  const ReconcileReport dry = w.reconcile(rows, true, true);
  CHECK(well(w.engine->last_sequence()) == sequence);
  CHECK(w.watch->writes() == writes);
  CHECK(dry.rows == 11);
  CHECK(dry.scheduled == 1);
  CHECK(dry.rescheduled == 1);
  CHECK(dry.unchanged == 8);
  CHECK(dry.duplicate == 1);
  CHECK(dry.vanished == 2);
  const std::vector<std::string> missing = {"3", "4"};
  CHECK(w.vanished == missing);

  w.vanished.clear();
  const ReconcileReport done = w.reconcile(rows, true);
  CHECK(done.scheduled == dry.scheduled);
  CHECK(done.rescheduled == dry.rescheduled);
  CHECK(done.unchanged == dry.unchanged);
  CHECK(done.duplicate == dry.duplicate);
  CHECK(done.vanished == dry.vanished);
  CHECK(w.vanished == missing);
  CHECK(w.state("3") == State::aborted);
  CHECK(w.state("5") == State::wait);
}

TEST_CASE("what no row named stays, unless it is asked for, and until the end", "[reconcile]") {
  Watched w;
  w.reconcile(truth(3));
  CHECK(w.reconcile(truth(1)).vanished == 0);
  {
    Reconciler breaks_off = w.begin(true);
    breaks_off.add(truth(1));
  }
  CHECK(w.counts().wait == 3);
  CHECK(w.reconcile(truth(1), true).vanished == 2);
  CHECK(w.counts() == Counts{1, 0, 0, 0, 2});
  // A source that has them again brings them back.
  CHECK(w.reconcile(truth(3), true).scheduled == 2);
  CHECK(w.counts() == Counts{3, 0, 0, 0, 0});
}

TEST_CASE("a row that was refused or malformed is named all the same", "[reconcile]") {
  Watched w;
  w.reconcile(truth(2));
  Reconciler reconciler = w.begin(true);
  std::vector<ReconcileRow> rows = truth(2);
  rows[1].due = Time::max();
  const std::vector<Result<Answer>> answers = reconciler.add(rows);
  CHECK(answers[0]->outcome == Outcome::unchanged);
  CHECK(answers[1].error().code == Code::invalid);
  const ReconcileReport report = well(reconciler.finish());
  CHECK(report.errors == 1);
  CHECK(report.vanished == 0);
}

TEST_CASE("a reconcile that met a failed disk cancels nothing", "[reconcile]") {
  Watched w;
  w.reconcile(truth(3));
  Reconciler reconciler = w.begin(true);
  w.watch->fail_syncs({Code::storage, "the disk is gone"});
  std::vector<ReconcileRow> rows = truth(1);
  rows[0].due += 1h;
  CHECK(reconciler.add(rows).front().error().code == Code::storage);
  const Result<ReconcileReport> finished = reconciler.finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().code == Code::storage);
  CHECK(reconciler.report().errors == 1);
}

TEST_CASE("what an unchanged row rests on is on disk when it is answered", "[reconcile]") {
  Watched w;
  ReconcileRequest row{.queue = "q", .id = "a", .due = noon};
  row.read_at = w.clock->now().wall;
  const std::uint64_t syncs = w.watch->syncs();
  w.watch->hold_syncs();
  Reply<Answer> scheduled;
  w.engine->schedule(order_of("q", "a", noon), scheduled.callback());
  w.watch->await_syncs(syncs + 1);
  Reply<Answer> unchanged;
  w.engine->reconcile(row, unchanged.callback());
  w.watch->fail_syncs({Code::storage, "the disk is gone"});
  w.watch->release_syncs();
  CHECK(scheduled.get().error().code == Code::storage);
  const Result<Answer> answer = unchanged.get();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::storage);

  // Nor is it acknowledged later, alone or beside a row that has something to change.
  ReconcileRequest missing = row;
  missing.id = "b";
  for (const Code code : {Code::storage, Code::closing}) {
    for (const Result<Answer>& later : w.engine->reconcile(std::vector{row, missing})) {
      REQUIRE_FALSE(later);
      CHECK(later.error().code == code);
    }
    const Result<Answer> alone = w.engine->reconcile(row);
    REQUIRE_FALSE(alone);
    CHECK(alone.error().code == code);
    w.engine->close();
  }
}

TEST_CASE("a reconcile asks for no more at once than its engine takes", "[reconcile]") {
  Watched w(7);
  CHECK(w.reconcile(truth(20)).scheduled == 20);
  CHECK(w.reconcile(truth(20), true).unchanged == 20);
  CHECK(w.reconcile(truth(3), true).vanished == 17);
  CHECK(w.counts() == Counts{3, 0, 0, 0, 17});
}

TEST_CASE("a reconcile whose cancels are all refused has not succeeded", "[reconcile]") {
  Watched w(7);
  w.reconcile(truth(20));
  Calls calls{w.engine.get()};
  Reconciler reconciler = well(Reconciler::begin(calls, {.queue = "q", .cancel_missing = true}));
  reconciler.add(truth(1));
  const Result<ReconcileReport> finished = reconciler.finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().code == Code::invalid);
  CHECK(w.counts().wait == 20);
}

TEST_CASE("a reconcile that meets another store has not succeeded", "[reconcile]") {
  Watched first;
  first.reconcile(truth(3));
  Watched second;
  const bool cancel_missing = GENERATE(false, true);
  Calls calls{first.engine.get()};
  Reconciler reconciler = well(Reconciler::begin(calls, {.queue = "q", .cancel_missing = cancel_missing}));
  calls.engine = second.engine.get();
  CHECK(reconciler.add(truth(1)).front().error().code == Code::invalid);
  const Result<ReconcileReport> finished = reconciler.finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().code == Code::invalid);
  CHECK_THAT(finished.error().message, Catch::Contains("another store"));
}

TEST_CASE("what somebody else cancels meanwhile has not vanished", "[reconcile]") {
  Watched w;
  w.reconcile(truth(3));
  Calls calls{w.engine.get(), [&] { well(w.engine->cancel({"q", "1"})); }};
  Reconciler reconciler = well(Reconciler::begin(calls, {.queue = "q", .cancel_missing = true}));
  reconciler.add(truth(1));
  const ReconcileReport report =
      well(reconciler.finish([&](std::string_view id) { w.vanished.emplace_back(id); }));
  CHECK(report.vanished == 1);
  CHECK(w.vanished == std::vector<std::string>{"2"});
  CHECK_FALSE(well(w.engine->order("q", "1"))->vanished);
}

TEST_CASE("a reconcile ends once", "[reconcile]") {
  Watched w;
  Reconciler reconciler = w.begin();
  well(reconciler.finish());
  CHECK(reconciler.finish().error().code == Code::closing);
  CHECK(reconciler.add(truth(1)).front().error().code == Code::closing);
  CHECK(Reconciler::begin(*w.engine, {.queue = "no queue"}).error().code == Code::invalid);
}

TEST_CASE("orders that move while the queue is walked are left alone", "[reconcile]") {
  Watched w;
  w.reconcile(truth(2500));
  Reconciler reconciler = w.begin(true);
  reconciler.add(truth(1));
  std::size_t told = 0;
  const auto each = [&](std::string_view id) {
    // Those that come after are moved before those that are walked over, or behind the end.
    if (++told != 10) return;
    CHECK(id == "10");
    for (std::size_t i = 2000; i < 2500; ++i)
      well(w.engine->reschedule({"q", std::to_string(i), i % 2 == 0 ? noon - 1h : noon + 999h}));
  };
  CHECK(well(reconciler.finish(each)).vanished == 1999);
  CHECK(w.counts() == Counts{501, 0, 0, 0, 1999});
}

TEST_CASE("rows go to an engine by callback, alone and many at once", "[reconcile]") {
  Watched w;
  const ReadMark mark = well(w.engine->read_mark());
  CHECK(mark.since == 0);
  CHECK(mark.read_at == w.clock->now().wall);
  std::vector<ReconcileRequest> rows(2);
  for (std::size_t i = 0; i < 2; ++i) {
    rows[i] = {
        .queue = "q", .id = std::to_string(i), .due = noon, .since = mark.since, .read_at = mark.read_at};
  }
  Reply<Answer> one;
  w.engine->reconcile(rows[0], one.callback());
  CHECK(well(one.get()).outcome == Outcome::scheduled);
  std::promise<std::vector<Result<Answer>>> promise;
  w.engine->reconcile(rows,
                      [&](std::vector<Result<Answer>> answers) { promise.set_value(std::move(answers)); });
  const std::vector<Result<Answer>> answers = promise.get_future().get();
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]->outcome == Outcome::unchanged);
  CHECK(answers[1]->outcome == Outcome::scheduled);
  CHECK(well(w.engine->reconcile(rows[1])).outcome == Outcome::unchanged);
  // The same id twice in one call: the second row meets what the first has done.
  rows[0].id = rows[1].id = "twice";
  const std::vector<Result<Answer>> twice = w.engine->reconcile(rows);
  CHECK(twice[0]->outcome == Outcome::scheduled);
  CHECK(twice[1]->outcome == Outcome::unchanged);
}

TEST_CASE("imports go to an engine alone, many at once and by callback", "[import]") {
  Watched w;
  std::vector<ImportRequest> imports(2);
  imports[0] = {.queue = "q", .id = "a", .due = noon, .state = State::success};
  imports[1] = {.queue = "q", .id = "b", .due = noon};
  const std::vector<Result<Answer>> answers = w.engine->import_orders(imports);
  CHECK(answers[0]->state == State::success);
  CHECK(answers[1]->state == State::wait);
  CHECK(well(w.engine->import_orders(imports[0])).outcome == Outcome::duplicate);
  Reply<Answer> one;
  w.engine->import_orders({.queue = "q", .id = "c", .due = noon, .state = State::failed}, one.callback());
  CHECK(well(one.get()).state == State::failed);
  CHECK(w.counts() == Counts{1, 0, 1, 1, 0});
  CHECK(well(w.engine->check()).violations() == 0);
}

TEST_CASE("fingerprints: what was added is found, and nothing else", "[reconcile]") {
  constexpr int many = 20'000;  // More than are kept in memory.
  reconcile::Fingerprints named = well(reconcile::Fingerprints::make());
  for (int i = 0; i < many; ++i) well(named.add("order " + std::to_string((i * 7919) % many)));
  well(named.add(std::string("\0", 1)));
  well(named.add("twice"));
  well(named.add("twice"));
  well(named.seal());
  for (int i = 0; i < many; ++i) REQUIRE(named.contains("order " + std::to_string(i)));
  for (int i = many; i < 2 * many; ++i) REQUIRE_FALSE(named.contains("order " + std::to_string(i)));
  CHECK(named.contains(std::string("\0", 1)));
  CHECK(named.contains("twice"));
  CHECK_FALSE(named.contains(""));

  reconcile::Fingerprints none = well(reconcile::Fingerprints::make());
  well(none.seal());
  CHECK_FALSE(none.contains("order 1"));
}

TEST_CASE("without a folder for temporary files a reconcile does not begin", "[reconcile]") {
  Watched w;
  const char* const old = ::getenv("TMPDIR");
  const std::string before = old ? old : "";
  ::setenv("TMPDIR", "/no/such/folder", 1);
  const Result<Reconciler> refused = Reconciler::begin(*w.engine, {.queue = "q", .cancel_missing = true});
  if (old) {
    ::setenv("TMPDIR", before.c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::storage);
  CHECK_THAT(refused.error().message, Catch::Contains("/no/such/folder"));
}

TEST_CASE("fingerprints: a program that is started does not get their file", "[reconcile]") {
  const reconcile::Fingerprints named = well(reconcile::Fingerprints::make());
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ec;
    const std::string target = std::filesystem::read_symlink(entry.path(), ec).string();
    if (target.find("/duelease-") == std::string::npos || !target.ends_with(" (deleted)")) continue;
    ++found;
    CHECK((::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(found == 1);
}
