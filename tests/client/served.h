// client/served.h: an engine, a server of it, and a proxy between it and the clients of a test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "duelease/client.h"
#include "duelease/server.h"
#include "support/cutting_proxy.h"
#include "support/live_engine.h"
#include "support/printing.h"
#include "support/temporary_folder.h"

namespace duelease::test {

// No test here cuts the power.
inline Options quick_options() {
  Options options = small_options();
  options.durability = Durability::none;
  return options;
}

inline ServerOptions at_any_port() {
  ServerOptions options;
  options.port = 0;
  return options;
}

class Served {
 public:
  explicit Served(ServerOptions server_options = at_any_port(), Options engine_options = quick_options())
      : options_(std::move(server_options)),
        engine_(open_live(folder_ / "store", std::move(engine_options))),
        server_(well(Server::start(*engine_, options_))) {
    options_.port = server_->port();
    proxy_.emplace(server_->port());
  }

  Engine& engine() { return *engine_; }
  CuttingProxy& proxy() { return *proxy_; }
  Server& server() { return *server_; }
  void stop_server() { server_.reset(); }
  void start_server() { server_ = well(Server::start(*engine_, options_)); }

  // Of a client that tries again soon.
  ClientOptions client_options() const {
    ClientOptions options;
    options.port = proxy_->port();
    options.request_timeout = Duration{60'000};
    options.backoff_base = Duration{2};
    options.backoff_cap = Duration{20};
    return options;
  }
  std::unique_ptr<Client> client() const { return well(Client::connect(client_options())); }

 private:
  TemporaryFolder folder_;
  ServerOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Server> server_;
  std::optional<CuttingProxy> proxy_;
};

}  // namespace duelease::test
