// server/users.h: who may log in, and what for. Read from a file once; safe from any thread afterwards.
//
//     # name  role       queues            hash
//     shop    producer   unpaid,shop.*     $argon2id$v=19$m=65536,t=2,p=1$...
//
// A hash costs some 50 ms and 64 MiB to check, by design: never on a thread that serves others. A password
// that was right is remembered as a keyed hash that means nothing outside this process, so that the hundred
// connections of one worker pool do not cost five seconds.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"

namespace duelease::server {

enum class Role : std::uint8_t { producer, worker, read_only, admin };

struct User {
  std::string name;
  Role role = Role::read_only;
  std::vector<std::string> queues;  // Whole names; beginnings, with a `*` behind; or "*".
  std::string hash;

  bool may_use_all = false;  // "*" is among them.

  bool may_use(std::string_view queue) const;
};

class Users {
 public:
  Users();
  // The error names file and line.
  static Result<std::shared_ptr<Users>> read(const std::filesystem::path& file);
  static Result<std::shared_ptr<Users>> parse(std::string_view text, const std::string& name);

  // As find(), at once, but only of a password that was right before; else nobody.
  const User* remembered(std::string_view name, std::string_view password);
  // The user whose password this is; else nobody. An unknown name takes as long as a wrong password.
  const User* find(std::string_view name, std::string_view password);

 private:
  using Fingerprint = std::array<unsigned char, 32>;
  Fingerprint fingerprint(std::string_view name, std::string_view password) const;

  std::map<std::string, User, std::less<>> users_;
  std::array<unsigned char, 32> key_;

  std::mutex mutex_;
  std::map<std::string, Fingerprint, std::less<>> verified_;  // Guarded by mutex_.
};

}  // namespace duelease::server
