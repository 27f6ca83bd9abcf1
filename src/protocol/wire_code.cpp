// The code words of the wire, and the codes of the library.
#include "protocol/request.h"

namespace duelease::protocol {

std::string_view wire_code_name(WireCode code) {
  switch (code) {
    case WireCode::err: return "ERR";
    case WireCode::invalid: return "INVALID";
    case WireCode::not_found: return "NOTFOUND";
    case WireCode::not_alive: return "NOTALIVE";
    case WireCode::busy: return "BUSY";
    case WireCode::too_large: return "TOOLARGE";
    case WireCode::no_auth: return "NOAUTH";
    case WireCode::denied: return "DENIED";
    case WireCode::overloaded: return "OVERLOADED";
    case WireCode::corrupt: return "CORRUPT";
    case WireCode::storage: return "STORAGE";
    case WireCode::closing: return "CLOSING";
  }
  return "ERR";
}

WireCode wire_code(Code code) {
  switch (code) {
    case Code::invalid: return WireCode::invalid;
    case Code::too_large: return WireCode::too_large;
    case Code::not_found: return WireCode::not_found;
    case Code::not_alive: return WireCode::not_alive;
    case Code::busy: return WireCode::busy;
    case Code::overloaded: return WireCode::overloaded;
    case Code::corrupt: return WireCode::corrupt;
    case Code::closing: return WireCode::closing;
    case Code::denied: return WireCode::denied;
    case Code::locked:
    case Code::newer_format:
    case Code::unreachable:
    case Code::storage: return WireCode::storage;
  }
  return WireCode::storage;
}

std::optional<Code> code_of_wire(std::string_view name) {
  if (name == "ERR" || name == "INVALID") return Code::invalid;
  if (name == "NOTFOUND") return Code::not_found;
  if (name == "NOTALIVE") return Code::not_alive;
  if (name == "BUSY") return Code::busy;
  if (name == "TOOLARGE") return Code::too_large;
  if (name == "NOAUTH" || name == "DENIED") return Code::denied;
  if (name == "OVERLOADED") return Code::overloaded;
  if (name == "CORRUPT") return Code::corrupt;
  if (name == "STORAGE") return Code::storage;
  if (name == "CLOSING") return Code::closing;
  return std::nullopt;
}

}  // namespace duelease::protocol
