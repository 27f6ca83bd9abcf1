// The oracle: runs, and what becomes of their orders.
#include <algorithm>

#include "base/limits.h"
#include "model/oracle.h"
#include "model/oracle_parts.h"
#include "model/rules.h"

namespace duelease::model_test {

model::RunRecord* Oracle::find_run(const std::string& queue, const std::string& run) {
  const auto q = queues_.find(queue);
  if (q == queues_.end()) return nullptr;
  const auto found = q->second.runs.find(run);
  return found == q->second.runs.end() ? nullptr : &found->second;
}

std::optional<Code> Oracle::dead_run(const std::string& queue, const std::string& run) {
  const model::RunRecord* found = find_run(queue, run);
  if (!found) return Code::not_found;
  return is_alive(*found) ? std::nullopt : std::optional{Code::not_alive};
}

void Oracle::beat(const Name& name) {
  model::RunRecord& run = *find_run(name.first, name.second);
  if (!run.ttl) return;
  run.expires_at = later(now_.wall, *run.ttl);
  run_ends_[name] = now_.monotonic + *run.ttl;
}

Oracle::Answered Oracle::on(const RunOpenRequest& request) {
  const Name name{request.queue, request.run};
  if (model::RunRecord* run = find_run(request.queue, request.run)) {
    if (!is_alive(*run)) return fail(Code::not_alive, "");
    if (request.ttl) {
      run->ttl = request.ttl;
      beat(name);
    }
    return engine::Reply{run->state};
  }
  model::RunRecord& run = queues_[request.queue].runs[request.run];
  run.ttl = request.ttl;
  run.opened_at = now_.wall;
  beat(name);
  ++sequence_;
  return engine::Reply{RunState::creating};
}

Oracle::Answered Oracle::on(const RunStartRequest& request) {
  if (const std::optional<Code> why = dead_run(request.queue, request.run)) return fail(*why, "");
  model::RunRecord& run = *find_run(request.queue, request.run);
  if (run.state == RunState::creating) {
    run.state = RunState::running;
    run.started_at = now_.wall;
    ++sequence_;
  }
  return engine::Reply{RunState::running};
}

Oracle::Answered Oracle::on(const RunBeatRequest& request) {
  if (const std::optional<Code> why = dead_run(request.queue, request.run)) return fail(*why, "");
  beat({request.queue, request.run});
  return engine::Reply{find_run(request.queue, request.run)->state};
}

Oracle::Answered Oracle::on(const RunDoneRequest& request) {
  const model::RunRecord* run = find_run(request.queue, request.run);
  if (!run) return fail(Code::not_found, "");
  if (run->state == RunState::done) return engine::Reply{RunState::done};
  if (!is_alive(*run)) return fail(Code::not_alive, "");
  const Counts counts = queues_.at(request.queue).run_counts()[request.run];
  if (!request.force && counts.wait + counts.processing > 0) return fail(Code::busy, "");
  if (counts.wait > 0) marks_.emplace_back("a run was DONE by force, with orders");
  end_run({request.queue, request.run}, RunState::done, "");
  return engine::Reply{RunState::done};
}

Oracle::Answered Oracle::on(const RunErrorRequest& request) {
  const model::RunRecord* run = find_run(request.queue, request.run);
  if (!run) return fail(Code::not_found, "");
  if (run->state == RunState::error) return engine::Reply{RunState::error};
  if (!is_alive(*run)) return fail(Code::not_alive, "");
  end_run({request.queue, request.run}, RunState::error, request.reason);
  return engine::Reply{RunState::error};
}

// A run without waiting orders has nothing to sweep.
void Oracle::end_run(const Name& name, RunState state, const std::string& reason) {
  OracleQueue& queue = queues_.at(name.first);
  model::RunRecord& run = queue.runs.at(name.second);
  run.state = state;
  run.reason = cut(reason, limits::error_bytes_max);
  run.ended_at = now_.wall;
  run_ends_.erase(name);
  ++sequence_;
  const std::uint64_t waiting = queue.run_counts()[name.second].wait;
  if (waiting > 0) run_sweeps_[name] = {"", waiting};
}

void Oracle::abort_orphan(const Name& name) {
  OracleOrder order = *find(name.first, name.second);
  order.record.state = State::aborted;
  order.record.error = "run " + *order.record.run + " has ended";
  stamp(order.record);
  const Name run{name.first, *order.record.run};
  const std::string reason = order.record.error;
  set(name, std::move(order), HistoryEvent::orphaned, reason);
  const auto sweep = run_sweeps_.find(run);
  if (sweep != run_sweeps_.end() && --sweep->second.left == 0) run_sweeps_.erase(sweep);
}

const OracleOrder* Oracle::meet(const std::string& queue, const std::string& id) {
  const OracleOrder* order = find(queue, id);
  if (order && queues_.at(queue).is_orphan(order->record)) {
    marks_.emplace_back("a command came across an orphan");
    abort_orphan({queue, id});
  }
  return find(queue, id);
}

void Oracle::keep_from_waiting(const std::string& queue, model::Record& record) const {
  if (!queues_.at(queue).is_orphan(record)) return;
  record.state = State::aborted;
  if (record.error.empty()) record.error = "run " + *record.run + " has ended";
}

bool Oracle::has_orphans() const {
  return std::ranges::any_of(queues_, [](const auto& queue) {
    return std::ranges::any_of(
        queue.second.orders, [&](const auto& order) { return queue.second.is_orphan(order.second.record); });
  });
}

// Those whose heart stopped first come first.
void Oracle::end_silent_runs() {
  std::set<std::pair<Monotonic, Name>> silent;
  for (const auto& [name, deadline] : run_ends_) {
    if (deadline <= now_.monotonic) silent.emplace(deadline, name);
  }
  for (const auto& [deadline, name] : silent) {
    const Duration ttl = *find_run(name.first, name.second)->ttl;
    end_run(name, RunState::error, "no heartbeat within " + std::to_string(ttl.count()) + " ms");
    marks_.emplace_back("a run had no heartbeat");
  }
}

void Oracle::sweep_runs() {
  for (std::size_t left = limits::orphan_pass_max; left > 0 && !run_sweeps_.empty();) {
    left -= sweep_first_run(left);
  }
}

// So many of its live orders, by id; those that wait are aborted.
std::size_t Oracle::sweep_first_run(std::size_t limit) {
  const auto [name, sweep] = *run_sweeps_.begin();
  const auto& [queue_name, run] = name;
  const OracleQueue& queue = queues_.at(queue_name);
  std::vector<std::string> ids;
  auto next = queue.orders.lower_bound(sweep.from);
  for (; next != queue.orders.end(); ++next) {
    const model::Record& record = next->second.record;
    const bool is_live = record.state == State::wait || record.state == State::processing;
    if (!is_live || record.run != run) continue;
    if (ids.size() == limit) break;
    ids.push_back(next->first);
  }
  if (next == queue.orders.end()) {
    run_sweeps_.erase(name);
  } else {
    run_sweeps_[name].from = next->first;
    marks_.emplace_back("a sweep of a run took more than one tick");
  }
  for (const std::string& id : ids) {
    if (queue.is_orphan(queue.orders.at(id).record)) abort_orphan({queue_name, id});
  }
  return ids.size();
}

}  // namespace duelease::model_test
