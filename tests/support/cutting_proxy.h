// support/cutting_proxy.h: stands between a client and a server, and cuts their connections where a test wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace duelease::test {

class CuttingProxy {
 public:
  // Listens at a free port of this machine, and connects each who comes with `target` of it.
  explicit CuttingProxy(std::uint16_t target);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::uint16_t port() const;

  // Each returns when it is done.
  void cut();              // All connections, now.
  void lose_next_reply();  // What the server sends next is lost, and its connection is cut then.
  void hold_replies();     // What the server sends is kept back, until a cut.
  void close();            // Cuts, and refuses connections.
  void open();             // Takes them again, at the same port.

  std::uint64_t connections() const;  // Taken so far.
  std::size_t open_connections();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duelease::test
