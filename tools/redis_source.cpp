#include "redis_source.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "text.h"

namespace duelease::tools {
namespace {

constexpr timeval patience{30, 0};

std::string_view text_of(const redisReply& reply) { return {reply.str, reply.len}; }

}  // namespace

RedisSource::RedisSource(const SourceAddress& address, std::string key,
                         std::optional<std::string> payload_prefix, const StopSignal& stop)
    : name_(address.shown), key_(std::move(key)), payload_prefix_(std::move(payload_prefix)), stop_(stop) {}

Result<std::unique_ptr<RowSource>> RedisSource::open(const SourceAddress& address, std::string key,
                                                     std::optional<std::string> payload_prefix,
                                                     const StopSignal& stop) {
  std::unique_ptr<RedisSource> source(
      new RedisSource(address, std::move(key), std::move(payload_prefix), stop));
  Result<> done = source->connect(address);
  if (done) done = source->log_in(address);
  if (done) done = source->find_key();
  if (!done) return fail(done.error().code, fmt::format("{}: {}", source->name_, done.error().message));
  return std::unique_ptr<RowSource>(std::move(source));
}

Result<> RedisSource::connect(const SourceAddress& address) {
  context_.reset(redisConnectWithTimeout(address.host.c_str(), address.port, patience));
  if (!context_ || context_->err != 0) {
    return fail(Code::unreachable, context_ ? context_->errstr : "out of memory");
  }
  redisSetTimeout(context_.get(), patience);
  return {};
}

Result<> RedisSource::log_in(const SourceAddress& address) {
  if (!address.password.empty()) {
    std::vector<std::string> words = {"AUTH"};
    if (!address.user.empty()) words.push_back(address.user);
    words.push_back(address.password);
    const Result<Reply> reply = ask(words);
    if (!reply) return Unexpected{reply.error()};
    if ((*reply)->type == REDIS_REPLY_ERROR) return fail(Code::denied, std::string(text_of(**reply)));
  }
  if (!address.path.empty()) {
    const Result<Reply> reply = ask_or_fail({"SELECT", address.path});
    if (!reply) return Unexpected{reply.error()};
  }
  return {};
}

Result<> RedisSource::find_key() {
  const Result<Reply> type = ask_or_fail({"TYPE", key_});
  if (!type) return Unexpected{type.error()};
  const std::string_view name = text_of(**type);
  if (name == "none") return fail(Code::invalid, fmt::format("there is no key {}", quote(key_)));
  if (name != "zset") return fail(Code::invalid, fmt::format("{} is a {}, no sorted set", quote(key_), name));
  const Result<Reply> count = ask_or_fail({"ZCARD", key_});
  if (!count) return Unexpected{count.error()};
  members_total_ = static_cast<std::uint64_t>((*count)->integer);
  return {};
}

Result<RedisSource::Reply> RedisSource::ask(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data());
  return take_reply();
}

Result<RedisSource::Reply> RedisSource::take_reply() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
    return fail(Code::unreachable, context_->errstr);
  }
  return Reply(static_cast<redisReply*>(reply));
}

Result<RedisSource::Reply> RedisSource::ask_or_fail(const std::vector<std::string>& words) {
  Result<Reply> reply = ask(words);
  if (!reply || (*reply)->type != REDIS_REPLY_ERROR) return reply;
  const std::string_view error = text_of(**reply);
  const bool denied = error.starts_with("NOAUTH") || error.starts_with("NOPERM");
  return fail(denied ? Code::denied : Code::invalid, std::string(error));
}

Result<std::vector<std::string>> RedisSource::columns() {
  return std::vector<std::string>{member_column, score_column};
}

Result<bool> RedisSource::next(SourceRow& row) {
  while (rows_.empty()) {
    if (at_end_ || stop_.asked()) return false;
    Result<> done = scan();
    if (done && payload_prefix_) done = get_payloads();
    if (!done) return Unexpected{done.error()};
  }
  row = std::move(rows_.front());
  rows_.pop_front();
  return true;
}

Result<> RedisSource::scan() {
  // Payloads are held while the rows wait to be taken, and may be large.
  const Result<Reply> reply = ask_or_fail({"ZSCAN", key_, cursor_, "COUNT", payload_prefix_ ? "50" : "1000"});
  if (!reply) return Unexpected{reply.error()};
  const redisReply& answer = **reply;
  if (answer.type != REDIS_REPLY_ARRAY || answer.elements != 2)
    return fail(Code::invalid, "no answer of ZSCAN");
  cursor_ = text_of(*answer.element[0]);
  at_end_ = cursor_ == "0";
  const redisReply& pairs = *answer.element[1];
  for (std::size_t i = 0; i + 1 < pairs.elements; i += 2) {
    SourceRow row{.number = ++members_};
    row.values.emplace_back(text_of(*pairs.element[i]));
    row.values.emplace_back(text_of(*pairs.element[i + 1]));
    row.payload = "";
    rows_.push_back(std::move(row));
  }
  return {};
}

// All are asked for before the first answer is read.
Result<> RedisSource::get_payloads() {
  for (const SourceRow& row : rows_) {
    const std::string name = *payload_prefix_ + *row.values[0];
    const char* words[] = {"GET", name.data()};
    const std::size_t sizes[] = {3, name.size()};
    redisAppendCommandArgv(context_.get(), 2, words, sizes);
  }
  for (SourceRow& row : rows_) {
    const Result<Reply> reply = take_reply();
    if (!reply) return Unexpected{reply.error()};
    const std::string name = quote(*payload_prefix_ + *row.values[0]);
    if ((*reply)->type == REDIS_REPLY_STRING) {
      row.payload = text_of(**reply);
    } else {
      row.values.clear();
      row.fault = (*reply)->type == REDIS_REPLY_ERROR ? fmt::format("payload {}: {}", name, text_of(**reply))
                                                      : fmt::format("payload {} is not there", name);
    }
  }
  return {};
}

}  // namespace duelease::tools
