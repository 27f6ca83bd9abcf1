#include "json_object.h"

#include <fmt/format.h>

#include <utility>

#include "json.h"
#include "text.h"

namespace duelease::tools {
namespace {

// What the parser calls, in the order of the text.
class Members {
 public:
  // NOLINTBEGIN(readability-identifier-naming): nlohmann names them.
  bool null() {
    if (depth_ == 1) return keep(std::nullopt);
    return text("null");
  }
  bool boolean(bool value) { return text(value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) { return text(fmt::format("{}", value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return text(fmt::format("{}", value)); }
  bool number_float(Json::number_float_t /*value*/, const std::string& digits) { return text(digits); }
  bool string(std::string& value) { return depth_ == 1 ? keep(std::move(value)) : text(Json(value).dump()); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // Not in text.

  bool start_object(std::size_t /*size*/) { return open('{'); }
  bool end_object() { return close('}'); }
  bool start_array(std::size_t /*size*/) { return open('['); }
  bool end_array() { return close(']'); }
  bool key(std::string& name) {
    if (depth_ == 1) {
      members_.push_back({std::move(name), std::nullopt});
    } else {
      separate();
      nested_ += Json(name).dump() + ':';
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) {
    error_ = fmt::format("no JSON: byte {}, at {}", position, quote(token));
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

  Result<std::vector<JsonMember>> take() {
    if (!error_.empty()) return fail(Code::invalid, std::move(error_));
    return std::move(members_);
  }

 private:
  bool keep(std::optional<std::string> value) {
    members_.back().value = std::move(value);
    return true;
  }
  // Anything but null and strings, which are written as they are at the top.
  bool text(std::string value) {
    if (depth_ == 0) return no_object();
    if (depth_ == 1) return keep(std::move(value));
    separate();
    nested_ += value;
    return true;
  }
  bool no_object() {
    error_ = "a JSON value that is no object";
    return false;
  }
  // A comma, where something stands before.
  void separate() {
    if (!nested_.empty() && nested_.back() != '[' && nested_.back() != '{' && nested_.back() != ':') {
      nested_ += ',';
    }
  }
  bool open(char bracket) {
    if (depth_ == 0 && bracket == '[') return no_object();
    if (depth_ > 0) {
      separate();
      nested_ += bracket;
    }
    ++depth_;
    return true;
  }
  bool close(char bracket) {
    --depth_;
    if (depth_ > 0) nested_ += bracket;
    if (depth_ == 1) return keep(std::exchange(nested_, {}));
    return true;
  }

  std::vector<JsonMember> members_;
  std::size_t depth_ = 0;
  std::string nested_;  // The value at depth 1 that is being read.
  std::string error_;
};

}  // namespace

Result<std::vector<JsonMember>> read_json_object(std::string_view text) {
  Members members;
  Json::sax_parse(text, &members);
  return members.take();
}

}  // namespace duelease::tools
