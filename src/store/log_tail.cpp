#include "store/log_tail.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "store/rocks_read.h"

namespace duelease::store {

namespace {

constexpr std::size_t block_bytes = 32 * 1024;
constexpr std::size_t fragment_head_bytes = 7;
constexpr std::size_t batch_head_bytes = 12;  // A batch begins with its sequence number and its count.
constexpr std::size_t synced_bytes = 8;
constexpr std::size_t mark_bytes = synced_bytes + sizeof(LogSecret);

enum FragmentType : unsigned char { whole = 1, first = 2, last = 4 };

// The reflected polynomial of CRC-32C.
constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t masked_crc(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

template <class Int>
Int little_endian(std::string_view bytes) {
  Int out = 0;
  for (std::size_t i = sizeof(Int); i > 0; --i) {
    out = static_cast<Int>(out << 8 | static_cast<unsigned char>(bytes[i - 1]));
  }
  return out;
}

// The bytes of the fragment that begins `block`; none when it does not check out.
std::optional<std::string_view> read_fragment(std::string_view block) {
  if (block.size() < fragment_head_bytes) return std::nullopt;
  const auto type = static_cast<unsigned char>(block[6]);
  if (type < whole || type > last) return std::nullopt;
  const std::size_t length = little_endian<std::uint16_t>(block.substr(4));
  if (length > block.size() - fragment_head_bytes) return std::nullopt;
  if (masked_crc(block.substr(6, 1 + length)) != little_endian<std::uint32_t>(block)) return std::nullopt;
  return block.substr(fragment_head_bytes, length);
}

// The mark lies in the batch as RocksDB writes data for the log alone: tag 3, a length, the bytes.
std::uint64_t mark_of(std::string_view batch, const LogSecret& secret) {
  constexpr std::string_view head("\x03\x10", 2);
  static_assert(mark_bytes == 0x10);
  if (batch.size() < batch_head_bytes + head.size() + mark_bytes) return 0;
  batch.remove_prefix(batch_head_bytes);
  if (!batch.starts_with(head)) return 0;
  batch.remove_prefix(head.size());
  if (!batch.substr(synced_bytes).starts_with(std::string_view(secret.data(), secret.size()))) return 0;
  return little_endian<std::uint64_t>(batch);
}

// Damage may hide where fragments begin: then every byte may be such a place.
void read_block(std::string_view block, const LogSecret& secret, LogTail& tail) {
  for (std::size_t at = 0; at + fragment_head_bytes <= block.size();) {
    const std::optional<std::string_view> fragment = read_fragment(block.substr(at));
    if (!fragment) {
      ++at;
      continue;
    }
    const auto type = static_cast<unsigned char>(block[at + 6]);
    if (type == whole || type == first) tail.synced = std::max(tail.synced, mark_of(*fragment, secret));
    at += fragment_head_bytes + fragment->size();
  }
}

Result<> read_file(rocksdb::Env& env, const std::string& path, std::uint64_t from,
                   const std::optional<LogSecret>& secret, LogTail& tail) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status = env.NewSequentialFile(path, &file, rocksdb::EnvOptions{});
  // Blocks are counted from the start of the file.
  const std::uint64_t first_block = from / block_bytes * block_bytes;
  if (status.ok()) status = file->Skip(first_block);
  if (!status.ok()) return to_error(status, "reading log " + path);
  std::vector<char> buffer(block_bytes);
  std::uint64_t bytes = 0;
  for (std::uint64_t at = first_block;; at += block_bytes) {
    rocksdb::Slice got;
    status = file->Read(buffer.size(), &got, buffer.data());
    if (!status.ok()) return to_error(status, "reading log " + path);
    if (got.empty()) break;
    std::string_view block(got.data(), got.size());
    const std::uint64_t start = std::max(at, from);
    block.remove_prefix(std::min<std::size_t>(start - at, block.size()));
    if (secret) read_block(block, *secret, tail);
    const std::size_t last_byte = block.find_last_not_of('\0');
    if (last_byte != std::string_view::npos) bytes = start + last_byte + 1 - from;
  }
  tail.bytes += bytes;
  return {};
}

// "000123.log"
std::optional<std::uint64_t> log_number(std::string_view name) {
  if (!name.ends_with(".log")) return std::nullopt;
  name.remove_suffix(4);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

std::uint64_t end_of_record(std::uint64_t offset, std::size_t bytes) {
  for (bool is_first = true; is_first || bytes > 0; is_first = false) {
    std::size_t room = block_bytes - offset % block_bytes;
    if (room < fragment_head_bytes) {
      offset += room;
      room = block_bytes;
    }
    const std::size_t taken = std::min(bytes, room - fragment_head_bytes);
    offset += fragment_head_bytes + taken;
    bytes -= taken;
  }
  return offset;
}

Result<LogSecret> draw_log_secret() {
  LogSecret secret;
  if (::getentropy(secret.data(), secret.size()) == 0) return secret;
  return fail(Code::storage, std::string("drawing random bytes: ") + std::strerror(errno));
}

std::optional<LogSecret> log_secret_in(const std::optional<std::string>& row) {
  LogSecret secret;
  if (!row || row->size() != secret.size()) return std::nullopt;
  std::copy(row->begin(), row->end(), secret.begin());
  return secret;
}

void put_synced_mark(rocksdb::WriteBatch& batch, std::uint64_t synced, const LogSecret& secret) {
  std::array<char, mark_bytes> mark{};
  for (std::size_t i = 0; i < synced_bytes; ++i) {
    mark[i] = static_cast<char>(synced & 0xff);
    synced >>= 8;
  }
  std::copy(secret.begin(), secret.end(), mark.begin() + synced_bytes);
  batch.PutLogData({mark.data(), mark.size()});
}

Result<LogTail> read_log_tail(rocksdb::Env& env, const std::string& folder, LogPlace end,
                              const std::optional<LogSecret>& secret) {
  std::vector<std::string> names;
  if (const rocksdb::Status status = env.GetChildren(folder, &names); !status.ok()) {
    return to_error(status, "reading logs in " + folder);
  }
  std::map<std::uint64_t, std::string> files;
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> number = log_number(name);
    if (number && *number >= end.file) files.emplace(*number, name);
  }
  LogTail tail;
  for (const auto& [number, name] : files) {
    const std::uint64_t from = number == end.file ? end.offset : 0;
    std::string path = folder;
    path += '/';
    path += name;
    if (Result<> r = read_file(env, path, from, secret, tail); !r) return Unexpected{r.error()};
    tail.files.push_back(name);
  }
  return tail;
}

}  // namespace duelease::store
