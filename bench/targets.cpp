// The list of targets.
#include <algorithm>
#include <utility>

#include "process.h"
#include "target_kinds.h"

namespace duelease::bench {

namespace {

const std::vector<TargetKind>& kinds() {
  static const std::vector<TargetKind> all = {engine_kind(),     server_kind(),   redis_kind(),
                                              beanstalkd_kind(), postgres_kind(), sqlite_kind(),
                                              rocksdb_kind(),    disk_kind()};
  return all;
}

// "redis:always": "redis", "always".
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t colon = name.find(':');
  return {name.substr(0, colon), colon == std::string::npos ? "" : name.substr(colon + 1)};
}

const TargetKind& kind_of(const std::string& name) {
  return *std::ranges::find_if(kinds(), [&name](const TargetKind& kind) {
    return std::ranges::any_of(kind.names, [&name](const TargetName& one) { return one.name == name; });
  });
}

}  // namespace

const std::vector<TargetName>& target_names() {
  static const std::vector<TargetName> names = [] {
    std::vector<TargetName> all;
    for (const TargetKind& kind : kinds()) all.insert(all.end(), kind.names.begin(), kind.names.end());
    return all;
  }();
  return names;
}

std::optional<std::string> full_target_name(const std::string& name) {
  for (const TargetName& known : target_names()) {
    if (known.name == name || (name.find(':') == std::string::npos && known.name.starts_with(name + ":"))) {
      return known.name;
    }
  }
  return std::nullopt;
}

TargetInfo target_info(const TargetChoice& choice) {
  return kind_of(choice.name).info(choice, parts_of(choice.name).second);
}

std::unique_ptr<Target> make_target(const TargetChoice& choice, const std::filesystem::path& folder) {
  return kind_of(choice.name).make(choice, parts_of(choice.name).second, folder);
}

}  // namespace duelease::bench
