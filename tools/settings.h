// tools/settings.h: the settings of `duelease serve`: flags of the command line, and the same names in a
// file.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "duelease/options.h"
#include "duelease/server.h"

namespace duelease::tools {

struct Settings {
  std::string store;  // Empty: not given.
  Options engine;
  ServerOptions server;
  LogLevel log_level = LogLevel::info;
};

// One setting: how its text is read. What is wrong with it is answered; empty: nothing.
struct Setting {
  std::string name;
  std::string type;  // Of the value, for --help; empty: a switch, yes or no.
  std::string help;
  std::function<std::string(const std::string&)> read;
  bool repeats = false;
};

// All of them, writing into `settings`.
std::vector<Setting> all_settings(Settings& settings);

// Applies the file's settings but those of `given`, which the command line has set. TOML of the simple
// kind: `name = value` or `name = ["value", ...]`, without tables. The error names the file and the
// setting.
Result<> read_settings_file(const std::string& file, const std::vector<Setting>& settings,
                            const std::set<std::string>& given);

}  // namespace duelease::tools
