// Random commands at random times, to the core and to an oracle; whatever differs is a fault of one of them.
#include <catch2/catch.hpp>

#include "model/runs.h"

using namespace duelease::model_test;

TEST_CASE("the core does what the oracle does") {
  require_seen(run_all(default_steps, 1, {}), {"a claim that waited got orders",
                                               "a claim that waited got none",
                                               "a claim was repeated",
                                               "one of two waiting claims was the other again",
                                               "a pass of the reaper was full",
                                               "a sweep took more than one tick",
                                               "a success was swept out",
                                               "history was swept out",
                                               "an open found leases",
                                               "an open found leases that had run out",
                                               "a queue was longer than its head",
                                               "a run had no heartbeat",
                                               "a run was DONE by force, with orders",
                                               "a command came across an orphan",
                                               "an orphan gave its key to another order",
                                               "a claim came across an orphan",
                                               "a claim came across too many orphans",
                                               "a lease of a dead run's order ran out",
                                               "a sweep of a run took more than one tick",
                                               "an open found a run that was being swept",
                                               "an import was grandfathered",
                                               "a retry took a key properly",
                                               "a row of a reconcile named an orphan",
                                               "an order that had vanished came back",
                                               "a row of a reconcile met another try of its order",
                                               "a row was foreseen"});
}

TEST_CASE("after a failed write the store is as of the last commit") {
  require_seen(run_all(default_steps / 4, 2, {.faults = true}), {"a write failed", "an open found leases"});
}

TEST_CASE("the same commands give the same changes and replies") {
  const Mode mode{.takes_digests = true};
  run_twice(default_steps / 10, 3, mode, mode, Compares::all);
}

TEST_CASE("where a commit group ends changes no reply and nothing in the store") {
  run_twice(default_steps / 10, 4, {.sweeps_committed = true, .takes_digests = true},
            {.commits_often = true, .sweeps_committed = true, .takes_digests = true},
            Compares::replies_and_end);
}
