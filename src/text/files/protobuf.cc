#include "text/files/protobuf.h"

#include <cstring>

#include "longformer/error.h"
#include "text/unicode/utf8.h"

namespace longformer::text {
namespace {

constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kBytes = 2;
constexpr uint64_t kFixed32 = 5;

}  // namespace

void ProtobufReader::fail(const std::string& rule) const {
  throw Error(ErrorCode::kInvalidFile,
              "no valid SentencePiece model: " + rule + " at byte " + std::to_string(base_ + at_),
              place_);
}

uint64_t ProtobufReader::read_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) fail("a number is cut off");
    const auto byte = static_cast<uint8_t>(bytes_[at_++]);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail("a number is longer than ten bytes");
}

uint64_t ProtobufReader::read_fixed(size_t size) {
  if (bytes_.size() - at_ < size) fail("a number is cut off");
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes_[at_ + i]);
  at_ += size;
  return value;
}

bool ProtobufReader::next() {
  if (at_ == bytes_.size()) return false;
  const uint64_t key = read_varint();
  field_ = key >> 3;
  wire_ = key & 7;
  if (field_ == 0 || field_ > 0x1FFFFFFF) fail("a field has a number outside 1..2^29-1");
  switch (wire_) {
    case kVarint:
      number_ = read_varint();
      return true;
    case kFixed64:
      number_ = read_fixed(8);
      return true;
    case kFixed32:
      number_ = read_fixed(4);
      return true;
    case kBytes: {
      const uint64_t length = read_varint();
      if (length > bytes_.size() - at_) fail("a field is longer than what is left of the file");
      value_begin_ = at_;
      value_ = bytes_.substr(at_, length);
      at_ += length;
      return true;
    }
    default:
      fail("a field has a wire type that the format does not use");
  }
}

void ProtobufReader::expect(uint64_t wire) const {
  if (wire_ != wire) fail("field " + std::to_string(field_) + " has the wrong wire type");
}

uint64_t ProtobufReader::varint() const {
  expect(kVarint);
  return number_;
}

float ProtobufReader::float32() const {
  expect(kFixed32);
  const auto bits = static_cast<uint32_t>(number_);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string_view ProtobufReader::bytes() const {
  expect(kBytes);
  return value_;
}

ProtobufReader ProtobufReader::message() const { return {bytes(), base_ + value_begin_, place_}; }

std::string_view ProtobufReader::string() const {
  const std::string_view text = bytes();
  if (utf8::valid_prefix(text) != text.size()) fail("a text is not UTF-8");
  return text;
}

}  // namespace longformer::text
