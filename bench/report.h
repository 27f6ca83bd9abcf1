// bench/report.h: what was measured, as a table for people, as JSON, and as a picture (plot.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads.h"

namespace duelease::bench {

struct Measured {
  std::string target;
  std::vector<Round> rounds;  // At least one.
};

struct CaseResult {
  Case wanted;
  std::vector<Measured> targets;
};

struct Skipped {
  std::string target;
  std::string why;
};

struct Report {
  std::vector<std::pair<std::string, TargetInfo>> targets;
  std::vector<Skipped> skipped;
  std::vector<std::pair<std::string, std::string>> machine;  // Name and value, to be printed.
  std::vector<CaseResult> results;
};

// Of one figure over the rounds.
struct Spread {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};
Spread spread_of(std::vector<double> values);  // At least one.
std::vector<double> values_of(const Measured& measured, std::size_t figure);
// Of all rounds together.
Histogram latencies_of(const Measured& measured, Call call);

std::string number_text(double value);  // Three digits, or all of a whole number.
// "lifecycle, batch 100, 4 connections, 500000 orders of 64 bytes"
std::string title_of(const Case& wanted);

std::string table_of(const Report& report);
std::string json_of(const Report& report);

// What the machine is, where `folder` lies.
std::vector<std::pair<std::string, std::string>> machine(const std::string& folder);

}  // namespace duelease::bench
