// tools/json.h: documents for scripts.
//
// Numbers of the engine stay numbers and times are milliseconds since the epoch, under the field names of
// the line protocol. Ids, keys, payloads, results and error texts are bytes: where they are UTF-8 they are
// a string, else the object {"base64": "..."}, so that nothing is lost and no document is ever invalid.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace duelease::tools {

using Json = nlohmann::ordered_json;

Json json_bytes(std::string_view bytes);

// One line, without its end.
std::string json_line(const Json& document);

// Writes it to standard output, with the end of the line.
void print_json(const Json& document);

}  // namespace duelease::tools
