#include "process.h"

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "fault.h"

namespace duelease::bench {

namespace {

namespace fs = std::filesystem;

constexpr auto look_again = std::chrono::milliseconds{1};
// Also what an open after kill -9 may take that has much to read.
constexpr auto start_patience = std::chrono::minutes{10};

bool is_program(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path); }

std::string end_of(const fs::path& log) {
  std::ifstream file(log);
  std::ostringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  constexpr std::size_t bytes_max = 1500;
  return all.size() > bytes_max ? all.substr(all.size() - bytes_max) : all;
}

// The state letter of /proc/PID/stat and the id of its parent; nothing when it is gone.
struct Kin {
  char state;
  pid_t parent;
};
std::optional<Kin> kin_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  std::istringstream rest(text.substr(text.rfind(')') + 1));  // The name may hold anything.
  Kin kin{};
  rest >> kin.state >> kin.parent;
  if (!rest || kin.state == 'Z' || kin.state == 'X') return std::nullopt;
  return kin;
}

// The process and all below it.
std::vector<pid_t> family_of(pid_t pid) {
  std::vector<std::pair<pid_t, pid_t>> all;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const pid_t other = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (other <= 0) continue;
    if (const std::optional<Kin> kin = kin_of(other)) all.emplace_back(other, kin->parent);
  }
  std::vector<pid_t> family = {pid};
  for (std::size_t i = 0; i < family.size(); ++i) {
    for (const auto& [child, parent] : all) {
      if (parent == family[i]) family.push_back(child);
    }
  }
  return family;
}

// A line `name: 123 kB` of a file of /proc, in bytes.
std::optional<std::uint64_t> kilobytes(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word != name) continue;
    std::uint64_t kib = 0;
    file >> kib;
    return kib * 1024;
  }
  return std::nullopt;
}

// Its part of the memory that it shares with others, and all of its own. One that is ending has none any more.
std::uint64_t shared_out_bytes(pid_t pid) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (const std::optional<std::uint64_t> bytes =
            kilobytes("/proc/" + std::to_string(pid) + "/smaps_rollup", "Pss:")) {
      return *bytes;
    }
    if (!kin_of(pid)) return 0;
    std::this_thread::sleep_for(look_again);
  }
  throw Fault("the memory of process " + std::to_string(pid) + " cannot be read");
}

[[noreturn]] void become(const std::vector<char*>& argv, int log, const std::optional<User>& user,
                         pid_t parent) {
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (const int none = ::open("/dev/null", O_RDONLY); none >= 0) ::dup2(none, STDIN_FILENO);
  if (user && (::setgroups(0, nullptr) != 0 || ::setgid(user->gid) != 0 || ::setuid(user->uid) != 0))
    ::_exit(126);
  // After setuid(), which takes it back. It dies with us, however we die.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::execv(argv[0], argv.data());
  const char* const why = std::strerror(errno);
  if (::write(STDERR_FILENO, why, std::strlen(why)) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

fs::path find_program(const std::string& name, const std::vector<fs::path>& places) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  for (const fs::path& place : places) {
    if (is_program(place / name)) return place / name;
  }
  return {};
}

std::string output_of(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) throw Fault(command + ": it does not start");
  std::string text;
  char buffer[4096];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) text.append(buffer, got);
  if (const int status = ::pclose(pipe); status != 0) throw Fault(command + ": it fails");
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::uint16_t free_port() {
  // Below those that the system gives to outgoing connections, so that none of them takes it in the meantime.
  std::random_device random;
  std::uniform_int_distribution<int> any(20'000, 32'767);
  for (int tries = 0; tries < 1000; ++tries) {
    const auto port = static_cast<std::uint16_t>(any(random));
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (bound) return port;
  }
  throw Fault("no port is free");
}

Process::Process(std::vector<std::string> argv, fs::path log, std::optional<User> user)
    : name_(argv.at(0)), log_(std::move(log)) {
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  const int file = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw Fault("cannot write " + log_.string() + ": " + std::strerror(errno));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(words, file, user, parent);
  ::close(file);
  if (pid_ < 0) throw Fault(name_ + ": cannot be started: " + std::strerror(errno));
}

Process::~Process() {
  if (pid_ > 0) kill();
}

void Process::wait_until(const std::function<bool()>& answers) {
  const auto until = std::chrono::steady_clock::now() + start_patience;
  while (!answers()) {
    if (std::chrono::steady_clock::now() > until) complain("it does not answer");
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      complain("it ended when it should have started");
    }
    std::this_thread::sleep_for(look_again);
  }
}

void Process::finish() {
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) complain("it failed");
}

void Process::stop(int signal) {
  ::kill(pid_, signal);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

void Process::kill() {
  const std::vector<pid_t> family = family_of(pid_);
  for (const pid_t pid : family) ::kill(pid, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  for (const pid_t pid : family) {
    while (kin_of(pid)) std::this_thread::sleep_for(look_again);
  }
}

std::uint64_t Process::resident_bytes() const { return bench::resident_bytes(pid_); }

void Process::complain(const std::string& what) const {
  throw Fault(name_ + ": " + what + "\n" + end_of(log_));
}

std::uint64_t resident_bytes(pid_t pid) {
  const std::vector<pid_t> family = family_of(pid);
  if (family.size() == 1) return kilobytes("/proc/" + std::to_string(pid) + "/status", "VmRSS:").value_or(0);
  std::uint64_t sum = 0;
  for (const pid_t member : family) sum += shared_out_bytes(member);
  return sum;
}

std::uint64_t bytes_on_disk(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; it != end; it.increment(error)) {
    struct stat info {};
    if (::lstat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {  // Else it is gone by now.
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
  }
  return bytes;
}

}  // namespace duelease::bench
