#include "server/users.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "duelease/server.h"

namespace duelease::server {
namespace {

constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t password_bytes_max = 1024;

struct RoleName {
  std::string_view name;
  Role role;
};
constexpr RoleName role_names[] = {{"producer", Role::producer},
                                   {"worker", Role::worker},
                                   {"read-only", Role::read_only},
                                   {"admin", Role::admin}};

std::optional<Role> role_named(std::string_view name) {
  for (const RoleName& role : role_names) {
    if (role.name == name) return role.role;
  }
  return std::nullopt;
}

bool is_queue_byte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == ':' || c == '-';
}

// Whether `text` is a queue's name, or the beginning of one with a `*` behind.
bool is_queue_pattern(std::string_view text) {
  if (text.ends_with('*')) {
    text.remove_suffix(1);
  } else if (text.empty()) {
    return false;
  }
  return text.size() <= 128 && std::all_of(text.begin(), text.end(), is_queue_byte);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// What is wrong with the first three words of a line; empty: nothing.
std::string check_user(std::string_view name, std::string_view role, std::string_view queues) {
  const auto is_name_byte = [](char c) { return c > ' ' && c < '\x7f'; };
  if (name.empty() || name.size() > name_bytes_max || name.front() == '#' ||
      !std::all_of(name.begin(), name.end(), is_name_byte)) {
    return "a user's name is 1 to " + std::to_string(name_bytes_max) +
           " printable ASCII characters without a blank, and does not begin with #";
  }
  if (!role_named(role)) return "a role is producer, worker, read-only or admin";
  for (const std::string& queue : split(queues, ',')) {
    if (!is_queue_pattern(queue)) {
      return "queues are * or names and beginnings of names (shop.*), with a comma between";
    }
  }
  return {};
}

std::optional<std::string> read_line(std::string_view line, User& into) {
  std::istringstream words{std::string(line)};
  std::string role;
  std::string queues;
  std::string more;
  if (!(words >> into.name >> role >> queues >> into.hash) || words >> more) {
    return "wanted is: name role queues hash";
  }
  if (std::string wrong = check_user(into.name, role, queues); !wrong.empty()) return wrong;
  // Also says whether the hash is one at all. Its cost does not matter here.
  if (!into.hash.starts_with("$argon2id$") ||
      ::crypto_pwhash_str_needs_rehash(into.hash.c_str(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                       crypto_pwhash_MEMLIMIT_INTERACTIVE) < 0) {
    return "this is no Argon2id hash; make the line with `duelease password`";
  }
  into.role = *role_named(role);
  into.queues = split(queues, ',');
  into.may_use_all = std::find(into.queues.begin(), into.queues.end(), "*") != into.queues.end();
  return std::nullopt;
}

}  // namespace

bool User::may_use(std::string_view queue) const {
  if (may_use_all) return true;
  return std::any_of(queues.begin(), queues.end(), [queue](std::string_view pattern) {
    if (!pattern.ends_with('*')) return queue == pattern;
    return queue.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

Users::Users() { ::randombytes_buf(key_.data(), key_.size()); }

Result<std::shared_ptr<Users>> Users::read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return fail(Code::invalid, "the users file " + path.string() + " cannot be read, or is empty");
  }
  return parse(text.str(), path.string());
}

Result<std::shared_ptr<Users>> Users::parse(std::string_view text, const std::string& name) {
  if (::sodium_init() < 0) return fail(Code::invalid, "libsodium does not start");
  auto users = std::make_shared<Users>();
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line[start] == '#') continue;
    User user;
    std::optional<std::string> wrong = read_line(line, user);
    if (!wrong && users->users_.contains(user.name)) wrong = "the user " + user.name + " is there twice";
    if (wrong) return fail(Code::invalid, name + ":" + std::to_string(number) + ": " + *wrong);
    std::string key = user.name;
    users->users_.emplace(std::move(key), std::move(user));
  }
  if (users->users_.empty()) return fail(Code::invalid, name + ": there is no user in it");
  return users;
}

Users::Fingerprint Users::fingerprint(std::string_view name, std::string_view password) const {
  Fingerprint out;
  std::string both(name);  // A name has no NUL byte.
  both.push_back('\0');
  both.append(password);
  ::crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(both.data()),
                       both.size(), key_.data(), key_.size());
  ::sodium_memzero(both.data(), both.size());
  return out;
}

const User* Users::remembered(std::string_view name, std::string_view password) {
  if (password.size() > password_bytes_max) return nullptr;
  const Fingerprint print = fingerprint(name, password);
  const std::lock_guard lock(mutex_);
  const auto before = verified_.find(name);
  if (before == verified_.end()) return nullptr;
  const bool right = ::sodium_memcmp(before->second.data(), print.data(), print.size()) == 0;
  return right ? &users_.find(name)->second : nullptr;
}

const User* Users::find(std::string_view name, std::string_view password) {
  if (password.size() > password_bytes_max) return nullptr;
  if (const User* const user = remembered(name, password)) return user;
  const auto found = users_.find(name);
  const bool known = found != users_.end();
  // An unknown name is checked against somebody's hash, for the time that it takes.
  const User& user = known ? found->second : users_.begin()->second;
  const bool right = ::crypto_pwhash_str_verify(user.hash.c_str(), password.data(), password.size()) == 0;
  if (!known || !right) return nullptr;
  const std::lock_guard lock(mutex_);
  verified_[user.name] = fingerprint(name, password);
  return &user;
}

}  // namespace duelease::server

namespace duelease {

Result<std::string> make_user_line(std::string_view name, std::string_view role, std::string_view queues,
                                   std::string_view password) {
  if (std::string wrong = server::check_user(name, role, queues); !wrong.empty()) {
    return fail(Code::invalid, wrong);
  }
  if (password.empty() || password.size() > server::password_bytes_max) {
    return fail(Code::invalid, "a password has 1 to " + std::to_string(server::password_bytes_max) +
                                   " bytes, this one has " + std::to_string(password.size()));
  }
  if (::sodium_init() < 0) return fail(Code::invalid, "libsodium does not start");
  char hash[crypto_pwhash_STRBYTES];
  if (::crypto_pwhash_str_alg(hash, password.data(), password.size(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                              crypto_pwhash_MEMLIMIT_INTERACTIVE, crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return fail(Code::overloaded, "there is not enough memory to hash a password");
  }
  return std::string(name) + " " + std::string(role) + " " + std::string(queues) + " " + hash;
}

}  // namespace duelease
