#include "arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <utility>

#include "text.h"
#include "time_text.h"

namespace duelease::tools {
namespace {

// Empty when `text` is not a whole number that fits.
std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

template <class Text>
Arguments::Read take_into(Text& into) {
  return [&into](const std::string& text) {
    into = text;
    return std::string();
  };
}

}  // namespace

Arguments::Option& Arguments::Option::required() {
  option_.required();
  return *this;
}

Arguments::Option& Arguments::Option::environment(const std::string& name) {
  option_.envname(name);
  return *this;
}

Arguments::Option& Arguments::Option::excludes(const Option& other) {
  option_.excludes(&other.option_);
  return *this;
}

Arguments::Arguments(CLI::App& app, std::function<Exit()>& chosen) : app_(app), chosen_(chosen) {}

Arguments Arguments::command(const std::string& name, const std::string& help) {
  // Options of the program may stand behind the command as well.
  return Arguments(*app_.add_subcommand(name, help)->fallthrough(), chosen_);
}

void Arguments::require_command() { app_.require_subcommand(1, 1); }

void Arguments::footer(const std::string& text) { app_.footer(text); }

Arguments::Option Arguments::flag(const std::string& name, bool& into, const std::string& help) {
  return Option(*app_.add_flag(name, into, help)->disable_flag_override());
}

Arguments::Option Arguments::value(const std::string& name, const Read& read, const std::string& type,
                                   const std::string& help, bool repeats) {
  const std::string shown = name.substr(name.find(',') + 1);
  const auto take = [read, shown](const std::string& text) {
    const std::string wrong = read(text);
    if (!wrong.empty()) throw CLI::ValidationError(shown, wrong);
  };
  CLI::Option* const option = app_.add_option_function<std::string>(name, take, help)->type_name(type);
  if (repeats) option->trigger_on_parse()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return Option(*option);
}

Arguments::Option Arguments::action(const std::string& name, const std::function<void()>& action,
                                    const std::string& help) {
  return Option(*app_.add_flag_callback(name, action, help));
}

Arguments::Option Arguments::text(const std::string& name, std::string& into, const std::string& type,
                                  const std::string& help) {
  return value(name, take_into(into), type, help);
}

Arguments::Option Arguments::text(const std::string& name, std::optional<std::string>& into,
                                  const std::string& type, const std::string& help) {
  return value(name, take_into(into), type, help);
}

Arguments::Option Arguments::texts(const std::string& name, std::vector<std::string>& into,
                                   const std::string& type, const std::string& help) {
  CLI::Option* const option = app_.add_option(name, into, help);
  option->type_name(type)->expected(1)->allow_extra_args(false)->take_all();
  return Option(*option);
}

Arguments::Option Arguments::number(const std::string& name, std::optional<std::uint64_t>& into,
                                    std::uint64_t min, std::uint64_t max, const std::string& help) {
  const auto read = [&into, min, max](const std::string& text) {
    const std::optional<std::uint64_t> number = to_number(text);
    if (!number || *number < min || *number > max) {
      return fmt::format("{} is not a whole number from {} to {}", quote(text), min, max);
    }
    into = number;
    return std::string();
  };
  return value(name, read, "N", help);
}

Arguments::Option Arguments::duration(const std::string& name, std::optional<Duration>& into,
                                      const std::string& help) {
  const auto read = [&into](const std::string& text) {
    const Result<Duration> duration = parse_duration(text);
    if (!duration) return duration.error().message;
    into = *duration;
    return std::string();
  };
  return value(name, read, "DURATION", help);
}

Arguments::Option Arguments::due(const std::string& name, std::optional<Time>& into, Time now,
                                 const std::string& help) {
  const auto read = [&into, now](const std::string& text) {
    const Result<Time> time = parse_due(text, now);
    if (!time) return time.error().message;
    into = *time;
    return std::string();
  };
  return value(name, read, "TIME", help);
}

void Arguments::run(std::function<Exit()> action) {
  app_.callback([&chosen = chosen_, action = std::move(action)] { chosen = action; });
}

}  // namespace duelease::tools
