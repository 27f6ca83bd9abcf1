// store/records.h: values to bytes and back. The messages are in records.proto; protobuf is seen nowhere
// outside this file's .cpp. Decoding checks all that the layers above rely on, and answers Code::corrupt
// with what is wrong; whose value it is, the caller knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "duelease/result.h"
#include "duelease/types.h"
#include "model/record.h"
#include "model/run.h"
#include "store/keys.h"

namespace duelease::store {

// Family queue: always WAIT.
std::string encode_waiting(const model::Record& record);
Result<model::Record> decode_waiting(std::string_view bytes);

// Family leases: always PROCESSING, with a token.
std::string encode_lease(const model::Lease& lease);
Result<model::Lease> decode_lease(std::string_view bytes);

// Family orders: an order that is alive (its record lies elsewhere), or one that has ended. A state that
// this version does not know counts as ended: it blocks, and nothing else touches it.
using OrderRow = std::variant<Place, model::Record>;
std::string encode_live(const Place& place);
std::string encode_ended(const model::Record& record);
Result<OrderRow> decode_order(std::string_view bytes);

// Family history: what a transition was (its sequence is in the key), the record that an earlier generation of the
// id ended with, or both.
struct HistoryRow {
  std::optional<HistoryEntry> entry;
  std::optional<model::Record> ended;
};
std::string encode_entry(const HistoryEntry& entry);
// `noted`: the row that lies there already; empty: none does.
std::string encode_generation(std::string_view noted, const model::Record& ended);
Result<HistoryRow> decode_history(std::string_view bytes);

// Family meta.
std::string encode_format(std::uint32_t version);
Result<std::uint32_t> decode_format(std::string_view bytes);
std::string encode_sequence(std::uint64_t last);
Result<std::uint64_t> decode_sequence(std::string_view bytes);

struct SettingsRow {
  QueueSettings settings;
  bool may_have_history = false;  // Else family history holds no entry of this queue.
  std::string unknown;
};
std::string encode_settings(const SettingsRow& row);
Result<SettingsRow> decode_settings(std::string_view bytes);

// Family runs.
std::string encode_run(const model::RunRecord& run);
Result<model::RunRecord> decode_run(std::string_view bytes);

std::string encode_counts(const Counts& counts);
Result<Counts> decode_counts(std::string_view bytes);

}  // namespace duelease::store
