// Somebody who asks a server: here one of their own.
#include <duelease/client.h>
#include <duelease/server.h>
#include <duelease/worker.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto engine = duelease::Engine::open(argv[1], {});
  if (!engine) return std::puts(engine.error().message.c_str()), 1;
  duelease::ServerOptions server_options;
  server_options.port = 0;
  const auto server = duelease::Server::start(**engine, server_options);
  if (!server) return std::puts(server.error().message.c_str()), 1;

  duelease::ClientOptions options;
  options.port = (*server)->port();
  const auto client = duelease::Client::connect(options);
  if (!client) return std::puts(client.error().message.c_str()), 1;
  const auto scheduled = (*client)->schedule({.queue = "asked", .id = "4711", .payload = "a question"});
  if (!scheduled) return std::puts(scheduled.error().message.c_str()), 1;
  duelease::WorkerOptions worker_options;
  worker_options.queues = {"asked"};
  worker_options.drain = true;
  duelease::Worker worker(
      **client, worker_options,
      [](const duelease::Claimed&, const duelease::LeaseWatch&) { return duelease::Handled::done(); });
  if (!worker.start() || !worker.wait()) return 1;
  std::printf("%d done\n", static_cast<int>(worker.totals().completed));
  return worker.totals().completed == 1 ? 0 : 1;
}
