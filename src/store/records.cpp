#include "store/records.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "records.pb.h"

namespace duelease::store {

namespace {

Unexpected corrupt(std::string what) { return fail(Code::corrupt, std::move(what)); }

std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string out;
  message.SerializeToString(&out);
  return out;
}

bool parse(google::protobuf::MessageLite& message, std::string_view bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::int64_t ms(Time time) { return time.time_since_epoch().count(); }
Time time_of(std::int64_t ms) { return Time{Duration{ms}}; }
bool valid_time(std::int64_t ms) { return ms >= limits::time_ms_min && ms <= limits::time_ms_max; }

// What an order that waits for the first time has none of is left out: it would cost two bytes each.
void to_proto(const model::Record& record, proto::OrderRecord& out) {
  out.set_state(static_cast<std::uint32_t>(record.state));
  out.set_due_ms(ms(record.due));
  out.set_priority(record.priority);
  if (!record.payload.empty()) out.set_payload(record.payload);
  if (record.key) out.set_key(*record.key);
  if (record.run) out.set_run(*record.run);
  if (record.tries != 0) out.set_tries(record.tries);
  if (record.attempt != 0) out.set_attempt(record.attempt);
  if (record.tries_used != 0) out.set_tries_used(record.tries_used);
  if (record.failures != 0) out.set_failures(record.failures);
  if (record.token != Token{0}) out.set_token(static_cast<std::uint64_t>(record.token));
  out.set_sequence(record.sequence);
  if (!record.worker.empty()) out.set_worker(record.worker);
  out.set_created_ms(ms(record.created_at));
  out.set_updated_ms(ms(record.updated_at));
  if (!record.error.empty()) out.set_error(record.error);
  if (!record.result.empty()) out.set_result(record.result);
  out.set_generation(record.generation);
  if (record.grandfathered) out.set_grandfathered(true);
  if (record.vanished) out.set_vanished(true);
  if (record.asked_due) out.set_asked_due_ms(ms(*record.asked_due));
  if (!record.unknown.empty()) *out.mutable_unknown_fields() = record.unknown;
}

Result<model::Record> from_proto(proto::OrderRecord& in) {
  if (in.state() == 0 || in.state() > 255) return corrupt("state " + std::to_string(in.state()));
  if (in.priority() > 255) return corrupt("priority " + std::to_string(in.priority()));
  if (!valid_time(in.due_ms())) return corrupt("due time " + std::to_string(in.due_ms()));
  if (!valid_time(in.asked_due_ms())) return corrupt("due time " + std::to_string(in.asked_due_ms()));
  if (!valid_time(in.created_ms()) || !valid_time(in.updated_ms()))
    return corrupt("time of change out of range");
  if (in.token() > limits::sequence_max || in.sequence() > limits::sequence_max)
    return corrupt("token out of range");
  model::Record record;
  record.state = static_cast<State>(in.state());
  record.due = time_of(in.due_ms());
  record.priority = static_cast<std::uint8_t>(in.priority());
  record.tries = in.tries();
  record.attempt = in.attempt();
  record.tries_used = in.tries_used();
  record.failures = in.failures();
  record.generation = in.generation();
  if (in.has_key()) record.key = std::move(*in.mutable_key());
  if (in.has_run()) record.run = std::move(*in.mutable_run());
  record.token = Token{in.token()};
  record.sequence = in.sequence();
  record.worker = std::move(*in.mutable_worker());
  record.created_at = time_of(in.created_ms());
  record.updated_at = time_of(in.updated_ms());
  record.error = std::move(*in.mutable_error());
  record.result = std::move(*in.mutable_result());
  record.payload = std::move(*in.mutable_payload());
  record.grandfathered = in.grandfathered();
  record.vanished = in.vanished();
  if (in.has_asked_due_ms()) record.asked_due = time_of(in.asked_due_ms());
  record.unknown = in.unknown_fields();
  return record;
}

// One for each thread, for a message that is used again keeps its memory: half of what it costs to encode one.
template <typename Message>
Message& empty() {
  static thread_local Message message;
  message.Clear();
  return message;
}

std::string encode_record(const model::Record& record) {
  auto& message = empty<proto::OrderRecord>();
  to_proto(record, message);
  return bytes_of(message);
}

}  // namespace

std::string encode_waiting(const model::Record& record) { return encode_record(record); }

Result<model::Record> decode_waiting(std::string_view bytes) {
  proto::OrderRecord message;
  if (!parse(message, bytes)) return corrupt("a waiting order does not parse");
  Result<model::Record> record = from_proto(message);
  if (record && record->state != State::wait) return corrupt("an order in a queue is not WAIT");
  return record;
}

std::string encode_lease(const model::Lease& lease) {
  auto& row = empty<proto::LeaseRow>();
  to_proto(lease.record, *row.mutable_order());
  row.set_expires_ms(ms(lease.expires_at));
  row.set_length_ms(lease.length.count());
  if (!lease.request.empty()) row.set_request(lease.request);
  if (!lease.unknown.empty()) *row.mutable_unknown_fields() = lease.unknown;
  return bytes_of(row);
}

Result<model::Lease> decode_lease(std::string_view bytes) {
  proto::LeaseRow row;
  if (!parse(row, bytes)) return corrupt("a lease does not parse");
  Result<model::Record> record = from_proto(*row.mutable_order());
  if (!record) return Unexpected{record.error()};
  if (record->state != State::processing) return corrupt("an order under a lease is not PROCESSING");
  if (record->token == Token{0} || record->tries_used == 0) return corrupt("a lease without a claim");
  if (!valid_time(row.expires_ms())) return corrupt("lease end " + std::to_string(row.expires_ms()));
  if (row.length_ms() < limits::lease_ms_min || row.length_ms() > limits::lease_ms_max) {
    return corrupt("lease length " + std::to_string(row.length_ms()));
  }
  model::Lease lease;
  lease.record = std::move(*record);
  lease.expires_at = time_of(row.expires_ms());
  lease.length = Duration{row.length_ms()};
  lease.request = std::move(*row.mutable_request());
  lease.unknown = row.unknown_fields();
  return lease;
}

std::string encode_live(const Place& place) {
  auto& row = empty<proto::OrderRow>();
  row.mutable_live()->set_priority(place.priority);
  row.mutable_live()->set_due_ms(ms(place.due));
  return bytes_of(row);
}

std::string encode_ended(const model::Record& record) {
  auto& row = empty<proto::OrderRow>();
  to_proto(record, *row.mutable_ended());
  return bytes_of(row);
}

Result<OrderRow> decode_order(std::string_view bytes) {
  proto::OrderRow row;
  if (!parse(row, bytes)) return corrupt("an order does not parse");
  if (row.has_live()) {
    if (row.live().priority() > 255 || !valid_time(row.live().due_ms()))
      return corrupt("a place out of range");
    return OrderRow{Place{static_cast<std::uint8_t>(row.live().priority()), time_of(row.live().due_ms())}};
  }
  if (!row.has_ended()) return corrupt("an order that is neither alive nor ended");
  Result<model::Record> record = from_proto(*row.mutable_ended());
  if (!record) return Unexpected{record.error()};
  if (record->state == State::wait || record->state == State::processing) {
    return corrupt("an ended order in state " + std::string(state_name(record->state)));
  }
  return OrderRow{std::move(*record)};
}

std::string encode_entry(const HistoryEntry& entry) {
  proto::HistoryRow row;
  proto::HistoryRow::Entry& out = *row.mutable_entry();
  out.set_event(static_cast<std::uint32_t>(entry.event));
  out.set_state(static_cast<std::uint32_t>(entry.state));
  out.set_at_ms(ms(entry.at));
  if (entry.due) out.set_due_ms(ms(*entry.due));
  if (!entry.worker.empty()) out.set_worker(entry.worker);
  if (entry.token != Token{0}) out.set_token(static_cast<std::uint64_t>(entry.token));
  if (entry.attempt != 0) out.set_attempt(entry.attempt);
  if (!entry.reason.empty()) out.set_reason(entry.reason);
  return bytes_of(row);
}

std::string encode_generation(std::string_view noted, const model::Record& ended) {
  proto::HistoryRow row;
  if (!parse(row, noted)) row.Clear();
  row.clear_ended();
  to_proto(ended, *row.mutable_ended());
  return bytes_of(row);
}

namespace {

Result<HistoryEntry> from_proto(proto::HistoryRow::Entry& in) {
  if (in.event() == 0 || in.event() > 255) return corrupt("event " + std::to_string(in.event()));
  if (in.state() == 0 || in.state() > 255) return corrupt("state " + std::to_string(in.state()));
  if (!valid_time(in.at_ms()) || !valid_time(in.due_ms())) return corrupt("time of an event out of range");
  if (in.token() > limits::sequence_max) return corrupt("token out of range");
  HistoryEntry entry;
  entry.event = static_cast<HistoryEvent>(in.event());
  entry.state = static_cast<State>(in.state());
  entry.at = time_of(in.at_ms());
  if (in.has_due_ms()) entry.due = time_of(in.due_ms());
  entry.worker = std::move(*in.mutable_worker());
  entry.token = Token{in.token()};
  entry.attempt = in.attempt();
  entry.reason = std::move(*in.mutable_reason());
  return entry;
}

}  // namespace

Result<HistoryRow> decode_history(std::string_view bytes) {
  proto::HistoryRow row;
  if (!parse(row, bytes)) return corrupt("a row of the history does not parse");
  if (!row.has_entry() && !row.has_ended()) return corrupt("a row of the history that says nothing");
  HistoryRow out;
  if (row.has_entry()) {
    Result<HistoryEntry> entry = from_proto(*row.mutable_entry());
    if (!entry) return Unexpected{entry.error()};
    out.entry = std::move(*entry);
  }
  if (row.has_ended()) {
    Result<model::Record> record = from_proto(*row.mutable_ended());
    if (!record) return Unexpected{record.error()};
    if (record->state == State::wait || record->state == State::processing) {
      return corrupt("an order in the history is still alive");
    }
    out.ended = std::move(*record);
  }
  return out;
}

std::string encode_format(std::uint32_t version) {
  proto::FormatRow row;
  row.set_version(version);
  return bytes_of(row);
}

Result<std::uint32_t> decode_format(std::string_view bytes) {
  proto::FormatRow row;
  if (!parse(row, bytes) || row.version() == 0) return corrupt("the format version does not parse");
  return row.version();
}

std::string encode_sequence(std::uint64_t last) {
  proto::SequenceRow row;
  row.set_last(last);
  return bytes_of(row);
}

Result<std::uint64_t> decode_sequence(std::string_view bytes) {
  proto::SequenceRow row;
  if (!parse(row, bytes) || !row.has_last() || row.last() > limits::sequence_max)
    return corrupt("the last sequence does not parse");
  return row.last();
}

std::string encode_settings(const SettingsRow& in) {
  proto::SettingsRow row;
  row.set_lease_ms(in.settings.lease.count());
  row.set_tries(in.settings.tries);
  row.set_backoff_base_ms(in.settings.backoff_base.count());
  row.set_backoff_cap_ms(in.settings.backoff_cap.count());
  row.set_backoff_jitter_percent(in.settings.backoff_jitter_percent);
  row.set_payload_bytes_max(in.settings.payload_bytes_max);
  if (in.settings.keep_success) row.set_keep_success_ms(in.settings.keep_success->count());
  row.set_paused(in.settings.paused);
  if (in.settings.keep_history != Duration{0}) row.set_keep_history_ms(in.settings.keep_history.count());
  if (in.may_have_history) row.set_may_have_history(true);
  if (!in.unknown.empty()) *row.mutable_unknown_fields() = in.unknown;
  return bytes_of(row);
}

Result<SettingsRow> decode_settings(std::string_view bytes) {
  proto::SettingsRow row;
  if (!parse(row, bytes)) return corrupt("queue settings do not parse");
  const auto within = [](std::int64_t value, std::int64_t min, std::int64_t max) {
    return value >= min && value <= max;
  };
  if (!within(row.lease_ms(), limits::lease_ms_min, limits::lease_ms_max) ||
      row.tries() > limits::tries_max || !within(row.backoff_base_ms(), 0, limits::backoff_ms_max) ||
      !within(row.backoff_cap_ms(), 0, limits::backoff_ms_max) || row.backoff_jitter_percent() > 100 ||
      row.payload_bytes_max() > limits::payload_bytes_ceiling ||
      !within(row.keep_success_ms(), 0, limits::keep_ms_max) ||
      !within(row.keep_history_ms(), 0, limits::keep_ms_max)) {
    return corrupt("queue settings out of range");
  }
  SettingsRow out;
  out.settings.lease = Duration{row.lease_ms()};
  out.settings.tries = row.tries();
  out.settings.backoff_base = Duration{row.backoff_base_ms()};
  out.settings.backoff_cap = Duration{row.backoff_cap_ms()};
  out.settings.backoff_jitter_percent = row.backoff_jitter_percent();
  out.settings.payload_bytes_max = row.payload_bytes_max();
  if (row.has_keep_success_ms()) out.settings.keep_success = Duration{row.keep_success_ms()};
  out.settings.keep_history = Duration{row.keep_history_ms()};
  out.settings.paused = row.paused();
  out.may_have_history = row.may_have_history();
  out.unknown = row.unknown_fields();
  return out;
}

namespace {

void to_proto(const Counts& counts, proto::CountsRow& out) {
  out.set_wait(counts.wait);
  out.set_processing(counts.processing);
  out.set_success(counts.success);
  out.set_failed(counts.failed);
  out.set_aborted(counts.aborted);
}

Counts from_proto(const proto::CountsRow& in) {
  return Counts{in.wait(), in.processing(), in.success(), in.failed(), in.aborted()};
}

}  // namespace

std::string encode_counts(const Counts& counts) {
  proto::CountsRow row;
  to_proto(counts, row);
  return bytes_of(row);
}

Result<Counts> decode_counts(std::string_view bytes) {
  proto::CountsRow row;
  if (!parse(row, bytes)) return corrupt("the counts of a queue do not parse");
  return from_proto(row);
}

std::string encode_run(const model::RunRecord& run) {
  proto::RunRow row;
  row.set_state(static_cast<std::uint32_t>(run.state));
  if (run.ttl) row.set_ttl_ms(run.ttl->count());
  if (run.ttl) row.set_expires_ms(ms(run.expires_at));
  row.set_opened_ms(ms(run.opened_at));
  if (run.started_at) row.set_started_ms(ms(*run.started_at));
  if (run.ended_at) row.set_ended_ms(ms(*run.ended_at));
  if (!run.reason.empty()) row.set_reason(run.reason);
  to_proto(run.counts, *row.mutable_counts());
  to_proto(run.purged, *row.mutable_purged());
  if (!run.unknown.empty()) *row.mutable_unknown_fields() = run.unknown;
  return bytes_of(row);
}

Result<model::RunRecord> decode_run(std::string_view bytes) {
  proto::RunRow row;
  if (!parse(row, bytes)) return corrupt("a run does not parse");
  if (row.state() == 0 || row.state() > 255) return corrupt("run state " + std::to_string(row.state()));
  for (const std::int64_t time : {row.expires_ms(), row.opened_ms(), row.started_ms(), row.ended_ms()}) {
    if (!valid_time(time)) return corrupt("time of a run out of range");
  }
  if (row.has_ttl_ms() && (row.ttl_ms() < limits::lease_ms_min || row.ttl_ms() > limits::lease_ms_max)) {
    return corrupt("time to live " + std::to_string(row.ttl_ms()));
  }
  model::RunRecord run;
  run.state = static_cast<RunState>(row.state());
  if (row.has_ttl_ms()) run.ttl = Duration{row.ttl_ms()};
  if (row.has_ttl_ms()) run.expires_at = time_of(row.expires_ms());
  run.opened_at = time_of(row.opened_ms());
  if (row.has_started_ms()) run.started_at = time_of(row.started_ms());
  if (row.has_ended_ms()) run.ended_at = time_of(row.ended_ms());
  run.reason = std::move(*row.mutable_reason());
  run.counts = from_proto(row.counts());
  run.purged = from_proto(row.purged());
  run.unknown = row.unknown_fields();
  return run;
}

}  // namespace duelease::store
