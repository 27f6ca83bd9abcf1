// duelease/work_source.h: all that a Worker needs of whoever hands out orders. The embedded engine is one;
// a client that reaches an engine over a network is another, and runs the same Worker.
//
// Each method returns at once and answers by its callback, exactly once, as the methods of the same name of
// Engine do and with the same outcomes and errors. The callback may run on any thread, also on the caller's
// before the method returns; it does not block and does not throw. A claim that answers an order with lease 0 says
// that it does not know what is left: the worker begins once an extend has told. See Claimed::lease_length too.
#pragma once

#include <vector>

#include "duelease/callback.h"
#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease {

class WorkSource {
 public:
  virtual ~WorkSource() = default;

  virtual ClaimTicket claim(ClaimRequest request, Callback<std::vector<Claimed>> done) = 0;
  virtual void cancel_claim(ClaimTicket ticket) = 0;
  virtual void complete(CompleteRequest request, Callback<Answer> done) = 0;
  virtual void fail(FailRequest request, Callback<Answer> done) = 0;
  virtual void release(ReleaseRequest request, Callback<Answer> done) = 0;
  virtual void extend(ExtendRequest request, Callback<Answer> done) = 0;
};

}  // namespace duelease
