#include "fuzz/checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "model/random.h"
#include "protocol/answer.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "protocol/words.h"

namespace duelease::fuzz {
namespace {

using namespace duelease::protocol;
using model_test::Random;

constexpr Time now{Duration{1'700'000'000'000}};

bool printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

// How the bytes come: at once, one by one, or in pieces that `dice` decides on.
enum class Cut : std::uint8_t { none, each, random };

std::vector<std::string_view> pieces(std::string_view bytes, Cut cut) {
  Random dice(bytes.size());
  std::vector<std::string_view> out;
  while (!bytes.empty()) {
    std::size_t size = bytes.size();
    if (cut == Cut::each) size = 1;
    if (cut == Cut::random) size = std::min<std::size_t>(size, 1 + dice.below(dice.one_in(4) ? 200 : 8));
    out.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return out;
}

// ---- Words ----

struct Read {
  std::vector<std::vector<std::string>> requests{};
  std::string error{};
  std::size_t held = 0;

  bool operator==(const Read&) const = default;
};

Read read_words(std::string_view bytes, Cut cut, WordLimits limits) {
  Read read;
  WordReader reader(limits);
  for (const std::string_view piece : pieces(bytes, cut)) {
    reader.feed(piece);
    while (true) {
      const Result<std::optional<Words>> words = reader.next();
      if (!words) {
        read.error = words.error().message;
        break;
      }
      if (!*words) break;
      read.requests.emplace_back((*words)->begin(), (*words)->end());
    }
  }
  read.held = reader.bytes_held();
  return read;
}

std::string as_array(const std::vector<std::string>& words) {
  std::string out;
  print_array(out, words.size());
  for (const std::string& word : words) print_bulk(out, word);
  return out;
}

std::variant<Request, Refusal> parse(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return parse_request(views, now);
}

std::string fault_in_request(const std::vector<std::string>& words) {
  const WordLimits unlimited{
      .request_bytes_max = SIZE_MAX, .line_bytes_max = SIZE_MAX, .words_max = SIZE_MAX};
  if (words.empty()) return "a request without a word";
  if (const Read again = read_words(as_array(words), Cut::none, unlimited);
      again.requests.size() != 1 || again.requests.front() != words)
    return "the words as an array are read as others";

  const auto parsed = parse(words);
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
    if (refusal->code != WireCode::err && refusal->code != WireCode::invalid)
      return "refused with another code";
    if (!printable(refusal->message) || refusal->message.size() > 1000)
      return "the refusal is no line for a person: " + refusal->message;
    return {};
  }
  std::string printed;
  print_request(printed, std::get<Request>(parsed));
  const Read again = read_words(printed, Cut::none, unlimited);
  if (again.requests.size() != 1) return "what was written is not one request: " + printed;
  const auto parsed_again = parse(again.requests.front());
  const auto* request = std::get_if<Request>(&parsed_again);
  if (request == nullptr) return "what was written is refused: " + std::get<Refusal>(parsed_again).message;
  std::string printed_again;
  print_request(printed_again, *request);
  if (request->index() != std::get<Request>(parsed).index() || printed_again != printed)
    return "what was written is read as another request: " + printed + "and then " + printed_again;
  return {};
}

// ---- Replies ----

void print_value(std::string& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::simple: print_simple(out, value.text); break;
    case Value::Kind::error: out.append("-").append(value.text).append("\r\n"); break;
    case Value::Kind::integer: print_integer(out, value.integer); break;
    case Value::Kind::bulk: print_bulk(out, value.text); break;
    case Value::Kind::nil: print_nil(out); break;
    case Value::Kind::array:
      print_array(out, value.array.size());
      for (const Value& element : value.array) print_value(out, element);
  }
}

// What was read, printed again reply by reply.
struct ReadReplies {
  std::vector<Value> replies{};
  std::string printed{};
  std::string error{};

  bool operator==(const ReadReplies& other) const { return printed == other.printed && error == other.error; }
};

ReadReplies read_replies(std::string_view bytes, Cut cut, ReplyLimits limits) {
  ReadReplies read;
  ReplyReader reader(limits);
  for (const std::string_view piece : pieces(bytes, cut)) {
    reader.feed(piece);
    while (true) {
      Result<std::optional<Value>> reply = reader.next();
      if (!reply) {
        read.error = reply.error().message;
        break;
      }
      if (!*reply) break;
      print_value(read.printed, **reply);
      read.replies.push_back(std::move(**reply));
    }
  }
  return read;
}

// Reads the value as what `read` reads; what can be read is printed and read back as the same.
template <class ReadAs, class Print>
std::string fault_as(std::string_view what, const Value& value, const ReadAs& read, const Print& print) {
  const auto first = read(value);
  if (!first) {
    const Code code = first.error().code;
    if (value.kind != Value::Kind::error && code != Code::corrupt)
      return std::string(what) + " is refused with another code";
    return {};
  }
  std::string printed;
  print(printed, *first);
  const ReadReplies again = read_replies(printed, Cut::none, {});
  if (again.replies.size() != 1) return std::string(what) + " is printed as no reply: " + printed;
  const auto second = read(again.replies.front());
  if (!second) return std::string(what) + " that was printed is refused: " + second.error().message;
  std::string printed_again;
  print(printed_again, *second);
  return printed == printed_again ? std::string()
                                  : std::string(what) + " that was printed is read as another";
}

std::string fault_in_value(const Value& value) {
  for (const Asked asked : {Asked::other, Asked::reschedule, Asked::cancel, Asked::retry}) {
    const auto read = [&](const Value& v) { return read_answer(v, asked); };
    if (std::string fault = fault_as("answer", value, read, print_answer); !fault.empty()) return fault;
  }
  const auto print_text = [](std::string& out, const std::string& text) { print_bulk(out, text); };
  const auto print_count = [](std::string& out, std::uint64_t count) {
    print_integer(out, static_cast<std::int64_t>(count));
  };
  for (std::string fault : {
           fault_as("claimed", value, read_claimed, print_claimed),
           fault_as("order", value, read_order, print_order),
           fault_as("page", value, read_page, print_page),
           fault_as("history", value, read_history, print_history),
           fault_as("names", value, read_names, print_names),
           fault_as("stats", value, read_stats, print_stats),
           fault_as("settings", value, read_settings, print_settings),
           fault_as("run state", value, read_run_state, print_run_state),
           fault_as("run", value, read_run, print_run),
           fault_as("check", value, read_check, print_check),
           fault_as("text", value, read_text, print_text),
           fault_as("count", value, read_count, print_count),
       }) {
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::string fault_in_words(std::string_view bytes) {
  const WordLimits few{.request_bytes_max = 100, .line_bytes_max = 50, .words_max = 6};
  for (const WordLimits& limits : {WordLimits{}, few}) {
    const Read whole = read_words(bytes, Cut::none, limits);
    for (const Cut cut : {Cut::each, Cut::random}) {
      if (const Read parts = read_words(bytes, cut, limits); parts != whole)
        return "cut into pieces it is read as something else: " + parts.error + " and not " + whole.error;
    }
    if (!whole.error.empty() && (!printable(whole.error) || whole.error.size() > 500))
      return "the error is no line for a person: " + whole.error;
    for (const std::vector<std::string>& words : whole.requests) {
      if (words.size() > limits.words_max) return "a request has more words than are allowed";
      if (std::string fault = fault_in_request(words); !fault.empty()) return fault;
    }
  }
  return {};
}

std::string fault_in_replies(std::string_view bytes) {
  const ReplyLimits few{.reply_bytes_max = 100, .depth_max = 3};
  for (const ReplyLimits& limits : {ReplyLimits{}, few}) {
    const ReadReplies whole = read_replies(bytes, Cut::none, limits);
    for (const Cut cut : {Cut::each, Cut::random}) {
      if (const ReadReplies parts = read_replies(bytes, cut, limits); !(parts == whole))
        return "cut into pieces it is read as something else: " + parts.error + " and not " + whole.error;
    }
    if (!whole.error.empty() && !printable(whole.error))
      return "the error is no line for a person: " + whole.error;
    if (read_replies(whole.printed, Cut::none, {}).printed != whole.printed)
      return "what was printed is read as something else";
    for (const Value& value : whole.replies) {
      if (std::string fault = fault_in_value(value); !fault.empty()) return fault;
    }
  }
  return {};
}

}  // namespace duelease::fuzz
