#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

#include "fault.h"

namespace duelease::bench {

namespace {

// The first byte of what the child sends.
constexpr char done = '+';
constexpr char fault = '-';

constexpr std::array stop_signals = {SIGINT, SIGTERM};

sigset_t only_stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : stop_signals) ::sigaddset(&signals, signal);
  return signals;
}

void send(int pipe, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t more = ::write(pipe, text.data() + sent, text.size() - sent);
    if (more <= 0) ::_exit(1);  // Nobody listens any more.
    sent += static_cast<std::size_t>(more);
  }
}

[[noreturn]] void run(int pipe, const std::function<std::string()>& work,
                      const std::function<void()>& at_end) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  for (const int signal : stop_signals) ::signal(signal, SIG_DFL);
  const sigset_t signals = only_stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::string answer;
  try {
    answer = done + work();
  } catch (const std::exception& error) {
    answer = fault + std::string(error.what());
  }
  send(pipe, answer);
  if (at_end && answer[0] == done) at_end();
  ::_exit(0);
}

// Nothing: a signal to stop came, now or before.
std::optional<std::string> read_all(int pipe) {
  sigset_t open_to_signals;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &open_to_signals);
  for (const int signal : stop_signals) ::sigdelset(&open_to_signals, signal);
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    pollfd waited = {pipe, POLLIN, 0};
    if (::ppoll(&waited, 1, nullptr, &open_to_signals) < 0 && errno == EINTR) return std::nullopt;
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// And for the servers that it has started, which die with it. Answers how it ended.
int wait_for_all(pid_t child) {
  int status = 0;
  for (;;) {
    int other = 0;
    const pid_t ended = ::waitpid(-1, &other, 0);
    if (ended == child) status = other;
    if (ended < 0 && errno != EINTR) return status;
  }
}

}  // namespace

void stop_well_when_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // It is enough that the wait for a child ends.
  for (const int signal : stop_signals) ::sigaction(signal, &action, nullptr);
  // What comes at any other time is kept until then.
  const sigset_t signals = only_stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

std::string in_child(const std::function<std::string()>& work, const std::function<void()>& at_end) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // What a child leaves behind becomes ours, to be waited for.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Fault(std::string("no pipe: ") + std::strerror(errno));
  const pid_t pid = ::fork();
  if (pid < 0) throw Fault(std::string("no process: ") + std::strerror(errno));
  if (pid == 0) {
    ::close(ends[0]);
    run(ends[1], work, at_end);
  }
  ::close(ends[1]);
  const std::optional<std::string> all = read_all(ends[0]);
  ::close(ends[0]);
  if (!all) ::kill(pid, SIGKILL);
  const int status = wait_for_all(pid);
  if (!all) throw Fault("interrupted");
  const std::string& answer = *all;
  if (answer.empty()) {
    throw Fault("its process ended: " + (WIFSIGNALED(status)
                                             ? std::string(::strsignal(WTERMSIG(status)))
                                             : "exit " + std::to_string(WEXITSTATUS(status))));
  }
  if (answer[0] == fault) throw Fault(answer.substr(1));
  return answer.substr(1);
}

}  // namespace duelease::bench
