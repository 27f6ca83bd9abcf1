// parse_request: what each verb takes, and that the error of what it does not take names value and limit.
#include "protocol/request.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/limits.h"
#include "support/printing.h"

using namespace duelease;
using namespace duelease::protocol;

namespace {

constexpr Time now{Duration{1'700'000'000'000}};

std::variant<Request, Refusal> parse(std::string_view line) {
  WordReader reader{{.words_max = 100'000}};
  reader.feed(line);
  reader.feed("\n");
  const Result<std::optional<Words>> words = reader.next();
  REQUIRE(words);
  REQUIRE(*words);
  return parse_request(**words, now);
}

template <class R>
R parse_as(std::string_view line) {
  const auto parsed = parse(line);
  const auto* refusal = std::get_if<Refusal>(&parsed);
  INFO(line << ": " << (refusal != nullptr ? refusal->message : ""));
  REQUIRE(refusal == nullptr);
  REQUIRE(std::holds_alternative<R>(std::get<Request>(parsed)));
  return std::get<R>(std::get<Request>(parsed));
}

std::string refusal(std::string_view line, WireCode code) {
  const auto parsed = parse(line);
  INFO(line);
  REQUIRE(std::holds_alternative<Refusal>(parsed));
  INFO(std::get<Refusal>(parsed).message);
  CHECK(std::get<Refusal>(parsed).code == code);
  return std::get<Refusal>(parsed).message;
}

std::string wrong(std::string_view line) { return refusal(line, WireCode::err); }
std::string invalid(std::string_view line) { return refusal(line, WireCode::invalid); }

}  // namespace

TEST_CASE("SCHEDULE", "[request]") {
  const auto bare = parse_as<ScheduleRequest>("SCHEDULE q 4711 12345");
  CHECK(bare.queue == "q");
  CHECK(bare.id == "4711");
  CHECK(bare.due == Time{Duration{12345}});
  CHECK_FALSE(bare.payload);
  CHECK_FALSE(bare.key);
  CHECK_FALSE(bare.run);
  CHECK_FALSE(bare.priority);
  CHECK_FALSE(bare.tries);
  CHECK_FALSE(bare.upsert);

  const auto full = parse_as<ScheduleRequest>(
      "schedule q 4711 +30m upsert tries 0 Priority 255 RUN r KEY UPSERT payload \"\"");
  CHECK(full.due == now + std::chrono::minutes(30));
  CHECK(full.payload == "");
  CHECK(full.key == "UPSERT");
  CHECK(full.run == "r");
  CHECK(full.priority == 255);
  CHECK(full.tries == 0u);
  CHECK(full.upsert);

  CHECK(parse_as<ScheduleRequest>("SCHEDULE q 1 now").due == now);
  CHECK(parse_as<ScheduleRequest>("SCHEDULE q 1 2026-12-01T17:00:00+08:00").due ==
        Time{Duration{1'796'115'600'000}});
}

TEST_CASE("CLAIM and POP", "[request]") {
  const auto bare = parse_as<ClaimRequest>("CLAIM q w");
  CHECK(bare.queues == std::vector<std::string>{"q"});
  CHECK(bare.worker == "w");
  CHECK(bare.count == 1);
  CHECK_FALSE(bare.lease);
  CHECK(bare.wait == Duration{0});
  CHECK(bare.request == "");
  const auto full = parse_as<ClaimRequest>("claim a,b,,c w count 10000 lease 30s wait 1h request r1");
  CHECK(full.queues == std::vector<std::string>{"a", "b", "", "c"});
  CHECK(full.count == 10'000);
  CHECK(full.lease == Duration{30'000});
  CHECK(full.wait == Duration{3'600'000});
  CHECK(full.request == "r1");
  CHECK(parse_as<PopRequest>("POP q").count == 1);
  CHECK(parse_as<PopRequest>("POP q COUNT 7").count == 7);
}

TEST_CASE("a claim names no more queues than the engine allows", "[request]") {
  std::string queues = "q";
  for (std::size_t i = 1; i < limits::claim_queues_max; ++i) queues += ",q";
  CHECK(parse_as<ClaimRequest>("CLAIM " + queues + " w").queues.size() == limits::claim_queues_max);
  CHECK_THAT(invalid("CLAIM " + queues + ",q w"), Catch::Contains("65 names") && Catch::Contains("1 to 64"));
}

TEST_CASE("COMPLETE, FAIL, RELEASE, EXTEND", "[request]") {
  const auto complete = parse_as<CompleteRequest>("COMPLETE q i 9223372036854775807 RESULT ok");
  CHECK(complete.token == Token{9223372036854775807U});
  CHECK(complete.result == "ok");
  CHECK_FALSE(parse_as<CompleteRequest>("COMPLETE q i 0").result);
  const auto failed = parse_as<FailRequest>("FAIL q i 5 FINAL ERROR 'no answer' RETRY +5s");
  CHECK(failed.error == "no answer");
  CHECK(failed.retry_at == now + Duration{5'000});
  CHECK(failed.final);
  CHECK_FALSE(parse_as<FailRequest>("FAIL q i 5").final);
  CHECK(parse_as<ReleaseRequest>("RELEASE q i 5 DUE 7").due == Time{Duration{7}});
  CHECK_FALSE(parse_as<ReleaseRequest>("RELEASE q i 5").due);
  CHECK(parse_as<ExtendRequest>("EXTEND q i 5 90s").lease == Duration{90'000});
}

TEST_CASE("RESCHEDULE, CANCEL, RETRY, REAP, PURGE", "[request]") {
  CHECK(parse_as<RescheduleRequest>("RESCHEDULE q i +1").due == now + Duration{1});
  CHECK(parse_as<CancelRequest>("CANCEL q i FORCE").force);
  CHECK_FALSE(parse_as<CancelRequest>("CANCEL q i").force);
  CHECK(parse_as<RetryRequest>("RETRY q i DUE +1s").due == now + Duration{1'000});
  CHECK_FALSE(parse_as<RetryRequest>("RETRY q i").due);
  CHECK(parse_as<ReapRequest>("REAP q").limit == 1000);
  CHECK(parse_as<ReapRequest>("REAP q LIMIT 5").limit == 5);
  const auto purge = parse_as<PurgeRequest>("PURGE q success OLDER 7d LIMIT 3");
  CHECK(purge.state == State::success);
  CHECK(purge.older == Duration{604'800'000});
  CHECK(purge.limit == 3);
}

TEST_CASE("reads", "[request]") {
  CHECK(parse_as<OrderRequest>("ORDER q i").id == "i");
  CHECK(parse_as<WhyRequest>("WHY q i").id == "i");
  const auto list = parse_as<ListRequest>("LIST q STATE Processing LIMIT 5 AFTER c");
  CHECK(list.state == State::processing);
  CHECK(list.limit == 5);
  CHECK(list.after == "c");
  CHECK_FALSE(parse_as<ListRequest>("LIST q").state);
  parse_as<QueuesRequest>("QUEUES");
  CHECK(parse_as<HistoryRequest>("HISTORY q i").limit == 1000);
  CHECK(parse_as<HistoryRequest>("history q i limit 7").limit == 7);
  CHECK(parse_as<StatsRequest>("STATS q").queue == "q");
  CHECK(parse_as<CheckRequest>("CHECK").queue == "");
  CHECK(parse_as<CheckRequest>("CHECK q").queue == "q");
}

TEST_CASE("QUEUE SET takes the fields of the settings", "[request]") {
  const auto set = parse_as<QueueSetRequest>(
      "queue set q lease 1m tries 3 backoff_base 1s backoff_cap 2s backoff_jitter_percent 5 "
      "payload_bytes_max 10 "
      "keep_success 7d keep_history 30d paused yes");
  CHECK(set.queue == "q");
  CHECK(set.lease == Duration{60'000});
  CHECK(set.tries == 3u);
  CHECK(set.backoff_base == Duration{1'000});
  CHECK(set.backoff_cap == Duration{2'000});
  CHECK(set.backoff_jitter_percent == 5u);
  CHECK(set.payload_bytes_max == 10u);
  CHECK(set.keep_success == std::optional<Duration>(604'800'000));
  CHECK(set.keep_history == Duration{2'592'000'000});
  CHECK(set.paused == true);
  const auto other = parse_as<QueueSetRequest>("QUEUE SET q PAUSED No KEEP_SUCCESS Forever");
  CHECK(other.paused == false);
  REQUIRE(other.keep_success);
  CHECK_FALSE(*other.keep_success);
  CHECK_FALSE(other.lease);

  CHECK_THAT(wrong("QUEUE SET q"),
             Catch::Contains("one field or more") && Catch::Contains("[lease duration]"));
  CHECK_THAT(invalid("QUEUE SET q paused 1"), Catch::Contains("paused: '1' is neither yes nor no"));
  CHECK_THAT(invalid("QUEUE SET q keep_success never"),
             Catch::Contains("'never'") && Catch::Contains("forever"));
  CHECK(parse_as<QueueShowRequest>("QUEUE SHOW q").queue == "q");
  CHECK(parse_as<PauseRequest>("PAUSE q").queue == "q");
  CHECK(parse_as<ResumeRequest>("RESUME q").queue == "q");
  CHECK_THAT(wrong("QUEUE"), Catch::Contains("QUEUE SET, QUEUE SHOW"));
  CHECK_THAT(wrong("QUEUE DROP q"), Catch::Contains("QUEUE SET, QUEUE SHOW") && Catch::Contains("'DROP'"));
}

TEST_CASE("RUN OPEN, START, BEAT, DONE, ERROR, SHOW, LIST", "[request]") {
  const auto bare = parse_as<RunOpenRequest>("RUN OPEN q nightly");
  CHECK(bare.queue == "q");
  CHECK(bare.run == "nightly");
  CHECK_FALSE(bare.ttl);
  CHECK(parse_as<RunOpenRequest>("run open q r ttl 1m").ttl == Duration{60'000});
  CHECK(parse_as<RunStartRequest>("RUN START q r").run == "r");
  CHECK(parse_as<RunBeatRequest>("RUN BEAT q r").run == "r");
  CHECK_FALSE(parse_as<RunDoneRequest>("RUN DONE q r").force);
  CHECK(parse_as<RunDoneRequest>("RUN DONE q r FORCE").force);
  CHECK(parse_as<RunErrorRequest>("RUN ERROR q r").reason == "");
  CHECK(parse_as<RunErrorRequest>("RUN ERROR q r REASON 'no paper'").reason == "no paper");
  CHECK(parse_as<RunShowRequest>("RUN SHOW q r").run == "r");
  CHECK(parse_as<RunListRequest>("RUN LIST q").queue == "q");

  CHECK(wrong("RUN") ==
        "there is RUN OPEN, RUN START, RUN BEAT, RUN DONE, RUN ERROR, RUN SHOW, RUN LIST, but behind 'RUN' "
        "stands nothing");
  CHECK_THAT(wrong("RUN AWAY q r"), Catch::EndsWith("behind 'RUN' stands 'AWAY'"));
  CHECK(wrong("RUN OPEN q") == "the run of RUN OPEN is missing; usage: RUN OPEN queue run [TTL duration]");
  CHECK(wrong("RUN START q r FORCE") == "RUN START does not take 'FORCE'; usage: RUN START queue run");
  CHECK_THAT(invalid("RUN OPEN q r TTL soon"), Catch::StartsWith("TTL: 'soon' is not a duration"));
}

TEST_CASE("what client libraries send", "[request]") {
  CHECK_FALSE(parse_as<PingRequest>("PING").message);
  CHECK(parse_as<PingRequest>("PING hello").message == "hello");
  CHECK(parse_as<EchoRequest>("ECHO hello").message == "hello");
  CHECK(parse_as<AuthRequest>("AUTH pw").user == "");
  CHECK(parse_as<AuthRequest>("AUTH pw").password == "pw");
  CHECK(parse_as<AuthRequest>("AUTH u pw").user == "u");
  CHECK_FALSE(parse_as<HelloRequest>("HELLO").version);
  CHECK(parse_as<HelloRequest>("HELLO 3").version == "3");
  const auto hello = parse_as<HelloRequest>("HELLO 2 setname me auth u pw");
  REQUIRE(hello.auth);
  CHECK(hello.auth->user == "u");
  CHECK(hello.auth->password == "pw");
  for (const char* line : {"HELLO 2 AUTH u", "HELLO 2 SETNAME", "HELLO 2 x", "HELLO 2 AUTH u p AUTH u p",
                           "HELLO 2 SETNAME a SETNAME b", "AUTH", "AUTH a b c", "CLIENT", "PING a b",
                           "SELECT", "SELECT 0 1", "TIME x", "QUIT x", "QUEUES x"}) {
    CHECK_THAT(wrong(line), Catch::Contains("usage: "));
  }
  CHECK(parse_as<ClientRequest>("CLIENT SETINFO LIB-NAME x").words ==
        std::vector<std::string>{"SETINFO", "LIB-NAME", "x"});
  CHECK(parse_as<CommandRequest>("COMMAND").words.empty());
  CHECK(parse_as<CommandRequest>("COMMAND DOCS").words == std::vector<std::string>{"DOCS"});
  CHECK(parse_as<SelectRequest>("SELECT 0").database == "0");
  parse_as<InfoRequest>("INFO");
  parse_as<InfoRequest>("INFO server clients");
  parse_as<TimeRequest>("time");
  parse_as<QuitRequest>("quit");
}

TEST_CASE("an unknown verb is named, printable and cut", "[request]") {
  CHECK(wrong("FOO bar") == "unknown verb 'FOO'");
  CHECK(wrong("SCHEDULES q i 1") == "unknown verb 'SCHEDULES'");
  CHECK(wrong("\"\"") == "unknown verb ''");
  CHECK(wrong("\"a\\nb\\xff\"") == "unknown verb 'a\\x0ab\\xff'");
  CHECK(wrong(std::string(10'000, 'x')) == "unknown verb '" + std::string(64, 'x') + "...'");
  CHECK(wrong("GET / HTTP/1.1") == "unknown verb 'GET'");
}

TEST_CASE("wrong words are answered with the usage", "[request]") {
  const std::string usage = "; usage: RETRY queue id [DUE time]";
  CHECK(wrong("RETRY") == "the queue of RETRY is missing" + usage);
  CHECK(wrong("retry q") == "the id of RETRY is missing" + usage);
  CHECK(wrong("RETRY q i 5") == "RETRY does not take '5'" + usage);
  CHECK(wrong("RETRY q i DUE") == "DUE has no value" + usage);
  CHECK(wrong("RETRY q i DUE 1 due 1") == "DUE stands twice" + usage);
  CHECK(wrong("CANCEL q i FORCE force") == "FORCE stands twice; usage: CANCEL queue id [FORCE] [SINCE n]");
  CHECK(wrong("QUEUE SET q tries 1 tries 1")
            .starts_with("tries stands twice; usage: QUEUE SET queue [lease duration]"));
  CHECK(wrong("PAUSE q x") == "PAUSE does not take 'x'; usage: PAUSE queue");
}

TEST_CASE("a value that does not parse or fit is named, with the limit", "[request]") {
  CHECK(invalid("SCHEDULE q i 1 PRIORITY 256") == "PRIORITY: '256' is above 255");
  CHECK(invalid("SCHEDULE q i 1 PRIORITY -1") == "PRIORITY: '-1' is not a whole number (0 to 255)");
  CHECK(invalid("SCHEDULE q i 1 TRIES 4294967296") == "TRIES: '4294967296' is above 4294967295");
  CHECK(parse_as<ScheduleRequest>("SCHEDULE q i 1 TRIES 4294967295").tries == 4294967295U);
  CHECK(invalid("COMPLETE q i 9223372036854775808") ==
        "token: '9223372036854775808' is above 9223372036854775807");
  CHECK(invalid("COMPLETE q i 99999999999999999999999") ==
        "token: '99999999999999999999999' is above 9223372036854775807");
  for (const char* number : {"\"\"", "+1", "-1", "1x", "x", "1.0", "0x10", "1e3", "\" 1\"", "\"1 \""}) {
    CHECK_THAT(invalid("POP q COUNT " + std::string(number)),
               Catch::StartsWith("COUNT: '") && Catch::Contains("is not a whole number (0 to 4294967295)"));
  }
  CHECK_THAT(invalid("SCHEDULE q i soon"), Catch::StartsWith("due: 'soon' is not a time"));
  CHECK_THAT(
      invalid("SCHEDULE q i 253402300800000"),
      Catch::StartsWith("due: time '253402300800000' is out of range") && Catch::Contains("9999-12-31"));
  CHECK_THAT(invalid("FAIL q i 1 RETRY -1s"), Catch::StartsWith("RETRY: '-1s' is not a time"));
  CHECK_THAT(invalid("EXTEND q i 1 -5"), Catch::StartsWith("lease: '-5' is not a duration"));
  CHECK_THAT(invalid("CLAIM q w WAIT 99999999999999d"),
             Catch::StartsWith("WAIT: duration '99999999999999d' does not fit") &&
                 Catch::Contains("9223372036854775807"));
  CHECK(invalid("LIST q STATE WAITING") ==
        "STATE: 'WAITING' is not a state (WAIT, PROCESSING, SUCCESS, FAILED, ABORTED)");
  CHECK_THAT(invalid("PURGE q all"), Catch::StartsWith("state: 'all' is not a state"));
}

TEST_CASE("the usage texts have all verbs, each once", "[request]") {
  std::set<std::string> names;
  for (const VerbUsage& verb : verbs()) {
    CHECK(names.insert(verb.name).second);
    CHECK(verb.usage.starts_with(verb.name));
  }
  CHECK(names.size() == std::variant_size_v<Request>);
  CHECK(verbs().front().usage ==
        "SCHEDULE queue id due [PAYLOAD bytes] [KEY bytes] [RUN run] [PRIORITY 0-255] [TRIES n] [UPSERT]");
}

TEST_CASE("codes have their words on the wire, and are found by them", "[request]") {
  CHECK(wire_code_name(WireCode::err) == "ERR");
  CHECK(wire_code_name(WireCode::no_auth) == "NOAUTH");
  CHECK(code_of_wire("ERR") == Code::invalid);
  CHECK(code_of_wire("NOAUTH") == Code::denied);
  CHECK(code_of_wire("DENIED") == Code::denied);
  CHECK_FALSE(code_of_wire("WRONGPASS"));
  CHECK_FALSE(code_of_wire("err"));
  for (const Code code : {Code::invalid, Code::too_large, Code::not_found, Code::not_alive, Code::busy,
                          Code::overloaded, Code::storage, Code::corrupt, Code::closing, Code::denied}) {
    CHECK(code_of_wire(wire_code_name(wire_code(code))) == code);
  }
  CHECK(wire_code_name(wire_code(Code::corrupt)) == "CORRUPT");
  for (const Code code : {Code::locked, Code::newer_format, Code::unreachable})
    CHECK(wire_code(code) == WireCode::storage);
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(WireCode::closing); ++i) {
    const std::string_view name = wire_code_name(WireCode{static_cast<std::uint8_t>(i)});
    CHECK(names.insert(name).second);
    CHECK(code_of_wire(name));
  }
}
