#include "train/event_file.h"

#include <array>
#include <bit>
#include <optional>

namespace longformer::train {
namespace {

constexpr size_t kLengthBytes = 8, kChecksumBytes = 4;

constexpr std::array<uint32_t, 256> make_table() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // reversed
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}

template <typename Number>
std::string little_endian(Number value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

uint64_t from_little_endian(std::string_view bytes) noexcept {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

// TensorFlow hides checksums a little, so that a checksum of checksums still tells something.
uint32_t masked_checksum(std::string_view bytes) noexcept {
  constexpr uint32_t kDelta = 0xa282ead8;
  return std::rotr(crc32c(bytes), 15) + kDelta;
}

std::string record(const std::string& message) {
  const std::string length = little_endian(static_cast<uint64_t>(message.size()));
  return length + little_endian(masked_checksum(length)) + message +
         little_endian(masked_checksum(message));
}

// Pieces of protocol buffers.
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string key(int field, WireType type) {
  return varint(static_cast<uint64_t>(field << 3 | type));
}
std::string bytes_field(int field, const std::string& bytes) {
  return key(field, kBytes) + varint(bytes.size()) + bytes;
}

// Fields of tensorflow.Event, Summary and Summary.Value.
constexpr int kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr int kSummaryValue = 1, kValueTag = 1, kValueSimple = 2;

std::string wall_time_field(double wall_time) {
  return key(kEventWallTime, kFixed64) + little_endian(std::bit_cast<uint64_t>(wall_time));
}

// The step of one of our own messages: wall time first, then the step, else none.
int64_t step_of(std::string_view message) noexcept {
  constexpr size_t kWallTimeBytes = 9;
  if (message.size() <= kWallTimeBytes || message[kWallTimeBytes] != (kEventStep << 3 | kVarint)) {
    return 0;
  }
  uint64_t step = 0;
  int shift = 0;
  for (size_t i = kWallTimeBytes + 1; i < message.size() && shift < 64; ++i, shift += 7) {
    step |= static_cast<uint64_t>(message[i] & 0x7f) << shift;
    if ((message[i] & 0x80) == 0) break;
  }
  return static_cast<int64_t>(step);
}

// The message at the start of what is left, where it is whole.
std::optional<std::string_view> next_message(std::string_view left) noexcept {
  constexpr size_t kHead = kLengthBytes + kChecksumBytes;
  if (left.size() < kHead + kChecksumBytes) return std::nullopt;
  const std::string_view length = left.substr(0, kLengthBytes);
  const uint64_t size = from_little_endian(length);
  if (from_little_endian(left.substr(kLengthBytes, kChecksumBytes)) != masked_checksum(length) ||
      size > left.size() - kHead - kChecksumBytes) {
    return std::nullopt;
  }
  const std::string_view message = left.substr(kHead, size);
  if (from_little_endian(left.substr(kHead + size, kChecksumBytes)) != masked_checksum(message)) {
    return std::nullopt;
  }
  return message;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) noexcept {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t value = 0xffffffff;
  for (const char byte : bytes) {
    value = kTable[(value ^ static_cast<unsigned char>(byte)) & 0xff] ^ (value >> 8);
  }
  return ~value;
}

std::string event_file_head(double wall_time) {
  return record(wall_time_field(wall_time) + bytes_field(kEventFileVersion, "brain.Event:2"));
}

std::string event_record(double wall_time, int64_t step,
                         const std::vector<std::pair<std::string, float>>& values) {
  std::string summary;
  for (const auto& [tag, value] : values) {
    summary +=
        bytes_field(kSummaryValue, bytes_field(kValueTag, tag) + key(kValueSimple, kFixed32) +
                                       little_endian(std::bit_cast<uint32_t>(value)));
  }
  return record(wall_time_field(wall_time) + key(kEventStep, kVarint) +
                varint(static_cast<uint64_t>(step)) + bytes_field(kEventSummary, summary));
}

size_t event_bytes_up_to(std::string_view file, int64_t step) noexcept {
  size_t kept = 0;
  while (const auto message = next_message(file.substr(kept))) {
    if (step_of(*message) > step) break;
    kept += kLengthBytes + kChecksumBytes + message->size() + kChecksumBytes;
  }
  return kept;
}

}  // namespace longformer::train
