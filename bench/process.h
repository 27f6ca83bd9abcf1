// bench/process.h: the servers that are measured: found, started, watched and stopped by their ids.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace duelease::bench {

// Where the program is, by PATH and then in `places`; empty: nowhere.
std::filesystem::path find_program(const std::string& name,
                                   const std::vector<std::filesystem::path>& places = {});
// What a program prints when it is run; trimmed. Throws Fault when it cannot be run or fails.
std::string output_of(const std::string& command);
std::uint16_t free_port();

struct User {
  uid_t uid;
  gid_t gid;
};

// A program that runs until it is stopped, or this process ends.
class Process {
 public:
  // Throws Fault when it does not start. What it prints goes to the file `log`. `user`: as whom, if not as ourselves.
  Process(std::vector<std::string> argv, std::filesystem::path log, std::optional<User> user = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Waits until `answers` is true. Throws Fault, with the end of the log, when the program ends before that.
  void wait_until(const std::function<bool()>& answers);
  // Waits for its end, and throws Fault unless it is a good one.
  void finish();
  // Sends the signal and waits for its end.
  void stop(int signal);
  // kill -9, to it and to all that it started; returns when they are gone.
  void kill();

  std::uint64_t resident_bytes() const;

 private:
  [[noreturn]] void complain(const std::string& what) const;

  std::string name_;
  std::filesystem::path log_;
  pid_t pid_ = -1;
};

// In memory. Of one process its resident set; where several share memory, as those of PostgreSQL do, the sum of their
// proportional sets, so that what they share counts once.
std::uint64_t resident_bytes(pid_t pid);
// What the files of the folder take on the disk.
std::uint64_t bytes_on_disk(const std::filesystem::path& folder);

}  // namespace duelease::bench
