#include "client/validate.h"

#include <string>

namespace duelease::client {

namespace {

constexpr Duration day{86'400'000};

Result<> within(const char* what, Duration value, Duration min, Duration max) {
  if (value >= min && value <= max) return {};
  return fail(Code::invalid, std::string(what) + " is " + std::to_string(value.count()) +
                                 " ms, allowed are " + std::to_string(min.count()) + " to " +
                                 std::to_string(max.count()));
}

}  // namespace

Result<> validate(const ClientOptions& options) {
  constexpr Duration tick{1};
  const Result<> all[] = {
      within("connect timeout", options.connect_timeout, tick, day),
      within("request timeout", options.request_timeout, tick, day),
      within("scan timeout", options.scan_timeout, tick, 30 * day),
      within("backoff base", options.backoff_base, tick, day),
      within("backoff cap", options.backoff_cap, options.backoff_base, day),
  };
  for (const Result<>& one : all) {
    if (!one) return one;
  }
  if (options.host.empty()) return fail(Code::invalid, "host is empty");
  if (options.port == 0) return fail(Code::invalid, "port is 0, allowed are 1 to 65535");
  if (options.password.empty() && !options.user.empty())
    return fail(Code::invalid, "user " + options.user + " has no password");
  if (options.requests_in_flight_max == 0)
    return fail(Code::invalid, "a limit of 0 requests lets nothing happen");
  if (options.waiting_claims_max == 0)
    return fail(Code::invalid,
                "a limit of 0 claims that wait lets no claim wait, and no check and purge happen");
  return {};
}

}  // namespace duelease::client
