// Unpaid orders: each is cancelled 30 minutes after it was created, unless it
// is paid by then.
//
//     unpaid_orders
//
// Creating an order schedules its cancellation, paying it takes that back.
// Three consumers pop what is due: a pop hands an order out and completes it in
// one step, so no order is ever handed out twice. A consumer that died right
// after a pop would have lost it; who minds that more than a repeated one uses
// claim and complete.
//
// The engine gets a clock of our own here, so the 30 minutes take no time.
//
// Ends with 1 when an order was both paid and cancelled, cancelled twice, or
// forgotten.
#include <duelease/engine.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using duelease::Engine;
using duelease::Outcome;
using namespace std::chrono_literals;

namespace {

constexpr const char* queue = "unpaid";
constexpr std::size_t orders_count = 1000;
constexpr int consumers_count = 3;

template <class T>
T must(duelease::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "unpaid_orders: %s\n", result.error().message.c_str());
    ::exit(2);
  }
  return std::move(*result);
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

class Shop {
 public:
  explicit Shop(const std::filesystem::path& folder) : cancelled_(orders_count), paid_(orders_count) {
    duelease::Options options;
    options.clock = clock;
    engine_ = must(Engine::open(folder, options));
  }

  void create_all() {
    std::vector<duelease::ScheduleRequest> requests;
    for (std::size_t i = 0; i < orders_count; ++i) {
      requests.push_back({.queue = queue, .id = std::to_string(i), .due = clock->now().wall + 30min});
    }
    for (auto& answer : engine_->schedule(std::move(requests))) {
      if (must(std::move(answer)).outcome != Outcome::scheduled) ::exit(2);
    }
  }

  // Too late when a consumer was first. Of the two exactly one wins.
  void pay(std::size_t i) {
    const duelease::Answer answer = must(engine_->cancel({.queue = queue, .id = std::to_string(i)}));
    answer.outcome == Outcome::aborted ? ++paid_[i] : ++too_late;
  }

  // All that is due. Answers how many that were.
  std::size_t consume() {
    std::size_t count = 0;
    for (;;) {
      const auto orders = must(engine_->pop({.queue = queue, .count = 7}));
      if (orders.empty()) return count;
      for (const duelease::Claimed& order : orders) ++cancelled_[std::stoul(order.id)];
      count += orders.size();
    }
  }

  // Answers whether all is well.
  bool print_account() const {
    std::size_t paid = 0, cancelled = 0, both = 0, twice = 0, forgotten = 0;
    for (std::size_t i = 0; i < orders_count; ++i) {
      if (paid_[i] > 0) ++paid;
      if (cancelled_[i] > 0) ++cancelled;
      if (paid_[i] > 0 && cancelled_[i] > 0) ++both;
      if (cancelled_[i] > 1) ++twice;
      if (paid_[i] == 0 && cancelled_[i] == 0) ++forgotten;
    }
    std::printf("\n");
    std::printf("paid in time        %5zu\n", paid);
    std::printf("cancelled           %5zu\n", cancelled);
    std::printf("paid too late       %5d   told so, as the order was cancelled\n", too_late.load());
    std::printf("paid and cancelled  %5zu\n", both);
    std::printf("cancelled twice     %5zu\n", twice);
    std::printf("forgotten           %5zu\n", forgotten);
    return both == 0 && twice == 0 && forgotten == 0;
  }

  const std::shared_ptr<JumpingClock> clock = std::make_shared<JumpingClock>();
  std::atomic<int> too_late = 0;

 private:
  std::unique_ptr<Engine> engine_;
  std::vector<std::atomic<int>> cancelled_;
  std::vector<std::atomic<int>> paid_;
};

bool run(const std::filesystem::path& folder) {
  Shop shop(folder);
  shop.create_all();
  for (std::size_t i = 0; i < 400; ++i) shop.pay(i);
  std::printf("12:00:00  %zu orders created, 400 paid at once\n", orders_count);

  shop.clock->jump(29min + 59s);
  for (std::size_t i = 400; i < 700; ++i) shop.pay(i);
  const std::size_t early = shop.consume();
  std::printf("12:29:59  300 more paid; %zu orders are due\n", early);

  shop.clock->jump(1s);
  std::vector<std::size_t> consumed(consumers_count);
  std::vector<std::thread> threads;
  for (std::size_t& count : consumed) {
    threads.emplace_back([&shop, &count] { count = shop.consume(); });
  }
  threads.emplace_back([&shop] {
    for (std::size_t i = orders_count; i-- > 900;) shop.pay(i);
  });
  for (std::thread& thread : threads) thread.join();
  std::printf(
      "12:30:00  100 customers pay at the last moment, while the "
      "consumers cancel");
  for (const std::size_t count : consumed) std::printf(" %zu", count);
  std::printf("\n");

  shop.clock->jump(24h);
  const std::size_t again = shop.consume();
  return shop.print_account() && early == 0 && again == 0;
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "unpaid-orders-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("unpaid_orders: a temporary folder");
    return 2;
  }
  const bool well = run(std::filesystem::path(folder) / "store");
  std::filesystem::remove_all(folder);
  return well ? 0 : 1;
}
