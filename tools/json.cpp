#include "json.h"

#include "output.h"
#include "text.h"

namespace duelease::tools {

Json json_bytes(std::string_view bytes) {
  if (is_utf8(bytes)) return Json(bytes);
  Json wrapped = Json::object();
  wrapped["base64"] = base64(bytes);
  return wrapped;
}

std::string json_line(const Json& document) {
  // Messages of the engine may quote a value: whatever came in beside json_bytes must not end the program.
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_json(const Json& document) { say("{}", json_line(document)); }

}  // namespace duelease::tools
