// duelease check --repair.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "program.h"

using duelease::test::Ran;
using duelease::test::read_file;
using duelease::test::Shop;
using duelease::test::write_file;
namespace fs = std::filesystem;

namespace {

// The log of the last command: those before were folded into tables when it opened the store.
std::string last_log(const Shop& shop) {
  fs::path log;
  for (const fs::directory_entry& entry : fs::directory_iterator(shop.store())) {
    const bool is_larger = log.empty() || entry.file_size() > fs::file_size(log);
    if (entry.path().extension() == ".log" && is_larger) log = entry.path();
  }
  return log.string();
}

}  // namespace

TEST_CASE("check --repair leaves a sound store, and says so", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  const Ran ran = shop.run({"check", "--repair"});
  CHECK(ran.exit == 0);
  CHECK_THAT(ran.out, Catch::Contains("every_record_decodes") &&
                          Catch::EndsWith("1 order looked at, 0 mended, 0 left\n"));
  const Ran as_json = shop.ask({"check", "--repair", "--discard-damaged", "--accept-loss"});
  CHECK(as_json.exit == 0);
  const auto json = as_json.json();
  CHECK(json["orders"] == 1);
  CHECK(json["mended"] == 0);
  CHECK(json["left"] == 0);
  CHECK(json["lost"].is_null());
  CHECK(json["damaged_records"] == 0);
  CHECK(json["kept_in"].is_null());
  CHECK(json["invariants"].size() == 11);
  for (const auto& invariant : json["invariants"]) {
    for (const char* name : {"found", "mended", "left"}) CHECK(invariant[name] == 0);
    CHECK(invariant["left_example"].is_null());
  }
}

TEST_CASE("check --repair refuses a log that has lost orders, until that is accepted", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  shop.schedule("q", "2");
  const std::string log = last_log(shop);
  std::string bytes = read_file(log);
  REQUIRE(bytes.size() > 30);
  bytes[bytes.size() / 4] = static_cast<char>(bytes[bytes.size() / 4] ^ 0x10);
  write_file(log, bytes);
  REQUIRE(shop.run({"check"}).exit == 4);

  const Ran refused = shop.run({"check", "--repair"});
  CHECK(refused.exit == 4);
  CHECK_THAT(refused.err,
             Catch::Contains("its log is damaged from byte") && Catch::Contains("--accept-loss"));
  const Ran accepted = shop.run({"check", "--repair", "--accept-loss"});
  CHECK(accepted.exit == 0);
  CHECK_THAT(accepted.out, Catch::Contains("lost: what cannot be read of the log from byte ") &&
                               Catch::Contains("store.damaged"));
  CHECK(shop.run({"check"}).exit == 0);
  CHECK(shop.run({"check", "--repair"}).exit == 0);
}

TEST_CASE("check --repair: wrong words", "[cli]") {
  const Shop shop;
  shop.schedule("q", "1");
  const auto refused = [&](const std::vector<std::string>& words, int exit, const std::string& message) {
    const Ran ran = shop.run(words);
    CHECK(ran.exit == exit);
    CHECK_THAT(ran.err, Catch::Contains(message));
  };
  refused({"check", "--discard-damaged"}, 2, "--discard-damaged goes with --repair");
  refused({"check", "--accept-loss"}, 2, "--accept-loss goes with --repair");
  refused({"check", "q", "--repair"}, 2, "--repair is for a whole store: leave out the queue \"q\"");
  refused({"--server", "localhost", "check", "--repair"}, 2,
          "--repair works on a store that nobody has open");
  const Shop empty;
  const Ran ran = empty.run({"check", "--repair"});
  CHECK(ran.exit == 4);
  CHECK_THAT(ran.err, Catch::Contains("no store at"));
  CHECK_FALSE(fs::exists(empty.store()));
}
