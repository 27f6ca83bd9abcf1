#include "support/world.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "engine/reads.h"
#include "store/rocks_store.h"

namespace duelease::test {

using engine::Body;
using engine::Reply;
using store::Family;

namespace {

std::runtime_error unexpected(const std::string& what, const Error& error) {
  return std::runtime_error(what + ": " + std::string(code_name(error.code)) + ": " + error.message);
}

template <class T>
T need(Result<T> result, const std::string& what) {
  if (!result) throw unexpected(what, result.error());
  return std::move(*result);
}

void need(const Result<>& result, const std::string& what) {
  if (!result) throw unexpected(what, result.error());
}

}  // namespace

std::unique_ptr<store::Store> open_small_rocks_store(const std::filesystem::path& folder) {
  store::RocksOptions options;
  options.memtable_bytes = 4 * 1024 * 1024;
  options.block_cache_bytes = 4 * 1024 * 1024;
  return need(store::open_rocks_store(folder, options), "opening the store");
}

engine::CoreOptions World::without_upkeep() {
  engine::CoreOptions options;
  options.upkeep = false;
  return options;
}

World::World(Disk disk, engine::CoreOptions options) : disk_(disk), options_(std::move(options)) {
  if (disk_ == Disk::memory) store_ = std::make_unique<store::MemoryStore>();
  open();
}

World::World(const std::filesystem::path& folder) : disk_(Disk::rocks), options_(without_upkeep()) {
  std::filesystem::copy(folder, store_folder(), std::filesystem::copy_options::recursive);
  open();
}

// ---- Time ---------------------------------------------------------------------------------------

void World::pass(Duration duration) {
  now_.wall += duration;
  now_.monotonic += duration;
}

void World::tick() {
  core_->tick(now_);
  need(commit(), "commit");
}

int World::run_for(Duration duration) {
  const Monotonic end = now_.monotonic + duration;
  for (int wakes = 0;; ++wakes) {
    const Monotonic nap = now_.monotonic + Duration{limits::nap_ms_max};
    const Monotonic wake = std::min(core_->next_wake(now_).value_or(nap), nap);
    pass(std::min(wake, end) - now_.monotonic);
    if (wake > end) return wakes;
    if (wakes > 1'000'000) throw std::runtime_error("the timer spins");
    tick();
  }
}

// ---- The store ----------------------------------------------------------------------------------

void World::open_store() {
  if (!store_) store_ = open_small_rocks_store(store_folder());
}

void World::restart(Duration down) {
  shut();
  now_.wall += down;
  now_.monotonic = Monotonic{Duration{17'000}} - (now_.monotonic - Monotonic{}) / 2;
  open();
}

void World::shut() {
  core_.reset();
  if (disk_ == Disk::rocks) store_.reset();
}

void World::open() {
  open_store();
  served_.clear();
  in_group_ = false;
  core_ = need(engine::Core::open(*store_, options_, now_), "opening the core");
}

void World::put(Family family, const std::string& key, const std::string& value) {
  open_store();
  need(store_->write(std::vector{store::Change{family, key, value}}), "a raw put");
}

void World::erase(Family family, const std::string& key) {
  open_store();
  need(store_->write(std::vector{store::Change{family, key, std::nullopt}}), "a raw delete");
}

std::optional<std::string> World::row(Family family, std::string_view key) const {
  return need(store_->get(family, key), "a raw get");
}

std::vector<std::string> World::keys(Family family) const {
  std::vector<std::string> out;
  const std::unique_ptr<store::Cursor> cursor = store_->scan(family, "", "");
  for (; cursor->valid(); cursor->next()) out.emplace_back(cursor->key());
  need(cursor->status(), "a raw scan");
  return out;
}

World::Rows World::rows() const {
  Rows out;
  for (std::size_t i = 0; i < store::family_count; ++i) {
    const std::unique_ptr<store::Cursor> cursor = store_->scan(static_cast<Family>(i), "", "");
    for (; cursor->valid(); cursor->next()) {
      out.emplace_back(store::family_names[i], std::string(cursor->key()), std::string(cursor->value()));
    }
    need(cursor->status(), "a raw scan");
  }
  return out;
}

store::MemoryStore& World::memory() { return dynamic_cast<store::MemoryStore&>(*store_); }

Result<> World::commit() {
  for (engine::Served& served : core_->take_served()) {
    Result<std::vector<Claimed>> claimed =
        served.reply ? Result<std::vector<Claimed>>(std::get<std::vector<Claimed>>(std::move(*served.reply)))
                     : Result<std::vector<Claimed>>(Unexpected{served.reply.error()});
    if (!served_.emplace(served.ticket, std::move(claimed)).second) {
      throw std::runtime_error("a claim was answered twice");
    }
  }
  Result<> done = core_->commit();
  if (done && check_always_) check_sound();
  return done;
}

// ---- Commands -----------------------------------------------------------------------------------

void World::open_group() { in_group_ = true; }

Result<> World::close_group() {
  in_group_ = false;
  core_->tick(now_);
  return commit();
}

std::optional<Result<Reply>> World::apply(Body body) {
  std::optional<Result<Reply>> reply = core_->apply({now_, ++seed_, ++last_ticket_, std::move(body)});
  if (!in_group_) tick();
  return reply;
}

Result<Reply> World::ask(Body body) {
  std::optional<Result<Reply>> reply = apply(std::move(body));
  if (!reply) throw std::runtime_error("a command that should not wait waits");
  return std::move(*reply);
}

Answer World::tell(Body body) { return std::get<Answer>(need(ask(std::move(body)), "a command")); }

Error World::refusal(Body body) {
  const Result<Reply> reply = ask(std::move(body));
  if (reply) throw std::runtime_error("a command that should be refused is not");
  return reply.error();
}

Answer World::schedule(std::string id, Time due) {
  ScheduleRequest request;
  request.queue = the_queue;
  request.id = std::move(id);
  request.due = due;
  return tell(std::move(request));
}

std::vector<Claimed> World::claim(ClaimRequest request) {
  return std::get<std::vector<Claimed>>(need(ask(std::move(request)), "a claim"));
}

std::vector<Claimed> World::claim(std::string worker, std::uint32_t count) {
  ClaimRequest request;
  request.queues = {the_queue};
  request.worker = std::move(worker);
  request.count = count;
  return claim(std::move(request));
}

Claimed World::claim_one(std::string worker, std::optional<Duration> lease) {
  ClaimRequest request;
  request.queues = {the_queue};
  request.worker = std::move(worker);
  request.lease = lease;
  std::vector<Claimed> claimed = claim(std::move(request));
  if (claimed.size() != 1) throw std::runtime_error("nothing to claim");
  return std::move(claimed.front());
}

std::uint64_t World::claim_and_wait(ClaimRequest request) {
  const std::optional<Result<Reply>> reply = apply(std::move(request));
  if (reply) throw std::runtime_error("a claim that should wait was answered at once");
  return last_ticket_;
}

std::optional<Result<std::vector<Claimed>>> World::served(std::uint64_t ticket) {
  const auto found = served_.find(ticket);
  if (found == served_.end()) return std::nullopt;
  return found->second;
}

std::vector<Claimed> World::pop(std::uint32_t count) {
  return std::get<std::vector<Claimed>>(need(ask(PopRequest{the_queue, count}), "a pop"));
}

Answer World::fail(const Claimed& order, std::string error) {
  auto request = report_of<FailRequest>(order);
  request.error = std::move(error);
  return tell(std::move(request));
}

Answer World::extend(const Claimed& order, Duration lease) {
  auto request = report_of<ExtendRequest>(order);
  request.lease = lease;
  return tell(std::move(request));
}

Answer World::retry(std::string id) {
  RetryRequest request;
  request.queue = the_queue;
  request.id = std::move(id);
  return tell(std::move(request));
}

std::uint64_t World::reap(std::uint32_t limit) {
  return std::get<std::uint64_t>(need(ask(ReapRequest{the_queue, limit}), "a reap"));
}

std::uint64_t World::purge(State state, std::vector<std::string> ids, Duration older) {
  return std::get<std::uint64_t>(
      need(ask(engine::PurgeBatch{the_queue, state, older, std::move(ids)}), "a purge"));
}

QueueSettings World::set_queue(QueueSetRequest request) {
  if (request.queue.empty()) request.queue = the_queue;
  return std::get<QueueSettings>(need(ask(std::move(request)), "settings"));
}

// ---- Reads --------------------------------------------------------------------------------------

std::optional<Order> World::find(std::string_view id) const {
  return need(engine::read_order(*store_->snapshot(), the_queue, id), "reading an order");
}

Order World::order(std::string_view id) const {
  std::optional<Order> found = find(id);
  if (!found) throw std::runtime_error("no order " + std::string(id));
  return std::move(*found);
}

Counts World::counts() const {
  return need(engine::read_stats(*store_->snapshot(), the_queue, now()), "reading counts").counts;
}

std::uint64_t World::last_sequence() const {
  return need(engine::read_sequence(*store_->snapshot()), "reading the sequence");
}

CheckReport World::check() const { return need(engine::check_store(*store_->snapshot(), ""), "a check"); }

void World::check_sound() const {
  for (const Violation& violation : check().invariants) {
    if (violation.count > 0)
      throw std::runtime_error(violation.invariant + " is broken: " + violation.example);
  }
}

std::vector<std::string> World::broken() const {
  std::vector<std::string> out;
  for (const Violation& violation : check().invariants) {
    if (violation.count > 0) out.push_back(violation.invariant);
  }
  return out;
}

}  // namespace duelease::test
