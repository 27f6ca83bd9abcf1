#include "protocol/greetings.h"

#include "protocol/word_values.h"

namespace duelease::protocol {

std::optional<AuthRequest> Greeting<AuthRequest>::read(Words words) {
  if (words.size() == 1) return AuthRequest{{}, std::string(words[0])};
  if (words.size() == 2) return AuthRequest{std::string(words[0]), std::string(words[1])};
  return std::nullopt;
}

std::vector<std::string_view> Greeting<AuthRequest>::print(const AuthRequest& request) {
  if (request.user.empty()) return {request.password};
  return {request.user, request.password};
}

std::optional<HelloRequest> Greeting<HelloRequest>::read(Words words) {
  HelloRequest request;
  if (words.empty()) return request;
  request.version = words[0];
  bool named = false;
  for (words = words.subspan(1); !words.empty();) {
    if (words.size() >= 3 && same_word(words[0], "AUTH") && !request.auth) {
      request.auth = AuthRequest{std::string(words[1]), std::string(words[2])};
      words = words.subspan(3);
    } else if (words.size() >= 2 && same_word(words[0], "SETNAME") && !named) {
      named = true;
      words = words.subspan(2);
    } else {
      return std::nullopt;
    }
  }
  return request;
}

std::vector<std::string_view> Greeting<HelloRequest>::print(const HelloRequest& request) {
  // AUTH cannot stand without a version, of which there is one.
  if (!request.version && !request.auth) return {};
  std::vector<std::string_view> words = {request.version ? std::string_view(*request.version) : "2"};
  if (request.auth) words.insert(words.end(), {"AUTH", request.auth->user, request.auth->password});
  return words;
}

std::optional<ClientRequest> Greeting<ClientRequest>::read(Words words) {
  if (words.empty()) return std::nullopt;
  return ClientRequest{{words.begin(), words.end()}};
}

std::vector<std::string_view> Greeting<ClientRequest>::print(const ClientRequest& request) {
  return {request.words.begin(), request.words.end()};
}

std::optional<CommandRequest> Greeting<CommandRequest>::read(Words words) {
  return CommandRequest{{words.begin(), words.end()}};
}

std::vector<std::string_view> Greeting<CommandRequest>::print(const CommandRequest& request) {
  return {request.words.begin(), request.words.end()};
}

std::optional<InfoRequest> Greeting<InfoRequest>::read(Words) { return InfoRequest{}; }

std::vector<std::string_view> Greeting<InfoRequest>::print(const InfoRequest&) { return {}; }

}  // namespace duelease::protocol
