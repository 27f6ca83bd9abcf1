#include "settings.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

#include "text.h"
#include "time_text.h"

namespace duelease::tools {
namespace {

using Read = std::function<std::string(const std::string&)>;

constexpr std::size_t size_max = std::numeric_limits<std::size_t>::max();

template <class Number>
Read whole(Number& into, std::size_t min, std::size_t max = std::numeric_limits<Number>::max()) {
  return [&into, min, max](const std::string& text) {
    std::size_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < min || value > max) {
      return fmt::format("{} is not a whole number from {} to {}", quote(text), min, max);
    }
    into = static_cast<Number>(value);
    return std::string();
  };
}

// A number of bytes, or one with KiB, MiB or GiB behind.
Read bytes(std::size_t& into) {
  return [&into](const std::string& text) {
    std::size_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    const int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
    if (error != std::errc{} || shift < 0 || value > size_max >> shift) {
      return fmt::format("{} is not a number of bytes, as 65536, 64KiB, 1MiB or 2GiB", quote(text));
    }
    into = value << shift;
    return std::string();
  };
}

Read duration(Duration& into) {
  return [&into](const std::string& text) {
    const Result<Duration> read = parse_duration(text);
    if (!read) return read.error().message;
    into = *read;
    return std::string();
  };
}

Read path(std::filesystem::path& into) {
  return [&into](const std::string& text) {
    into = text;
    return std::string();
  };
}

template <class Value>
Read one_of(Value& into, std::vector<std::pair<std::string, Value>> values) {
  return [&into, values = std::move(values)](const std::string& text) {
    std::string names;
    for (const auto& [name, value] : values) {
      if (text == name) return into = value, std::string();
      names += (names.empty() ? "" : ", ") + name;
    }
    return fmt::format("{} is none of {}", quote(text), names);
  };
}

Read yes_or_no(bool& into) {
  return [&into](const std::string& text) {
    if (text != "yes" && text != "true" && text != "no" && text != "false") {
      return fmt::format("{} is neither yes nor no", quote(text));
    }
    into = text == "yes" || text == "true";
    return std::string();
  };
}

// The first one given takes the place of the default.
Read addresses(std::vector<std::string>& into) {
  return [&into, first = true](const std::string& text) mutable {
    if (std::exchange(first, false)) into.clear();
    into.push_back(text);
    return std::string();
  };
}

std::string with_default(const std::string& help, std::size_t value) {
  return fmt::format("{}; {} by default", help, value);
}
std::string with_default(const std::string& help, Duration value) {
  return fmt::format("{}; {} by default", help, print_duration(value));
}
std::string size_with_default(const std::string& help, std::size_t value) {
  constexpr std::size_t mebibyte = 1024 * 1024;
  const std::string size =
      value % mebibyte == 0 ? fmt::format("{}MiB", value / mebibyte) : fmt::format("{}KiB", value / 1024);
  return fmt::format("{}; {} by default", help, size);
}

// ---- The settings -------------------------------------------------------------------------------

std::vector<Setting> server_settings(ServerOptions& s) {
  return {
      {"listen", "ADDRESS", "address to listen on, may be repeated; 127.0.0.1 by default",
       addresses(s.addresses), true},
      {"port", "PORT", with_default("port to listen on, 0 for any that is free", s.port), whole(s.port, 0)},
      {"users", "FILE", "who may log in: lines made by `duelease password`", path(s.users_file)},
      {"insecure", "", "listen on any address without users: everybody who gets through may do everything",
       yes_or_no(s.insecure)},
      {"tls-cert", "FILE", "certificate chain (PEM): speak TLS only", path(s.tls_cert)},
      {"tls-key", "FILE", "its key (PEM)", path(s.tls_key)},
      {"tls-client-ca", "FILE", "authority (PEM) that must have signed each client's certificate",
       path(s.tls_client_ca)},
      {"max-connections", "N", with_default("connections", s.connections_max),
       whole(s.connections_max, 1, 10'000'000)},
      {"max-request", "BYTES",
       size_with_default("one request; give the largest payload limit of a queue and 64KiB",
                         s.request_bytes_max),
       bytes(s.request_bytes_max)},
      {"max-line", "BYTES", size_with_default("one request in line form", s.line_bytes_max),
       bytes(s.line_bytes_max)},
      {"max-words", "N", with_default("words of one request", s.words_max),
       whole(s.words_max, 64, 1'000'000)},
      {"max-pipeline", "N",
       with_default("requests of one connection under way; more are read later", s.requests_under_way_max),
       whole(s.requests_under_way_max, 1, 50'000)},
      {"max-reply", "BYTES",
       size_with_default("replies that one connection has not read; no more of its requests are read then",
                         s.reply_bytes_max),
       bytes(s.reply_bytes_max)},
      {"max-unsent", "BYTES",
       size_with_default("the same of all connections, before those with more than 64KiB are read no further",
                         s.unsent_bytes_max),
       bytes(s.unsent_bytes_max)},
      {"max-held", "BYTES",
       size_with_default("requests of all connections that are not answered yet", s.held_bytes_max),
       bytes(s.held_bytes_max)},
      {"idle-timeout", "DURATION", "close a connection that was silent for so long; 0, never, by default",
       duration(s.idle_timeout)},
      {"handshake-timeout", "DURATION", with_default("for a client to begin TLS", s.handshake_timeout),
       duration(s.handshake_timeout)},
      {"login-timeout", "DURATION",
       with_default("for a client to log in, where there are users; 0, never", s.login_timeout),
       duration(s.login_timeout)},
      {"write-timeout", "DURATION",
       with_default("close a connection that took no byte of its replies for so long; 0, never",
                    s.write_timeout),
       duration(s.write_timeout)},
      {"stop-deadline", "DURATION",
       with_default("after SIGTERM, how long workers may still report on what they hold", s.stop_deadline),
       duration(s.stop_deadline)},
      {"check-every", "DURATION",
       "count violations of the invariants by itself, so long after the last time, for INFO; 0, never, by "
       "default",
       duration(s.check_every)},
      {"threads", "N", with_default("threads for the sockets", s.threads), whole(s.threads, 1, 64)},
      {"read-threads", "N",
       with_default("threads for reads, and as many for those that walk over a queue", s.read_threads),
       whole(s.read_threads, 1, 64)},
  };
}

std::vector<Setting> engine_settings(Options& e) {
  return {
      {"sync-interval", "DURATION", with_default("for --durability interval", e.sync_interval),
       duration(e.sync_interval)},
      {"restart-grace", "DURATION",
       with_default("what leases have left at least after a start", e.restart_grace),
       duration(e.restart_grace)},
      {"max-commands-waiting", "N", with_default("changes that wait for the disk", e.commands_waiting_max),
       whole(e.commands_waiting_max, 10'000)},
      {"max-claims-waiting", "N", with_default("claims that wait for an order", e.claims_waiting_max),
       whole(e.claims_waiting_max, 0)},
      {"max-claim-reply", "BYTES",
       size_with_default("orders in the answer to one claim", e.claim_reply_bytes_max),
       bytes(e.claim_reply_bytes_max)},
      {"memtable", "BYTES", size_with_default("memory for writes", e.memtable_bytes),
       bytes(e.memtable_bytes)},
      {"block-cache", "BYTES", size_with_default("memory for reads", e.block_cache_bytes),
       bytes(e.block_cache_bytes)},
  };
}

}  // namespace

std::vector<Setting> all_settings(Settings& settings) {
  const auto text = [](std::string& into) {
    return [&into](const std::string& given) { return into = given, std::string(); };
  };
  std::vector<Setting> all = server_settings(settings.server);
  for (Setting& setting : engine_settings(settings.engine)) all.push_back(std::move(setting));
  const std::vector<Setting> others = {
      {"log-level", "LEVEL", "info (the default), warning or error",
       one_of<LogLevel>(
           settings.log_level,
           {{"info", LogLevel::info}, {"warning", LogLevel::warning}, {"error", LogLevel::error}})},
      {"store", "DIR", "", text(settings.store)},
      {"durability", "LEVEL", "",
       one_of<Durability>(
           settings.engine.durability,
           {{"sync", Durability::sync}, {"interval", Durability::interval}, {"none", Durability::none}})},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

Result<> read_settings_file(const std::string& file, const std::vector<Setting>& settings,
                            const std::set<std::string>& given) {
  const auto wrong = [&file](const std::string& what) { return fail(Code::invalid, file + ": " + what); };
  std::ifstream stream(file);
  if (!stream) return wrong("cannot be read");
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(stream);
  } catch (const std::exception& error) {
    return wrong(error.what());
  }
  if (stream.bad()) return wrong("cannot be read");  // A folder, mostly.
  std::set<std::string> seen;
  for (const CLI::ConfigItem& item : items) {
    if (!item.parents.empty()) {  // Also what CLI11 says where a table begins.
      return wrong("there are no tables, and so no " + quote("[" + item.parents.front() + "]"));
    }
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [&item](const Setting& setting) { return setting.name == item.name; });
    if (found == settings.end()) return wrong("there is no setting " + quote(item.name));
    if (!seen.insert(item.name).second) return wrong(item.name + " is given twice");
    if (item.inputs.empty() || (item.inputs.size() > 1 && !found->repeats)) {
      return wrong(fmt::format("{} takes one value, and {} are given", item.name, item.inputs.size()));
    }
    if (given.contains(item.name)) continue;
    for (const std::string& input : item.inputs) {
      if (const std::string no = found->read(input); !no.empty()) return wrong(item.name + ": " + no);
    }
  }
  return {};
}

}  // namespace duelease::tools
