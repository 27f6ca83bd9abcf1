#include "report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "process.h"
#include "target_kinds.h"

// Of jemalloc, where a program is linked with it.
extern "C" int mallctl(const char*, void*, std::size_t*, void*, std::size_t) __attribute__((weak));

namespace duelease::bench {

namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

std::string allocator() { return &::mallctl != nullptr ? "jemalloc" : "the system's"; }

// "1 round", "2 rounds".
std::string counted(std::uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// The first column to the left, the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); }

std::uint64_t median_of(const Measured& measured, std::uint64_t Round::*field) {
  std::vector<double> values;
  for (const Round& round : measured.rounds) values.push_back(static_cast<double>(round.*field));
  return static_cast<std::uint64_t>(spread_of(std::move(values)).median);
}

double median_of(const Measured& measured, std::size_t figure) {
  return spread_of(values_of(measured, figure)).median;
}

// How many times better the first one is.
std::string times_better(double first, double other, bool more_is_better) {
  const double times = more_is_better ? first / other : other / first;
  return fmt::format("{:.2f}x", times);
}

// The same target in the first case of all, for those workloads that ask how little it changes.
std::string of_first_case(const Report& report, const Measured& measured, std::size_t figure) {
  for (const Measured& first : report.results[0].targets) {
    if (first.target == measured.target) {
      return fmt::format("{:.2f}", median_of(measured, figure) / median_of(first, figure));
    }
  }
  return "-";
}

std::vector<Call> calls_of(const CaseResult& result) {
  std::vector<Call> calls;
  for (const Call call : all_calls) {
    for (const Measured& measured : result.targets) {
      if (latencies_of(measured, call).count() == 0) continue;
      calls.push_back(call);
      break;
    }
  }
  return calls;
}

std::string table_of(const Report& report, const CaseResult& result, std::size_t figure) {
  const Figure& what = result.targets[0].rounds[0].figures[figure];
  const bool compares_cases =
      report.results.size() > 1 && (result.wanted.waiting > 0 || result.wanted.completes > 0);
  const bool first = figure == 0;  // The rest of the line is told once.
  const std::vector<Call> calls = first ? calls_of(result) : std::vector<Call>();
  std::vector<std::vector<std::string>> rows = {{"target", what.name, "lowest", "highest"}};
  if (result.targets.size() > 1) rows[0].push_back(result.targets[0].target + " is");
  if (compares_cases) rows[0].push_back("of first case");
  for (const Call call : calls) rows[0].push_back(fmt::format("{} p50/p99/max ms", call_name(call)));
  if (first) rows[0].insert(rows[0].end(), {"memory MB", "disk MB"});
  for (const Measured& measured : result.targets) {
    const Spread spread = spread_of(values_of(measured, figure));
    std::vector<std::string>& row = rows.emplace_back();
    row = {measured.target, number_text(spread.median), number_text(spread.lowest),
           number_text(spread.highest)};
    if (result.targets.size() > 1) {
      row.push_back(times_better(median_of(result.targets[0], figure), spread.median, what.more_is_better));
    }
    if (compares_cases) row.push_back(of_first_case(report, measured, figure));
    for (const Call call : calls) {
      const Histogram histogram = latencies_of(measured, call);
      row.push_back(histogram.count() == 0
                        ? "-"
                        : fmt::format("{}/{}/{}", number_text(histogram.percentile_ms(0.5)),
                                      number_text(histogram.percentile_ms(0.99)),
                                      number_text(histogram.max_ms())));
    }
    if (!first) continue;
    row.push_back(megabytes(median_of(measured, &Round::resident_bytes)));
    row.push_back(megabytes(median_of(measured, &Round::disk_bytes)));
  }
  return aligned(rows);
}

nlohmann::json json_of(const Measured& measured) {
  nlohmann::json json = {{"target", measured.target},
                         {"resident_bytes", median_of(measured, &Round::resident_bytes)},
                         {"disk_bytes", median_of(measured, &Round::disk_bytes)},
                         {"completed", nlohmann::json::array()},
                         {"figures", nlohmann::json::array()},
                         {"latencies_ms", nlohmann::json::object()}};
  for (const Round& round : measured.rounds) json["completed"].push_back(round.completed);
  for (std::size_t i = 0; i < measured.rounds[0].figures.size(); ++i) {
    const std::vector<double> values = values_of(measured, i);
    const Spread spread = spread_of(values);
    json["figures"].push_back({{"name", measured.rounds[0].figures[i].name},
                               {"median", spread.median},
                               {"lowest", spread.lowest},
                               {"highest", spread.highest},
                               {"rounds", values}});
  }
  for (const Call call : all_calls) {
    const Histogram histogram = latencies_of(measured, call);
    if (histogram.count() == 0) continue;
    json["latencies_ms"][call_name(call)] = {{"count", histogram.count()},
                                             {"p50", histogram.percentile_ms(0.5)},
                                             {"p90", histogram.percentile_ms(0.9)},
                                             {"p99", histogram.percentile_ms(0.99)},
                                             {"p99_9", histogram.percentile_ms(0.999)},
                                             {"max", histogram.max_ms()}};
  }
  return json;
}

}  // namespace

std::string number_text(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

std::vector<double> values_of(const Measured& measured, std::size_t figure) {
  std::vector<double> values;
  for (const Round& round : measured.rounds) values.push_back(round.figures[figure].value);
  return values;
}

Histogram latencies_of(const Measured& measured, Call call) {
  Histogram all;
  for (const Round& round : measured.rounds) all += round.latencies[static_cast<std::size_t>(call)];
  return all;
}

std::string title_of(const Case& wanted) {
  std::string title = wanted.workload;
  if (wanted.workload == "delay") {
    title += fmt::format(", {} due a second, {} waiting", wanted.rate, counted(wanted.connections, "worker"));
  } else if (wanted.workload == "drain") {
    title += fmt::format(", after {} completes", wanted.completes);
  } else if (wanted.workload != "open") {
    title += fmt::format(", batch {}, {}", wanted.batch, counted(wanted.connections, "connection"));
  }
  if (wanted.workload == "backlog") title += fmt::format(", {} waiting", wanted.waiting);
  title += fmt::format(", {} of {}", counted(wanted.orders, "order"), counted(wanted.payload_bytes, "byte"));
  if (wanted.seconds_max > 0) title += fmt::format(", at most {:g} s a round", wanted.seconds_max);
  return title;
}

std::string table_of(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.machine) text += fmt::format("{}: {}\n", name, value);
  text += '\n';
  for (const auto& [name, info] : report.targets) {
    text += fmt::format("{}: {}; {}\n", name, info.version, info.durability);
  }
  for (const Skipped& skipped : report.skipped)
    text += fmt::format("{}: skipped: {}\n", skipped.target, skipped.why);
  for (const CaseResult& result : report.results) {
    const std::size_t rounds = result.targets[0].rounds.size();
    text += fmt::format("\n{}; {} in turn\n", title_of(result.wanted), counted(rounds, "round"));
    for (std::size_t i = 0; i < result.targets[0].rounds[0].figures.size(); ++i) {
      text += '\n' + table_of(report, result, i);
    }
  }
  return text;
}

std::string json_of(const Report& report) {
  nlohmann::json json = {{"machine", nlohmann::json::object()},
                         {"targets", nlohmann::json::object()},
                         {"skipped", nlohmann::json::object()},
                         {"results", nlohmann::json::array()}};
  for (const auto& [name, value] : report.machine) json["machine"][name] = value;
  for (const auto& [name, info] : report.targets) {
    json["targets"][name] = {{"version", info.version}, {"durability", info.durability}};
  }
  for (const Skipped& skipped : report.skipped) json["skipped"][skipped.target] = skipped.why;
  for (const CaseResult& result : report.results) {
    const Case& wanted = result.wanted;
    nlohmann::json one = {{"workload", wanted.workload},           {"orders", wanted.orders},
                          {"payload_bytes", wanted.payload_bytes}, {"waiting", wanted.waiting},
                          {"completes", wanted.completes},         {"rate", wanted.rate},
                          {"seconds_max", wanted.seconds_max},     {"targets", nlohmann::json::array()}};
    if (workload_named(wanted.workload).has_batches) {
      one["connections"] = wanted.connections;
      one["batch"] = wanted.batch;
    } else if (wanted.workload == "delay") {
      one["workers"] = wanted.connections;
    }
    for (const Measured& measured : result.targets) one["targets"].push_back(json_of(measured));
    json["results"].push_back(std::move(one));
  }
  return json.dump(2);
}

std::vector<std::pair<std::string, std::string>> machine(const std::string& folder) {
  utsname name{};
  ::uname(&name);
  return {{"cpus", std::to_string(std::thread::hardware_concurrency()) + " of " + cpu_name()},
          {"system", std::string(name.sysname) + ' ' + name.release},
          {"disk", output_of("stat -f -c %T '" + folder + "'") + ", " + folder},
          {"rocksdb", rocksdb_version()},
          {"allocator", allocator()},
          {"duelease", DUELEASE_VERSION}};
}

}  // namespace duelease::bench
