// Running commands of the shell: whatever they do with their pipes, we get our answer.
#include "shell_command.h"

#include <dirent.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace duelease;
using namespace duelease::tools;

namespace {

bool never() { return false; }

ShellCommand command_of(std::string text, std::string_view input = {}) {
  static const bool ignored = ::signal(SIGPIPE, SIG_IGN) != SIG_ERR && ::signal(SIGXFSZ, SIG_IGN) != SIG_ERR;
  REQUIRE(ignored);
  ShellCommand command;
  command.text = std::move(text);
  command.input = input;
  return command;
}

ShellEnd run(std::string text, std::string_view input = {}) {
  return run_shell_command(command_of(std::move(text), input), never);
}

std::size_t open_files() {
  std::size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  REQUIRE(folder != nullptr);
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace

TEST_CASE("input goes in, output comes out", "[shell]") {
  const ShellEnd end = run("cat; echo done", "payload\n");
  CHECK(end.succeeded());
  CHECK(end.output == "payload\ndone\n");
  CHECK(describe(end) == "exit 0");
}

TEST_CASE("a failure is told with its exit code and the last line of standard error", "[shell]") {
  CHECK(describe(run("echo first >&2; echo no such customer >&2; echo >&2; exit 3")) ==
        "exit 3: no such customer");
  CHECK(describe(run("exit 4")) == "exit 4");
  CHECK(describe(run("printf unfinished >&2; exit 5")) == "exit 5: unfinished");
  CHECK(describe(run("kill -KILL $$")) == "killed by SIGKILL");
  CHECK(describe(run("no-such-command-here 2>/dev/null")) == "exit 127");
}

TEST_CASE("a large payload does not block a command that does not read it", "[shell]") {
  const std::string payload(8 * 1024 * 1024, 'x');
  CHECK(run("exit 0", payload).succeeded());
  CHECK(run("exec <&-; sleep 0.05; echo ok", payload).output == "ok\n");
  CHECK(run("head -c 3", payload).output == "xxx");
}

TEST_CASE("a command that writes much while it reads much is served both ways", "[shell]") {
  const std::string payload(8 * 1024 * 1024, 'y');
  const ShellEnd end = run("cat", payload);
  CHECK(end.succeeded());
  CHECK(end.output == payload.substr(0, 64 * 1024));
  CHECK(run("cat | wc -c | tr -d ' '", payload).output == "8388608\n");
}

TEST_CASE("only the first bytes of the output are kept", "[shell]") {
  ShellCommand command = command_of("head -c 1000000 /dev/zero");
  command.output_bytes_max = 100;
  const ShellEnd end = run_shell_command(command, never);
  CHECK(end.succeeded());
  CHECK(end.output == std::string(100, '\0'));
}

TEST_CASE("variables are added to the environment and replace those of the same name", "[shell]") {
  ::setenv("DUELEASE_TEST_OLD", "old", 1);
  ::setenv("DUELEASE_TEST_KEPT", "kept", 1);
  ShellCommand command =
      command_of("printf '%s %s %s' \"$DUELEASE_TEST_OLD\" \"$DUELEASE_TEST_KEPT\" \"$NEW\"");
  command.environment = {"DUELEASE_TEST_OLD=new = it", "NEW="};
  CHECK(run_shell_command(command, never).output == "new = it kept ");
}

TEST_CASE("signals are what a command expects: none blocked, none ignored", "[shell]") {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
  CHECK(describe(run("kill -TERM $$")) == "killed by SIGTERM");
  CHECK(describe(run("kill -PIPE $$")) == "killed by SIGPIPE");
  CHECK(describe(run("kill -XFSZ $$")) == "killed by SIGXFSZ");
  ::pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

TEST_CASE("a command that is given up is asked to end, and so is what it started", "[shell]") {
  const auto start = std::chrono::steady_clock::now();
  const ShellEnd end =
      run_shell_command(command_of("sleep 60 | sleep 60; echo not reached"), [] { return true; });
  CHECK(end.given_up);
  CHECK(end.how == ShellEnd::How::signalled);
  CHECK(end.code == SIGTERM);
  CHECK(end.output.empty());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{20});
}

TEST_CASE("a command may end in good order when it is asked to", "[shell]") {
  ShellCommand command =
      command_of("trap 'echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  const ShellEnd end = run_shell_command(command, [] { return true; });
  // It may be asked before it has set its trap; then it ends by the signal.
  CHECK(end.given_up);
  if (end.succeeded()) CHECK(end.output == "ready\ntidied\n");
}

TEST_CASE("a command that does not heed is killed", "[shell]") {
  ShellCommand command = command_of("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  command.kill_after = Duration{300};
  const auto start = std::chrono::steady_clock::now();
  const ShellEnd end = run_shell_command(
      command, [start] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds{200}; });
  CHECK(end.given_up);
  CHECK(describe(end) == "killed by SIGKILL");
  CHECK(end.output == "ready\n");
}

TEST_CASE("what a command leaves running does not hold us up", "[shell]") {
  const auto start = std::chrono::steady_clock::now();
  const ShellEnd end = run("sleep 60 & echo started");
  CHECK(end.succeeded());
  CHECK(end.output == "started\n");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{20});
  const ShellEnd endless = run("yes & exit 6");
  CHECK(endless.code == 6);
  CHECK(endless.output.size() <= 64 * 1024);
}

TEST_CASE("no files and no zombies are left, also when many run at once", "[shell]") {
  run("true");
  const std::size_t before = open_files();
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int& count : wrong) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 10; ++i) {
        const std::string payload(200'000, static_cast<char>('a' + i));
        const ShellEnd end = run_shell_command(
            [&] {
              ShellCommand command;
              command.text = "head -c 5; exit 0";
              command.input = payload;
              return command;
            }(),
            never);
        if (!end.succeeded() || end.output != payload.substr(0, 5)) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::all_of(wrong.begin(), wrong.end(), [](int count) { return count == 0; }));
  CHECK(open_files() == before);
}

TEST_CASE("the last line is found however the pieces are cut", "[shell]") {
  const std::string text = "first\n\n  second line \r\n \n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LastLine last;
    for (std::size_t i = 0; i < text.size(); i += size) last.feed(std::string_view(text).substr(i, size));
    CHECK(last.text() == "second line");
  }
  LastLine open;
  open.feed("one\ntwo");
  CHECK(open.text() == "two");
  LastLine none;
  CHECK(none.text().empty());
  LastLine large;
  large.feed(std::string(100'000, 'x'));
  large.feed("y");
  CHECK(large.text() == std::string(LastLine::bytes_max, 'x'));
}
