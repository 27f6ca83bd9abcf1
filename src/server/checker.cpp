#include "server/checker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

namespace duelease::server {

namespace {

constexpr int lowest_priority = 19;

std::string in_seconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", seconds);
  return text.data();
}

}  // namespace

Checker::Checker(Engine& engine, std::shared_ptr<const Clock> clock, Log log)
    : engine_(engine), clock_(std::move(clock)), log_(std::move(log)) {}

void Checker::start(Duration every) {
  thread_ = std::thread([this, every] { run(every); });
}

void Checker::stop() {
  stop_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Checker::run(Duration every) {
  // Of this thread alone, on Linux. Where it is refused the check only is in more of a hurry.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest_priority));
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, stop_.get_token(), every, [] { return false; });
    }
    if (stop_.stop_requested()) return;
    const Result<CheckReport> report = check("");
    if (!log_ || stop_.stop_requested()) continue;
    if (!report) {
      log_(LogLevel::error, "check: " + report.error().message);
    } else if (report->violations() > 0) {
      log_(LogLevel::error,
           "check: " + std::to_string(report->violations()) + " violations of the invariants");
    }
  }
}

Result<CheckReport> Checker::check(std::string_view queue) {
  const Time at = clock_->now().wall;
  const auto begun = std::chrono::steady_clock::now();
  Result<CheckReport> report = engine_.check(queue, stop_.get_token());
  if (report && queue.empty()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const std::lock_guard lock(mutex_);
    last_ = Last{at, took.count(), *report};
  }
  return report;
}

void Checker::print(std::string& out) const {
  const std::lock_guard lock(mutex_);
  out += "# Invariants\r\nlast_check_at:";
  if (!last_) {
    out += "0\r\n";
    return;
  }
  out += std::to_string(last_->at.time_since_epoch().count()) +
         "\r\nlast_check_seconds:" + in_seconds(last_->seconds) +
         "\r\nlast_check_orders:" + std::to_string(last_->report.orders) + "\r\n";
  for (const Violation& violation : last_->report.invariants) {
    out += "invariant_" + violation.invariant + ":" + std::to_string(violation.count) + "\r\n";
  }
}

}  // namespace duelease::server
