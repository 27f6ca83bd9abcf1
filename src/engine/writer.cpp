#include "engine/writer.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "model/rules.h"

namespace duelease::engine {

namespace {

// How far applying may run ahead of syncing. One group would do to overlap them; a few more smooth out
// a slow sync.
constexpr std::size_t groups_ahead_max = 4;

constexpr std::size_t group_bytes_max = 16 * 1024 * 1024;

// Of a small group. To write as much as this takes about as long as to wake two threads (some 50 us); measured
// in batches of 1, 10 and 100.
constexpr std::size_t small_group_changes_max = 100;
constexpr std::size_t small_group_bytes_max = 48 * 1024;

Replies all(std::size_t count, const Error& error) {
  return Replies(count, Result<Reply>(Unexpected{error}));
}

}  // namespace

Writer::Writer(const boost::asio::any_io_executor& executor, SyncBy small_groups, store::Store& store,
               Core& core, const Options& options)
    : options_(options),
      store_(store),
      strand_(boost::asio::make_strand(executor)),
      small_groups_synced_by_(small_groups),
      core_(core),
      timer_(strand_),
      damage_(core.damage()) {
  start_threads();
  wake();  // Leases may have run out already; and it arms the timer.
}

Writer::~Writer() { close(); }

// Both of them or none.
void Writer::start_threads() {
  write_thread_ = std::thread([this] { write_loop(); });
  if (options_.durability == Durability::none) return;
  try {
    const bool waits = options_.durability == Durability::sync;
    sync_thread_ = std::thread([this, waits] { waits ? sync_loop() : sync_at_intervals(); });
  } catch (const std::system_error&) {
    {
      const std::lock_guard lock(mutex_);
      stop_writing_ = true;
      write_wanted_.notify_all();
    }
    write_thread_.join();
    throw;
  }
}

// ---- Any thread ---------------------------------------------------------------------------------

std::uint64_t Writer::submit(std::vector<Body> bodies, Done done) {
  const std::size_t count = bodies.size();
  if (count > options_.commands_waiting_max) {
    done(all(count, {Code::invalid, std::to_string(count) + " commands in one call, the limit is " +
                                        std::to_string(options_.commands_waiting_max)}));
    return 0;
  }
  std::size_t bytes = 0;
  for (const Body& body : bodies) bytes += bytes_of(body);
  Error refused;
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      refused = {Code::closing, "the engine is closed"};
    } else if (inbox_commands_ + count > options_.commands_waiting_max) {
      refused = {Code::overloaded, std::to_string(inbox_commands_) + " commands are waiting, the limit is " +
                                       std::to_string(options_.commands_waiting_max)};
    } else if (!inbox_.empty() && inbox_bytes_ + bytes > options_.command_bytes_waiting_max) {
      refused = {Code::overloaded, "commands of " + std::to_string(inbox_bytes_) +
                                       " bytes are waiting, with this one's " + std::to_string(bytes) +
                                       " they would be above the limit of " +
                                       std::to_string(options_.command_bytes_waiting_max)};
    } else {
      ticket = ++last_ticket_;
      inbox_commands_ += count;
      inbox_bytes_ += bytes;
      inbox_.push_back(Item{std::move(bodies), ticket, std::move(done), bytes});
    }
  }
  if (ticket == 0) {
    done(all(count, refused));  // NOLINT(bugprone-use-after-move): moved only with a ticket.
  } else {
    wake();
  }
  return ticket;
}

void Writer::cancel_claim(std::uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    to_cancel_.push_back(ticket);
  }
  wake();
}

void Writer::wake() {
  const std::lock_guard lock(mutex_);
  if (!drain_posted_ && !drain_parked_) post_drain();
}

void Writer::post_drain() {
  drain_posted_ = true;
  ++handlers_;
  boost::asio::post(strand_, [this] {
    drain();
    leave_handler();
  });
}

// The last thing that a handler does: afterwards the writer may be gone.
void Writer::leave_handler() {
  const std::lock_guard lock(mutex_);
  --handlers_;
  if (!closed_ || handlers_ > 0) return;
  stop_writing_ = true;
  write_wanted_.notify_all();
  stop_syncing_ = true;
  sync_wanted_.notify_all();
  closed_changed_.notify_all();
}

void Writer::close() {
  {
    std::unique_lock lock(mutex_);
    if (closing_) {
      closed_changed_.wait(lock, [this] { return closed_done_; });
      return;
    }
    closing_ = true;
  }
  wake();
  {
    // The strand has answered everything and let go of its timer; then the last groups are synced.
    std::unique_lock lock(mutex_);
    closed_changed_.wait(lock, [this] { return stop_syncing_; });
  }
  if (write_thread_.joinable()) write_thread_.join();
  if (sync_thread_.joinable()) sync_thread_.join();
  if (options_.durability == Durability::none && !has_failed_) {
    if (Result<> synced = store_.sync(); !synced) fail_with(synced.error());
  }
  const std::lock_guard lock(mutex_);
  closed_done_ = true;
  closed_changed_.notify_all();
}

std::map<std::string, std::uint64_t> Writer::damage() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

std::optional<Error> Writer::failure() const {
  if (!has_failed_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Writer::fail_with(const Error& error) {
  const std::string message =
      "the store has failed and takes no more changes until it is opened again: " + error.message;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = Error{Code::storage, message};
    has_failed_ = true;
  }
  if (options_.log) options_.log(LogLevel::error, message);
}

// ---- The strand ---------------------------------------------------------------------------------

void Writer::drain() {
  if (closed_) return;
  Taken taken = take();
  if (taken.parked) return;
  const Now now = clock_now();
  watch_clock(now);
  Group group;
  apply_items(std::move(taken.items), now, group);
  const std::optional<Error> failed = failure();
  for (const std::uint64_t ticket : taken.cancelled) core_.cancel_claim(ticket);
  if (failed) {
    core_.cancel_claims(*failed);
  } else {
    if (core_.tick_walks_store(now)) finish_write();
    core_.tick(now);
    if (taken.closing) core_.cancel_claims({Code::closing, "the engine is closed"});
  }
  take_served(group);
  write_group(std::move(group));
  arm_timer(now);
  if (taken.closing) finish_write();

  const std::lock_guard lock(mutex_);
  damage_ = core_.damage();
  if (!inbox_.empty()) {
    if (!drain_posted_ && !drain_parked_) post_drain();
  } else if (taken.closing) {
    closed_ = true;
    timer_.cancel();
  }
}

Writer::Taken Writer::take() {
  Taken taken;
  const std::lock_guard lock(mutex_);
  drain_posted_ = false;
  if (pending_.size() + syncing_ >= groups_ahead_max) {
    drain_parked_ = true;
    taken.parked = true;
    return taken;
  }
  taken.closing = closing_;
  std::size_t commands = 0;
  std::size_t bytes = 0;
  while (!inbox_.empty() && commands < options_.group_commands_max && bytes < group_bytes_max) {
    commands += inbox_.front().bodies.size();
    bytes += inbox_.front().bytes;
    taken.items.push_back(std::move(inbox_.front()));
    inbox_.pop_front();
  }
  inbox_commands_ -= commands;
  inbox_bytes_ -= bytes;
  // The claim that a cancel names may still be in the inbox, behind a full group: then the cancel waits too.
  const auto applied = [this](std::uint64_t ticket) {
    return inbox_.empty() || ticket < inbox_.front().ticket;
  };
  const auto later = std::partition(to_cancel_.begin(), to_cancel_.end(), applied);
  taken.cancelled.assign(to_cancel_.begin(), later);
  to_cancel_.erase(to_cancel_.begin(), later);
  return taken;
}

void Writer::apply_items(std::vector<Item> items, Now now, Group& group) {
  for (Item& item : items) {
    if (const std::optional<Error> failed = failure()) {
      group.finished.push_back({all(item.bodies.size(), *failed), std::move(item.done)});
      continue;
    }
    Replies replies;
    replies.reserve(item.bodies.size());
    for (Body& body : item.bodies) {
      std::optional<Result<Reply>> reply =
          core_.apply(Command{now, options_.random(), item.ticket, std::move(body)});
      if (reply) replies.push_back(std::move(*reply));
    }
    if (replies.size() == item.bodies.size()) {
      group.finished.push_back({std::move(replies), std::move(item.done)});
    } else {
      DUELEASE_CHECK(item.bodies.size() == 1);
      waiting_.emplace(item.ticket, std::move(item.done));
    }
    // Large payloads: write what there is before more is taken in.
    if (core_.group_bytes() > group_bytes_max) write_group(std::exchange(group, Group{}));
  }
}

void Writer::take_served(Group& group) {
  for (Served& served : core_.take_served()) {
    const auto found = waiting_.find(served.ticket);
    DUELEASE_CHECK(found != waiting_.end());
    Replies replies;
    replies.push_back(std::move(served.reply));
    group.finished.push_back({std::move(replies), std::move(found->second)});
    waiting_.erase(found);
  }
}

// Closes the group of the core, and sees to it that it is written, and that the replies leave when they may.
void Writer::write_group(Group group) {
  finish_write();
  const bool has_few_bytes = core_.group_bytes() <= small_group_bytes_max;
  std::span<const store::Change> changes;
  if (!has_failed_) changes = core_.begin_commit();
  group.wrote = !changes.empty();
  if (group.finished.empty() && !group.wrote) return;
  Write write{changes, std::move(group)};
  if (has_few_bytes && changes.size() <= small_group_changes_max) {
    return hand_on(write_now(std::move(write)), small_groups_synced_by_);
  }
  const std::lock_guard lock(mutex_);
  to_write_ = std::move(write);
  write_wanted_.notify_one();
}

void Writer::finish_write() {
  {
    std::unique_lock lock(mutex_);
    write_done_.wait(lock, [this] { return !to_write_ && !writing_; });
  }
  core_.end_commit();
}

// After a failed write or sync: what was to be acknowledged is not.
void Writer::spoil(Group& group, const Error& error) {
  for (Finished& finished : group.finished) {
    for (Result<Reply>& reply : finished.replies) {
      if (reply) reply = Unexpected{error};
    }
  }
}

// Within the calendar, so that differences of its times do not overflow.
Now Writer::clock_now() const {
  Now now = options_.clock->now();
  now.wall = model::in_calendar(now.wall);
  return now;
}

void Writer::arm_timer(Now now) {
  if (closed_) return;
  Monotonic wake_at = now.monotonic + Duration{limits::nap_ms_max};
  if (!has_failed_) wake_at = std::min(wake_at, core_.next_wake(now).value_or(wake_at));
  if (timer_armed_ && *timer_armed_ <= wake_at) return;  // It goes off early enough.
  timer_armed_ = wake_at;
  {
    const std::lock_guard lock(mutex_);
    ++handlers_;
  }
  timer_.expires_after(wake_at - clock_now().monotonic);  // The group may have taken a while.
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      timer_armed_.reset();
      wake();
    }
    leave_handler();
  });
}

// The wall clock should run along with the monotonic one. Due times follow it when it does not, leases
// do not care; a person should know.
void Writer::watch_clock(Now now) {
  const Duration offset = now.wall.time_since_epoch() - now.monotonic.time_since_epoch();
  if (clock_offset_) {
    const Duration step = offset - *clock_offset_;
    if (std::abs(step.count()) >= limits::clock_step_ms_min && options_.log) {
      options_.log(LogLevel::warning, "the wall clock was set " +
                                          std::string(step.count() > 0 ? "forward" : "back") + " by " +
                                          std::to_string(std::abs(step.count())) + " ms");
    }
  }
  clock_offset_ = offset;
}

// ---- The write thread ---------------------------------------------------------------------------

void Writer::write_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    write_wanted_.wait(lock, [this] { return to_write_ || stop_writing_; });
    if (!to_write_) return;
    Write write = std::move(*std::exchange(to_write_, std::nullopt));
    writing_ = true;
    lock.unlock();
    hand_on(write_now(std::move(write)), SyncBy::thread);
    lock.lock();
    writing_ = false;
    write_done_.notify_all();
  }
}

// On the strand too, see write_group(). Answers the group of what was written.
Writer::Group Writer::write_now(Write write) {
  if (!write.changes.empty() && !has_failed_) {
    if (Result<> written = store_.write(write.changes); !written) {
      fail_with(written.error());
      wake();  // The claims that wait are to be told at once.
    }
  }
  if (const std::optional<Error> failed = failure()) spoil(write.group, *failed);
  return std::move(write.group);
}

// A group that is written, to the disk or at once to those who asked.
void Writer::hand_on(Group group, SyncBy by) {
  {
    std::unique_lock lock(mutex_);
    if (failure_) spoil(group, *failure_);  // A sync may have failed since write_now() looked.
    if (options_.durability == Durability::sync) {
      // Also a group that wrote nothing waits for those before it.
      const bool is_idle = pending_.empty() && syncing_ == 0;
      if (group.wrote || !is_idle) {
        pending_.push_back(std::move(group));
        if (is_idle && by == SyncBy::strand_if_idle) return sync_pending(lock);
        sync_wanted_.notify_one();
        return;
      }
    } else {
      unsynced_ = unsynced_ || group.wrote;
    }
  }
  release(std::move(group));
}

void Writer::release(Group group) {
  for (Finished& finished : group.finished) finished.done(std::move(finished.replies));
}

// ---- The sync thread ----------------------------------------------------------------------------

void Writer::sync_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    sync_wanted_.wait(lock, [this] { return !pending_.empty() || stop_syncing_; });
    if (pending_.empty()) return;
    sync_pending(lock);
  }
}

void Writer::sync_at_intervals() {
  std::unique_lock lock(mutex_);
  for (;;) {
    sync_wanted_.wait_for(lock, options_.sync_interval, [this] { return stop_syncing_; });
    if (!unsynced_ && stop_syncing_) return;
    if (std::exchange(unsynced_, false)) sync_pending(lock);
  }
}

// On the strand too, see hand_on(). Lets go of the lock meanwhile.
void Writer::sync_pending(std::unique_lock<std::mutex>& lock) {
  std::deque<Group> covered = std::exchange(pending_, {});
  syncing_ = covered.size();
  std::optional<Error> failed = failure_;
  bool just_failed = false;
  lock.unlock();

  if (!failed) {
    if (Result<> synced = store_.sync(); !synced) {
      fail_with(synced.error());
      failed = failure();
      just_failed = true;
    }
  }
  for (Group& group : covered) {
    if (failed) spoil(group, *failed);
    release(std::move(group));
  }

  lock.lock();
  syncing_ = 0;
  // The claims that wait are to be told of a failure at once.
  if (drain_parked_ || (just_failed && !drain_posted_ && !closed_)) {
    drain_parked_ = false;
    post_drain();
  }
}

}  // namespace duelease::engine
