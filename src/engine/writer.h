// engine/writer.h: the one writer. Commands come in from any thread, are applied on one strand, and are
// answered when the sync that covers them is through.
//
//   callers --> inbox --> drain() on the strand --> write thread --> pending --> sync thread --> replies
//                         core.apply() each         store.write()    groups      store.sync()
//                         one group                 one at a time                for all of them
//
// Group commit. drain() takes all that waits in the inbox as one group, hands it to the write thread, and goes on
// with the next. The sync thread calls sync() again and again; each call covers every group that was written
// before it began, and lets their replies go. So three groups are under way at once: one is applied, one
// written, one or more are synced. drain() stops when groups_ahead_max are written and not synced: what arrives
// then makes the next group larger. A reply never leaves before those of earlier groups: it may rest on what they
// changed.
//
// A small group is always written on the strand: it takes less time than to wake a thread. It is also synced there when
// no other group waits for a sync or is in one: what arrives meanwhile makes one group, where it would make several
// small ones, and nobody has to be woken. But not on a strand that belongs to others, whose work would wait too: there
// it is for the store alone to sync, in a write that begins a log file (see store.h), some 64 MB apart.
//
// At the levels interval and none replies leave as soon as their group is written.
//
// Failure. When a write or a sync fails, what is on disk is no longer known: the writer stops for good.
// Every reply not yet out and every later one is the error; a restart finds what was acknowledged.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "duelease/clock.h"
#include "duelease/options.h"
#include "duelease/result.h"
#include "duelease/types.h"
#include "engine/asio.h"
#include "engine/command.h"
#include "engine/core.h"
#include "store/store.h"

namespace duelease::engine {

using Replies = std::vector<Result<Reply>>;
using Done = std::function<void(Replies)>;

class Writer {
 public:
  // Who syncs a small group: see above. `strand_if_idle` is for a strand that nobody else waits for.
  enum class SyncBy : std::uint8_t { thread, strand_if_idle };

  // `store` and `core` must outlive the writer; nobody else may use `core` from now on. `executor` runs the
  // strand; it must go on running until close() has returned.
  Writer(const boost::asio::any_io_executor& executor, SyncBy small_groups, store::Store& store, Core& core,
         const Options& options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Answers in order, one reply a command, by one call of `done` (see duelease/engine.h, "Threads").
  // A claim that may wait must come alone. Answers the ticket that names it; 0: refused, and `done` was called already.
  std::uint64_t submit(std::vector<Body> bodies, Done done);
  void cancel_claim(std::uint64_t ticket);

  // Finishes what is under way. Safe to call again, and from several threads.
  void close();

  std::map<std::string, std::uint64_t> damage() const;

 private:
  struct Item {
    std::vector<Body> bodies;
    std::uint64_t ticket = 0;
    Done done;
    std::size_t bytes = 0;
  };
  struct Finished {
    Replies replies;
    Done done;
  };
  struct Group {
    std::vector<Finished> finished;
    bool wrote = false;
  };
  // What a drain takes from the other threads, at one moment.
  struct Taken {
    std::vector<Item> items;
    std::vector<std::uint64_t> cancelled;  // Claims that wait, by ticket.
    bool parked = false;                   // Nothing, for too many groups wait for their sync.
    bool closing = false;
  };
  // What the write thread gets. The changes lie in the core until it is told that they were written.
  struct Write {
    std::span<const store::Change> changes;
    Group group;
  };

  void start_threads();
  void wake();
  void post_drain();  // With mutex_ held.
  void leave_handler();
  void drain();
  Taken take();
  void apply_items(std::vector<Item> items, Now now, Group& group);
  void take_served(Group& group);
  void release(Group group);
  void fail_with(const Error& error);
  std::optional<Error> failure() const;
  void spoil(Group& group, const Error& error);
  void write_group(Group group);
  void finish_write();
  Group write_now(Write write);
  void hand_on(Group group, SyncBy by);
  void write_loop();
  void arm_timer(Now now);
  void watch_clock(Now now);
  void sync_loop();
  void sync_pending(std::unique_lock<std::mutex>& lock);
  void sync_at_intervals();
  Now clock_now() const;

  // Constant after construction.
  const Options options_;  // clock and random are never empty.
  store::Store& store_;
  boost::asio::strand<boost::asio::any_io_executor> strand_;
  const SyncBy small_groups_synced_by_;

  // Strand only.
  Core& core_;
  boost::asio::steady_timer timer_;
  std::map<std::uint64_t, Done> waiting_;  // Claims by ticket.
  std::optional<Duration> clock_offset_;
  std::optional<Monotonic> timer_armed_;  // When it goes off.
  bool closed_ = false;                   // Changed here, with mutex_ held.

  // Guarded by mutex_.
  mutable std::mutex mutex_;
  std::deque<Item> inbox_;
  std::vector<std::uint64_t> to_cancel_;
  std::size_t inbox_commands_ = 0;
  std::size_t inbox_bytes_ = 0;
  std::uint64_t last_ticket_ = 0;
  bool drain_posted_ = false;
  bool drain_parked_ = false;  // Too far ahead; the sync thread posts it.
  std::size_t handlers_ = 0;   // Posted or waiting at the executor; close() outlives them.
  bool closing_ = false;
  std::optional<Write> to_write_;
  bool writing_ = false;
  bool stop_writing_ = false;
  std::deque<Group> pending_;  // Written, not yet synced.
  std::size_t syncing_ = 0;    // Groups that the sync under way covers, no longer in pending_.
  bool unsynced_ = false;      // At level interval: something was written since the last sync.
  bool stop_syncing_ = false;
  std::optional<Error> failure_;
  std::map<std::string, std::uint64_t> damage_;
  std::condition_variable write_wanted_;
  std::condition_variable write_done_;
  std::condition_variable sync_wanted_;
  std::condition_variable closed_changed_;
  bool closed_done_ = false;

  std::atomic<bool> has_failed_ = false;  // failure_ is set.
  std::thread write_thread_;
  std::thread sync_thread_;
};

}  // namespace duelease::engine
