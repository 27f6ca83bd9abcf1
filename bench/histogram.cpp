#include "histogram.h"

#include <algorithm>

namespace duelease::bench {

namespace {

constexpr double low_ms = 1e-3;
constexpr double high_ms = 1e6;
constexpr unsigned classes_count = 2083;  // ln(high / low) / ln(1.01)

}  // namespace

Histogram::Histogram() : counts_(std::tuple(Axis(classes_count, low_ms, high_ms))) {}

Histogram::Histogram(const Classes& classes, double max_ms) : Histogram() {
  for (const auto& [index, count] : classes) {
    counts_.at(index) = count;
    count_ += count;
  }
  max_ms_ = max_ms;
}

void Histogram::add(std::chrono::nanoseconds time) {
  const double ms = std::chrono::duration<double, std::milli>(time).count();
  counts_(std::clamp(ms, low_ms, high_ms * 0.999));
  ++count_;
  max_ms_ = std::max(max_ms_, ms);
}

Histogram& Histogram::operator+=(const Histogram& other) {
  counts_ += other.counts_;
  count_ += other.count_;
  max_ms_ = std::max(max_ms_, other.max_ms_);
  return *this;
}

double Histogram::percentile_ms(double part) const {
  const double wanted = part * static_cast<double>(count_);
  std::uint64_t sum = 0;
  for (const auto& one : boost::histogram::indexed(counts_)) {
    sum += *one;
    // The upper end of the class, but never more than was seen.
    if (*one > 0 && static_cast<double>(sum) >= wanted) return std::min(one.bin(0).upper(), max_ms_);
  }
  return max_ms_;
}

Histogram::Classes Histogram::classes() const {
  Classes found;
  for (const auto& one : boost::histogram::indexed(counts_)) {
    if (*one > 0) found.emplace_back(one.index(0), *one);
  }
  return found;
}

}  // namespace duelease::bench
