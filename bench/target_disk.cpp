// The physical limit: the bytes that our design writes, appended to a file in the same groups, and fdatasync.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "limit.h"
#include "process.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

constexpr std::size_t group_bytes = 60;  // Of the numbers that the engine keeps, in each group, about.
constexpr std::size_t entry_bytes = 8;   // Tags and lengths of one entry in a log, about.

class File {
 public:
  File(const std::filesystem::path& path, std::uint64_t ahead_max)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (file_ < 0) throw Fault("disk: " + path.string() + ": " + std::strerror(errno));
    sync_.emplace(ahead_max, [this] {
      if (::fdatasync(file_) != 0) throw Fault(std::string("disk: ") + std::strerror(errno));
    });
  }
  ~File() {
    sync_.reset();
    ::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(std::string& group) {
    group.append(group_bytes, 'g');
    sync_->wait_for_place();
    for (std::size_t written = 0; written < group.size();) {
      const ssize_t more = ::write(file_, group.data() + written, group.size() - written);
      if (more < 0) throw Fault(std::string("disk: ") + std::strerror(errno));
      written += static_cast<std::size_t>(more);
    }
    group.clear();
    sync_->wrote_group();
  }
  void finish() { sync_->wait_for_all(); }

  LimitQueue waiting;

 private:
  const int file_;
  std::optional<SyncBehind> sync_;
};

class DiskConnection final : public Connection {
 public:
  explicit DiskConnection(File& file) : file_(file) {}

  void schedule(std::span<const NewOrder> orders) override {
    for (const NewOrder& order : orders) {
      add(queue_key(order.id, order.due), order.payload, waiting_overhead);
      add(order_key(order.id), {}, live_bytes);
    }
    file_.write(group_);
    file_.waiting.add(orders);
  }

  std::vector<Handed> claim(unsigned count) override {
    std::vector<Handed> orders = file_.waiting.take(count);
    if (orders.empty()) return orders;
    for (const Handed& order : orders) {
      add(queue_key(order.id, Time{Duration{static_cast<std::int64_t>(order.place)}}), {}, 0);
      add(order_key(order.id), order.payload, lease_overhead);
    }
    file_.write(group_);
    return orders;
  }

  void complete(std::span<const Handed> orders) override {
    for (const Handed& order : orders) {
      add(order_key(order.id), {}, 0);
      add(order_key(order.id), order.payload, ended_overhead);
    }
    file_.write(group_);
  }

  std::uint64_t not_completed() override { return file_.waiting.due.size() + file_.waiting.later_count; }
  void flush() override { file_.finish(); }

 private:
  void add(const std::string& key, std::string_view payload, std::size_t overhead) {
    group_ += key;
    group_ += payload;
    group_.append(overhead + entry_bytes, 'v');
  }

  File& file_;
  std::string group_;
};

class DiskTarget final : public Target {
 public:
  DiskTarget(const std::filesystem::path& folder, std::uint64_t ahead_max)
      : Target(folder), ahead_max_(ahead_max) {}

  void start() override { file_.emplace(folder() / "log", ahead_max_); }
  std::unique_ptr<Connection> connect() override { return std::make_unique<DiskConnection>(*file_); }
  void stop() override { file_.reset(); }
  bool is_limit() const override { return true; }
  std::uint64_t resident_bytes() const override { return bench::resident_bytes(::getpid()); }

 private:
  const std::uint64_t ahead_max_;
  std::optional<File> file_;
};

TargetInfo info(const TargetChoice&, const std::string&) {
  return {"append and fdatasync, in process", "on disk, up to 4 groups behind the loop", ""};
}

std::unique_ptr<Target> make(const TargetChoice& choice, const std::string&,
                             const std::filesystem::path& folder) {
  return std::make_unique<DiskTarget>(folder, groups_ahead(choice));
}

}  // namespace

TargetKind disk_kind() {
  return {{{"disk", "append and fdatasync of the same bytes: the physical limit"}}, info, make};
}

}  // namespace duelease::bench
