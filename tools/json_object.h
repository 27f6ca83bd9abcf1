// tools/json_object.h: one JSON object, read into the names and texts of its members.
//
//     {"id": 7, "at": "2026-12-01", "lot": null, "tags": ["a", 1.50]}
//     id: 7        at: 2026-12-01        lot: none        tags: ["a",1.50]
//
// Numbers keep the digits that they came with, so that none is rounded; what is nested stays JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "duelease/result.h"

namespace duelease::tools {

struct JsonMember {
  std::string name;
  std::optional<std::string> value;  // Absent: null.
};

// In the order of the text; a name may come twice. Error: invalid, the text is no JSON object.
Result<std::vector<JsonMember>> read_json_object(std::string_view text);

}  // namespace duelease::tools
