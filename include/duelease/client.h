// duelease/client.h: a client of a DueLease server. The same calls as Engine, over a network.
//
//     duelease::ClientOptions options;
//     options.host = "orders.shop.internal";
//     auto client = duelease::Client::connect(options);
//     if (!client) return complain(client.error());
//
//     duelease::ScheduleRequest order{.queue = "unpaid", .id = "4711", .due = in_30_minutes};
//     auto scheduled = (*client)->schedule(order);
//
//     duelease::Worker worker(**client, {.queues = {"unpaid"}, .name = "w1"}, cancel_in_shop);
//
// Answers are those of Engine's methods of the same name. Not on the wire, and so left as a new value has them:
// of an Answer `at`, but for `extended`, and the state of one that is `newer`; of a CheckReport `orders` and the examples. Application writes have no place on the wire: a request with some is refused as
// invalid, as is a queue name with a comma in a claim. What the server refuses, it says in its own words.
//
// Threads. Every method is safe from any thread. A call without a callback blocks its thread until the answer
// is here. A call with a callback returns at once; the callback runs exactly once, on the client's own thread
// (or, when the request is refused at once, on the caller's); it must not block, must not call a method
// without a callback, and must not destroy the client. duelease/asio.h brings the answer to an executor of
// yours instead.
//
// Connections. All requests share one connection; they are written in the order of the calls, without waiting
// for the answers of those before. A claim that waits has a connection for itself until it is answered, so it
// holds up nothing; so have check and purge, which may walk over a whole queue. Such a connection is kept for
// the next one, and closed when none came for some seconds.
// A connection that fails is made again, after a pause that grows from ClientOptions::backoff_base to
// backoff_cap, for as long as a call wants it. Calls made meanwhile wait for it, at most request_timeout.
//
// Errors, beside those of Engine:
//   denied       the password is wrong, or the user may not do that; or a password was given to a server that
//                has no users.
//   unreachable  no answer came in time, or the connection failed. A change may or may not have taken effect,
//                unless the message says that nothing was sent. A reply of more than 512 MiB also ends its
//                connection.
//   overloaded   also: too many calls are under way, see requests_in_flight_max and waiting_claims_max.
//   corrupt      also: the answer is none that this client knows.
//   closing      this client was closed. A server that is shutting down is waited for instead.
//
// What happens to a call whose connection fails before its answer is here:
//
//   claim                 is asked again by itself under the same request id, so that the orders that a lost
//                         reply handed out are answered now, with the same tokens. A claim without an id gets
//                         a random one.
//   complete              is made again by itself. If the first one took effect the answer is `already`.
//   extend                is made again by itself; a second one does no harm.
//   fail, release         are made again by itself. The token sees to it that only one takes effect. If the
//                         first one did, the answer is `stale`, though the report counted: a caller that must
//                         know asks order().
//   run_open, run_start,  are made again by themselves; twice is as good as once. (A heartbeat counts from the
//   run_beat, run_done,   last time that it came. A run that ended in between answers not_alive.)
//   run_error
//   reconcile             is made again by itself. If the first one took effect the answer is `unchanged`.
//   order, list, why,     are made again by themselves.
//   queues, stats, run,
//   runs, queue_settings,
//   check, read_mark, ping
//   schedule,             answer unreachable. Safe to call again while nobody else uses that id: `duplicate`
//   import_orders         that names the id itself as the blocker says that the first one took effect.
//   cancel, reschedule,   answer unreachable. Safe to call again: twice is as good as once.
//   pause, resume,
//   set_queue, reap, purge
//   retry                 answers unreachable. Called again, it answers `requeued` or that the order is no
//                         longer FAILED.
//   pop                   answers unreachable. The orders of a lost reply are SUCCESS, and nobody has them.
//
// What was not yet written to the connection is none of the above: it is simply sent by the next one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/callback.h"
#include "duelease/result.h"
#include "duelease/types.h"
#include "duelease/work_source.h"

namespace duelease {

struct TlsOptions {
  bool enabled = false;
  std::string ca_file{};           // Authorities to trust, PEM. Empty: those of the system.
  std::string certificate_file{};  // Of this client, PEM, with its chain. Empty: none.
  std::string key_file{};          // Of the certificate, PEM.
  bool verify_host = true;  // The server's certificate must be for the host that was asked for. Off: any
                            // certificate of the authorities will do.
};

struct ClientOptions {
  // Where, and as whom
  std::string host = "127.0.0.1";  // A name or an address.
  std::uint16_t port = 7420;
  std::string user{};      // Empty: the server's default user.
  std::string password{};  // Empty: none is said. Without TLS it goes over the network in clear.
  TlsOptions tls{};

  // Behaviour
  bool connect_at_start = true;     // Off: connect() does not wait for the server; the calls do.
  Duration connect_timeout{5'000};  // Of one attempt, with TLS and password. 1 ms - 1 day.
  // From a call to its answer, reconnects included. To a claim the time that it waits is added. 1 ms - 1 day.
  Duration request_timeout{30'000};
  Duration scan_timeout{600'000};  // The same, for check and purge. 1 ms - 30 days.
  // The pause before the n-th new connection in a row is base * 2^(n-1), at most the cap, less a random part
  // of up to a half.
  Duration backoff_base{50};    // 1 ms - 1 day.
  Duration backoff_cap{5'000};  // backoff_base - 1 day.
  std::function<std::uint64_t()>
      random{};  // For that, and for request ids. Empty: seeded by the system. Called on
                 // the client's thread alone.

  // Limits
  std::size_t requests_in_flight_max =
      100'000;  // Calls not yet answered; one more answers overloaded. From 1.
  // Calls with a connection of their own that are not yet answered: claims that wait, check and purge; one more
  // answers overloaded. From 1. The server has a limit to its connections too.
  std::size_t waiting_claims_max = 1000;
  // A larger request answers too_large and is not sent. As the server's own limit: that one closes the
  // connection.
  std::size_t request_bytes_max = 1024 * 1024 + 64 * 1024;
};

class Client final : public WorkSource {
 public:
  // Connects, and says the password. Errors: invalid (an option), denied, unreachable; overloaded (the system
  // has no more threads).
  static Result<std::unique_ptr<Client>> connect(ClientOptions options);

  // As it was connected with; what was empty there (random) is filled in.
  const ClientOptions& options() const;

  // Closes. No other call may be in progress when the destructor runs.
  ~Client() override;
  // What is under way, and every later call, answers Code::closing; changes that were sent may still take
  // effect. Waits for callbacks that run, and for the system to end the lookup of a host's name, if one is under
  // way: that may take as long as the name server's timeout. Not from a callback.
  void close();

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // ---- Producers ----

  Result<Answer> schedule(ScheduleRequest request);
  void schedule(ScheduleRequest request, Callback<Answer> done);
  // Many at once share one wait; each is a change of its own, answered in order. More than
  // requests_in_flight_max in one call answer invalid, each. (A template for the reason told in engine.h.)
  template <std::same_as<ScheduleRequest> R>
  std::vector<Result<Answer>> schedule(std::vector<R> requests);
  template <std::same_as<ScheduleRequest> R>
  void schedule(std::vector<R> requests, AnswersCallback done);

  Result<Answer> reschedule(RescheduleRequest request);
  void reschedule(RescheduleRequest request, Callback<Answer> done);

  Result<Answer> cancel(CancelRequest request);
  void cancel(CancelRequest request, Callback<Answer> done);
  template <std::same_as<CancelRequest> R>
  std::vector<Result<Answer>> cancel(std::vector<R> requests);
  template <std::same_as<CancelRequest> R>
  void cancel(std::vector<R> requests, AnswersCallback done);

  // As the engine, but that an order which is WAIT already answers `requeued` as well.
  Result<Answer> retry(RetryRequest request);
  void retry(RetryRequest request, Callback<Answer> done);

  // ---- Orders that have a life elsewhere ----

  Result<Answer> import_orders(ImportRequest request);
  void import_orders(ImportRequest request, Callback<Answer> done);
  template <std::same_as<ImportRequest> R>
  std::vector<Result<Answer>> import_orders(std::vector<R> requests);
  template <std::same_as<ImportRequest> R>
  void import_orders(std::vector<R> requests, AnswersCallback done);

  Result<Answer> reconcile(ReconcileRequest request);
  void reconcile(ReconcileRequest request, Callback<Answer> done);
  template <std::same_as<ReconcileRequest> R>
  std::vector<Result<Answer>> reconcile(std::vector<R> requests);
  template <std::same_as<ReconcileRequest> R>
  void reconcile(std::vector<R> requests, AnswersCallback done);

  // ---- Workers ----

  // Claimed::lease is what is left of the lease, on the clock of this machine, when the callback is called (or
  // the call returns): never more than the server thinks, and 0 when nothing is left. It takes a second request,
  // for the server's time. Should that one fail, the orders are answered all the same, and the lease is what was
  // asked for (ClaimRequest::lease) less the time since the claim was first sent, or 0, which is: not known, extend
  // it at once.
  Result<std::vector<Claimed>> claim(ClaimRequest request);
  ClaimTicket claim(ClaimRequest request, Callback<std::vector<Claimed>> done) override;
  // A claim that waits is answered empty, unless the server has handed out orders to it this very moment, or has
  // one that is due now: then it is answered with those. It takes one round trip; none when there is no connection.
  void cancel_claim(ClaimTicket ticket) override;

  Result<std::vector<Claimed>> pop(PopRequest request);
  void pop(PopRequest request, Callback<std::vector<Claimed>> done);

  Result<Answer> complete(CompleteRequest request);
  void complete(CompleteRequest request, Callback<Answer> done) override;
  template <std::same_as<CompleteRequest> R>
  std::vector<Result<Answer>> complete(std::vector<R> requests);
  template <std::same_as<CompleteRequest> R>
  void complete(std::vector<R> requests, AnswersCallback done);

  Result<Answer> fail(FailRequest request);
  void fail(FailRequest request, Callback<Answer> done) override;

  Result<Answer> release(ReleaseRequest request);
  void release(ReleaseRequest request, Callback<Answer> done) override;

  Result<Answer> extend(ExtendRequest request);
  void extend(ExtendRequest request, Callback<Answer> done) override;

  // ---- Runs ----

  Result<RunState> run_open(RunOpenRequest request);
  void run_open(RunOpenRequest request, Callback<RunState> done);
  Result<RunState> run_start(RunStartRequest request);
  void run_start(RunStartRequest request, Callback<RunState> done);
  Result<RunState> run_beat(RunBeatRequest request);
  void run_beat(RunBeatRequest request, Callback<RunState> done);
  Result<RunState> run_done(RunDoneRequest request);
  void run_done(RunDoneRequest request, Callback<RunState> done);
  Result<RunState> run_error(RunErrorRequest request);
  void run_error(RunErrorRequest request, Callback<RunState> done);

  // ---- Upkeep ----

  Result<std::uint64_t> reap(ReapRequest request);
  void reap(ReapRequest request, Callback<std::uint64_t> done);

  Result<std::uint64_t> purge(PurgeRequest request);
  void purge(PurgeRequest request, Callback<std::uint64_t> done);

  // Two requests: the change, and then the settings as they are. Before them a third when it must not create.
  Result<QueueSettings> set_queue(QueueSetRequest request);
  void set_queue(QueueSetRequest request, Callback<QueueSettings> done);
  Result<QueueSettings> pause(std::string queue);
  void pause(std::string queue, Callback<QueueSettings> done);
  Result<QueueSettings> resume(std::string queue);
  void resume(std::string queue, Callback<QueueSettings> done);

  // ---- Reads ----

  Result<std::optional<Order>> order(std::string_view queue, std::string_view id);
  void order(std::string_view queue, std::string_view id, Callback<std::optional<Order>> done);
  Result<Page> list(ListRequest request);
  void list(ListRequest request, Callback<Page> done);
  Result<std::string> why(std::string_view queue, std::string_view id);
  void why(std::string_view queue, std::string_view id, Callback<std::string> done);
  Result<std::vector<HistoryEntry>> history(std::string_view queue, std::string_view id,
                                            std::uint32_t limit = 1000);
  void history(std::string_view queue, std::string_view id, std::uint32_t limit,
               Callback<std::vector<HistoryEntry>> done);
  Result<std::vector<std::string>> queues();
  void queues(Callback<std::vector<std::string>> done);
  Result<Stats> stats(std::string_view queue);
  void stats(std::string_view queue, Callback<Stats> done);
  Result<QueueSettings> queue_settings(std::string_view queue);
  void queue_settings(std::string_view queue, Callback<QueueSettings> done);
  Result<Run> run(std::string_view queue, std::string_view run);
  void run(std::string_view queue, std::string_view run, Callback<Run> done);
  Result<std::vector<std::string>> runs(std::string_view queue);
  void runs(std::string_view queue, Callback<std::vector<std::string>> done);
  Result<CheckReport> check(std::string_view queue = {});
  void check(std::string_view queue, Callback<CheckReport> done);

  // By the sequence and the clock of the server: where a reconcile begins.
  Result<ReadMark> read_mark();
  void read_mark(Callback<ReadMark> done);

  // Whether the server answers.
  Result<> ping();
  void ping(Callback<void> done);

  // For the library itself.
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace duelease
