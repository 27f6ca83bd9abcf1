// bench/plot.h: the report as a picture, SVG: for each case a bar a target, with the spread of its rounds, and of each
// call the latencies by percentile.
#pragma once

#include <string>

#include "report.h"

namespace duelease::bench {

std::string svg_of(const Report& report);

}  // namespace duelease::bench
