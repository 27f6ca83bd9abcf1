// Asks a server that is not there, also by a worker. The engine is not at hand: neither its headers nor its code.
#include <duelease/client.h>
#include <duelease/worker.h>

#include <cstdio>

namespace duelease {
class Engine final {};  // Were engine.h known here, this would not compile.
}  // namespace duelease

int main() {
  duelease::ClientOptions options;
  options.port = 1;
  options.connect_at_start = false;
  options.request_timeout = duelease::Duration{100};
  const auto client = duelease::Client::connect(options);
  if (!client) return std::puts(client.error().message.c_str()), 1;
  duelease::WorkerOptions worker_options;
  worker_options.queues = {"asked"};
  worker_options.drain = true;
  duelease::Worker worker(
      **client, worker_options,
      [](const duelease::Claimed&, const duelease::LeaseWatch&) { return duelease::Handled::done(); });
  if (!worker.start()) return 1;
  const duelease::Result<> ended = worker.wait();
  if (ended || ended.error().code != duelease::Code::unreachable) return 1;
  std::puts(ended.error().message.c_str());
  return 0;
}
