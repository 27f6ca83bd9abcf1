// hiredis, the client library for C.
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;
using Connection = std::unique_ptr<redisContext, decltype(&redisFree)>;

void check(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::exit(1);
}

Connection connect() {
  const timeval patience{120, 0};
  Connection connection(
      redisConnectWithTimeout("127.0.0.1", std::atoi(std::getenv("DUELEASE_PORT")), patience), redisFree);
  check(connection && connection->err == 0, "connect");
  redisSetTimeout(connection.get(), patience);
  return connection;
}

using Words = std::initializer_list<std::string>;

void append(redisContext& connection, Words words) {
  std::vector<const char*> bytes;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    bytes.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(&connection, static_cast<int>(bytes.size()), bytes.data(), sizes.data());
}

Reply next(redisContext& connection) {
  void* reply = nullptr;
  check(redisGetReply(&connection, &reply) == REDIS_OK, connection.errstr);
  return {static_cast<redisReply*>(reply), freeReplyObject};
}

Reply ask(const Connection& connection, Words words) {
  append(*connection, words);
  return next(*connection);
}

std::string text(const redisReply& reply) { return {reply.str, reply.len}; }

void same(const redisReply& reply, int type, const std::string& wanted) {
  check(reply.type == type && text(reply) == wanted, wanted);
}

const redisReply& field(const redisReply& reply, const std::string& name) {
  for (std::size_t i = 0; i + 1 < reply.elements; i += 2) {
    if (text(*reply.element[i]) == name) return *reply.element[i + 1];
  }
  check(false, "no field " + name);
  return reply;
}

void refused(const Connection& connection, const std::string& code, Words words) {
  const Reply reply = ask(connection, words);
  check(reply->type == REDIS_REPLY_ERROR && text(*reply).rfind(code + " ", 0) == 0, "no error " + code);
}

std::string all_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out + "\r\n";
}

const std::string binary = all_bytes();

void log_in(const Connection& connection) {
  const char* const user = std::getenv("DUELEASE_USER");
  if (user == nullptr) return;
  same(*ask(connection, {"AUTH", user, std::getenv("DUELEASE_PASSWORD")}), REDIS_REPLY_STATUS, "OK");
}

void one_order(const Connection& client) {
  same(*ask(client, {"SCHEDULE", "q", "bin", "NOW", "PAYLOAD", binary}), REDIS_REPLY_STATUS, "SCHEDULED");
  const Reply duplicate = ask(client, {"SCHEDULE", "q", "bin", "NOW"});
  check(duplicate->type == REDIS_REPLY_ARRAY && duplicate->elements == 3, "DUPLICATE");
  same(*duplicate->element[2], REDIS_REPLY_STRING, "bin");

  const Reply claimed = ask(client, {"CLAIM", "q", "w"});
  check(claimed->elements == 1 && claimed->element[0]->elements == 9, "an order");
  redisReply** order = claimed->element[0]->element;
  same(*order[5], REDIS_REPLY_STRING, binary);
  check(order[6]->type == REDIS_REPLY_NIL && order[2]->integer == 1, "nil and a number");
  const std::string token = std::to_string(order[1]->integer);
  same(*ask(client, {"COMPLETE", "q", "bin", token, "RESULT", binary}), REDIS_REPLY_STATUS, "COMPLETED");
  same(*ask(client, {"COMPLETE", "q", "bin", token}), REDIS_REPLY_STATUS, "ALREADY");
  same(*ask(client, {"COMPLETE", "q", "bin", token + "0"}), REDIS_REPLY_STATUS, "STALE");
}

void a_claim_that_waits(const Connection& client) {
  const Connection waiter = connect();
  log_in(waiter);
  append(*waiter, {"CLAIM", "q", "w", "WAIT", "60s"});
  int sent = 0;
  while (sent == 0) check(redisBufferWrite(waiter.get(), &sent) == REDIS_OK, "write");
  same(*ask(client, {"SCHEDULE", "q", "late", "+200"}), REDIS_REPLY_STATUS, "SCHEDULED");
  const Reply waited = next(*waiter);
  check(waited->elements == 1, "the order that was waited for");
  same(*waited->element[0]->element[0], REDIS_REPLY_STRING, "late");
  const std::string token = std::to_string(waited->element[0]->element[1]->integer);
  same(*ask(client, {"FAIL", "q", "late", token, "ERROR", "card refused", "RETRY", "+1h"}),
       REDIS_REPLY_STATUS, "WAIT");
  same(*ask(client, {"FAIL", "q", "late", token}), REDIS_REPLY_STATUS, "STALE");
}

void reads(const Connection& client) {
  const Reply order = ask(client, {"ORDER", "q", "late"});
  same(field(*order, "error"), REDIS_REPLY_STRING, "card refused");
  check(field(*order, "failures").integer == 1, "failures");
  check(ask(client, {"ORDER", "q", "none"})->type == REDIS_REPLY_NIL, "no such order");
  const Reply list = ask(client, {"LIST", "q", "STATE", "WAIT"});
  check(list->element[1]->elements == 1, "LIST");
  check(text(*ask(client, {"WHY", "q", "late"})).rfind("due in ", 0) == 0, "WHY");
  const Reply stats = ask(client, {"STATS", "q"});
  check(field(*stats, "WAIT").integer == 1 && field(*stats, "SUCCESS").integer == 1, "STATS");
}

void pipelines(const Connection& client) {
  constexpr std::size_t count = 1000;
  for (std::size_t i = 0; i < count; ++i) append(*client, {"SCHEDULE", "p", std::to_string(i), "NOW"});
  for (std::size_t i = 0; i < count; ++i) same(*next(*client), REDIS_REPLY_STATUS, "SCHEDULED");
  const Reply orders = ask(client, {"CLAIM", "p", "w", "COUNT", std::to_string(count)});
  check(orders->elements == count, "all that were scheduled");
  std::set<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    redisReply** order = orders->element[i]->element;
    ids.insert(text(*order[0]));
    append(*client, {"COMPLETE", "p", text(*order[0]), std::to_string(order[1]->integer)});
  }
  check(ids.size() == count, "each once");
  for (std::size_t i = 0; i < count; ++i) same(*next(*client), REDIS_REPLY_STATUS, "COMPLETED");
}

}  // namespace

int main() {
  const Connection client = connect();
  log_in(client);
  same(*ask(client, {"PING"}), REDIS_REPLY_STATUS, "PONG");
  one_order(client);
  a_claim_that_waits(client);
  reads(client);
  pipelines(client);
  refused(client, "ERR", {"NONSENSE"});
  refused(client, "INVALID", {"SCHEDULE", "q", std::string(256, 'x'), "NOW"});
  refused(client, "NOTFOUND", {"STATS", "none"});

  std::puts("restart");
  std::fflush(stdout);
  check(std::getchar() != EOF, "restarted");
  append(*client, {"PING"});
  void* reply = nullptr;
  check(redisGetReply(client.get(), &reply) == REDIS_ERR, "the old connection has died");
  check(redisReconnect(client.get()) == REDIS_OK, "reconnect");
  log_in(client);
  same(field(*ask(client, {"ORDER", "q", "bin"}), "result"), REDIS_REPLY_STRING, binary);
  std::puts("all well");
}
