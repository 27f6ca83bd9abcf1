// Somebody who embeds the server too.
#include <duelease/server.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto engine = duelease::Engine::open(argv[1], {});
  if (!engine) return std::puts(engine.error().message.c_str()), 1;
  duelease::ServerOptions options;
  options.port = 0;
  const auto server = duelease::Server::start(**engine, options);
  if (!server) return std::puts(server.error().message.c_str()), 1;
  std::printf("port %d\n", (*server)->port());
  (*server)->stop();
}
