// tools/arguments.h: declares what a command takes on the command line.
//
// A thin cover over CLI11. It keeps that large header out of every command, reads numbers, durations and
// times in the words of the protocol, and lets an empty text be a value (--payload '').
//
//     auto options = std::make_shared<Options>();
//     Arguments command = root.command("cancel", "Take an order out of its queue");
//     command.text("queue,--queue", options->queue, "QUEUE", "its queue").required();
//     command.flag("--force", options->force, "also while it is being processed");
//     command.run([options, &session] { return cancel(session, *options); });
//
// A name such as "queue,--queue" can be given by its place or by its name. An option that is not given
// leaves its variable as it was. The variables must outlive the parse.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "duelease/types.h"
#include "output.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace duelease::tools {

class Arguments {
 public:
  // One declared option.
  class Option {
   public:
    explicit Option(CLI::Option& option) : option_(option) {}
    Option& required();
    // Taken from this variable of the environment when it is not given.
    Option& environment(const std::string& name);
    Option& excludes(const Option& other);

   private:
    CLI::Option& option_;
  };

  // `chosen` receives what run() declared for the command that the user names.
  Arguments(CLI::App& app, std::function<Exit()>& chosen);

  // A command below this one.
  Arguments command(const std::string& name, const std::string& help);
  // One of the commands below this one must be named.
  void require_command();
  // Shown at the end of --help.
  void footer(const std::string& text);

  Option flag(const std::string& name, bool& into, const std::string& help);
  Option text(const std::string& name, std::string& into, const std::string& type, const std::string& help);
  Option text(const std::string& name, std::optional<std::string>& into, const std::string& type,
              const std::string& help);
  // May be repeated.
  Option texts(const std::string& name, std::vector<std::string>& into, const std::string& type,
               const std::string& help);
  // A whole number from `min` to `max`.
  Option number(const std::string& name, std::optional<std::uint64_t>& into, std::uint64_t min,
                std::uint64_t max, const std::string& help);
  Option duration(const std::string& name, std::optional<Duration>& into, const std::string& help);
  // Relative times are seen from `now`.
  Option due(const std::string& name, std::optional<Time>& into, Time now, const std::string& help);

  // Any other kind of value: `read` answers what is wrong with the text, empty when it took it.
  using Read = std::function<std::string(const std::string&)>;
  Option value(const std::string& name, const Read& read, const std::string& type, const std::string& help,
               bool repeats = false);
  // A flag that does something.
  Option action(const std::string& name, const std::function<void()>& action, const std::string& help);

  // What the command does.
  void run(std::function<Exit()> action);

 private:
  CLI::App& app_;
  std::function<Exit()>& chosen_;
};

}  // namespace duelease::tools
