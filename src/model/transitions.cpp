#include "model/transitions.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "model/rules.h"

namespace duelease::model {

namespace {

void enter(Record& record, State state, Time now) {
  record.state = state;
  record.updated_at = now;
}

void set_due(Record& record, Time due) {
  record.due = due;
  record.asked_due.reset();
}

// To another try. What was asked for is kept: a reconcile compares it with what its source asks for.
void put_off(Record& record, Time due) {
  if (!record.asked_due) record.asked_due = record.due;
  record.due = due;
}

// Counters stop at their end rather than start again at 0.
void count_up(std::uint32_t& counter) {
  if (counter < std::numeric_limits<std::uint32_t>::max()) ++counter;
}

}  // namespace

Record schedule(const ScheduleRequest& request, const QueueSettings& settings, Time now) {
  Record record;
  record.due = request.due;
  record.priority = request.priority.value_or(128);
  record.tries = request.tries.value_or(settings.tries);
  record.key = request.key;
  record.run = request.run;
  record.payload = request.payload.value_or("");
  record.created_at = now;
  enter(record, State::wait, now);
  return record;
}

Record adopt(const ImportRequest& request, const QueueSettings& settings, Time now) {
  Record record;
  record.due = request.due;
  record.priority = request.priority.value_or(128);
  record.tries = request.tries.value_or(settings.tries);
  record.key = request.key;
  record.payload = request.payload.value_or("");
  record.error = cut(request.error, limits::error_bytes_max);
  const Time changed = request.ended_at.value_or(now);
  record.created_at = request.created_at.value_or(changed);
  enter(record, request.state, changed);
  return record;
}

void upsert(Record& record, const ScheduleRequest& request, Time now) {
  DUELEASE_CHECK(record.state == State::wait);
  set_due(record, request.due);
  if (request.payload) record.payload = *request.payload;
  if (request.priority) record.priority = *request.priority;
  if (request.tries) record.tries = *request.tries;
  record.updated_at = now;
}

void reschedule(Record& record, Time due, Time now) {
  DUELEASE_CHECK(record.state == State::wait);
  set_due(record, due);
  record.updated_at = now;
}

void hand_out(Record& record, Token token, std::string_view worker, Time now) {
  DUELEASE_CHECK(record.state == State::wait);
  DUELEASE_CHECK(token > record.token);
  enter(record, State::processing, now);
  record.token = token;
  record.worker = worker;
  count_up(record.attempt);
  count_up(record.tries_used);
}

void succeed(Record& record, std::string result, Time now) {
  DUELEASE_CHECK(record.state == State::processing);
  enter(record, State::success, now);
  record.result = std::move(result);
}

void report_failure(Record& record, const FailRequest& request, const QueueSettings& settings, Time now,
                    std::uint64_t seed) {
  DUELEASE_CHECK(record.state == State::processing);
  count_up(record.failures);
  record.error = cut(request.error, limits::error_bytes_max);
  if (request.final || !tries_left(record)) {
    enter(record, State::failed, now);
    return;
  }
  enter(record, State::wait, now);
  put_off(record, request.retry_at ? *request.retry_at : retry_time(record.tries_used, settings, now, seed));
}

void release(Record& record, const ReleaseRequest& request, Time now) {
  DUELEASE_CHECK(record.state == State::processing);
  DUELEASE_CHECK(record.tries_used > 0);
  --record.tries_used;
  if (request.due) put_off(record, *request.due);
  enter(record, State::wait, now);
}

void lose_lease(Record& record, Time now) {
  DUELEASE_CHECK(record.state == State::processing);
  enter(record, tries_left(record) ? State::wait : State::failed, now);
  if (record.state == State::failed) record.error = "the lease ran out and no tries are left";
}

void abort(Record& record, Time now) {
  DUELEASE_CHECK(record.state == State::wait || record.state == State::processing);
  enter(record, State::aborted, now);
}

Record give_up_lost(Time due, std::uint8_t priority, std::uint32_t generation, std::optional<std::string> run,
                    Time now) {
  Record record;
  record.state = State::aborted;
  record.due = due;
  record.priority = priority;
  record.generation = generation;
  record.run = std::move(run);
  record.created_at = now;
  record.updated_at = now;
  record.error = "the record of this order was lost: the store was damaged";
  return record;
}

void vanish(Record& record, Time now) {
  DUELEASE_CHECK(record.state == State::wait);
  enter(record, State::aborted, now);
  record.vanished = true;
  record.error = "it was not in the source of a reconcile";
}

void revive(Record& record, Time due, Time now) {
  DUELEASE_CHECK(record.state == State::failed);
  record.grandfathered = false;
  enter(record, State::wait, now);
  put_off(record, due);
  record.tries_used = 0;
}

}  // namespace duelease::model
