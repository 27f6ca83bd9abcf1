// duelease-bench: what the engine does in a second, beside the limit of its own design.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "duelease/engine.h"
#include "plan.h"

namespace {

using namespace duelease;
using namespace duelease::bench;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Target {
  std::string name;
  std::function<Round(const Plan&)> run;
  std::vector<double> rates{};
  std::vector<double> megabytes{};
};

// Rounds in turn (A B A B), so that a slow minute of the machine hits both.
int lifecycle(const Plan& plan, const std::vector<std::string>& names, unsigned rounds, bool json) {
  std::vector<Target> targets;
  for (const std::string& name : names) targets.push_back({name, name == "engine" ? run_engine : run_bare});
  for (unsigned round = 0; round < rounds; ++round) {
    for (Target& target : targets) {
      const Round result = target.run(plan);
      target.rates.push_back(result.rate());
      target.megabytes.push_back(static_cast<double>(result.bytes_written) / 1e6);
      if (!json)
        std::fprintf(stderr, "round %u  %-14s %9.0f lifecycles/s\n", round + 1, target.name.c_str(),
                     result.rate());
    }
  }
  if (json) {
    nlohmann::json out = {{"workload", "lifecycle"},
                          {"orders", plan.orders},
                          {"threads", plan.threads},
                          {"batch", plan.batch},
                          {"payload_bytes", plan.payload_bytes}};
    for (const Target& target : targets)
      out["targets"][target.name] = {
          {"rates", target.rates}, {"median", median(target.rates)}, {"megabytes", median(target.megabytes)}};
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  std::printf(
      "lifecycle: schedule, claim, complete; %llu orders, %zu bytes each, batches of %u from %u threads, "
      "level sync, %u rounds\n\n",
      static_cast<unsigned long long>(plan.orders), plan.payload_bytes, plan.batch, plan.threads, rounds);
  std::printf("%-14s %12s %12s %12s %12s\n", "target", "median/s", "lowest/s", "highest/s", "MB written");
  for (const Target& target : targets) {
    const auto [low, high] = std::minmax_element(target.rates.begin(), target.rates.end());
    std::printf("%-14s %12.0f %12.0f %12.0f %12.0f\n", target.name.c_str(), median(target.rates), *low, *high,
                median(target.megabytes));
  }
  if (targets.size() == 2) {
    std::printf("\n%s / %s: %.2f\n", targets[0].name.c_str(), targets[1].name.c_str(),
                median(targets[0].rates) / median(targets[1].rates));
  }
  return 0;
}

// Fills a store with waiting orders, then opens it again: what does that cost?
int open_cost(const Plan& plan) {
  const std::filesystem::path path = plan.folder / "open";
  const auto stop = [](const std::string& what) {
    std::fprintf(stderr, "duelease-bench: open: %s\n", what.c_str());
    return 1;
  };
  if (!std::filesystem::exists(path)) {
    Options options;
    options.durability = Durability::none;
    Result<std::unique_ptr<Engine>> engine = Engine::open(path, options);
    if (!engine) return stop(engine.error().message);
    const std::string payload(plan.payload_bytes, 'p');
    const Time due = system_clock()->now().wall + std::chrono::hours{24};
    for (std::uint64_t first = 0; first < plan.orders; first += 1000) {
      std::vector<ScheduleRequest> requests(std::min<std::uint64_t>(1000, plan.orders - first));
      for (std::uint64_t i = 0; i < requests.size(); ++i) {
        requests[i].queue = "bench";
        requests[i].id = order_id(first + i);
        requests[i].due = due + Duration{static_cast<std::int64_t>((first + i) * 7919 % 86'400'000)};
        requests[i].payload = payload;
      }
      for (const Result<Answer>& answer : (*engine)->schedule(std::move(requests))) {
        if (!answer) return stop(answer.error().message);
      }
    }
    std::printf("made a store of %llu waiting orders; run the same command again to open it\n",
                static_cast<unsigned long long>(plan.orders));
    return 0;
  }
  const std::uint64_t before = resident_bytes();
  const Meter meter;
  Result<std::unique_ptr<Engine>> engine = Engine::open(path, {});
  if (!engine) return stop(engine.error().message);
  const Round round = meter.finish(0);
  const Result<Stats> stats = (*engine)->stats("bench");
  if (!stats) return stop(stats.error().message);
  std::printf("opened %llu waiting orders in %.3f s; resident memory %.1f MB, %.1f MB of it by the open\n",
              static_cast<unsigned long long>(stats->counts.wait), round.seconds,
              static_cast<double>(resident_bytes()) / 1e6,
              static_cast<double>(resident_bytes() - before) / 1e6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures DueLease. Stores are made in --folder and removed again.");
  app.require_subcommand(1);
  Plan plan;
  plan.folder = "duelease-bench-data";
  unsigned rounds = 5;
  std::vector<std::string> targets = {"engine", "rocksdb"};
  bool json = false;
  const auto common = [&](CLI::App* command) {
    command->add_option("--orders", plan.orders, "How many orders")
        ->capture_default_str()
        ->check(CLI::Range(1U, 100'000'000U));
    command->add_option("--payload", plan.payload_bytes, "Bytes of each payload")
        ->capture_default_str()
        ->check(CLI::Range(0U, 1'048'576U));
    command->add_option("--folder", plan.folder, "Where the stores are made")->capture_default_str();
  };
  CLI::App* cycle =
      app.add_subcommand("lifecycle", "schedule, claim, complete at level sync, beside a bare RocksDB loop");
  common(cycle);
  cycle->add_option("--threads", plan.threads, "Threads that ask")
      ->capture_default_str()
      ->check(CLI::Range(1U, 64U));
  cycle->add_option("--batch", plan.batch, "Orders a call")
      ->capture_default_str()
      ->check(CLI::Range(1U, 10'000U));
  cycle->add_option("--targets", targets, "Which to run: engine, rocksdb")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"engine", "rocksdb"}));
  cycle->add_option("--rounds", rounds, "Rounds of each target, in turn")
      ->capture_default_str()
      ->check(CLI::Range(1U, 100U));
  cycle->add_flag("--keep-history", plan.keeps_history, "The engine keeps the history of each order");
  cycle->add_flag("--json", json, "One JSON document on standard output");
  CLI::App* open = app.add_subcommand(
      "open", "First run: fill a store with waiting orders. Next runs: time to open it, and memory");
  common(open);
  CLI11_PARSE(app, argc, argv);
  std::filesystem::create_directories(plan.folder);
  return cycle->parsed() ? lifecycle(plan, targets, rounds, json) : open_cost(plan);
}
