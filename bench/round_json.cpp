#include "round_json.h"

namespace duelease::bench {

std::string text_of(const Round& round) {
  nlohmann::json json = {{"completed", round.completed},
                         {"resident_bytes", round.resident_bytes},
                         {"disk_bytes", round.disk_bytes},
                         {"figures", nlohmann::json::array()},
                         {"latencies", nlohmann::json::array()}};
  for (const Figure& figure : round.figures) {
    json["figures"].push_back({figure.name, figure.value, figure.more_is_better});
  }
  for (const Histogram& histogram : round.latencies) {
    json["latencies"].push_back({histogram.classes(), histogram.max_ms()});
  }
  return json.dump();
}

Round round_from_text(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  Round round;
  round.completed = json["completed"];
  round.resident_bytes = json["resident_bytes"];
  round.disk_bytes = json["disk_bytes"];
  for (const nlohmann::json& figure : json["figures"])
    round.figures.push_back({figure[0], figure[1], figure[2]});
  for (std::size_t i = 0; i < round.latencies.size(); ++i) {
    const nlohmann::json& one = json["latencies"].at(i);
    round.latencies[i] = Histogram(one[0].get<Histogram::Classes>(), one[1]);
  }
  return round;
}

}  // namespace duelease::bench
