#include "session.h"

#include <utility>

#include "text.h"

namespace duelease::tools {
namespace {

void log(LogLevel level, std::string_view line) {
  if (level == LogLevel::info) return;
  complain("{}: {}", level == LogLevel::warning ? "warning" : "error", printable(line));
}

}  // namespace

Options one_shot_options(const Session& session) {
  Options options;
  options.durability = session.durability;
  options.timer = false;
  options.log = log;
  return options;
}

Result<std::unique_ptr<Engine>> open_store(const Session& session, Missing missing, Options options) {
  if (!session.store || session.store->empty()) {
    return fail(Code::invalid, "which store? give --store DIR, or set DUELEASE_STORE");
  }
  options.create_if_missing = missing == Missing::create;
  Result<std::unique_ptr<Engine>> engine = Engine::open(*session.store, std::move(options));
  if (engine) return engine;
  // To a caller of the program "not found" is an answer about an order; a missing store is not. And a backup
  // or some other folder in its place is no wrong word.
  if (engine.error().code == Code::not_found) return fail(Code::storage, "no store at " + *session.store);
  if (engine.error().code == Code::invalid) return fail(Code::storage, engine.error().message);
  return engine;
}

Exit with_store(const Session& session, Missing missing, const std::function<Exit(Engine&)>& action) {
  const Result<std::unique_ptr<Engine>> engine = open_store(session, missing, one_shot_options(session));
  if (!engine) return failed(engine.error());
  return action(**engine);
}

Result<std::vector<std::string>> chosen_queues(const Engine& engine,
                                               const std::optional<std::string>& named) {
  if (!named) return engine.queues();
  return std::vector<std::string>{*named};
}

}  // namespace duelease::tools
