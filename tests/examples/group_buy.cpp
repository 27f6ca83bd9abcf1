// Group-buy settlement: the deadlines have passed, and each order is to be
// charged once.
//
//     group_buy orders.csv
//
// Four tills charge the orders, two at a time. A fifth takes three orders and
// dies in the middle of charging them: it reports nothing, its leases run out,
// and the orders go to the others. While those charge them the dead one comes
// back and reports after all. It is too late, and that changes nothing.
//
// Each completion writes its charge into the shop's ledger, in one batch with
// the order. What is counted in the end is read from that ledger and from the
// store, not from what the tills say they did.
//
// Ends with 1 when an order was lost or settled twice.
#include <duelease/engine.h>
#include <duelease/worker.h>
#include <stdlib.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using duelease::Claimed;
using duelease::Engine;
using duelease::Handled;
using duelease::LeaseWatch;
using duelease::Outcome;
using namespace std::chrono_literals;

namespace {

constexpr const char* queue = "settle";
constexpr auto patience = 60s;  // For the whole settlement, which takes less than a second.

// This program goes on with nothing that has failed.
template <class T>
T must(duelease::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "group_buy: %s\n", result.error().message.c_str());
    ::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// ---- The orders
// ---------------------------------------------------------------------------------

struct Row {
  std::string id;
  std::string buyer;
  std::string product;
  duelease::Time deadline;
  long cents = 0;
};

// "2024-03-10T20:00:00Z"
duelease::Time parse_time(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second) != 6) {
    std::fprintf(stderr, "group_buy: '%s' is no time\n", text.c_str());
    ::exit(2);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

// order_id,buyer,product,lot,deadline,amount_cents, with a header line and
// without quotes.
std::vector<Row> read_orders(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "group_buy: cannot read %s\n", path.c_str());
    ::exit(2);
  }
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    if (fields.size() != 6) continue;
    rows.push_back({fields[0], fields[1], fields[2], parse_time(fields[4]), std::stol(fields[5])});
  }
  return rows;
}

struct Scheduled {
  std::size_t accepted = 0;
  std::size_t duplicates = 0;
  std::map<std::string, long> cents;  // Of each accepted order.
};

Scheduled schedule(Engine& engine, const std::vector<Row>& rows) {
  std::vector<duelease::ScheduleRequest> requests;
  for (const Row& row : rows) {
    requests.push_back(
        {.queue = queue, .id = row.id, .due = row.deadline, .payload = std::to_string(row.cents)});
  }
  Scheduled scheduled;
  const auto answers = engine.schedule(std::move(requests));  // Many at once share the wait for the disk.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (must(answers[i]).outcome == Outcome::scheduled) {
      ++scheduled.accepted;
      scheduled.cents[rows[i].id] = rows[i].cents;
    } else {
      ++scheduled.duplicates;
    }
  }
  return scheduled;
}

// ---- The ledger
// ---------------------------------------------------------------------------------

// How often the order has been charged, and how much in all.
struct Charge {
  long times = 0;
  long cents = 0;
};

Charge read_charge(const Engine& engine, const std::string& id) {
  Charge charge;
  if (const auto row = must(engine.app_get("charge:" + id)))
    std::istringstream(*row) >> charge.times >> charge.cents;
  return charge;
}

// One charge more than there is. As part of a completion it takes effect with
// it or not at all.
duelease::AppWrite charge_again(const Engine& engine, const Claimed& order) {
  const Charge before = read_charge(engine, order.id);
  const long cents = before.cents + std::stol(order.payload);
  return {"charge:" + order.id, std::to_string(before.times + 1) + " " + std::to_string(cents)};
}

// ---- The tills
// ----------------------------------------------------------------------------------

// Takes three orders, and dies with the charges worked out and nothing
// reported.
class DyingTill {
 public:
  explicit DyingTill(Engine& engine) : engine_(engine) {
    const auto orders =
        must(engine.claim({.queues = {queue}, .worker = "till-5", .count = 3, .lease = 300ms}));
    for (const Claimed& order : orders) {
      reports_[order.id] = {
          .queue = queue, .id = order.id, .token = order.token, .app_writes = {charge_again(engine, order)}};
    }
  }

  std::string names() const {
    std::string out;
    for (const auto& [id, report] : reports_) out += (out.empty() ? "" : ", ") + id;
    return out;
  }

  // It comes back, unaware that another till has this order by now.
  void report_late(const std::string& id) {
    const auto report = reports_.find(id);
    if (report == reports_.end()) return;
    const Outcome outcome = must(engine_.complete(report->second)).outcome;
    const std::lock_guard lock(mutex_);
    ++(outcome == Outcome::stale ? refused_ : accepted_);
  }

  int refused() const { return refused_; }
  int accepted() const { return accepted_; }

 private:
  Engine& engine_;
  std::map<std::string, duelease::CompleteRequest> reports_;
  std::mutex mutex_;
  int refused_ = 0;
  int accepted_ = 0;
};

// Which orders have come to a till that lives.
class Progress {
 public:
  void handled(const std::string& id) {
    const std::lock_guard lock(mutex_);
    ids_.insert(id);
    changed_.notify_all();
  }
  void await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return ids_.size() >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> ids_;
};

// Four tills, until each order has come to one of them.
void settle(Engine& engine, DyingTill& dying, std::size_t orders) {
  Progress progress;
  const auto charge = [&](const Claimed& order, const LeaseWatch&) {
    if (order.attempt > 1) dying.report_late(order.id);
    Handled handled = Handled::done();
    handled.app_writes = {charge_again(engine, order)};
    progress.handled(order.id);
    return handled;
  };
  std::vector<std::unique_ptr<duelease::Worker>> tills;
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "till-" + std::to_string(i);
    duelease::WorkerOptions options{.queues = {queue}, .name = name, .concurrency = 2};
    tills.push_back(std::make_unique<duelease::Worker>(engine, options, charge));
    must(tills.back()->start());
  }
  progress.await(orders);
  for (std::size_t i = 0; i < tills.size(); ++i) {
    tills[i]->stop();  // Answers when the charges under way are reported.
    std::printf("till-%zu charged %llu orders\n", i + 1,
                static_cast<unsigned long long>(tills[i]->totals().completed));
  }
}

// ---- The account
// --------------------------------------------------------------------------------

struct Account {
  std::size_t settled = 0;
  std::size_t reaped = 0;  // Leases that ran out.
  std::size_t lost = 0;
  std::size_t twice = 0;
  long charged_cents = 0;
  long due_cents = 0;
};

Account account_for(const Engine& engine, const Scheduled& scheduled) {
  Account account;
  for (const auto& [id, cents] : scheduled.cents) {
    const auto order = must(engine.order(queue, id));
    const Charge charge = read_charge(engine, id);
    const bool settled = order && order->state == duelease::State::success && charge.times > 0;
    settled ? ++account.settled : ++account.lost;
    if (charge.times > 1) ++account.twice;
    if (order) account.reaped += order->attempt - 1;
    account.charged_cents += charge.cents;
    account.due_cents += cents;
  }
  return account;
}

std::string euros(long cents) {
  char text[32];
  std::snprintf(text, sizeof text, "%ld.%02ld", cents / 100, cents % 100);
  return text;
}

bool print(const Scheduled& scheduled, const DyingTill& dying, const Account& account) {
  std::printf("\n");
  std::printf("scheduled             %5zu\n", scheduled.accepted);
  std::printf("refused as duplicates %5zu\n", scheduled.duplicates);
  std::printf("settled               %5zu   %s of %s euros\n", account.settled,
              euros(account.charged_cents).c_str(), euros(account.due_cents).c_str());
  std::printf(
      "reaped                %5zu   leases that ran out; the orders "
      "went to other tills\n",
      account.reaped);
  std::printf("late reports refused  %5d   of till-5, which came back\n", dying.refused());
  std::printf("lost                  %5zu\n", account.lost);
  std::printf("settled twice         %5zu\n", account.twice);
  return account.lost == 0 && account.twice == 0 && dying.accepted() == 0 &&
         account.charged_cents == account.due_cents;
}

// A new folder that is removed in the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "group-buy-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      std::perror("group_buy: a temporary folder");
      ::exit(2);
    }
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: group_buy orders.csv\n");
    return 2;
  }
  const std::vector<Row> rows = read_orders(argv[1]);
  const Folder folder;
  const std::unique_ptr<Engine> engine = must(Engine::open(folder.path / "store", {}));
  std::printf("%zu group-buy orders read; their deadlines have passed\n", rows.size());

  const Scheduled scheduled = schedule(*engine, rows);
  DyingTill dying(*engine);
  std::printf("till-5 died while charging %s\n", dying.names().c_str());
  settle(*engine, dying, scheduled.accepted);
  return print(scheduled, dying, account_for(*engine, scheduled)) ? 0 : 1;
}
