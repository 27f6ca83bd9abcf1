// duelease/reconcile.h: a whole reconcile of a queue with the truth, for an app that has its own source.
//
//     auto reconciler = duelease::Reconciler::begin(engine, {.queue = "loans", .cancel_missing = true});
//     if (!reconciler) return complain(reconciler.error());
//     while (next_thousand(rows)) {             // Reads the source: only now, after begin().
//       for (const auto& answer : reconciler->add(rows)) look_at(answer);
//     }
//     if (source_failed) return;                // Not finished: what was not named is left as it is.
//     auto report = reconciler->finish();
//
// A source takes a while to read, and others go on meanwhile: they schedule, claim, complete. What has changed since
// begin() is left alone (see ReconcileRequest), so a row that was outdated when it came does no harm. On an empty
// store it is the rebuild of the queue.
//
// Orders that no row named are cancelled only with ReconcileOptions::cancel_missing, and only by finish(): a source
// that breaks off removes nothing. They are those that waited when it began and have not changed since. Which ids were
// named is kept on disk (in the folder for temporary files; 16 bytes a row), not in memory: as a fingerprint of 128
// bits, XXH3. Should two ids ever have the same one, an order that vanished stays in its queue.
//
// It works on an Engine or a Client, which must outlive it. One thread at a time; its methods block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease {

struct ReconcileOptions {
  std::string queue{};
  bool cancel_missing = false;
  bool dry_run = false;  // Nothing is changed: all answers and counts are as they would be.
};

// See ReconcileRequest.
struct ReconcileRow {
  std::string id{};
  Time due{};
  std::optional<std::string> payload{};
  std::optional<std::string> key{};
  std::optional<std::uint8_t> priority{};
  std::optional<std::uint32_t> tries{};
};

struct ReconcileReport {
  std::uint64_t rows = 0;  // The sum of those down to `errors`.
  std::uint64_t scheduled = 0;
  std::uint64_t rescheduled = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t newer = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::uint64_t vanished = 0;  // Orders that no row named: cancelled, or in a dry run to be cancelled.
};

// Whether what a row or an order was answered is its own fault, or that of what is stored of it. All other errors hit
// those that come after it too.
bool hits_one_row(const Error& error);

// What a Reconciler needs of whoever holds the orders. Each method does what the one of the same name of Engine does.
class ReconcileTarget {
 public:
  virtual ~ReconcileTarget() = default;

  virtual Result<ReadMark> read_mark() = 0;
  virtual std::vector<Result<Answer>> reconcile(std::vector<ReconcileRequest> requests) = 0;
  virtual std::vector<Result<Answer>> cancel(std::vector<CancelRequest> requests) = 0;
  virtual Result<Page> list(const ListRequest& request) = 0;
  virtual Result<std::optional<Order>> order(std::string_view queue, std::string_view id) = 0;
  // How many requests it takes in one call, at least 1.
  virtual std::size_t requests_max() const = 0;
};

// An Engine, a Client, or what has their methods.
template <class Service>
class ReconcileTargetOn final : public ReconcileTarget {
 public:
  explicit ReconcileTargetOn(Service& service) : service_(service) {}

  Result<ReadMark> read_mark() override { return service_.read_mark(); }
  std::vector<Result<Answer>> reconcile(std::vector<ReconcileRequest> requests) override {
    return service_.reconcile(std::move(requests));
  }
  std::vector<Result<Answer>> cancel(std::vector<CancelRequest> requests) override {
    return service_.cancel(std::move(requests));
  }
  Result<Page> list(const ListRequest& request) override { return service_.list(request); }
  Result<std::optional<Order>> order(std::string_view queue, std::string_view id) override {
    return service_.order(queue, id);
  }
  std::size_t requests_max() const override {
    if constexpr (requires { service_.options().commands_waiting_max; }) {
      return service_.options().commands_waiting_max;
    } else if constexpr (requires { service_.options().requests_in_flight_max; }) {
      return service_.options().requests_in_flight_max;
    } else {
      return std::numeric_limits<std::size_t>::max();  // It has no options to ask.
    }
  }

 private:
  Service& service_;
};

class Reconciler {
 public:
  // Before the source is read. Errors: invalid (the queue's name), storage (no temporary file), and those of
  // read_mark().
  template <class Service>
  static Result<Reconciler> begin(Service& service, ReconcileOptions options) {
    return begin(std::make_unique<ReconcileTargetOn<Service>>(service), std::move(options));
  }
  static Result<Reconciler> begin(std::unique_ptr<ReconcileTarget> target, ReconcileOptions options);

  // Does not finish.
  ~Reconciler();
  Reconciler(Reconciler&& other) noexcept;
  Reconciler& operator=(Reconciler&& other) noexcept;

  // What Engine::reconcile() answers, a row each, in order. Any number of rows; some hundreds are a good number.
  std::vector<Result<Answer>> add(std::vector<ReconcileRow> rows);

  // Once, when the source is at its end. Calls `vanished` with the id of each order that it cancels, or in a dry run
  // would cancel. Error: of a row that was answered so and hit more than that row (storage, closing, overloaded,
  // unreachable, denied, or a temporary file that takes no more), and then nothing is cancelled; invalid, when it is
  // another store by now than the one it began with, alike; or of a cancel, and then those before it are done. Begin
  // anew.
  using Vanished = std::function<void(std::string_view id)>;
  Result<ReconcileReport> finish(const Vanished& vanished = {});

  // As counted so far.
  const ReconcileReport& report() const;

  // For the library itself.
  struct Impl;
  explicit Reconciler(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace duelease
