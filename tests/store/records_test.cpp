// The layout of every value, byte for byte; that unknown fields survive; that bad bytes are refused.
#include "store/records.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "support/hex.h"

using namespace duelease;
using namespace duelease::store;
using test::hex;
using test::packed;
using test::unhex;
using namespace std::string_literals;

namespace {

Time at(std::int64_t ms) { return Time{Duration{ms}}; }

model::Record small_record(State state) {
  model::Record record;
  record.state = state;
  record.due = at(1000);
  record.created_at = at(900);
  record.updated_at = at(900);
  record.sequence = 1;
  return record;
}

// Every field at a value of its own.
model::Record full_record(State state) {
  model::Record record;
  record.state = state;
  record.due = at(1000);
  record.priority = 7;
  record.tries = 25;
  record.attempt = 3;
  record.tries_used = 2;
  record.failures = 1;
  record.generation = 4;
  record.key = "k";
  record.run = "r";
  record.token = Token{77};
  record.sequence = 300;
  record.worker = "w";
  record.created_at = at(-2);
  record.updated_at = at(901);
  record.error = "e";
  record.result = "s";
  record.payload = "p";
  return record;
}

model::RunRecord full_run(RunState state) {
  model::RunRecord run;
  run.state = state;
  run.ttl = Duration{1000};
  run.expires_at = at(2000);
  run.opened_at = at(-2);
  run.started_at = at(900);
  run.ended_at = at(901);
  run.reason = "e";
  run.counts = {1, 2, 3, 4, 300};
  run.purged = {0, 0, 1, 0, 5};
  return run;
}

// A field 100 as a later version might add it: its value is the two bytes "hi".
const std::string later_field = unhex(packed("a206 02 6869"));

// small_record() from field 2 on; the state comes first.
const std::string small_rest = packed("10d00f 188001 6001 70880e 78880e 900101");
const std::string full_rest = packed(
    "10d00f 1807 220170 2a016b 320172 3819 4003 4802 5001 584d 60ac02 6a0177 7003 788a0e 820101 65 8a010173 "
    "900104");

}  // namespace

TEST_CASE("golden bytes: a waiting order") {
  CHECK(hex(encode_waiting(small_record(State::wait))) == "0801" + small_rest);
  CHECK(hex(encode_waiting(full_record(State::wait))) == "0801" + full_rest);
}

TEST_CASE("golden bytes: an order that was imported beside the owner of its key, and one that vanished") {
  model::Record record = full_record(State::aborted);
  record.grandfathered = true;
  CHECK(hex(encode_ended(record)) == packed("1233 0805") + full_rest + "980101");
  CHECK(std::get<model::Record>(*decode_order(encode_ended(record))) == record);
  record.vanished = true;
  CHECK(hex(encode_ended(record)) == packed("1236 0805") + full_rest + "980101a00101");
  CHECK(std::get<model::Record>(*decode_order(encode_ended(record))) == record);
}

TEST_CASE("golden bytes: an order that waits for another try") {
  model::Record record = full_record(State::wait);
  record.asked_due = at(1000);
  CHECK(hex(encode_waiting(record)) == "0801" + full_rest + "a801d00f");
  CHECK(*decode_waiting(encode_waiting(record)) == record);
  record.asked_due = at(limits::time_ms_max + 1);
  CHECK_FALSE(decode_waiting(encode_waiting(record)));
}

TEST_CASE("golden bytes: a lease") {
  model::Lease lease{full_record(State::processing), at(2000), Duration{30'000}, "req", ""};
  CHECK(hex(encode_lease(lease)) == packed("0a30 0802") + full_rest + packed("10a01f 18e0d403 2203726571"));
  lease.request.clear();
  CHECK(hex(encode_lease(lease)) == packed("0a30 0802") + full_rest + packed("10a01f 18e0d403"));
}

TEST_CASE("golden bytes: an order's row") {
  CHECK(hex(encode_live({128, at(1000)})) == packed("0a06 088001 10d00f"));
  CHECK(hex(encode_live({0, at(0)})) == packed("0a04 0800 1000"));
  CHECK(hex(encode_ended(small_record(State::success))) == packed("1213 0803") + small_rest);
  CHECK(hex(encode_ended(full_record(State::failed))) == packed("1230 0804") + full_rest);
}

TEST_CASE("golden bytes: a run") {
  const std::string no_counts = "0800 1000 1800 2000 2800";
  model::RunRecord fresh;
  fresh.opened_at = at(1000);
  CHECK(hex(encode_run(fresh)) == packed("0801 20d00f 420a" + no_counts + "4a0a" + no_counts));
  CHECK(hex(encode_run(full_run(RunState::error))) ==
        packed("0804 10d00f 18a01f 2003 28880e 308a0e 3a0165 420b 0801 1002 1803 2004 28ac02 "
               "4a0a 0800 1000 1801 2000 2805"));
}

TEST_CASE("golden bytes: meta") {
  CHECK(hex(encode_format(1)) == "0801");
  CHECK(hex(encode_sequence(0)) == "0800");
  CHECK(hex(encode_sequence(300)) == "08ac02");
  CHECK(hex(encode_sequence(limits::sequence_max)) == "08ffffffffffffffff7f");
  CHECK(hex(encode_settings({})) == packed("08e0d403 1019 18d00f 2080bab703 280a 30808040 4000"));
  SettingsRow row;
  row.settings = {Duration{1}, 0, Duration{0}, Duration{2}, 100, 3, Duration{4}, Duration{0}, true};
  CHECK(hex(encode_settings(row)) == packed("0802 1000 1800 2004 2864 3003 3808 4001"));
  row.settings.keep_history = Duration{5};
  row.may_have_history = true;
  CHECK(hex(encode_settings(row)) == packed("0802 1000 1800 2004 2864 3003 3808 4001 480a 5001"));
  CHECK(hex(encode_counts({1, 2, 3, 4, 300})) == packed("0801 1002 1803 2004 28ac02"));
}

TEST_CASE("what was encoded is decoded again") {
  const model::Record waiting = full_record(State::wait);
  CHECK(*decode_waiting(encode_waiting(waiting)) == waiting);
  CHECK(*decode_waiting(encode_waiting(small_record(State::wait))) == small_record(State::wait));

  const model::Lease lease{full_record(State::processing), at(limits::time_ms_max),
                           Duration{limits::lease_ms_max}, "req", ""};
  CHECK(*decode_lease(encode_lease(lease)) == lease);

  const Place place{255, at(limits::time_ms_min)};
  CHECK(std::get<Place>(*decode_order(encode_live(place))) == place);
  for (const State state :
       {State::success, State::failed, State::aborted, static_cast<State>(6), static_cast<State>(255)}) {
    const model::Record ended = full_record(state);
    CHECK(std::get<model::Record>(*decode_order(encode_ended(ended))) == ended);
    CHECK(decode_history(encode_generation("", ended))->ended == ended);
  }
  for (const RunState state :
       {RunState::creating, RunState::running, RunState::done, RunState::error, RunState{255}}) {
    CHECK((*decode_run(encode_run(full_run(state))) == full_run(state)));
  }
  CHECK((*decode_run(encode_run({})) == model::RunRecord{}));
  SettingsRow row;
  row.settings = {Duration{limits::lease_ms_max},
                  limits::tries_max,
                  Duration{0},
                  Duration{limits::backoff_ms_max},
                  100,
                  limits::payload_bytes_ceiling,
                  Duration{limits::keep_ms_max},
                  Duration{limits::keep_ms_max},
                  true};
  CHECK(decode_settings(encode_settings(row))->settings == row.settings);
  CHECK(decode_settings(encode_settings({}))->settings == QueueSettings{});
  CHECK(*decode_counts(encode_counts({})) == Counts{});
  CHECK(*decode_counts(encode_counts({1, 2, 3, 4, 5})) == Counts{1, 2, 3, 4, 5});
  CHECK(*decode_format(encode_format(1)) == 1);
  CHECK(*decode_sequence(encode_sequence(0)) == 0);
  CHECK(*decode_sequence(encode_sequence(limits::sequence_max)) == limits::sequence_max);
}

TEST_CASE("settings say whether there may be a history") {
  SettingsRow row;
  CHECK_FALSE(decode_settings(encode_settings(row))->may_have_history);
  row.may_have_history = true;
  row.settings.keep_history = Duration{7};
  const Result<SettingsRow> read = decode_settings(encode_settings(row));
  REQUIRE(read);
  CHECK(read->may_have_history);
  CHECK(read->settings == row.settings);
}

TEST_CASE("an empty key is not the same as none") {
  model::Record record = small_record(State::wait);
  record.key = "";
  record.run = "";
  const Result<model::Record> decoded = decode_waiting(encode_waiting(record));
  REQUIRE(decoded);
  CHECK(decoded->key == std::optional<std::string>(""));
  CHECK(decoded->run == std::optional<std::string>(""));
}

TEST_CASE("bytes of any value come back as they were") {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  model::Record record = small_record(State::wait);
  record.payload = record.error = record.result = record.worker = all;
  record.key = record.run = all;
  CHECK(*decode_waiting(encode_waiting(record)) == record);
}

TEST_CASE("fields of a later version survive every rewrite of an order") {
  const Result<model::Record> waiting =
      decode_waiting(encode_waiting(full_record(State::wait)) + later_field);
  REQUIRE(waiting);
  CHECK(hex(waiting->unknown) == hex(later_field));
  CHECK(hex(encode_waiting(*waiting)) == "0801" + full_rest + hex(later_field));

  model::Record record = *waiting;
  record.state = State::processing;
  const Result<model::Lease> lease =
      decode_lease(encode_lease({record, at(1), Duration{1}, "", ""}) + later_field);
  REQUIRE(lease);
  CHECK(hex(lease->record.unknown) == hex(later_field));
  CHECK(hex(lease->unknown) == hex(later_field));
  CHECK(*decode_lease(encode_lease(*lease)) == *lease);

  record = lease->record;
  record.state = State::success;
  const Result<OrderRow> ended = decode_order(encode_ended(record));
  REQUIRE(ended);
  CHECK(std::get<model::Record>(*ended) == record);
}

TEST_CASE("fields of a later version survive a rewrite of settings") {
  Result<SettingsRow> row = decode_settings(encode_settings({}) + later_field);
  REQUIRE(row);
  row->settings.paused = true;
  const std::string bytes = encode_settings(*row);
  CHECK(bytes.ends_with(later_field));
  CHECK(decode_settings(bytes)->settings.paused);
}

TEST_CASE("fields of a later version survive a rewrite of a run") {
  Result<model::RunRecord> run = decode_run(encode_run(full_run(RunState::running)) + later_field);
  REQUIRE(run);
  CHECK(hex(run->unknown) == hex(later_field));
  run->state = RunState::done;
  const std::string bytes = encode_run(*run);
  CHECK(bytes.ends_with(later_field));
  CHECK((*decode_run(bytes) == *run));
}

TEST_CASE("a row of a later version is still read") {
  CHECK(decode_format(encode_format(1) + later_field));
  CHECK(decode_sequence(encode_sequence(5) + later_field));
  CHECK(decode_counts(encode_counts({}) + later_field));
  CHECK(decode_order(encode_live({1, at(1)}) + later_field));
}

namespace {

template <class T>
void check_corrupt(const Result<T>& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::corrupt);
  CHECK_FALSE(result.error().message.empty());
}

using Damage = std::pair<const char*, std::function<void(model::Record&)>>;
const std::vector<Damage> record_damage = {
    {"state 0", [](model::Record& r) { r.state = State{}; }},
    {"due too early", [](model::Record& r) { r.due = at(limits::time_ms_min - 1); }},
    {"due too late", [](model::Record& r) { r.due = at(limits::time_ms_max + 1); }},
    {"created too late", [](model::Record& r) { r.created_at = at(limits::time_ms_max + 1); }},
    {"updated too early", [](model::Record& r) { r.updated_at = at(limits::time_ms_min - 1); }},
    {"token too big", [](model::Record& r) { r.token = Token{limits::sequence_max + 1}; }},
    {"sequence too big", [](model::Record& r) { r.sequence = limits::sequence_max + 1; }},
};

}  // namespace

TEST_CASE("an entry of the history, alone and beside the generation that ended with it") {
  const HistoryEntry small{.event = HistoryEvent::cancelled, .state = State::aborted, .at = at(1)};
  CHECK(hex(encode_entry(small)) == packed("1a06 0809 1005 1802"));
  const HistoryEntry full{.event = HistoryEvent::failed,
                          .state = State::wait,
                          .at = at(-1),
                          .due = at(0),
                          .worker = "w",
                          .token = Token{300},
                          .attempt = 2,
                          .reason = "no"};
  CHECK(hex(encode_entry(full)) == packed("1a14 0806 1001 1801 2000 2a0177 30ac02 3802 42026e6f"));
  for (const HistoryEntry& entry : {small, full}) {
    const Result<HistoryRow> row = decode_history(encode_entry(entry));
    REQUIRE(row);
    CHECK(row->entry == entry);
    CHECK_FALSE(row->ended);
  }
  const model::Record record = full_record(State::failed);
  CHECK(encode_generation("", record) == encode_ended(record));  // As before there were entries.
  const Result<HistoryRow> both = decode_history(encode_generation(encode_entry(full), record));
  REQUIRE(both);
  CHECK(both->entry == full);
  CHECK(both->ended == record);
  CHECK(encode_generation("garbage", record) == encode_ended(record));

  check_corrupt(decode_history(""));
  check_corrupt(decode_history(encode_entry({.event = HistoryEvent::unknown})));
  check_corrupt(decode_history(encode_entry({.event = HistoryEvent::claimed, .state = State{0}})));
  check_corrupt(
      decode_history(encode_entry({.event = HistoryEvent::claimed, .at = at(limits::time_ms_max + 1)})));
  check_corrupt(
      decode_history(encode_entry({.event = HistoryEvent::claimed, .due = at(limits::time_ms_min - 1)})));
  check_corrupt(decode_history(
      encode_entry({.event = HistoryEvent::claimed, .token = Token{limits::sequence_max + 1}})));
  CHECK(decode_history(encode_entry({.event = HistoryEvent{200}}))->entry->event == HistoryEvent{200});
}

TEST_CASE("a record with a value out of range is refused wherever it lies") {
  for (const auto& [what, damage] : record_damage) {
    INFO(what);
    model::Record record = full_record(State::wait);
    damage(record);
    check_corrupt(decode_waiting(encode_waiting(record)));
    record = full_record(State::processing);
    damage(record);
    check_corrupt(decode_lease(encode_lease({record, at(1), Duration{1}, "", ""})));
    record = full_record(State::failed);
    damage(record);
    check_corrupt(decode_order(encode_ended(record)));
    check_corrupt(decode_history(encode_generation("", record)));
  }
  check_corrupt(decode_waiting(unhex(packed("0801 18ac02"))));  // Priority 300.
  check_corrupt(decode_waiting(unhex("088102")));               // State 257 is not state 1.
}

TEST_CASE("a record in the wrong family is refused") {
  for (const State state : all_states) {
    INFO(state_name(state));
    const model::Record record = full_record(state);
    CHECK(decode_waiting(encode_waiting(record)).has_value() == (state == State::wait));
    CHECK(decode_lease(encode_lease({record, at(1), Duration{1}, "", ""})).has_value() ==
          (state == State::processing));
    const bool ended = state != State::wait && state != State::processing;
    CHECK(decode_order(encode_ended(record)).has_value() == ended);
    CHECK(decode_history(encode_generation("", record)).has_value() == ended);
  }
  check_corrupt(decode_history(encode_live({1, at(1)})));
}

TEST_CASE("a lease that nobody can have been given is refused") {
  const model::Lease good{full_record(State::processing), at(1), Duration{1}, "", ""};
  REQUIRE(decode_lease(encode_lease(good)));
  const std::vector<std::pair<const char*, std::function<void(model::Lease&)>>> damages = {
      {"no token", [](model::Lease& l) { l.record.token = Token{0}; }},
      {"no try used", [](model::Lease& l) { l.record.tries_used = 0; }},
      {"ends too late", [](model::Lease& l) { l.expires_at = at(limits::time_ms_max + 1); }},
      {"ends too early", [](model::Lease& l) { l.expires_at = at(limits::time_ms_min - 1); }},
      {"no length", [](model::Lease& l) { l.length = Duration{0}; }},
      {"negative length", [](model::Lease& l) { l.length = Duration{-1}; }},
      {"too long", [](model::Lease& l) { l.length = Duration{limits::lease_ms_max + 1}; }},
  };
  for (const auto& [what, damage] : damages) {
    INFO(what);
    model::Lease lease = good;
    damage(lease);
    check_corrupt(decode_lease(encode_lease(lease)));
  }
  check_corrupt(decode_lease(""));
}

TEST_CASE("a run with a value out of range is refused") {
  const std::vector<std::pair<const char*, std::function<void(model::RunRecord&)>>> damages = {
      {"state 0", [](model::RunRecord& r) { r.state = RunState{}; }},
      {"no time to live", [](model::RunRecord& r) { r.ttl = Duration{0}; }},
      {"lives too long", [](model::RunRecord& r) { r.ttl = Duration{limits::lease_ms_max + 1}; }},
      {"expires too late", [](model::RunRecord& r) { r.expires_at = at(limits::time_ms_max + 1); }},
      {"opened too early", [](model::RunRecord& r) { r.opened_at = at(limits::time_ms_min - 1); }},
      {"started too late", [](model::RunRecord& r) { r.started_at = at(limits::time_ms_max + 1); }},
      {"ended too late", [](model::RunRecord& r) { r.ended_at = at(limits::time_ms_max + 1); }},
  };
  for (const auto& [what, damage] : damages) {
    INFO(what);
    model::RunRecord run = full_run(RunState::error);
    damage(run);
    check_corrupt(decode_run(encode_run(run)));
  }
  check_corrupt(decode_run(""));
  check_corrupt(decode_run(unhex("088102")));  // State 257 is not state 1.
}

TEST_CASE("settings out of range are refused") {
  using Set = QueueSettings;
  const std::vector<std::pair<const char*, std::function<void(Set&)>>> damages = {
      {"lease 0", [](Set& s) { s.lease = Duration{0}; }},
      {"lease too long", [](Set& s) { s.lease = Duration{limits::lease_ms_max + 1}; }},
      {"tries", [](Set& s) { s.tries = limits::tries_max + 1; }},
      {"backoff base < 0", [](Set& s) { s.backoff_base = Duration{-1}; }},
      {"backoff base", [](Set& s) { s.backoff_base = Duration{limits::backoff_ms_max + 1}; }},
      {"backoff cap < 0", [](Set& s) { s.backoff_cap = Duration{-1}; }},
      {"backoff cap", [](Set& s) { s.backoff_cap = Duration{limits::backoff_ms_max + 1}; }},
      {"jitter", [](Set& s) { s.backoff_jitter_percent = 101; }},
      {"payload", [](Set& s) { s.payload_bytes_max = limits::payload_bytes_ceiling + 1; }},
      {"keep < 0", [](Set& s) { s.keep_success = Duration{-1}; }},
      {"keep", [](Set& s) { s.keep_success = Duration{limits::keep_ms_max + 1}; }},
      {"history < 0", [](Set& s) { s.keep_history = Duration{-1}; }},
      {"history", [](Set& s) { s.keep_history = Duration{limits::keep_ms_max + 1}; }},
  };
  for (const auto& [what, damage] : damages) {
    INFO(what);
    SettingsRow row;
    damage(row.settings);
    check_corrupt(decode_settings(encode_settings(row)));
  }
  check_corrupt(decode_settings(""));
}

TEST_CASE("meta rows without a sane value are refused") {
  check_corrupt(decode_format(""));
  check_corrupt(decode_format(encode_format(0)));
  check_corrupt(decode_sequence(encode_sequence(limits::sequence_max + 1)));
  check_corrupt(decode_sequence(""));
  check_corrupt(decode_order(""));
  check_corrupt(decode_order(encode_live({1, at(limits::time_ms_max + 1)})));
  check_corrupt(decode_order(unhex(packed("0a03 08ac02"))));  // Priority 300.
}

TEST_CASE("a value that was cut short, or is not protobuf at all, is refused") {
  const std::string waiting = encode_waiting(full_record(State::wait));
  const std::string lease = encode_lease({full_record(State::processing), at(1), Duration{1}, "", ""});
  const std::string ended = encode_ended(full_record(State::success));
  // Between two fields a cut leaves a shorter message that parses, so only a cut inside one must be seen.
  check_corrupt(decode_waiting(waiting.substr(0, waiting.size() - 1)));
  check_corrupt(decode_order(ended.substr(0, ended.size() - 1)));
  check_corrupt(decode_lease(lease.substr(0, lease.size() - 1)));
  for (const std::string& garbage : {"\xff"s, "\xff\xff\xff\xff"s, "\x0a\x05hi"s, "\x07"s}) {
    INFO(hex(garbage));
    check_corrupt(decode_waiting(garbage));
    check_corrupt(decode_lease(garbage));
    check_corrupt(decode_order(garbage));
    check_corrupt(decode_history(garbage));
    check_corrupt(decode_format(garbage));
    check_corrupt(decode_sequence(garbage));
    check_corrupt(decode_settings(garbage));
    check_corrupt(decode_counts(garbage));
    check_corrupt(decode_run(garbage));
  }
}
