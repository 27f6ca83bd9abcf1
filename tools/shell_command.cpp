#include "shell_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "fd.h"

namespace duelease::tools {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int poll_ms = 100;              // How soon a give_up is noticed.
constexpr int poll_without_pidfd_ms = 5;  // Kernels before 5.3: nothing wakes us when the command ends.
// A process that the command left behind may go on writing forever; what the command wrote itself fits
// into a pipe.
constexpr std::size_t bytes_after_end_max = 1024 * 1024;

struct Pipe {
  Fd read;
  Fd write;
};

std::optional<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

// By the bare call: glibc 2.36 declares its wrapper without C linkage.
Fd open_process(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

// What posix_spawn is told, freed at the end.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // The signals that we block or ignore are the command's own affair again.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void connect(const Fd& ours, int theirs) {
    posix_spawn_file_actions_adddup2(&actions_, ours.get(), theirs);
  }

  // Answers the errno, 0 when it runs.
  int spawn(const std::string& command, char* const* environment, pid_t& pid) const {
    std::string text = command;
    char shell[] = "sh";
    char option[] = "-c";
    char* const arguments[] = {shell, option, text.data(), nullptr};
    return posix_spawn(&pid, "/bin/sh", &actions_, &attributes_, arguments, environment);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

// Our environment with `added` in place of what has the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = name_of(*entry);
    const bool replaced =
        std::ranges::any_of(added, [name](const std::string& variable) { return name_of(variable) == name; });
    if (!replaced) all.emplace_back(*entry);
  }
  return all;
}

class RunningCommand {
 public:
  explicit RunningCommand(const ShellCommand& command) : command_(command), unwritten_(command.input) {}

  // Answers the errno, 0 when it runs.
  int start();
  ShellEnd serve_until_end(const std::function<bool()>& give_up);

 private:
  // Zombie or not, the process is there until reap(), so its id and group cannot be somebody else's yet.
  bool has_ended() const;
  void wait_for_something();
  void write_input();
  // Answers how many bytes came; 0 when there is nothing now, or ever.
  std::size_t read_output();
  std::size_t read_error();
  std::size_t read_some(Fd& from);
  void insist(bool give_up_now);
  void reap(ShellEnd& end);

  const ShellCommand& command_;
  std::string_view unwritten_;
  pid_t pid_ = -1;
  Fd pidfd_;  // None on an old kernel.
  Fd input_, output_, error_;
  char buffer_[16 * 1024];
  std::string kept_output_;
  LastLine last_error_;
  bool given_up_ = false;
  std::optional<SteadyClock::time_point> kill_at_;
};

int RunningCommand::start() {
  std::optional<Pipe> in = make_pipe();
  std::optional<Pipe> out = make_pipe();
  std::optional<Pipe> err = make_pipe();
  if (!in || !out || !err) return errno;
  SpawnPlan plan;
  plan.connect(in->read, STDIN_FILENO);
  plan.connect(out->write, STDOUT_FILENO);
  plan.connect(err->write, STDERR_FILENO);

  std::vector<std::string> variables = environment_with(command_.environment);
  std::vector<char*> environment;
  environment.reserve(variables.size() + 1);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const int error = plan.spawn(command_.text, environment.data(), pid_);
  if (error != 0) return error;

  pidfd_ = open_process(pid_);
  input_ = std::move(in->write);
  output_ = std::move(out->read);
  error_ = std::move(err->read);
  for (const Fd* fd : {&input_, &output_, &error_}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  if (unwritten_.empty()) input_.close();
  return 0;
}

bool RunningCommand::has_ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

void RunningCommand::wait_for_something() {
  pollfd watched[] = {{input_.get(), POLLOUT, 0},
                      {output_.get(), POLLIN, 0},
                      {error_.get(), POLLIN, 0},
                      {pidfd_.get(), POLLIN, 0}};
  ::poll(watched, std::size(watched), pidfd_.is_open() ? poll_ms : poll_without_pidfd_ms);
}

void RunningCommand::write_input() {
  while (input_.is_open()) {
    const ssize_t written = ::write(input_.get(), unwritten_.data(), unwritten_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    // EPIPE: it has read what it wanted.
    if (written < 0) return input_.close();
    unwritten_.remove_prefix(static_cast<std::size_t>(written));
    if (unwritten_.empty()) return input_.close();
  }
}

std::size_t RunningCommand::read_some(Fd& from) {
  while (from.is_open()) {
    const ssize_t got = ::read(from.get(), buffer_, sizeof buffer_);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return 0;
    from.close();
  }
  return 0;
}

std::size_t RunningCommand::read_output() {
  const std::size_t got = read_some(output_);
  const std::size_t room = command_.output_bytes_max - kept_output_.size();
  kept_output_.append(buffer_, std::min(got, room));
  return got;
}

std::size_t RunningCommand::read_error() {
  const std::size_t got = read_some(error_);
  last_error_.feed({buffer_, got});
  for (std::size_t done = 0; done < got;) {
    const ssize_t written = ::write(STDERR_FILENO, buffer_ + done, got - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // Ours is closed: what the command says is still in the order's error.
    done += static_cast<std::size_t>(written);
  }
  return got;
}

void RunningCommand::insist(bool give_up_now) {
  if (give_up_now && !given_up_) {
    given_up_ = true;
    ::kill(-pid_, SIGTERM);
    kill_at_ = SteadyClock::now() + command_.kill_after;
  }
  if (kill_at_ && SteadyClock::now() >= *kill_at_) {
    ::kill(-pid_, SIGKILL);
    kill_at_.reset();
  }
}

void RunningCommand::reap(ShellEnd& end) {
  // A child of the command that did not heed SIGTERM would be nobody's afterwards.
  if (given_up_) ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  const bool exited = WIFEXITED(status);
  end.how = exited ? ShellEnd::How::exited : ShellEnd::How::signalled;
  end.code = exited ? WEXITSTATUS(status) : WTERMSIG(status);
}

ShellEnd RunningCommand::serve_until_end(const std::function<bool()>& give_up) {
  while (!has_ended()) {
    wait_for_something();
    write_input();
    read_output();
    read_error();
    insist(give_up());
  }
  std::size_t left = bytes_after_end_max;
  while (left > 0) {
    const std::size_t got = read_output() + read_error();
    if (got == 0) break;
    left -= std::min(left, got);
  }
  ShellEnd end;
  reap(end);
  end.given_up = given_up_;
  end.output = std::move(kept_output_);
  end.error_line = last_error_.text();
  return end;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

void LastLine::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    line_ += part.substr(0, bytes_max - std::min(bytes_max, line_.size()));
    if (end == std::string_view::npos) return;
    if (!trimmed(line_).empty()) complete_ = line_;
    line_.clear();
    piece.remove_prefix(end + 1);
  }
}

std::string LastLine::text() const {
  const std::string_view open = trimmed(line_);
  return std::string(open.empty() ? trimmed(complete_) : open);
}

ShellEnd run_shell_command(const ShellCommand& command, const std::function<bool()>& give_up) {
  RunningCommand running(command);
  const int error = running.start();
  if (error == 0) return running.serve_until_end(give_up);
  ShellEnd end;
  end.code = error;
  return end;
}

std::string describe(const ShellEnd& end) {
  std::string text;
  switch (end.how) {
    case ShellEnd::How::exited: text = fmt::format("exit {}", end.code); break;
    case ShellEnd::How::not_started: return fmt::format("cannot start /bin/sh: {}", std::strerror(end.code));
    case ShellEnd::How::signalled: {
      const char* const name = ::sigabbrev_np(end.code);
      text = name != nullptr ? fmt::format("killed by SIG{}", name)
                             : fmt::format("killed by signal {}", end.code);
      break;
    }
  }
  if (!end.error_line.empty()) text += ": " + end.error_line;
  return text;
}

}  // namespace duelease::tools
