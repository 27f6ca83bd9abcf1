// `duelease watch`: a line a queue and look, and the rates between two.
#include "program.h"

using duelease::test::eventually;
using duelease::test::port_of;
using duelease::test::Ran;
using duelease::test::Shop;
using nlohmann::json;

TEST_CASE("watch prints a line a queue", "[cli][watch]") {
  const Shop shop;
  shop.schedule("a", "1");
  shop.schedule("b", "1");
  const Ran ran = shop.run({"watch", "--count", "2", "--every", "10ms"});
  INFO(ran.out);
  CHECK(ran.exit == 0);
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 4);
  CHECK_THAT(ran.out, Catch::Contains(" a waiting=1 due=1 oldest_overdue="));
  CHECK_THAT(ran.out, Catch::Contains("processing=0 done/s=- failed/s=-\n"));
  CHECK_THAT(ran.out, Catch::Contains("processing=0 done/s=0.0 failed/s=0.0\n"));
  CHECK(shop.run({"watch", "--queue", "none", "--count", "1"}).exit == 1);
  CHECK(shop.run({"watch", "--count", "0"}).exit == 2);
}

TEST_CASE("watch sees what a server's workers do", "[cli][watch]") {
  const Shop shop;
  const auto server = shop.start({"serve", "--port", "0"});
  const std::string address = "127.0.0.1:" + port_of(*server);
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--server", address});
    return shop.run_bare(std::move(arguments));
  };
  REQUIRE(ask({"schedule", "q", "1", "--due", "0"}).exit == 0);
  const auto watch =
      shop.start_bare({"--server", address, "--json", "watch", "--count", "200", "--every", "20ms"});
  REQUIRE(eventually([&] { return watch->out_so_far().find('\n') != std::string::npos; }));
  REQUIRE(ask({"pop", "q"}).exit == 0);
  const Ran ran = watch->wait();
  CHECK(ran.exit == 0);
  const std::vector<json> looks = ran.lines();
  REQUIRE(looks.size() == 200);
  CHECK(looks.front()["WAIT"] == 1);
  CHECK(looks.front()["done_per_second"].is_null());
  CHECK(looks.back()["WAIT"] == 0);
  CHECK(std::any_of(looks.begin() + 1, looks.end(),
                    [](const json& look) { return look["done_per_second"] > 0; }));
}
