// bench/target_kinds.h: what each file target_*.cpp offers to targets.cpp.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "target.h"

namespace duelease::bench {

// `variant` is what stands behind the colon of the target's name.
using Maker = std::unique_ptr<Target> (*)(const TargetChoice& choice, const std::string& variant,
                                          const std::filesystem::path& folder);
using Informer = TargetInfo (*)(const TargetChoice& choice, const std::string& variant);

struct TargetKind {
  std::vector<TargetName> names;  // "kind" or "kind:variant"; the first is the one meant by "kind" alone.
  Informer info;
  Maker make;
};

TargetKind engine_kind();
TargetKind server_kind();
TargetKind redis_kind();
TargetKind beanstalkd_kind();
TargetKind postgres_kind();
TargetKind sqlite_kind();
TargetKind rocksdb_kind();
TargetKind disk_kind();

std::string rocksdb_version();  // And whether it is built with assertions, as Debian's is, which cost much.

}  // namespace duelease::bench
