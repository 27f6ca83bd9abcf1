// tools/batch_sender.h: many requests, sent in batches while the next ones are made.
//
// Reading and committing overlap: while the engine commits one batch the next is filled. One batch is under way at a
// time, so answers come in the order of the requests and the memory is that of two batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "duelease/result.h"
#include "duelease/types.h"

namespace duelease::tools {

// The row that a request was made of.
struct Sent {
  std::uint64_t number = 0;
  std::string id;
  Time due{};
  State state = State::wait;  // That it is to have.
};

template <class Request>
class BatchSender {
 public:
  using Answers = std::vector<Result<Answer>>;
  using Send = std::function<Answers(std::vector<Request>)>;  // On a thread of its own.
  using OnAnswer = std::function<void(const Sent&, const Result<Answer>&)>;

  BatchSender(Send send, OnAnswer on_answer) : send_(std::move(send)), on_answer_(std::move(on_answer)) {}

  // True: a batch was sent with it.
  bool add(std::uint64_t number, Request request) {
    batch_.bytes += request.payload ? request.payload->size() : 0;
    batch_.rows.push_back({number, request.id, request.due});
    if constexpr (requires { request.state; }) batch_.rows.back().state = request.state;
    batch_.requests.push_back(std::move(request));
    if (batch_.requests.size() < rows_max && batch_.bytes < bytes_max) return false;
    flush();
    return true;
  }

  // What was not sent yet is given up.
  void drop() { batch_ = Batch(); }

  void finish() {
    flush();
    take_answers();
  }

 private:
  static constexpr std::size_t rows_max = 1000;
  // Payloads can be large: a batch is also full at this many bytes.
  static constexpr std::size_t bytes_max = 16 * 1024 * 1024;

  struct Batch {
    std::vector<Request> requests;
    std::vector<Sent> rows;
    std::size_t bytes = 0;
  };

  // on_answer_ may drop() what was to be sent.
  void flush() {
    take_answers();
    if (batch_.requests.empty()) return;
    sent_ = std::move(batch_.rows);
    answers_ = std::async(std::launch::async, [this, requests = std::move(batch_.requests)]() mutable {
      return send_(std::move(requests));
    });
    batch_ = Batch();
  }

  void take_answers() {
    if (!answers_.valid()) return;
    const Answers answers = answers_.get();
    for (std::size_t i = 0; i < answers.size(); ++i) on_answer_(sent_[i], answers[i]);
  }

  const Send send_;
  const OnAnswer on_answer_;
  Batch batch_;             // Being filled.
  std::vector<Sent> sent_;  // Of the requests under way.
  std::future<Answers> answers_;
};

}  // namespace duelease::tools
