// tools/stop_signal.h: the wish of whoever started a long command that it ends.
#pragma once

namespace duelease::tools {

// From its making on the first SIGINT or SIGTERM is a request to end in good order; a second one kills. There is
// one in a process.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool asked() const;
  // Returns when `fd` can be read or has ended, or a stop is asked for.
  void wait_for_bytes(int fd) const;
};

}  // namespace duelease::tools
