// Redis, as people schedule with it: a sorted set of waiting ids by due time, a hash of payloads, and a sorted set of
// those that are processed, by the end of their lease. Each change is a script, so nothing is half done; a batch is
// one call of it. A complete is compared with the lease that was handed out, so a late one changes nothing.
// Unlike ours it forgets what is completed.
#include <signal.h>

#include <charconv>

#include "process.h"
#include "redis_schedule.h"  // Made of redis_schedule.lua.
#include "resp.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

// KEYS: waiting, payloads, processing. Of redis_schedule.lua the first two.

// With ids alone, as of somebody who has the payloads elsewhere. ARGV: due, id, ...
constexpr std::string_view schedule_ids_script = R"(
local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local leases = redis.call('ZMSCORE', KEYS[3], unpack(ids))
local dues = {}
for i, id in ipairs(ids) do
  if not leases[i] then
    dues[#dues + 1] = ARGV[2 * i - 1]
    dues[#dues + 1] = id
  end
end
if #dues == 0 then return 0 end
return redis.call('ZADD', KEYS[1], 'NX', unpack(dues)))";

// ARGV: now, how many, end of the lease; answers ids, and then the payloads or nothing.
constexpr std::string_view claim_script = R"(
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
if #ids == 0 then return {ids, {}} end
local leases = {}
for i, id in ipairs(ids) do
  leases[2 * i - 1] = ARGV[3]
  leases[2 * i] = id
end
redis.call('ZREM', KEYS[1], unpack(ids))
redis.call('ZADD', KEYS[3], unpack(leases))
if redis.call('EXISTS', KEYS[2]) == 0 then return {ids, {}} end
return {ids, redis.call('HMGET', KEYS[2], unpack(ids))})";

// ARGV: id, end of its lease, ...; answers how many were still leased so.
constexpr std::string_view complete_script = R"(
local ids = {}
for i = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local leases = redis.call('ZMSCORE', KEYS[3], unpack(ids))
local mine = {}
for i, id in ipairs(ids) do
  if leases[i] == ARGV[2 * i] then mine[#mine + 1] = id end
end
if #mine > 0 then
  redis.call('ZREM', KEYS[3], unpack(mine))
  redis.call('HDEL', KEYS[2], unpack(mine))
end
return #mine)";

class RedisConnection final : public Connection {
 public:
  RedisConnection(std::uint16_t port, bool ids_alone) : redis_(port), ids_alone_(ids_alone) {
    schedule_ = load(ids_alone ? schedule_ids_script : redis_schedule_script);
    claim_ = load(claim_script);
    complete_ = load(complete_script);
  }

  void schedule(std::span<const NewOrder> orders) override {
    std::vector<std::string> dues;
    dues.reserve(orders.size());
    std::vector<std::string_view> words = call(schedule_);
    for (const NewOrder& order : orders) {
      dues.push_back(std::to_string(order.due.time_since_epoch().count()));
      words.insert(words.end(), {dues.back(), order.id});
      if (!ids_alone_) words.push_back(order.payload);
    }
    expect(*redis_.ask(words), orders.size());
  }

  std::vector<Handed> claim(unsigned count) override {
    const Time at = system_clock()->now().wall;
    const std::string due = std::to_string(at.time_since_epoch().count());
    const std::string how_many = std::to_string(count);
    const std::string lease = std::to_string((at + lease_length).time_since_epoch().count());
    std::vector<std::string_view> words = call(claim_);
    words.insert(words.end(), {due, how_many, lease});
    const Resp::Reply reply = redis_.ask(words);
    const redisReply& ids = *reply->element[0];
    const redisReply& payloads = *reply->element[1];
    std::vector<Handed> orders(ids.elements);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      orders[i].id = Resp::text(*ids.element[i]);
      if (i < payloads.elements) orders[i].payload = Resp::text(*payloads.element[i]);
      orders[i].token = static_cast<std::uint64_t>((at + lease_length).time_since_epoch().count());
    }
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    std::vector<std::string> leases;
    leases.reserve(orders.size());
    std::vector<std::string_view> words = call(complete_);
    for (const Handed& order : orders) {
      leases.push_back(std::to_string(order.token));
      words.insert(words.end(), {order.id, leases.back()});
    }
    expect(*redis_.ask(words), orders.size());
  }

  std::uint64_t not_completed() override {
    return static_cast<std::uint64_t>(redis_.ask({"ZCARD", "waiting"})->integer +
                                      redis_.ask({"ZCARD", "processing"})->integer);
  }

 private:
  std::string load(std::string_view script) {
    return std::string(Resp::text(*redis_.ask({"SCRIPT", "LOAD", script})));
  }
  static std::vector<std::string_view> call(const std::string& script) {
    return {"EVALSHA", script, "3", "waiting", "payloads", "processing"};
  }
  static void expect(const redisReply& reply, std::size_t count) {
    if (static_cast<std::uint64_t>(reply.integer) != count) {
      throw Fault("redis: " + std::to_string(reply.integer) + " of " + std::to_string(count) +
                  " orders were taken");
    }
  }

  Resp redis_;
  const bool ids_alone_;
  std::string schedule_;
  std::string claim_;
  std::string complete_;
};

class RedisTarget final : public Target {
 public:
  RedisTarget(const std::filesystem::path& folder, std::string variant)
      : Target(folder), variant_(std::move(variant)), port_(free_port()) {}

  void start() override {
    std::vector<std::string> words = {find_program("redis-server").string(),
                                      "--bind",
                                      "127.0.0.1",
                                      "--port",
                                      std::to_string(port_),
                                      "--dir",
                                      folder().string(),
                                      "--save",
                                      "",
                                      "--daemonize",
                                      "no"};
    if (variant_ == "off" || variant_ == "ids") {
      words.insert(words.end(), {"--appendonly", "no"});
    } else {
      words.insert(words.end(),
                   {"--appendonly", "yes", "--appendfsync", variant_.empty() ? "always" : variant_});
    }
    process_.emplace(words, folder() / "log");
    process_->wait_until([this] {
      try {
        Resp(port_).ask({"PING"});  // An error while it loads.
        return true;
      } catch (const Fault&) {
        return false;
      }
    });
  }
  std::unique_ptr<Connection> connect() override {
    return std::make_unique<RedisConnection>(port_, variant_ == "ids");
  }
  void stop() override { process_->stop(SIGTERM); }
  void kill() override { process_->kill(); }
  std::uint64_t resident_bytes() const override { return process_->resident_bytes(); }
  bool keeps_payloads() const override { return variant_ != "ids"; }
  bool keeps_orders() const override { return variant_ != "off" && variant_ != "ids"; }

 private:
  const std::string variant_;
  const std::uint16_t port_;
  std::optional<Process> process_;
};

TargetInfo info(const TargetChoice&, const std::string& variant) {
  const std::filesystem::path program = find_program("redis-server");
  if (program.empty()) return {"", "", "package redis-server"};
  const std::string version = output_of("'" + program.string() + "' --version | sed 's/ sha=.*//'");
  const std::string words = variant == "off"        ? "none: memory alone"
                            : variant == "ids"      ? "none: memory alone, and ids alone without payloads"
                            : variant == "everysec" ? "AOF, synced once a second"
                                                    : "AOF, on disk before the reply (appendfsync always)";
  return {version + ", client: hiredis", words, ""};
}

std::unique_ptr<Target> make(const TargetChoice&, const std::string& variant,
                             const std::filesystem::path& folder) {
  return std::make_unique<RedisTarget>(folder, variant);
}

}  // namespace

TargetKind redis_kind() {
  return {{{"redis:always", "sorted sets and scripts, AOF synced before each reply"},
           {"redis:everysec", "the same, AOF synced once a second"},
           {"redis:off", "the same, without AOF"},
           {"redis:ids", "without AOF, and ids alone: the least memory it can do with"}},
          info,
          make};
}

}  // namespace duelease::bench
