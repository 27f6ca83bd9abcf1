// duelease schedule: puts one order into its queue.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "../answer.h"
#include "../fd.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

struct ScheduleOptions {
  OrderName name;
  std::optional<Time> due;
  std::optional<std::string> payload;
  std::optional<std::string> payload_file;
  std::optional<std::string> key;
  std::optional<std::string> run;
  std::optional<std::uint64_t> priority;
  std::optional<std::uint64_t> tries;
  bool upsert = false;
};

// The largest payload that any queue can be set to take: a file beyond it is refused without being read.
constexpr std::size_t payload_bytes_max = 64 * 1024 * 1024;

// Complains and answers nothing when the file cannot be used.
std::optional<std::string> read_payload(const std::string& path) {
  const bool standard_input = path == "-";
  const Fd file(standard_input ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int fd = standard_input ? STDIN_FILENO : file.get();
  std::string payload;
  char buffer[64 * 1024];
  while (fd >= 0) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0) return payload;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    payload.append(buffer, static_cast<std::size_t>(got));
    if (payload.size() > payload_bytes_max) {
      complain("{} is larger than {} bytes", printable(path), payload_bytes_max);
      return std::nullopt;
    }
  }
  complain("cannot read {}: {}", printable(path), std::strerror(errno));
  return std::nullopt;
}

Exit schedule(const Session& session, const ScheduleOptions& options) {
  ScheduleRequest request;
  request.queue = options.name.queue;
  request.id = options.name.id;
  request.due = *options.due;
  request.payload = options.payload;
  request.key = options.key;
  request.run = options.run;
  if (options.priority) request.priority = static_cast<std::uint8_t>(*options.priority);
  if (options.tries) request.tries = static_cast<std::uint32_t>(*options.tries);
  request.upsert = options.upsert;
  if (options.payload_file) {
    request.payload = read_payload(*options.payload_file);
    if (!request.payload) return Exit::bad_input;
  }
  return with_target(session, Missing::create, [&](Target& target) {
    return report(session, options.name, target.schedule(std::move(request)));
  });
}

}  // namespace

void declare_schedule(Arguments& root, const Session& session) {
  const auto options = std::make_shared<ScheduleOptions>();
  Arguments command = root.command("schedule", "Put an order into its queue (makes the store if need be)");
  declare_order_name(command, options->name);
  command.due("--due", options->due, session.now, "when it falls due").required();
  const Arguments::Option payload = command.text("--payload", options->payload, "TEXT", "what to do");
  command.text("--payload-file", options->payload_file, "FILE", "take the payload from a file, - for stdin")
      .excludes(payload);
  command.text("--key", options->key, "KEY", "dedup key: unique among orders that block");
  command.text("--run", options->run, "RUN", "the run that it belongs to, which must be alive");
  command.number("--priority", options->priority, 0, 255, "0 is the most urgent, 128 the default");
  command.number("--tries", options->tries, 0, 0xFFFFFFFF, "hand-outs until it is FAILED, 0: no limit");
  command.flag("--upsert", options->upsert, "if it is WAIT already: move it instead of refusing");
  command.run([options, &session] { return schedule(session, *options); });
}

}  // namespace duelease::tools
