// The examples, run as a reader would: what they print and how they end. (That README quotes quickstart.cpp
// as it is, is checked here too.)
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace fs = std::filesystem;

namespace {

struct Ran {
  int exit = -1;
  std::string output;  // Errors too.
};

Ran run_command(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ran ran;
  char buffer[4096];
  while (const std::size_t size = ::fread(buffer, 1, sizeof buffer, pipe)) ran.output.append(buffer, size);
  const int status = ::pclose(pipe);
  ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  return ran;
}

Ran run(const std::string& example, const std::string& argument = "") {
  return run_command(std::string(DUELEASE_EXAMPLES) + "/" + example + " " + argument);
}

// The number behind a label; -1 when the line is missing.
int figure(const std::string& output, const std::string& label) {
  std::smatch match;
  if (!std::regex_search(output, match, std::regex("(?:^|\n)" + label + " +([0-9]+)"))) return -1;
  return std::stoi(match[1]);
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::string sample = DUELEASE_SOURCE_FOLDER "/tools/sample/orders.csv";

}  // namespace

TEST_CASE("group buy: with a till that dies, each order is settled once", "[examples]") {
  const Ran ran = run("group_buy", "'" + sample + "'");
  INFO(ran.output);
  CHECK(ran.exit == 0);
  const int scheduled = figure(ran.output, "scheduled");
  CHECK(scheduled > 100);
  CHECK(figure(ran.output, "refused as duplicates") == 5);
  CHECK(figure(ran.output, "settled") == scheduled);
  CHECK(figure(ran.output, "reaped") >= 3);
  CHECK(figure(ran.output, "late reports refused") == 3);
  CHECK(figure(ran.output, "lost") == 0);
  CHECK(figure(ran.output, "settled twice") == 0);
}

TEST_CASE("group buy: a file that cannot be read is named", "[examples]") {
  const Ran ran = run("group_buy", "/no/such/orders.csv");
  CHECK(ran.exit == 2);
  CHECK(ran.output.find("/no/such/orders.csv") != std::string::npos);
  CHECK(run("group_buy").exit == 2);
}

TEST_CASE("unpaid orders: each is paid or cancelled, and once", "[examples]") {
  const Ran ran = run("unpaid_orders");
  INFO(ran.output);
  CHECK(ran.exit == 0);
  const int paid = figure(ran.output, "paid in time");
  CHECK(paid >= 700);
  CHECK(paid + figure(ran.output, "cancelled") == 1000);
  CHECK(paid + figure(ran.output, "paid too late") == 800);
  CHECK(figure(ran.output, "paid and cancelled") == 0);
  CHECK(figure(ran.output, "cancelled twice") == 0);
  CHECK(figure(ran.output, "forgotten") == 0);
}

TEST_CASE("factory: two runs race, one is repeated, one dies, and each lot is made once", "[examples]") {
  const Ran ran = run("factory");
  INFO(ran.output);
  CHECK(ran.exit == 0);
  CHECK(figure(ran.output, "scheduled") == 1000);
  CHECK(figure(ran.output, "refused") == 1000);
  CHECK(figure(ran.output, "made") == 666);
  CHECK(figure(ran.output, "failed") == 334);
  CHECK(figure(ran.output, "scheduled again") == 334);
  CHECK(figure(ran.output, "refused as made") == 666);
  CHECK(figure(ran.output, "made after all") == 334);
  CHECK(ran.output.find("no heartbeat within 30000 ms") != std::string::npos);
  CHECK(figure(ran.output, "scheduled anew") == 1000);
  CHECK(figure(ran.output, "void") == 1000);
  CHECK(figure(ran.output, "made twice") == 0);
  CHECK(figure(ran.output, "never made") == 0);
  CHECK(figure(ran.output, "left waiting") == 0);
  CHECK(figure(ran.output, "violations") == 0);
}

TEST_CASE("library: the queue follows the table of loans, and is rebuilt from it", "[examples]") {
  const Ran ran = run("library");
  INFO(ran.output);
  CHECK(ran.exit == 0);
  CHECK(figure(ran.output, "lent") == 1000);
  CHECK(figure(ran.output, "renewed") == 200);
  CHECK(figure(ran.output, "returned") == 300);
  CHECK(figure(ran.output, "returned once more") == 300);
  const int overdue = figure(ran.output, "overdue");
  CHECK(overdue > 100);
  CHECK(figure(ran.output, "marked") == overdue);
  CHECK(figure(ran.output, "batches") == (overdue + 99) / 100);
  CHECK(figure(ran.output, "to schedule") == 50);
  CHECK(figure(ran.output, "to move") == 30);
  CHECK(figure(ran.output, "to cancel") == 20);
  CHECK(figure(ran.output, "scheduled") == 50);
  CHECK(figure(ran.output, "moved") == 30);
  CHECK(figure(ran.output, "cancelled") == 20);
  CHECK(figure(ran.output, "newer than its row") == 1);
  CHECK(figure(ran.output, "rebuilt") == figure(ran.output, "open loans"));
  CHECK(figure(ran.output, "differences") == 0);
  CHECK(figure(ran.output, "violations") == 0);
}

TEST_CASE("quickstart: its order is cancelled once, however often it is run", "[examples]") {
  std::string folder = (fs::temp_directory_path() / "quickstart-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const Ran first = run("quickstart", folder + "/store");
  CHECK(first.exit == 0);
  CHECK(first.output == "nobody paid 4711: cancelling 2 sacks of rice\n");
  const Ran second = run("quickstart", folder + "/store");
  CHECK(second.exit == 0);
  CHECK(second.output == "4711 was scheduled before\n");
  fs::remove_all(folder);
}

TEST_CASE("the scripts of a developer explain themselves, and do nothing else then", "[examples]") {
  for (const std::string script : {"setup", "run", "test", "check"}) {
    const std::string path = DUELEASE_SOURCE_FOLDER "/tools/" + script;
    const std::string source = read(path);
    const std::string first_line = source.substr(source.find('\n') + 3);  // Behind "#!..." and "# ".
    for (const char* option : {"--help", "-h"}) {
      const Ran ran = run_command("'" + path + "' " + option);
      INFO(ran.output);
      CHECK(ran.exit == 0);
      CHECK(ran.output.substr(0, ran.output.find('\n')) == first_line.substr(0, first_line.find('\n')));
      CHECK(ran.output.find("set -") == std::string::npos);
    }
  }
}

TEST_CASE("README quotes quickstart.cpp as it is", "[examples]") {
  const std::string readme = read(DUELEASE_SOURCE_FOLDER "/README.md");
  const std::string program = read(DUELEASE_SOURCE_FOLDER "/tests/examples/quickstart.cpp");
  REQUIRE_FALSE(program.empty());
  CHECK(readme.find("<!-- quickstart -->\n```cpp\n" + program + "```\n<!-- /quickstart -->\n") !=
        std::string::npos);
}
