// Library loans: a table says what is lent and until when; a queue says what is
// overdue the moment it is.
//
//     library
//
// 1,000 loans are scheduled at their due dates. 200 are renewed: their orders
// move. 300 are returned: their orders are cancelled, and returning a book
// twice is no error. Sixteen days later what is overdue is marked, a hundred
// loans at a time: each mark is in one batch with the end of its order, so no
// loan is marked twice, whatever dies when.
//
// Then the table has gone on for an hour without the queue: 50 loans are new,
// 30 were renewed, 20 returned. A reconcile finds all of that, first as a dry
// run. While it goes on the desk lends a book and renews a loan: it leaves
// both alone, though what it has read of the table knows neither.
//
// In the end the store is lost. A reconcile on an empty one is the rebuild.
//
// Ends with 1 when the queue is not what the table says.
#include <duelease/engine.h>
#include <duelease/reconcile.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using duelease::Claimed;
using duelease::Engine;
using duelease::Outcome;
using duelease::Reconciler;
using duelease::ReconcileReport;
using duelease::ReconcileRow;
using duelease::Time;
using namespace std::chrono_literals;

namespace {

constexpr const char* queue = "loans";
constexpr int loans_count = 1000;
constexpr std::uint32_t batch_size = 100;
constexpr auto day = 24h;

// This program goes on with nothing that has failed.
template <class T>
T must(duelease::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "library: %s\n", result.error().message.c_str());
    ::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

void print(const char* what, std::uint64_t count, const char* note = "") {
  std::printf("%-20s %5llu%s%s\n", what, static_cast<unsigned long long>(count), *note ? "   " : "", note);
}

// Stands still until it is told to jump.
class JumpingClock final : public duelease::Clock {
 public:
  duelease::Now now() const override {
    const duelease::Duration passed{passed_.load()};
    return {morning + passed, duelease::Monotonic{passed}};
  }
  void jump(duelease::Duration duration) { passed_ += duration.count(); }

 private:
  static constexpr Time morning = std::chrono::sys_days(std::chrono::year(2026) / 3 / 1) + 9h;
  std::atomic<std::int64_t> passed_ = 0;
};

// ---- The table, which is the truth
// --------------------------------------------------------------

struct Loan {
  Time due{};
  bool returned = false;
  bool overdue = false;
};

// In a database it would be: SELECT id, due FROM loans WHERE NOT returned AND
// NOT overdue.
using Table = std::map<std::string, Loan>;

bool is_open(const Loan& loan) { return !loan.returned && !loan.overdue; }

std::vector<ReconcileRow> open_loans(const Table& table) {
  std::vector<ReconcileRow> rows;
  for (const auto& [id, loan] : table) {
    if (is_open(loan)) rows.push_back({.id = id, .due = loan.due});
  }
  return rows;
}

std::string id_of(int number) { return "loan-" + std::to_string(number); }

// ---- The library
// --------------------------------------------------------------------------------

class Library {
 public:
  explicit Library(const std::filesystem::path& folder) { open(folder); }

  // On a new store.
  void open(const std::filesystem::path& folder) {
    engine_.reset();
    duelease::Options options;
    options.clock = clock;
    engine_ = must(Engine::open(folder, options));
  }

  // ---- The desk: the table and the queue ----

  void lend(int number, duelease::Duration time) {
    Loan& loan = table[id_of(number)];
    loan.due = clock->now().wall + time;
    must(engine_->schedule({.queue = queue, .id = id_of(number), .due = loan.due}));
  }
  void renew(int number) {
    Loan& loan = table.at(id_of(number));
    loan.due += 14 * day;
    must(engine_->reschedule({.queue = queue, .id = id_of(number), .due = loan.due}));
  }
  // Answers what became of its order: aborted, also when it was before.
  Outcome take_back(const std::string& id) {
    const auto loan = table.find(id);
    if (loan != table.end()) loan->second.returned = true;
    return must(engine_->cancel({.queue = queue, .id = id})).outcome;
  }

  // ---- The nightly job ----

  // Marks what is due, a batch at a time. Answers how many batches it took.
  std::size_t mark_overdue() {
    for (std::size_t batches = 0;; ++batches) {
      const std::vector<Claimed> due =
          must(engine_->claim({.queues = {queue}, .worker = "nightly", .count = batch_size}));
      if (due.empty()) return batches;
      std::vector<duelease::CompleteRequest> requests;
      for (const Claimed& order : due) {
        auto& request = requests.emplace_back();
        request.queue = queue;
        request.id = order.id;
        request.token = order.token;
        // A row each time.
        const std::string token = std::to_string(static_cast<std::uint64_t>(order.token));
        request.app_writes = {{"overdue/" + order.id + "/" + token, "yes"}};
      }
      for (auto& answer : engine_->complete(std::move(requests))) must(std::move(answer));
      for (const Claimed& order : due) table.at(order.id).overdue = true;
    }
  }
  std::size_t marks() const { return must(engine_->app_list("overdue/", "overdue0", 10000)).size(); }

  // ---- The table goes on without the queue ----

  void drift() {
    int renewed = 0, returned = 0;
    for (auto& [id, loan] : table) {
      if (!is_open(loan) || id >= "loan-5") continue;
      if (renewed < 30) {
        ++renewed;
        loan.due += 14 * day;
      } else if (returned < 20) {
        ++returned;
        loan.returned = true;
      }
    }
    for (int i = 0; i < 50; ++i) table[id_of(2000 + i)].due = clock->now().wall + 28 * day;
  }

  // `meanwhile` happens when the table has been read and the rows are on their
  // way.
  template <class Meanwhile>
  ReconcileReport reconcile(bool dry_run, const Meanwhile& meanwhile) {
    Reconciler reconciler =
        must(Reconciler::begin(*engine_, {.queue = queue, .cancel_missing = true, .dry_run = dry_run}));
    std::vector<ReconcileRow> rows = open_loans(table);  // Only now.
    meanwhile();
    for (auto& answer : reconciler.add(std::move(rows))) must(std::move(answer));
    return must(reconciler.finish());
  }

  // ---- What is true in the end ----

  // Loans that are open in the table and not in the queue, at another time
  // there, or the other way round.
  std::size_t differences() const {
    std::size_t different = 0, known = 0;
    for (const auto& [id, loan] : table) {
      const auto order = must(engine_->order(queue, id));
      const bool waits = order && order->state == duelease::State::wait;
      if (waits != is_open(loan) || (waits && order->due != loan.due)) ++different;
      if (waits) ++known;
    }
    return different + must(engine_->stats(queue)).counts.wait - known;
  }
  std::uint64_t violations() const { return must(engine_->check()).violations(); }

  const std::shared_ptr<JumpingClock> clock = std::make_shared<JumpingClock>();
  Table table;

 private:
  std::unique_ptr<Engine> engine_;
};

// ---- The story
// ----------------------------------------------------------------------------------

bool work_the_desk(Library& library) {
  for (int i = 0; i < loans_count; ++i) library.lend(i, (1 + i % 28) * day);
  print("lent", library.table.size());
  int renewed = 0, returned = 0, again = 0;
  for (int i = 0; i < loans_count; i += 5) {
    library.renew(i);
    ++renewed;
  }
  for (int i = 0; i < loans_count; ++i) {
    if (i % 10 < 1 || i % 10 > 3) continue;
    if (library.take_back(id_of(i)) == Outcome::aborted) ++returned;
    if (library.take_back(id_of(i)) == Outcome::aborted) ++again;
  }
  const bool unknown = library.take_back("a book of another library") == Outcome::not_found;
  print("renewed", static_cast<std::uint64_t>(renewed));
  print("returned", static_cast<std::uint64_t>(returned));
  print("returned once more", static_cast<std::uint64_t>(again), "no error, as of a book of another library");
  return unknown && returned == again && library.differences() == 0;
}

bool mark(Library& library) {
  library.clock->jump(16 * day);
  const Time now = library.clock->now().wall;
  const auto overdue = std::count_if(library.table.begin(), library.table.end(), [now](const auto& entry) {
    return is_open(entry.second) && entry.second.due <= now;
  });
  const std::size_t batches = library.mark_overdue();
  std::printf("\n16 days later\n");
  print("overdue", static_cast<std::uint64_t>(overdue), "by the table");
  print("marked", library.marks(), "each once");
  print("batches", batches);
  return library.marks() == static_cast<std::size_t>(overdue) && library.differences() == 0;
}

bool reconcile(Library& library) {
  library.drift();
  const std::size_t drifted = library.differences();
  const ReconcileReport dry = library.reconcile(true, [] {});
  std::printf("\nthe table went on without the queue\n");
  print("to schedule", dry.scheduled, "a dry run");
  print("to move", dry.rescheduled);
  print("to cancel", dry.vanished);
  if (library.differences() != drifted) return false;

  const ReconcileReport done = library.reconcile(false, [&library] {
    library.lend(3000, 28 * day);
    library.renew(999);
  });
  print("scheduled", done.scheduled);
  print("moved", done.rescheduled);
  print("cancelled", done.vanished);
  print("newer than its row", done.newer, "renewed at the desk meanwhile");
  return done.scheduled + done.rescheduled + done.vanished == drifted && library.differences() == 0;
}

bool rebuild(Library& library, const std::filesystem::path& folder) {
  const std::uint64_t violations = library.violations();
  library.open(folder);
  const ReconcileReport report = library.reconcile(false, [] {});
  const std::size_t differences = library.differences();
  std::printf("\nthe store is lost\n");
  print("open loans", open_loans(library.table).size());
  print("rebuilt", report.scheduled);
  print("differences", differences, "of the queue and the table");
  print("violations", violations + library.violations(), "of the stores' invariants");
  return differences == 0 && violations + library.violations() == 0;
}

bool run(const std::filesystem::path& folder) {
  Library library(folder / "store");
  return work_the_desk(library) && mark(library) && reconcile(library) &&
         rebuild(library, folder / "new-store");
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "library-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("library: a temporary folder");
    return 2;
  }
  const bool well = run(folder);
  std::filesystem::remove_all(folder);
  return well ? 0 : 1;
}
