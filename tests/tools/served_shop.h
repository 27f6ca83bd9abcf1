// tools/served_shop.h: the program with --server, on a shop whose store is served.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program.h"

namespace duelease::test {

// A server of the shop's store, and the program asking it.
class ServedShop {
 public:
  explicit ServedShop(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"serve", "--port", "0", "--stop-deadline", "1s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_ = shop.start(std::move(arguments));
    address = "127.0.0.1:" + port_of(*server_);
  }
  Ran run(std::vector<std::string> arguments, std::string_view input = {}) const {
    arguments.insert(arguments.begin(), {"--server", address});
    return shop.run_bare(std::move(arguments), input);
  }
  Ran ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "--json");
    return run(std::move(arguments));
  }
  void schedule(const std::string& queue, const std::string& id) const {
    const Ran ran = run({"schedule", queue, id, "--due", "0"});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
  }
  // One order, taken.
  nlohmann::json claim(const std::string& queue) const {
    const Ran ran = ask({"claim", queue, "--worker", "w"});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    return ran.json();
  }
  Ran stop() {
    server_->signal(SIGTERM);
    return server_->wait();
  }

  const Shop shop;
  std::string address;

 private:
  std::unique_ptr<Running> server_;
};

}  // namespace duelease::test
