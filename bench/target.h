// bench/target.h: what is measured. Each target does the same work in its own best way; the load on it is written
// once, against these interfaces (load.h, workloads.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/clock.h"
#include "duelease/types.h"
#include "fault.h"

namespace duelease::bench {

// So long that none runs out while it is measured.
inline constexpr Duration lease_length{3'600'000};
// How often a worker asks for the next order where the target has no claim that waits.
inline constexpr Duration poll_interval{10};

struct NewOrder {
  std::string id;
  Time due;
  std::string_view payload;  // See payloads.h.
};

struct Handed {
  std::string id;
  std::string payload;
  std::uint64_t place = 0;  // Where the target finds it again: a row, a job.
  std::uint64_t token = 0;  // Of this lease.
};

// One client, used by one thread. Every call blocks until what it did is as durable as the target's level says (of a
// limit: see flush(); of beanstalkd a claim is never on disk), and throws Fault when the target refuses.
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  virtual void schedule(std::span<const NewOrder> orders) = 0;
  // Up to `count` orders that are due, each leased to this caller alone; empty: none is due.
  virtual std::vector<Handed> claim(unsigned count) = 0;
  // The next order, when it falls due; empty after `wait`. Unless the target can do better, by asking again and
  // again (poll_interval).
  virtual std::vector<Handed> claim_one(Duration wait);
  // Each was handed out to this connection and is still leased to it.
  virtual void complete(std::span<const Handed> orders) = 0;
  // Orders that wait or are handed out. A limit does not know what it has handed out.
  virtual std::uint64_t not_completed() = 0;
  // Of a target whose calls return before the disk has it: waits for that.
  virtual void flush() {}
};

class Target {
 public:
  explicit Target(std::filesystem::path folder) : folder_(std::move(folder)) {}
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // Starts on what the folder holds, also after kill(); returns when it answers.
  virtual void start() = 0;
  virtual std::unique_ptr<Connection> connect() = 0;
  virtual void stop() = 0;
  // kill -9. Nothing for a target inside this process, which is killed with it.
  virtual void kill() {}

  // A limit decides nothing and has no queue: it writes what a queue would, in one loop that takes what all
  // connections would ask for as one group.
  virtual bool is_limit() const { return false; }
  // Why it cannot run on this folder; empty: it can.
  virtual std::string obstacle() const { return ""; }
  virtual bool keeps_payloads() const { return true; }
  virtual bool keeps_orders() const { return true; }  // Over kill -9.

  virtual std::uint64_t resident_bytes() const = 0;
  std::uint64_t disk_bytes() const;

 protected:
  const std::filesystem::path& folder() const { return folder_; }

 private:
  const std::filesystem::path folder_;
};

struct TargetChoice {
  std::string name;  // As on the command line: "redis:always".
  unsigned connections_max = 1;
  std::filesystem::path duelease_program;
};

struct TargetInfo {
  std::string version;
  std::string durability;  // In words.
  std::string missing;     // Not empty: the target cannot run here, for the lack of this.
};

// All names that `--targets` knows, in the order in which they are listed, each with one line about it.
struct TargetName {
  std::string name;
  std::string help;
};
const std::vector<TargetName>& target_names();
// "redis" alone is the first of those with a colon.
std::optional<std::string> full_target_name(const std::string& name);

// `choice.name` is one of the above.
TargetInfo target_info(const TargetChoice& choice);
// `folder` exists.
std::unique_ptr<Target> make_target(const TargetChoice& choice, const std::filesystem::path& folder);

}  // namespace duelease::bench
