// tools/program.h: runs the program `duelease` as a user would: arguments and files in, exit code and text
// out. The program is that of the build, or the one that the variable DUELEASE_BIN names.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

namespace duelease::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file.flush());
}

// For what another process does: looks again until it is so. A minute is for a loaded machine; what is
// right is right at once.
template <class Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

struct Ran {
  int exit = -1;  // The exit code; 1000 + the signal that ended it.
  std::string out;
  std::string err;

  nlohmann::json json() const {
    INFO(out);
    INFO(err);
    return nlohmann::json::parse(out);
  }
  // JSON lines.
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> documents;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) documents.push_back(nlohmann::json::parse(line));
    return documents;
  }
};

inline std::string program() {
  const char* const chosen = std::getenv("DUELEASE_BIN");
  return chosen != nullptr ? chosen : DUELEASE_PROGRAM;
}

// A program while it runs.
class Running {
 public:
  Running(const std::filesystem::path& folder, const std::string& program, std::vector<std::string> arguments,
          std::string_view input) {
    static std::atomic<int> runs{0};
    const std::string name = std::to_string(++runs);
    input_ = folder / ("in." + name), output_ = folder / ("out." + name), error_ = folder / ("err." + name);
    write_file(input_, input);
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, input_.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, error_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int error = ::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    INFO("starting " << argv[0]);
    REQUIRE(error == 0);
  }
  ~Running() {
    if (pid_ > 0) signal(SIGKILL), wait();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  std::string out_so_far() const { return read_file(output_); }
  std::string err_so_far() const { return read_file(error_); }

  Ran wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), out_so_far(), err_so_far()};
  }

 private:
  std::filesystem::path input_, output_, error_;
  pid_t pid_ = -1;
};

// The port that `duelease serve` says it listens on.
inline std::string port_of(const Running& server) {
  std::string port;
  REQUIRE(eventually([&] {
    const std::string log = server.err_so_far();
    const std::size_t start = log.find(" port ");
    if (start == std::string::npos || log.find('\n', start) == std::string::npos) return false;
    port = log.substr(start + 6, log.find_first_not_of("0123456789", start + 6) - start - 6);
    return true;
  }));
  return port;
}

// A folder with a store in it, and the program on it.
class Shop {
 public:
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::string store() const { return path("store").string(); }

  // Without --store.
  Ran run_bare(std::vector<std::string> arguments, std::string_view input = {}) const {
    return Running(folder_.path(), program(), std::move(arguments), input).wait();
  }
  Ran run(std::vector<std::string> arguments, std::string_view input = {}) const {
    return run_bare(with_store(std::move(arguments)), input);
  }
  // By a shell, which puts the program and its store in place of $@: for redirections and limits.
  Ran run_in_shell(const std::string& script, std::vector<std::string> arguments,
                   std::string_view input = {}) const {
    arguments = with_store(std::move(arguments));
    arguments.insert(arguments.begin(), {"-c", script, "sh", program()});
    return Running(folder_.path(), "/bin/sh", std::move(arguments), input).wait();
  }
  // With --json.
  Ran ask(std::vector<std::string> arguments, std::string_view input = {}) const {
    arguments.insert(arguments.begin(), "--json");
    return run(std::move(arguments), input);
  }
  std::unique_ptr<Running> start_bare(std::vector<std::string> arguments) const {
    return std::make_unique<Running>(folder_.path(), program(), std::move(arguments), "");
  }
  std::unique_ptr<Running> start(std::vector<std::string> arguments) const {
    return start_bare(with_store(std::move(arguments)));
  }

  // An order that is due.
  void schedule(const std::string& queue, const std::string& id, const std::string& payload = "") const {
    const Ran ran = run({"schedule", queue, id, "--due", "0", "--payload", payload});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
  }
  // An order that a worker held when it was killed, its command too.
  void leave_to_a_dead_worker(const std::string& queue, const std::string& id,
                              const std::string& lease) const {
    schedule(queue, id);
    const std::string pid_file = path("pid").string();
    {
      const auto working =
          start({"work", "--queue", queue, "--lease", lease, "--exec",
                 "echo $$ >" + pid_file + ".new; mv " + pid_file + ".new " + pid_file + "; exec sleep 60"});
      REQUIRE(eventually([&] { return std::filesystem::exists(pid_file); }));
      working->signal(SIGKILL);
      CHECK(working->wait().exit == 1000 + SIGKILL);
    }
    ::kill(std::stoi(read_file(pid_file)), SIGKILL);
  }
  nlohmann::json order(const std::string& queue, const std::string& id) const {
    return ask({"order", "--queue", queue, "--id", id}).json();
  }
  nlohmann::json stats(const std::string& queue) const { return ask({"stats", queue}).json(); }

 private:
  std::vector<std::string> with_store(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--store", store()});
    return arguments;
  }

  TemporaryFolder folder_;
};

}  // namespace duelease::test
