// Conversations, one a file of tests/server/cases, each held in line form and in array form.
//
//   # a comment
//   > SCHEDULE q 1 NOW        what the client says
//   +SCHEDULED                the reply, as shown() shows it; of an error the code word is enough
//   @ 30s                     time passes
//
// The clock stands still in between, so times and tokens are known.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "client.h"
#include "protocol/words.h"
#include "support/manual_clock.h"

using namespace duelease;
using duelease::test::Client;
using duelease::test::LiveServer;
using duelease::test::ManualClock;

namespace {

std::string to_array_form(const std::string& line) {
  protocol::WordReader reader{protocol::WordLimits{}};
  reader.feed(line + "\n");
  const auto words = test::well(reader.next());
  return test::in_array_form({words->begin(), words->end()});
}

bool as_expected(const std::string& expected, const std::string& got) {
  if (expected == got) return true;
  return expected.starts_with('-') && got.starts_with(expected + " ");
}

void hold(const std::filesystem::path& file, bool array_form) {
  const auto clock = std::make_shared<ManualClock>();
  Options engine_options = test::small_options();
  engine_options.clock = clock;
  engine_options.random = [] { return 0; };
  ServerOptions options = test::any_port();
  options.clock = clock;
  LiveServer server(options, engine_options);
  Client client(server.port());

  std::ifstream stream(file);
  REQUIRE(stream);
  std::string request;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("@ ")) {
      clock->pass(Duration{std::stoll(line.substr(2)) * 1000});
      test::look_now(server.engine());
    } else if (line.starts_with("> ")) {
      request = line.substr(2);
      client.send(array_form ? to_array_form(request) : request + "\n");
    } else {
      INFO(file.filename().string() << ":" << number << ": " << request);
      const std::string got = client.reply();
      if (!as_expected(line, got)) CHECK(line == got);
    }
  }
}

}  // namespace

TEST_CASE("conversations", "[server]") {
  const bool array_form = GENERATE(false, true);
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = DUELEASE_SOURCE_FOLDER "/tests/server/cases";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 4);
  for (const std::filesystem::path& file : files) hold(file, array_form);
}
