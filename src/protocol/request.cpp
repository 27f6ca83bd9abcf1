#include "protocol/request.h"

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/quote.h"
#include "protocol/greetings.h"
#include "protocol/reply.h"
#include "protocol/shapes.h"
#include "protocol/word_values.h"

namespace duelease::protocol {
namespace {

using base::quote;
using Parsed = std::variant<Request, Refusal>;

template <class R>
constexpr bool has_shape = !std::is_null_pointer_v<std::remove_cvref_t<decltype(shape<R>)>>;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// ---- Usage texts ----

template <class R>
std::string name_of() {
  if constexpr (has_shape<R>) {
    std::string name(shape<R>.verb);
    if (!shape<R>.second.empty()) name.append(" ").append(shape<R>.second);
    return name;
  } else {
    return std::string(Greeting<R>::verb);
  }
}

template <class R>
std::string usage_of() {
  std::string usage = name_of<R>();
  if constexpr (has_shape<R>) {
    const auto add_place = [&](const auto& place) {
      usage += place.may_lack ? " [" : " ";
      usage += place.name;
      if (place.may_lack) usage += ']';
    };
    const auto add_option = [&](const auto& option) {
      usage.append(" [").append(option.word);
      if (!option.value.empty()) usage.append(" ").append(option.value);
      usage += ']';
    };
    std::apply([&](const auto&... place) { (add_place(place), ...); }, shape<R>.places);
    std::apply([&](const auto&... option) { (add_option(option), ...); }, shape<R>.options);
  } else {
    usage.append(" ").append(Greeting<R>::usage);
  }
  return usage;
}

// ---- Reading ----

// Reads the words behind the verb into `request`; the first fault ends it.
template <class R>
class Reading {
 public:
  Reading(Words words, Time now, R& request) : words_(words), now_(now), request_(request) {}

  bool read() {
    constexpr auto& form = shape<R>;
    if (!std::apply([&](const auto&... place) { return (read_place(place) && ...); }, form.places))
      return false;
    if (form.needs_option && words_.empty()) return wrong_words(name_of<R>() + " needs one field or more");
    std::uint32_t seen = 0;
    while (!words_.empty()) {
      const std::string_view word = words_.front();
      std::uint32_t bit = 1;
      // Answers whether the word names this option; the fold ends there.
      const auto try_option = [&](const auto& option) {
        const std::uint32_t mine = std::exchange(bit, bit << 1);
        if (!same_word(word, option.word)) return false;
        words_ = words_.subspan(1);
        if ((std::exchange(seen, seen | mine) & mine) != 0) {
          wrong_words(std::string(option.word) + " stands twice");
        } else {
          read_option(option);
        }
        return true;
      };
      const bool known = std::apply(
          [&](const auto&... option) { return (try_option(option) || ... || false); }, form.options);
      if (!known) return wrong_words(name_of<R>() + " does not take " + quote(word));
      if (refusal_) return false;
    }
    return true;
  }

  std::optional<Refusal>& refusal() { return refusal_; }

 private:
  template <class Place>
  bool read_place(const Place& place) {
    if (words_.empty()) {
      return place.may_lack ||
             wrong_words("the " + std::string(place.name) + " of " + name_of<R>() + " is missing");
    }
    return read_value(place.name, request_.*place.member);
  }

  template <class Option>
  bool read_option(const Option& option) {
    auto& member = request_.*option.member;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, bool>) {
      member = true;
      return true;
    } else {
      if (words_.empty()) return wrong_words(std::string(option.word) + " has no value");
      return read_value(option.word, member);
    }
  }

  template <class Member>
  bool read_value(std::string_view name, Member& member) {
    const std::string wrong = read_word(words_.front(), now_, member);
    if (!wrong.empty()) {
      refusal_ = Refusal{WireCode::invalid, std::string(name) + ": " + wrong};
      return false;
    }
    words_ = words_.subspan(1);
    return true;
  }

  bool wrong_words(std::string what) {
    refusal_ = Refusal{WireCode::err, std::move(what) + "; usage: " + usage_of<R>()};
    return false;
  }

  Words words_;
  const Time now_;
  R& request_;
  std::optional<Refusal> refusal_{};
};

template <class R>
Parsed parse_as(Words words, Time now) {
  if constexpr (has_shape<R>) {
    Parsed parsed(std::in_place_index<0>, std::in_place_type<R>);
    Reading<R> reading(words, now, *std::get_if<R>(std::get_if<0>(&parsed)));
    if (!reading.read()) parsed = std::move(*reading.refusal());
    return parsed;
  } else {
    std::optional<R> request = Greeting<R>::read(words);
    if (!request) return Refusal{WireCode::err, "wrong words; usage: " + usage_of<R>()};
    return Parsed(std::in_place_index<0>, std::move(*request));
  }
}

// ---- The table ----

struct Verb {
  std::string_view word;
  std::string_view second;
  Parsed (*parse)(Words words, Time now);
  VerbUsage (*usage)();
};

template <class R>
constexpr Verb verb() {
  const auto usage = [] { return VerbUsage{name_of<R>(), usage_of<R>()}; };
  if constexpr (has_shape<R>) {
    return {shape<R>.verb, shape<R>.second, parse_as<R>, usage};
  } else {
    return {Greeting<R>::verb, {}, parse_as<R>, usage};
  }
}

constexpr Verb table[] = {
    verb<ScheduleRequest>(), verb<ClaimRequest>(),     verb<CompleteRequest>(),   verb<FailRequest>(),
    verb<ReleaseRequest>(),  verb<ExtendRequest>(),    verb<RescheduleRequest>(), verb<CancelRequest>(),
    verb<ImportRequest>(),   verb<ReconcileRequest>(), verb<MarkRequest>(),       verb<PopRequest>(),
    verb<RetryRequest>(),    verb<ReapRequest>(),      verb<OrderRequest>(),      verb<ListRequest>(),
    verb<WhyRequest>(),      verb<HistoryRequest>(),   verb<QueuesRequest>(),     verb<StatsRequest>(),
    verb<QueueSetRequest>(), verb<QueueShowRequest>(), verb<PauseRequest>(),      verb<ResumeRequest>(),
    verb<PurgeRequest>(),    verb<RunOpenRequest>(),   verb<RunStartRequest>(),   verb<RunBeatRequest>(),
    verb<RunDoneRequest>(),  verb<RunErrorRequest>(),  verb<RunShowRequest>(),    verb<RunListRequest>(),
    verb<CheckRequest>(),    verb<PingRequest>(),      verb<EchoRequest>(),       verb<AuthRequest>(),
    verb<HelloRequest>(),    verb<InfoRequest>(),      verb<TimeRequest>(),       verb<CommandRequest>(),
    verb<ClientRequest>(),   verb<SelectRequest>(),    verb<QuitRequest>(),
};
static_assert(std::size(table) == std::variant_size_v<Request>);

Refusal unknown_verb(Words words) {
  std::string seconds;
  for (const Verb& verb : table) {
    if (!same_word(words[0], verb.word)) continue;
    if (!seconds.empty()) seconds += ", ";
    seconds.append(verb.word).append(" ").append(verb.second);
  }
  if (!seconds.empty()) {
    const std::string got = words.size() > 1 ? quote(words[1]) : "nothing";
    return {WireCode::err, "there is " + seconds + ", but behind " + quote(words[0]) + " stands " + got};
  }
  return {WireCode::err, "unknown verb " + quote(words[0])};
}

// ---- Writing ----

// Calls `put` with each word of the request.
template <class R, class Put>
void print_words(const R& request, const Put& put) {
  if constexpr (has_shape<R>) {
    constexpr auto& form = shape<R>;
    put(form.verb);
    if (!form.second.empty()) put(form.second);
    const auto print_value = [&](const auto& member) {
      if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>) {
        print_word(*member, put);
      } else {
        print_word(member, put);
      }
    };
    static const R defaults{};
    const auto is_default = [](const auto& member, const auto& normal) { return member == normal; };
    const auto print_place = [&](const auto& place) {
      const auto& member = request.*place.member;
      if (!place.may_lack || !is_default(member, defaults.*place.member)) print_value(member);
    };
    const auto print_option = [&](const auto& option) {
      const auto& member = request.*option.member;
      if (is_default(member, defaults.*option.member)) return;
      put(option.word);
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(member)>, bool>) print_value(member);
    };
    std::apply([&](const auto&... place) { (print_place(place), ...); }, form.places);
    std::apply([&](const auto&... option) { (print_option(option), ...); }, form.options);
  } else {
    put(Greeting<R>::verb);
    for (const std::string_view word : Greeting<R>::print(request)) put(word);
  }
}

}  // namespace

Parsed parse_request(Words words, Time now) {
  for (const Verb& verb : table) {
    if (!same_word(words[0], verb.word)) continue;
    if (verb.second.empty()) return verb.parse(words.subspan(1), now);
    if (words.size() > 1 && same_word(words[1], verb.second)) return verb.parse(words.subspan(2), now);
  }
  return unknown_verb(words);
}

void print_request(std::string& out, const Request& request) {
  std::visit(
      [&](const auto& asked) {
        std::size_t count = 0;
        print_words(asked, [&](std::string_view) { ++count; });
        print_array(out, count);
        print_words(asked, [&](std::string_view word) { print_bulk(out, word); });
      },
      request);
}

std::span<const VerbUsage> verbs() {
  static const std::vector<VerbUsage> made = [] {
    std::vector<VerbUsage> usages;
    for (const Verb& verb : table) usages.push_back(verb.usage());
    return usages;
  }();
  return made;
}

}  // namespace duelease::protocol
