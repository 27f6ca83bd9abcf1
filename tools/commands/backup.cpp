// duelease backup: copies a store.
#include <filesystem>
#include <memory>
#include <system_error>

#include "../answer.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

// The folder that must be there; empty when it is.
std::string missing_parent(const std::string& to) {
  std::error_code ec;
  std::filesystem::path path = std::filesystem::absolute(to, ec);
  if (!path.has_filename()) path = path.parent_path();  // A slash at the end.
  const std::filesystem::path parent = path.parent_path();
  return std::filesystem::is_directory(parent, ec) ? "" : parent.string();
}

Exit backup(const Session& session, const std::string& to, Engine& engine) {
  if (to.empty()) {
    complain("--to: a folder must have a name");
    return Exit::usage;
  }
  if (const std::string missing = missing_parent(to); !missing.empty()) {
    complain("cannot back up to {}: there is no folder {}", printable(to), printable(missing));
    return Exit::usage;
  }
  const Result<> done = engine.backup(to);
  if (!done) return failed(done.error());
  print_answer(session, "backup", json_bytes(to), "backed up to " + printable(to));
  return Exit::ok;
}

}  // namespace

void declare_backup(Arguments& root, const Session& session) {
  const auto to = std::make_shared<std::string>();
  Arguments command = root.command("backup", "Copy the store into a new folder");
  command.text("--to", *to, "DIR", "the folder to make").required();
  command.run([to, &session] {
    const Result<std::unique_ptr<Engine>> engine =
        open_store(session, Missing::refuse, one_shot_options(session));
    return engine ? backup(session, *to, **engine) : failed(engine.error());
  });
}

}  // namespace duelease::tools
