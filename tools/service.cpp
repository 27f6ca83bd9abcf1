#include "service.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace duelease::tools {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// For the listener alone, to end it: the others end the program.
sigset_t listener_signals() {
  sigset_t set = stop_signals();
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = listener_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void StopSignals::finish() {
  if (!listener_.joinable()) return;
  ::pthread_kill(listener_.native_handle(), SIGUSR1);
  listener_.join();
}

void StopSignals::wait(std::function<void()> second) {
  const sigset_t first_set = stop_signals();
  int signal = 0;
  ::sigwait(&first_set, &signal);
  listener_ = std::thread([second = std::move(second)] {
    const sigset_t set = listener_signals();
    int number = 0;
    ::sigwait(&set, &number);
    if (number != SIGUSR1) second();
  });
}

void notify_service_manager(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';  // An abstract name.
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  // Nobody is there to be told of a failure.
  (void)::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 length);
  ::close(fd);
}

std::size_t raise_open_files_limit(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < count) {
    limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  }
  return limit.rlim_cur;
}

}  // namespace duelease::tools
