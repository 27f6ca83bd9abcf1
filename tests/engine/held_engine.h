// engine/held_engine.h: an engine that a test lets go when it likes.
#pragma once

#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "duelease/engine.h"
#include "engine/asio.h"
#include "engine/engine_parts.h"
#include "store/rocks_store.h"
#include "support/live_engine.h"
#include "support/watched_store.h"

namespace duelease::test {

// An engine whose strand does nothing until run() is called: what is submitted
// before lies in its inbox.
class HeldEngine {
 public:
  explicit HeldEngine(const std::filesystem::path& path, Options options = small_options())
      : work_(context_.get_executor()) {
    std::unique_ptr<store::Store> store = well(store::open_rocks_store(path, {}));
    store = std::make_unique<WatchedStore>(std::move(store), watch);
    engine_ = well(engine::open_engine(std::move(store), std::move(options), context_.get_executor()));
  }
  ~HeldEngine() {
    watch->release_syncs();
    watch->release_writes();
    run();
    engine_.reset();
    work_.reset();
    thread_.join();
  }
  HeldEngine(const HeldEngine&) = delete;
  HeldEngine& operator=(const HeldEngine&) = delete;

  void run() {
    if (!thread_.joinable()) thread_ = std::thread([this] { context_.run(); });
  }
  Engine* operator->() { return engine_.get(); }
  Engine& operator*() { return *engine_; }

  const std::shared_ptr<StoreWatch> watch = std::make_shared<StoreWatch>();

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<Engine> engine_;
  std::thread thread_;
};

}  // namespace duelease::test
