// Reschedule, claim and cancel of one order, in every order, together and apart: each answers what the
// state before it says, and the store holds one queue entry or none.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "support/printing.h"
#include "support/world.h"

using namespace duelease;
using namespace std::chrono_literals;
using store::Family;
using test::Disk;
using test::World;

namespace {

enum class Step : std::uint8_t { later, earlier, claim, cancel, force, upsert, reap };

// Each step is a commit group; or all of them are one; or the store is closed and opened in between.
enum class Groups : std::uint8_t { apart, together, restarts };

// The order as it must be, by the rules and nothing else.
struct Expected {
  State state = State::wait;
  Time due{};
};

class Interleaving {
 public:
  Interleaving(World& world, Groups groups) : world_(world), groups_(groups), start_(world.now()) {
    world_.schedule("x", start_);
    expected_.due = start_;
    if (groups_ == Groups::together) world_.open_group();
  }

  void run(Step step) {
    CAPTURE(static_cast<int>(step));
    switch (step) {
      case Step::later: expect_move(world_.reschedule("x", start_ + 1h), start_ + 1h); break;
      case Step::earlier: expect_move(world_.reschedule("x", start_ - 1h), start_ - 1h); break;
      case Step::upsert: upsert(); break;
      case Step::claim: claim(); break;
      case Step::cancel: cancel(false); break;
      case Step::force: cancel(true); break;
      case Step::reap: CHECK(world_.reap() == 0); break;  // The lease has not run out.
    }
    if (groups_ == Groups::restarts) world_.restart();
  }

  // Afterwards the store holds what is expected, and nothing else comes out of it ever again.
  void finish() {
    if (groups_ == Groups::together) REQUIRE(world_.close_group());
    for (int i = 0; i < (groups_ == Groups::restarts ? 6 : 1); ++i)
      world_.restart();  // Compaction runs by then.
    CHECK(world_.state("x") == expected_.state);
    CHECK(world_.order("x").due == expected_.due);
    CHECK(world_.keys(Family::queue).size() == (expected_.state == State::wait ? 1 : 0));
    CHECK(world_.keys(Family::leases).size() == (expected_.state == State::processing ? 1 : 0));
    world_.pass(2h);
    std::size_t handed_out = world_.claim("last", 10).size();
    CHECK(handed_out == (expected_.state == State::wait ? 1 : 0));
    world_.check_sound();
  }

 private:
  void expect_move(const Answer& answer, Time due) {
    if (expected_.state == State::wait) {
      CHECK(answer.outcome == Outcome::rescheduled);
      CHECK(answer.at == due);
      expected_.due = due;
    } else {
      CHECK(answer.outcome == Outcome::refused);
      CHECK(answer.state == expected_.state);
    }
  }

  void upsert() {
    ScheduleRequest request{.queue = "q", .id = "x", .due = start_, .priority = 1, .upsert = true};
    const Answer answer = world_.schedule(request);
    if (expected_.state == State::wait || expected_.state == State::aborted) {
      CHECK(answer.outcome == (expected_.state == State::wait ? Outcome::rescheduled : Outcome::scheduled));
      expected_ = {State::wait, start_};
    } else {
      CHECK(answer.outcome == Outcome::duplicate);
      CHECK(answer.state == expected_.state);
    }
  }

  void claim() {
    const std::vector<Claimed> claimed = world_.claim("w", 10);
    const bool due = expected_.state == State::wait && expected_.due <= start_;
    CHECK(claimed.size() == (due ? 1 : 0));
    if (due) expected_.state = State::processing;
  }

  void cancel(bool force) {
    const Answer answer = world_.cancel("x", force);
    if (expected_.state == State::processing && !force) {
      CHECK(answer.outcome == Outcome::refused);
      CHECK(answer.state == State::processing);
    } else {
      CHECK(answer.outcome == Outcome::aborted);
      expected_.state = State::aborted;
    }
  }

  World& world_;
  const Groups groups_;
  const Time start_;
  Expected expected_;
};

void run_all_orders(std::vector<Step> steps, Groups groups, const std::vector<Disk>& disks) {
  std::sort(steps.begin(), steps.end());
  do {
    for (const Disk disk : disks) {
      std::string order;
      for (const Step step : steps) order += std::to_string(static_cast<int>(step)) + " ";
      CAPTURE(order, static_cast<int>(groups), disk == Disk::rocks);
      World world(disk);
      Interleaving interleaving(world, groups);
      for (const Step step : steps) interleaving.run(step);
      interleaving.finish();
    }
  } while (std::next_permutation(steps.begin(), steps.end()));
}

}  // namespace

TEST_CASE("reschedule_against_claim: in every order, in groups of their own", "[reschedule_against_claim]") {
  run_all_orders({Step::later, Step::earlier, Step::claim, Step::cancel}, Groups::apart,
                 {Disk::memory, Disk::rocks});
}

TEST_CASE("reschedule_against_claim: in every order, in one group", "[reschedule_against_claim]") {
  run_all_orders({Step::later, Step::earlier, Step::claim, Step::cancel}, Groups::together,
                 {Disk::memory, Disk::rocks});
}

TEST_CASE("reschedule_against_claim: in every order, with restarts in between",
          "[reschedule_against_claim]") {
  run_all_orders({Step::later, Step::earlier, Step::claim, Step::cancel}, Groups::restarts, {Disk::memory});
  run_all_orders({Step::later, Step::claim, Step::cancel}, Groups::restarts, {Disk::rocks});
  run_all_orders({Step::earlier, Step::claim, Step::cancel}, Groups::restarts, {Disk::rocks});
}

TEST_CASE("reschedule_against_claim: with upserts, forced cancels and second claims",
          "[reschedule_against_claim]") {
  for (const Groups groups : {Groups::apart, Groups::together}) {
    run_all_orders({Step::later, Step::claim, Step::claim, Step::upsert, Step::force, Step::reap}, groups,
                   {Disk::memory});
  }
}
