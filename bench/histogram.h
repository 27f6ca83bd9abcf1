// bench/histogram.h: how long calls took. Counts in classes whose width is 1 % of their value, from a microsecond to
// a thousand seconds, so no call is left out and a percentile is off by at most that.
#pragma once

#include <boost/histogram.hpp>
#include <chrono>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace duelease::bench {

class Histogram {
 public:
  Histogram();

  void add(std::chrono::nanoseconds time);
  Histogram& operator+=(const Histogram& other);

  std::uint64_t count() const { return count_; }
  double max_ms() const { return max_ms_; }
  // The time, in milliseconds, within which this part (0 to 1) of the calls was done. Needs count() > 0.
  double percentile_ms(double part) const;

  // The classes that are not empty with their counts, to be written down; and the histogram from them again.
  using Classes = std::vector<std::pair<int, std::uint64_t>>;
  Classes classes() const;
  Histogram(const Classes& classes, double max_ms);

 private:
  using Axis = boost::histogram::axis::regular<double, boost::histogram::axis::transform::log>;

  boost::histogram::histogram<std::tuple<Axis>, boost::histogram::dense_storage<std::uint64_t>> counts_;
  std::uint64_t count_ = 0;
  double max_ms_ = 0;
};

}  // namespace duelease::bench
