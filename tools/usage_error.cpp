#include "usage_error.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "text.h"

namespace duelease::tools {
namespace {

template <class Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// The commands that were understood: "duelease queue set".
std::string understood(const CLI::App& app) {
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? app.get_name() : app.get_name() + ' ' + understood(*below.front());
}

std::string unexpected(const std::vector<std::string>& words) {
  const auto option =
      std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  if (option != words.end()) return "no such option: " + printable(*option);
  return "one word too many: " + (words.empty() ? std::string() : quote(words.front()));
}

std::string in_plain_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  const std::vector<std::string> left = app.remaining(true);
  const auto says = [&said](std::string_view words) { return said.find(words) != std::string::npos; };
  const std::string option = said.substr(0, said.find_first_of(": "));
  // CLI11 asks for a command before it looks at the word that it could not use.
  if (is<CLI::RequiredError>(error) && says("ubcommand")) {
    return left.empty() ? "which command?" : "no such command: " + printable(left.front());
  }
  if (is<CLI::ExtrasError>(error)) return unexpected(left);
  if (is<CLI::ArgumentMismatch>(error) && says("At Most")) return option + " is given more than once";
  if (is<CLI::ArgumentMismatch>(error) && says("missing")) return option + " needs a value";
  if (is<CLI::ArgumentMismatch>(error) && says("flag override")) return "--" + option + " takes no value";
  if (is<CLI::ExcludesError>(error)) {
    return fmt::format("give {} or {}, not both", option, said.substr(said.rfind(' ') + 1));
  }
  return printable(said);
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (is<CLI::ValidationError>(error)) return error.what();
  return fmt::format("{} (see {} --help)", in_plain_words(app, error), understood(app));
}

}  // namespace duelease::tools
