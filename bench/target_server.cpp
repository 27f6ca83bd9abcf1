// Our server over TCP, a process of the program `duelease`. The client is hiredis, as for the target redis, and it is
// what somebody uses who comes from Redis. A batch is sent in one go, one request an order in array form, and the replies
// are read behind it; a claim of many is one request. So it costs the generator more than a batch for Redis, which is
// one call of a script with one reply.
#include <signal.h>

#include <charconv>

#include "process.h"
#include "resp.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class ServerConnection final : public Connection {
 public:
  explicit ServerConnection(std::uint16_t port) : server_(port) {}

  void schedule(std::span<const NewOrder> orders) override {
    for (const NewOrder& order : orders) {
      const std::string due = std::to_string(order.due.time_since_epoch().count());
      server_.send({"SCHEDULE", "bench", order.id, due, "PAYLOAD", order.payload});
    }
    expect(orders.size(), "SCHEDULED");
  }

  std::vector<Handed> claim(unsigned count) override { return claim(count, Duration{0}); }
  std::vector<Handed> claim_one(Duration wait) override { return claim(1, wait); }

  void complete(std::span<const Handed> orders) override {
    for (const Handed& order : orders) {
      const std::string token = std::to_string(order.token);
      server_.send({"COMPLETE", "bench", order.id, token});
    }
    expect(orders.size(), "COMPLETED");
  }

  std::uint64_t not_completed() override {
    const Resp::Reply reply = server_.ask({"STATS", "bench"});
    std::uint64_t sum = 0;
    int found = 0;
    for (std::size_t i = 0; i + 1 < reply->elements; i += 2) {
      const std::string_view name = Resp::text(*reply->element[i]);
      if (name != "WAIT" && name != "PROCESSING") continue;
      sum += static_cast<std::uint64_t>(reply->element[i + 1]->integer);
      ++found;
    }
    if (found != 2) throw Fault("server: STATS does not tell WAIT and PROCESSING");
    return sum;
  }

 private:
  std::vector<Handed> claim(unsigned count, Duration wait) {
    const std::string how_many = std::to_string(count);
    const std::string lease = std::to_string(lease_length.count());
    const std::string how_long = std::to_string(wait.count());
    const Resp::Reply reply =
        server_.ask({"CLAIM", "bench", "bench", "COUNT", how_many, "LEASE", lease, "WAIT", how_long});
    if (reply->type != REDIS_REPLY_ARRAY && reply->type != REDIS_REPLY_NIL) throw Fault("server: no claims");
    std::vector<Handed> orders(reply->elements);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (reply->element[i]->elements < 6) throw Fault("server: a claim of too few fields");
      redisReply* const* const fields =
          reply->element[i]->element;  // id, token, attempt, lease, due, payload, ...
      orders[i].id = Resp::text(*fields[0]);
      const redisReply& token = *fields[1];
      orders[i].token = token.type == REDIS_REPLY_INTEGER ? static_cast<std::uint64_t>(token.integer)
                                                          : number_in(Resp::text(token));
      orders[i].payload = Resp::text(*fields[5]);
    }
    return orders;
  }

  void expect(std::size_t count, std::string_view wanted) {
    for (std::size_t i = 0; i < count; ++i) {
      const Resp::Reply reply = server_.receive();
      if (Resp::text(*reply) != wanted) {
        throw Fault("server: " + std::string(Resp::text(*reply)) + " instead of " + std::string(wanted));
      }
    }
  }

  Resp server_;
};

class ServerTarget final : public Target {
 public:
  ServerTarget(const std::filesystem::path& folder, std::filesystem::path program, std::string durability)
      : Target(folder),
        program_(std::move(program)),
        durability_(std::move(durability)),
        port_(free_port()) {}

  void start() override {
    process_.emplace(
        std::vector<std::string>{program_.string(), "--store", (folder() / "store").string(), "--durability",
                                 durability_, "serve", "--port", std::to_string(port_)},
        folder() / "log");
    process_->wait_until([this] {
      try {
        Resp(port_).ask({"PING"});
        return true;
      } catch (const Fault&) {
        return false;
      }
    });
  }
  std::unique_ptr<Connection> connect() override { return std::make_unique<ServerConnection>(port_); }
  void stop() override { process_->stop(SIGTERM); }
  void kill() override { process_->kill(); }
  std::uint64_t resident_bytes() const override { return process_->resident_bytes(); }

 private:
  const std::filesystem::path program_;
  const std::string durability_;
  const std::uint16_t port_;
  std::optional<Process> process_;
};

std::string durability_of(const std::string& variant) { return variant.empty() ? "sync" : variant; }

TargetInfo info(const TargetChoice& choice, const std::string& variant) {
  if (!std::filesystem::exists(choice.duelease_program)) {
    return {"", "", "the program " + choice.duelease_program.string() + " (see --duelease)"};
  }
  const std::string words = variant == "interval" ? "synced once a second"
                            : variant == "none"   ? "written when the system likes"
                                                  : "on disk before the reply";
  return {output_of("'" + choice.duelease_program.string() + "' --version") + ", client: hiredis", words, ""};
}

std::unique_ptr<Target> make(const TargetChoice& choice, const std::string& variant,
                             const std::filesystem::path& folder) {
  return std::make_unique<ServerTarget>(folder, choice.duelease_program, durability_of(variant));
}

}  // namespace

TargetKind server_kind() {
  return {{{"server", "ours, over TCP, level sync"},
           {"server:interval", "the same, level interval"},
           {"server:none", "the same, level none"}},
          info,
          make};
}

}  // namespace duelease::bench
