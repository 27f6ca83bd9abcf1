// tools/redis_source.h: the members of a sorted set of Redis, and their scores.
//
// They come by ZSCAN, which blocks the server for no longer than a thousand of them take, and may tell a member
// twice while others write. The columns are "member" and "score". The payload is empty, or what GET answers for the
// member with a prefix in front.
#pragma once

#include <hiredis/hiredis.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source.h"
#include "source_address.h"
#include "stop_signal.h"

namespace duelease::tools {

class RedisSource final : public RowSource {
 public:
  static constexpr const char* member_column = "member";
  static constexpr const char* score_column = "score";

  // Connects. Errors: unreachable, denied, or invalid (no such key, or one of another kind).
  static Result<std::unique_ptr<RowSource>> open(const SourceAddress& address, std::string key,
                                                 std::optional<std::string> payload_prefix,
                                                 const StopSignal& stop);

  const std::string& name() const override { return name_; }
  std::string_view unit() const override { return "member"; }
  bool repeats() const override { return true; }
  Result<std::vector<std::string>> columns() override;
  Result<bool> next(SourceRow& row) override;
  SourceProgress progress() const override { return {members_, members_total_}; }

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  struct FreeReply {
    void operator()(void* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;

  RedisSource(const SourceAddress& address, std::string key, std::optional<std::string> payload_prefix,
              const StopSignal& stop);

  Result<> connect(const SourceAddress& address);
  Result<> log_in(const SourceAddress& address);
  Result<> find_key();
  // Answers that are errors are replies like others.
  Result<Reply> ask(const std::vector<std::string>& words);
  Result<Reply> take_reply();
  Result<Reply> ask_or_fail(const std::vector<std::string>& words);
  Result<> scan();
  Result<> get_payloads();

  const std::string name_;
  const std::string key_;
  const std::optional<std::string> payload_prefix_;
  const StopSignal& stop_;
  std::unique_ptr<redisContext, FreeContext> context_;
  std::deque<SourceRow> rows_;  // Of one answer.
  std::string cursor_ = "0";
  bool at_end_ = false;
  std::uint64_t members_ = 0;
  std::optional<std::uint64_t> members_total_;
};

}  // namespace duelease::tools
