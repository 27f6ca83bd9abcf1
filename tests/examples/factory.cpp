// Factory scheduling: what a lot is made of is scheduled by runs, and each lot
// is made once.
//
//     factory
//
// A batch run and a manual run schedule the same 1,000 lots at the same time.
// Each lot has a dedup key of its site, order and lot number, and whoever comes
// second is refused. Three machines make what was scheduled; a third of it
// fails. A later run schedules all of it again: it gets those that failed, and
// none of those that were made.
//
// Then the program behind another run dies when it has scheduled 1,000 more
// lots for tomorrow. Nobody sends the heartbeat of its run any more, so the run
// ends in ERROR; none of its lots waits, and another run schedules them anew.
//
// Each completion writes a row into the factory's ledger, in one batch with the
// order. What is counted in the end is read from that ledger.
//
// Ends with 1 when a lot was made twice or not at all, or an order waits that
// nobody will end.
#include <duelease/engine.h>
#include <duelease/worker.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using duelease::Claimed;
using duelease::Engine;
using duelease::Handled;
using duelease::LeaseWatch;
using duelease::Outcome;
using duelease::RunState;
using namespace std::chrono_literals;

namespace {

constexpr const char* queue = "factory";
constexpr std::size_t lots_count = 1000;
constexpr auto patience = 60s;  // For what takes about a second.

// This program goes on with nothing that has failed.
template <class T>
T must(duelease::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "factory: %s\n", result.error().message.c_str());
    ::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Stands still until it is told to jump.
class JumpingClock final : public duelease::Clock {
 public:
  duelease::Now now() const override {
    const duelease::Duration passed{passed_.load()};
    return {noon + passed, duelease::Monotonic{passed}};
  }
  void jump(duelease::Duration duration) { passed_ += duration.count(); }

 private:
  static constexpr duelease::Time noon = std::chrono::sys_days(std::chrono::year(2026) / 6 / 1) + 12h;
  std::atomic<std::int64_t> passed_ = 0;
};

// ---- Lots
// ---------------------------------------------------------------------------------------

// "site-2|order-1034|lot-3": a work order has five lots.
std::string key_of(std::size_t number) {
  return "site-" + std::to_string(number / 5 % 4) + "|order-" + std::to_string(1000 + number / 5) + "|lot-" +
         std::to_string(number % 5);
}

std::vector<std::size_t> lots_from(std::size_t first) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < lots_count; ++i) numbers.push_back(first + i);
  return numbers;
}

struct Tally {
  std::size_t scheduled = 0;
  std::size_t refused = 0;
  std::size_t refused_as_made = 0;
};

class Factory {
 public:
  explicit Factory(const std::filesystem::path& folder) {
    duelease::Options options;
    options.clock = clock;
    engine_ = must(Engine::open(folder, options));
  }

  // ---- Runs ----

  void open(const std::string& run, std::optional<duelease::Duration> ttl = std::nullopt) {
    must(engine_->run_open({.queue = queue, .run = run, .ttl = ttl}));
    must(engine_->run_start({.queue = queue, .run = run}));
  }
  // Refused while one of its orders is not at its end.
  void end(const std::string& run) { must(engine_->run_done({.queue = queue, .run = run})); }
  duelease::Run look_at(const std::string& run) const { return must(engine_->run(queue, run)); }
  bool await_error(const std::string& run) const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (look_at(run).state != RunState::error) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }

  // ---- Orders ----

  // The ids are the run's own: it is the key that says that two orders are the
  // same lot.
  Tally schedule(const std::string& run, const std::vector<std::size_t>& numbers,
                 duelease::Duration from_now) {
    Tally tally;
    std::vector<duelease::ScheduleRequest> requests;
    for (const std::size_t number : numbers) {
      requests.push_back({.queue = queue,
                          .id = run + "/" + std::to_string(number),
                          .due = clock->now().wall + from_now,
                          .payload = std::to_string(number),
                          .key = key_of(number),
                          .run = run});
      if (requests.size() < 50 && number != numbers.back()) continue;
      for (auto& answer : engine_->schedule(std::exchange(requests, {})))
        count(tally, must(std::move(answer)));
    }
    return tally;
  }

  // Three machines, until nothing is due. Answers how many lots they made.
  std::size_t make(bool some_fail) {
    const auto make_one = [some_fail](const Claimed& order, const LeaseWatch&) {
      const std::size_t number = std::stoul(order.payload);
      if (some_fail && number % 3 == 0) {
        Handled handled = Handled::failed("the mould is cracked");
        handled.final = true;
        return handled;
      }
      Handled handled = Handled::done();
      const std::string token = std::to_string(static_cast<std::uint64_t>(order.token));
      handled.app_writes = {{"made/" + *order.key + "/" + token, order.run}};  // A row each time.
      return handled;
    };
    std::vector<std::unique_ptr<duelease::Worker>> machines;
    for (int i = 1; i <= 3; ++i) {
      const std::string name = "machine-" + std::to_string(i);
      duelease::WorkerOptions options{.queues = {queue}, .name = name, .concurrency = 4, .drain = true};
      machines.push_back(std::make_unique<duelease::Worker>(*engine_, options, make_one));
      must(machines.back()->start());
    }
    std::size_t made = 0;
    for (const auto& machine : machines) {
      must(machine->wait());
      made += machine->totals().completed;
    }
    return made;
  }

  // ---- What is true in the end ----

  std::size_t times_made(std::size_t number) const {
    const std::string row = "made/" + key_of(number);
    return must(engine_->app_list(row + "/", row + "0", 10)).size();  // '0' is behind '/'.
  }
  std::uint64_t waiting() const { return must(engine_->stats(queue)).counts.wait; }
  std::uint64_t violations() const { return must(engine_->check()).violations(); }

  const std::shared_ptr<JumpingClock> clock = std::make_shared<JumpingClock>();

 private:
  static void count(Tally& tally, const duelease::Answer& answer) {
    if (answer.outcome == Outcome::scheduled) {
      ++tally.scheduled;
    } else {
      ++tally.refused;
      if (answer.state == duelease::State::success) ++tally.refused_as_made;
    }
  }

  std::unique_ptr<Engine> engine_;
};

// ---- The story
// ----------------------------------------------------------------------------------

// The two go through the lots from both ends.
bool race(Factory& factory) {
  factory.open("batch");
  factory.open("manual");
  std::vector<std::size_t> backwards = lots_from(0);
  std::reverse(backwards.begin(), backwards.end());
  Tally batch, manual;
  std::thread night([&] { batch = factory.schedule("batch", lots_from(0), 0ms); });
  std::thread person([&] { manual = factory.schedule("manual", backwards, 0ms); });
  night.join();
  person.join();
  std::printf("a batch run scheduled %zu lots, a manual run %zu\n", batch.scheduled, manual.scheduled);
  std::printf("scheduled            %5zu\n", batch.scheduled + manual.scheduled);
  std::printf("refused              %5zu   the other run was first\n", batch.refused + manual.refused);

  const std::size_t made = factory.make(true);
  factory.end("batch");
  factory.end("manual");
  const std::uint64_t failed =
      factory.look_at("batch").counts.failed + factory.look_at("manual").counts.failed;
  std::printf("made                 %5zu\n", made);
  std::printf("failed               %5llu\n\n", static_cast<unsigned long long>(failed));
  return batch.scheduled + manual.scheduled == lots_count && made + failed == lots_count && failed > 0;
}

bool rework(Factory& factory) {
  factory.open("rework");
  const Tally tally = factory.schedule("rework", lots_from(0), 0ms);
  const std::size_t made = factory.make(false);
  factory.end("rework");
  std::printf("a later run schedules all of them again\n");
  std::printf("scheduled again      %5zu   those that had failed\n", tally.scheduled);
  std::printf("refused as made      %5zu\n", tally.refused_as_made);
  std::printf("made after all       %5zu\n\n", made);
  return tally.scheduled == made && tally.scheduled + tally.refused_as_made == lots_count;
}

bool crash(Factory& factory) {
  factory.open("crashed", 30s);
  const Tally first = factory.schedule("crashed", lots_from(lots_count), 24h);
  factory.clock->jump(31s);  // And no heartbeat.
  if (!factory.await_error("crashed")) return false;
  std::printf("a run died with %zu lots scheduled for tomorrow: %s\n", first.scheduled,
              factory.look_at("crashed").reason.c_str());

  factory.open("replacement");
  const Tally second = factory.schedule("replacement", lots_from(lots_count), 0ms);
  const std::size_t made = factory.make(false);
  factory.end("replacement");
  const duelease::Counts left = factory.look_at("crashed").counts;
  std::printf("scheduled anew       %5zu   their keys were free\n", second.scheduled);
  std::printf("made anew            %5zu\n", made);
  std::printf("void                 %5llu   of the run that died\n",
              static_cast<unsigned long long>(left.aborted));
  return first.scheduled == lots_count && second.scheduled == lots_count && made == lots_count &&
         left.wait == 0 && left.aborted == lots_count;
}

bool print_account(const Factory& factory) {
  std::size_t twice = 0, never = 0;
  for (std::size_t number = 0; number < 2 * lots_count; ++number) {
    const std::size_t times = factory.times_made(number);
    if (times > 1) ++twice;
    if (times == 0) ++never;
  }
  const std::uint64_t waiting = factory.waiting();
  const std::uint64_t violations = factory.violations();
  std::printf("\n");
  std::printf("lots                 %5zu\n", 2 * lots_count);
  std::printf("made twice           %5zu\n", twice);
  std::printf("never made           %5zu\n", never);
  std::printf("left waiting         %5llu\n", static_cast<unsigned long long>(waiting));
  std::printf("violations           %5llu   of the store's invariants\n",
              static_cast<unsigned long long>(violations));
  return twice == 0 && never == 0 && waiting == 0 && violations == 0;
}

bool run(const std::filesystem::path& folder) {
  Factory factory(folder);
  const bool well = race(factory) && rework(factory) && crash(factory);
  return print_account(factory) && well;
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "factory-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("factory: a temporary folder");
    return 2;
  }
  const bool well = run(std::filesystem::path(folder) / "store");
  std::filesystem::remove_all(folder);
  return well ? 0 : 1;
}
