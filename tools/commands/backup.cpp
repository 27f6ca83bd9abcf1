// duelease backup: copies a store.
#include <memory>

#include "../json.h"
#include "../text.h"
#include "registry.h"

namespace duelease::tools {
namespace {

Exit backup(const Session& session, const std::string& to, Engine& engine) {
  const Result<> done = engine.backup(to);
  if (!done) return failed(done.error());
  if (session.json) {
    Json json;
    json["backup"] = json_bytes(to);
    print_json(json);
  } else {
    say("backed up to {}", printable(to));
  }
  return Exit::ok;
}

}  // namespace

void declare_backup(Arguments& root, const Session& session) {
  const auto to = std::make_shared<std::string>();
  Arguments command = root.command("backup", "Copy the store into a new folder");
  command.text("--to", *to, "DIR", "the folder to make").required();
  command.run([to, &session] {
    return with_store(session, Missing::refuse, [&](Engine& engine) { return backup(session, *to, engine); });
  });
}

}  // namespace duelease::tools
