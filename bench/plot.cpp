#include "plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace duelease::bench {

namespace {

// Sizes in pixels.
constexpr double width = 1060;
constexpr double bars_left = 130;
constexpr double bars_width = 210;
constexpr double curves_left = 430;
constexpr double curve_width = 160;
constexpr double curve_gap = 56;
constexpr double curve_height = 110;
constexpr double row_height = 20;
constexpr double title_height = 28;
constexpr double gap = 40;

constexpr std::array colours = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b",
                                "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#393b79", "#637939"};
constexpr std::array percentiles = {0.5, 0.9, 0.99, 0.999, 0.9999};

std::string text_at(double x, double y, const std::string& anchor, const std::string& text,
                    const std::string& style = "") {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' {}>{}</text>\n", x, y, anchor, style,
                     text);
}

std::string line_at(double x1, double y1, double x2, double y2, const std::string& colour) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='{}'/>\n", x1, y1, x2, y2,
                     colour);
}

const char* colour_of(std::size_t target) { return colours[target % colours.size()]; }

std::string bars_of(const CaseResult& result, double top) {
  std::vector<Spread> spreads;
  double highest = 0;
  for (const Measured& measured : result.targets) {
    spreads.push_back(spread_of(values_of(measured, 0)));
    highest = std::max(highest, spreads.back().highest);
  }
  const auto length = [highest](double value) { return highest > 0 ? value / highest * bars_width : 0; };
  std::string svg = text_at(bars_left, top, "start", result.targets[0].rounds[0].figures[0].name);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const double y = top + 10 + row_height * static_cast<double>(i);
    const double middle = y + row_height / 2 - 2;
    const Spread& spread = spreads[i];
    svg += text_at(bars_left - 6, middle + 4, "end", result.targets[i].target);
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'/>\n", bars_left,
                       y, length(spread.median), row_height - 4, colour_of(i));
    svg += line_at(bars_left + length(spread.lowest), middle, bars_left + length(spread.highest), middle,
                   "#000");
    svg += text_at(bars_left + length(spread.highest) + 4, middle + 4, "start", number_text(spread.median));
  }
  return svg;
}

// Percentiles from left to right, each nine as wide as the one before; milliseconds from below, each ten times the
// one before.
std::string curves_of(const CaseResult& result, Call call, double left, double top) {
  double low = 1e9;
  double high = 0;
  std::vector<Histogram> histograms;
  for (const Measured& measured : result.targets) {
    histograms.push_back(latencies_of(measured, call));
    if (histograms.back().count() == 0) continue;
    low = std::min(low, histograms.back().percentile_ms(percentiles.front()));
    high = std::max(high, histograms.back().percentile_ms(percentiles.back()));
  }
  if (high <= 0) return "";
  const double floor = std::floor(std::log10(low));
  const double decades = std::max(1.0, std::ceil(std::log10(high)) - floor);
  const auto x_of = [left](std::size_t i) {
    return left + curve_width * static_cast<double>(i) / static_cast<double>(percentiles.size() - 1);
  };
  const auto y_of = [&](double ms) {
    return top + curve_height - (std::log10(std::max(ms, 1e-4)) - floor) / decades * curve_height;
  };
  std::string svg = text_at(left, top - 8, "start", fmt::format("{}, ms", call_name(call)));
  for (double decade = 0; decade <= decades; ++decade) {
    const double y = y_of(std::pow(10, floor + decade));
    svg += line_at(left, y, left + curve_width, y, "#ddd");
    svg += text_at(left - 3, y + 4, "end", fmt::format("{:g}", std::pow(10, floor + decade)));
  }
  for (std::size_t i = 0; i < percentiles.size(); ++i) {
    svg += text_at(x_of(i), top + curve_height + 13, "middle", fmt::format("{:g}", percentiles[i] * 100));
  }
  for (std::size_t t = 0; t < histograms.size(); ++t) {
    if (histograms[t].count() == 0) continue;
    std::string points;
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
      // As far as there were calls that took longer.
      if (i > 0 && static_cast<double>(histograms[t].count()) * (1 - percentiles[i]) < 1) break;
      points += fmt::format("{:.1f},{:.1f} ", x_of(i), y_of(histograms[t].percentile_ms(percentiles[i])));
    }
    svg += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='1.5'/>\n", points,
                       colour_of(t));
  }
  return svg;
}

}  // namespace

std::string svg_of(const Report& report) {
  std::string body;
  double top = 20;
  for (const auto& [name, value] : report.machine) {
    body += text_at(10, top, "start", name + ": " + value);
    top += 14;
  }
  for (const CaseResult& result : report.results) {
    top += gap;
    body += text_at(10, top, "start", title_of(result.wanted), "font-weight='bold'");
    top += title_height;
    body += bars_of(result, top);
    double left = curves_left;
    for (const Call call : all_calls) {
      const std::string curves = curves_of(result, call, left, top);
      body += curves;
      if (!curves.empty()) left += curve_width + curve_gap;
    }
    top += std::max(curve_height + 20, row_height * static_cast<double>(result.targets.size()) + 10);
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} "
      "{1:.0f}' "
      "font-family='sans-serif' font-size='11'>\n<rect width='100%' height='100%' fill='#fff'/>\n{2}</svg>\n",
      width, top + 20, body);
}

}  // namespace duelease::bench
