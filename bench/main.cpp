// duelease-bench: DueLease beside what people use now, and beside its own limits, in one run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "child.h"
#include "plot.h"
#include "report.h"
#include "workloads.h"

namespace {

using namespace duelease::bench;
namespace fs = std::filesystem;

constexpr unsigned connections_max = 64;
constexpr unsigned batch_max = 1000;

// What the command line says. Lists make a case of each combination.
struct Asked {
  std::string workload;
  std::vector<std::string> targets;
  std::vector<std::uint64_t> orders;
  std::vector<unsigned> connections = {4};
  std::vector<unsigned> batches = {100};
  std::vector<std::size_t> payloads = {64};
  std::vector<std::uint64_t> waiting = {0};
  std::vector<std::uint64_t> completes = {0};
  unsigned rate = 0;
  double seconds = 0;
  unsigned rounds = 5;
  fs::path folder = "duelease-bench-data";
  fs::path program;
  fs::path plot;
  bool json = false;
};

std::vector<Case> cases_of(const Asked& asked) {
  std::vector<Case> cases;
  for (const std::uint64_t completes : asked.completes)
    for (const std::uint64_t waiting : asked.waiting)
      for (const std::size_t payload : asked.payloads)
        for (const unsigned batch : asked.batches)
          for (const unsigned connections : asked.connections)
            for (const std::uint64_t orders : asked.orders) {
              Case one;
              one.workload = asked.workload;
              one.orders = orders;
              one.connections = connections;
              one.batch = batch;
              one.payload_bytes = payload;
              one.waiting = waiting;
              one.completes = completes;
              one.rate = asked.rate;
              one.seconds_max = asked.workload == "delay" ? 0 : asked.seconds;
              cases.push_back(one);
            }
  return cases;
}

// Why the target is left out; empty when it is not.
std::string unfit(const Asked& asked, const TargetChoice& choice) {
  const std::unique_ptr<Target> target = make_target(choice, asked.folder);
  if (target->is_limit() && !workload_named(asked.workload).for_limits) return "a limit, which has no queue";
  if (asked.workload == "open" && !target->keeps_orders()) return "keeps nothing over a kill -9";
  return target->obstacle();
}

// Each target once, in the order of the command line, those that cannot run left out.
std::vector<TargetChoice> choose(const Asked& asked, Report& report) {
  std::vector<std::string> names;
  for (const std::string& name : asked.targets) {
    if (name != "all") {
      names.push_back(*full_target_name(name));
      continue;
    }
    for (const TargetName& known : target_names()) names.push_back(known.name);
  }
  std::vector<TargetChoice> chosen;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) continue;
    const TargetChoice choice = {name, std::ranges::max(asked.connections), asked.program};
    const TargetInfo info = target_info(choice);
    const std::string why = info.missing.empty() ? unfit(asked, choice) : info.missing + " is not installed";
    if (why.empty()) {
      report.targets.emplace_back(name, info);
      chosen.push_back(choice);
    } else {
      report.skipped.push_back({name, why});
      std::fprintf(stderr, "duelease-bench: %s skipped: %s\n", name.c_str(), why.c_str());
    }
  }
  return chosen;
}

// Rounds in turn (A B A B), so that a slow minute of the machine hits all of them.
CaseResult measure(const Asked& asked, const Case& wanted, const std::vector<TargetChoice>& targets) {
  CaseResult result{wanted, {}};
  for (const TargetChoice& target : targets) result.targets.push_back({target.name, {}});
  for (unsigned round = 1; round <= asked.rounds; ++round) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const fs::path folder = asked.folder / ("round-" + std::to_string(::getpid()));
      fs::remove_all(folder);
      fs::create_directories(folder);
      TargetChoice choice = targets[i];
      choice.connections_max = wanted.connections;
      try {
        result.targets[i].rounds.push_back(run_round(wanted, choice, fs::absolute(folder)));
      } catch (const Fault& fault) {
        fs::remove_all(folder);
        throw Fault(choice.name + ", " + title_of(wanted) + ": " + fault.what());
      }
      fs::remove_all(folder);
      const Figure& figure = result.targets[i].rounds.back().figures[0];
      std::fprintf(stderr, "round %u of %u  %-16s %12.6g %s  (%s)\n", round, asked.rounds,
                   choice.name.c_str(), figure.value, figure.name.c_str(), title_of(wanted).c_str());
    }
  }
  return result;
}

// Makes it and those above it, and removes again what it has made, where nothing else came into it.
class MadeFolders {
 public:
  explicit MadeFolders(const fs::path& folder) {
    for (fs::path path = fs::absolute(folder).lexically_normal(); !fs::exists(path);
         path = path.parent_path())
      made_.push_back(path);
    fs::create_directories(folder);
  }
  ~MadeFolders() {
    std::error_code ignored;
    for (const fs::path& path : made_) fs::remove(path, ignored);
  }
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

 private:
  std::vector<fs::path> made_;  // The innermost first.
};

// Before anything is measured.
void require_writable(const fs::path& path) {
  const bool existed = fs::exists(path);
  if (!std::ofstream(path, std::ios::app)) throw Fault("cannot write " + path.string());
  if (!existed) fs::remove(path);
}

int run(const Asked& asked) {
  if (!asked.plot.empty()) require_writable(asked.plot);
  const MadeFolders folders(asked.folder);
  Report report;
  report.machine = machine(fs::absolute(asked.folder).string());
  const std::vector<TargetChoice> targets = choose(asked, report);
  for (const Case& wanted : cases_of(asked)) {
    if (!targets.empty()) report.results.push_back(measure(asked, wanted, targets));
  }
  std::printf("%s\n", asked.json ? json_of(report).c_str() : table_of(report).c_str());
  if (!asked.plot.empty()) {
    std::ofstream file(asked.plot);
    file << svg_of(report);
    if (!file.flush()) throw Fault("cannot write " + asked.plot.string());
  }
  if (targets.empty()) throw Fault("nothing was measured");
  return 0;
}

std::string footer() {
  std::string text = "\nTargets (--targets):\n";
  for (const TargetName& target : target_names())
    text += "  " + target.name + std::string(18 - target.name.size(), ' ') + target.help + '\n';
  text +=
      "  all               all of these\n\n"
      "\"redis\" is the first of its name. The tool starts each server itself, on a free port of 127.0.0.1 "
      "with a\n"
      "data folder of its own, and stops it by its id; it installs nothing, and skips what is not there. "
      "What each\n"
      "target does, and what is fair about it, is told in bench/README.md.\n\n"
      "Where an option takes a list (1,10,100) each combination is measured. Rounds are taken in turn (A B A "
      "B);\n"
      "printed are the median, the lowest and the highest. Every order must be handed out and completed "
      "once: a\n"
      "round that loses or doubles one is an error. Exit code: 0; 1 an error, or nothing was measured; above "
      "100\n"
      "wrong words on the command line.\n";
  return text;
}

std::string check_target(const std::string& name) {
  if (name == "all" || full_target_name(name)) return {};
  return "no such target: " + name + "; see duelease-bench --help";
}

// CLI::Range lets pass what is no number: nan.
CLI::Validator seconds_in(double least, double most) {
  const CLI::Range range(least, most);
  return {[range](std::string& text) {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && std::isnan(value)) return text + " is no number";
            return range(text);
          },
          range.get_description()};
}

class Commands {
 public:
  Commands(CLI::App& app, Asked& asked) : app_(app), asked_(asked) {}

  void declare() {
    CLI::App* const lifecycle = add("lifecycle", {"engine", "rocksdb"}, {500'000});
    shape(lifecycle), payload(lifecycle), seconds(lifecycle);
    CLI::App* const payloads = add("payload", {"engine", "rocksdb"}, {20'000});
    shape(payloads), payload(payloads, {16, 256, 4096, 65'536}), seconds(payloads);
    CLI::App* const backlog = add("backlog", {"engine"}, {100'000});
    shape(backlog), payload(backlog), seconds(backlog);
    list(backlog, "--waiting", &Asked::waiting, {10'000, 1'000'000}, "Orders that wait meanwhile",
         1'000'000'000);
    for (const char* name : {"schedule", "claim"}) {
      CLI::App* const command = add(name, {"engine", "rocksdb"}, {200'000});
      shape(command), payload(command);
    }
    declare_delay();
    CLI::App* const drain = add("drain", {"engine"}, {2000});
    payload(drain);
    list(drain, "--completes", &Asked::completes, {0, 100'000}, "Orders completed before", 1'000'000'000);
    payload(add("open", {"engine"}, {10'000, 1'000'000}));
  }

  // Defaults are those of the command that was given.
  void take_defaults() const {
    for (const auto& [command, set] : defaults_) {
      if (command->parsed()) set();
    }
  }

 private:
  CLI::App* add(const std::string& name, const std::vector<std::string>& targets,
                const std::vector<std::uint64_t>& orders) {
    CLI::App* const command = app_.add_subcommand(name, workload_named(name).help);
    command->callback([this, name] { asked_.workload = name; });
    list(command, "--targets", &Asked::targets, targets, "What to measure, see below; or all")
        ->check(CLI::Validator(check_target, "TARGET"));
    if (!orders.empty())
      list(command, "--orders", &Asked::orders, orders, "How many orders", 1'000'000'000, 1);
    command->add_option("--rounds", asked_.rounds, "Rounds of each target, in turn")
        ->capture_default_str()
        ->check(CLI::Range(1U, 100U));
    command->add_option("--folder", asked_.folder, "Where the stores are made; they are removed again")
        ->capture_default_str();
    command->add_option("--duelease", asked_.program, "The program of the target server")
        ->capture_default_str();
    command->add_flag("--json", asked_.json, "One JSON document on standard output");
    command->add_option("--plot", asked_.plot, "Also a picture, SVG, into this file");
    command->footer(footer());
    return command;
  }

  template <class T>
  CLI::Option* list(CLI::App* command, const std::string& names, std::vector<T> Asked::*field,
                    const std::vector<std::type_identity_t<T>>& preset, const std::string& help) {
    CLI::Option* const option = command->add_option(names, asked_.*field, help)->delimiter(',');
    option->default_str(CLI::detail::join(preset, ","));
    defaults_.emplace_back(command, [this, option, field, preset] {
      if (option->count() == 0) asked_.*field = preset;
    });
    return option;
  }
  template <class T>
  void list(CLI::App* command, const std::string& names, std::vector<T> Asked::*field,
            const std::vector<std::type_identity_t<T>>& preset, const std::string& help,
            std::type_identity_t<T> most, std::type_identity_t<T> least = 0) {
    list(command, names, field, preset, help)->check(CLI::Range(least, most));
  }

  void shape(CLI::App* command) {
    list(command, "--batch", &Asked::batches, {100}, "Orders a call", batch_max, 1U);
    list(command, "--connections,--threads", &Asked::connections, {4}, "Connections; in process: threads",
         connections_max, 1U);
  }
  void payload(CLI::App* command, const std::vector<std::size_t>& preset = {64}) {
    list(command, "--payload", &Asked::payloads, preset, "Bytes of each payload", std::size_t{65'536});
  }
  void seconds(CLI::App* command) {
    command->add_option("--seconds", asked_.seconds, "Schedule no more after this time; 0: all of --orders")
        ->capture_default_str()
        ->check(seconds_in(0.0, 86'400.0));
  }

  void declare_delay() {
    CLI::App* const command = add("delay", {"server"}, {});
    payload(command);
    list(command, "--workers,--connections", &Asked::connections, {16},
         "Workers that wait, each by a connection", connections_max, 1U);
    command->add_option("--rate", asked_.rate, "Orders that fall due a second, at random")
        ->check(CLI::Range(1U, 100'000U));
    command->add_option("--seconds", asked_.seconds, "For how long they fall due")
        ->check(seconds_in(0.1, 3600.0));
    command->get_option("--rate")->default_str("1000");
    command->get_option("--seconds")->default_str("10");
    defaults_.emplace_back(command, [this] {
      if (asked_.rate == 0) asked_.rate = 1000;
      if (asked_.seconds == 0) asked_.seconds = 10;
      asked_.batches = {1};
      // As many as fall due.
      asked_.orders = {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(asked_.rate * asked_.seconds))};
    });
  }

  CLI::App& app_;
  Asked& asked_;
  std::vector<std::pair<CLI::App*, std::function<void()>>> defaults_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures DueLease, what people use now, and the limits of both, with the same load.",
               "duelease-bench");
  app.require_subcommand(1);
  app.footer(footer());
  Asked asked;
  asked.program = fs::read_symlink("/proc/self/exe").parent_path() / "duelease";
  Commands commands(app, asked);
  commands.declare();
  CLI11_PARSE(app, argc, argv);
  commands.take_defaults();
  stop_well_when_interrupted();
  try {
    return run(asked);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "duelease-bench: %s\n", error.what());
    return 1;
  }
}
