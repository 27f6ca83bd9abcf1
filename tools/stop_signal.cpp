#include "stop_signal.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <iterator>

namespace duelease::tools {
namespace {

volatile sig_atomic_t stop_asked = 0;
// Becomes readable then: a flag alone would be missed between the look at it and a read that waits.
int stop_event = -1;

}  // namespace

StopSignal::StopSignal() {
  if (stop_event < 0) stop_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = [](int) {
    stop_asked = 1;
    ::eventfd_write(stop_event, 1);
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool StopSignal::asked() const { return stop_asked != 0; }

void StopSignal::wait_for_bytes(int fd) const {
  pollfd either[] = {{fd, POLLIN, 0}, {stop_event, POLLIN, 0}};
  ::poll(either, std::size(either), -1);
}

}  // namespace duelease::tools
