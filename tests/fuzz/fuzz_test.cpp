// The short run of the fuzzers: all of the corpus, and some thousands of mutations of it, the same each time.
// Each file in corpus/ is a seed by hand or bytes that were a fault once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/checks.h"
#include "model/random.h"

using namespace duelease;
using model_test::Random;

namespace {

struct Seed {
  std::string name;
  std::string bytes;
};

std::vector<Seed> corpus(const char* name) {
  std::vector<Seed> seeds;
  const std::filesystem::path folder =
      std::filesystem::path(DUELEASE_SOURCE_FOLDER) / "tests/fuzz/corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

std::string mutated(const std::vector<Seed>& seeds, Random& dice) {
  static const std::vector<std::string> bits = {"\r\n",
                                                "\n",
                                                "*",
                                                "$",
                                                "-1",
                                                "0",
                                                "1",
                                                " ",
                                                "\"",
                                                "'",
                                                "\\x",
                                                "\\",
                                                "9223372036854775807",
                                                "+",
                                                ":",
                                                std::string(1, '\0'),
                                                "\xff",
                                                "PAYLOAD",
                                                "KEY",
                                                "NOW",
                                                "*2\r\n",
                                                "$-1\r\n",
                                                "$0\r\n\r\n",
                                                ",",
                                                "forever"};
  std::string bytes = dice.pick(seeds).bytes;
  for (std::uint64_t changes = 1 + dice.below(4); changes > 0; --changes) {
    const std::size_t at = dice.below(bytes.size() + 1);
    switch (dice.below(5)) {
      case 0: bytes.insert(at, dice.pick(bits)); break;
      case 1: bytes.erase(at, 1 + dice.below(8)); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, dice.pick(seeds).bytes); break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(dice.below(256));
    }
  }
  return bytes;
}

void run(const char* name, std::string (*fault_in)(std::string_view)) {
  const std::vector<Seed> seeds = corpus(name);
  REQUIRE(seeds.size() >= 5);
  for (const Seed& seed : seeds) {
    INFO(seed.name);
    CHECK(fault_in(seed.bytes) == "");
  }
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    Random dice(number);
    const std::string bytes = mutated(seeds, dice);
    const std::string fault = fault_in(bytes);
    if (fault.empty()) continue;
    INFO("mutation " << number << ": " << bytes);
    CHECK(fault == "");
  }
}

}  // namespace

TEST_CASE("whatever bytes a server gets, they are read the same in pieces and back", "[fuzz]") {
  run("words", fuzz::fault_in_words);
}

TEST_CASE("whatever bytes a client gets, they are read the same in pieces and back", "[fuzz]") {
  run("replies", fuzz::fault_in_replies);
}
