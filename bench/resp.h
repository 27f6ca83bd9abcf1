// bench/resp.h: a connection of hiredis, the C client of Redis, which speaks to a Redis and to our server alike.
// Requests may be sent without waiting for the replies of those before.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fault.h"

namespace duelease::bench {

class Resp {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;

  // To a server on this machine. Throws Fault when there is none, as do all calls when it refuses or goes away.
  explicit Resp(std::uint16_t port) : context_(redisConnect("127.0.0.1", port)) {
    if (context_ == nullptr || context_->err != 0) throw Fault("no connection: " + why());
  }

  void send(const std::vector<std::string_view>& words) {
    texts_.clear();
    lengths_.clear();
    for (const std::string_view word : words) {
      texts_.push_back(word.data());
      lengths_.push_back(word.size());
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts_.data(),
                               lengths_.data()) != REDIS_OK) {
      throw Fault(why());
    }
  }
  // To the oldest request that is not yet answered.
  Reply receive() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) throw Fault(why());
    Reply owned(static_cast<redisReply*>(reply));
    if (owned->type == REDIS_REPLY_ERROR) throw Fault(std::string(text(*owned)));
    return owned;
  }
  Reply ask(const std::vector<std::string_view>& words) {
    send(words);
    return receive();
  }

  static std::string_view text(const redisReply& reply) {
    return reply.str == nullptr ? std::string_view()
                                : std::string_view(reply.str, static_cast<std::size_t>(reply.len));
  }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  std::string why() const { return context_ == nullptr ? "out of memory" : context_->errstr; }

  std::unique_ptr<redisContext, FreeContext> context_;
  std::vector<const char*> texts_;
  std::vector<std::size_t> lengths_;
};

}  // namespace duelease::bench
