// protocol/greetings.h: AUTH, HELLO, CLIENT, COMMAND and INFO: what client libraries send to get along. Their
// words follow their Redis namesakes and not the pattern of shapes.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "protocol/request.h"

namespace duelease::protocol {

// A kind of request that is here: its verb, the words behind it, and how they are read.
template <class R>
struct Greeting;

// Each read() answers nothing when the words are none of that kind.

template <>
struct Greeting<AuthRequest> {
  static constexpr std::string_view verb = "AUTH";
  static constexpr std::string_view usage = "[user] password";
  static std::optional<AuthRequest> read(Words words);
  static std::vector<std::string_view> print(const AuthRequest& request);
};

template <>
struct Greeting<HelloRequest> {
  static constexpr std::string_view verb = "HELLO";
  static constexpr std::string_view usage = "[version [AUTH user password] [SETNAME name]]";
  static std::optional<HelloRequest> read(Words words);
  static std::vector<std::string_view> print(const HelloRequest& request);
};

template <>
struct Greeting<ClientRequest> {
  static constexpr std::string_view verb = "CLIENT";
  static constexpr std::string_view usage = "word ...";
  static std::optional<ClientRequest> read(Words words);
  static std::vector<std::string_view> print(const ClientRequest& request);
};

template <>
struct Greeting<CommandRequest> {
  static constexpr std::string_view verb = "COMMAND";
  static constexpr std::string_view usage = "[word ...]";
  static std::optional<CommandRequest> read(Words words);
  static std::vector<std::string_view> print(const CommandRequest& request);
};

template <>
struct Greeting<InfoRequest> {
  static constexpr std::string_view verb = "INFO";
  static constexpr std::string_view usage = "[section ...]";
  static std::optional<InfoRequest> read(Words words);
  static std::vector<std::string_view> print(const InfoRequest& request);
};

}  // namespace duelease::protocol
