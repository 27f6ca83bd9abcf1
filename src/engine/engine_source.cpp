// The engine as what a worker works on.
#include <memory>
#include <utility>

#include "duelease/engine.h"
#include "duelease/worker.h"

namespace duelease {

namespace {

class EngineSource final : public WorkSource {
 public:
  explicit EngineSource(Engine& engine) : engine_(engine) {}

  ClaimTicket claim(ClaimRequest request, Callback<std::vector<Claimed>> done) override {
    return engine_.claim(std::move(request), std::move(done));
  }
  void cancel_claim(ClaimTicket ticket) override { engine_.cancel_claim(ticket); }
  void complete(CompleteRequest request, Callback<Answer> done) override {
    engine_.complete(std::move(request), std::move(done));
  }
  void fail(FailRequest request, Callback<Answer> done) override {
    engine_.fail(std::move(request), std::move(done));
  }
  void release(ReleaseRequest request, Callback<Answer> done) override {
    engine_.release(std::move(request), std::move(done));
  }
  void extend(ExtendRequest request, Callback<Answer> done) override {
    engine_.extend(std::move(request), std::move(done));
  }

 private:
  Engine& engine_;
};

}  // namespace

Worker::Worker(Engine& engine, WorkerOptions options, Handler handler)
    : Worker(std::make_unique<EngineSource>(engine), std::move(options), std::move(handler)) {}

}  // namespace duelease
