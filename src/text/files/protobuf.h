// Protocol buffers on the wire: the fields of one message, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace longformer::text {

class ProtobufReader {
 public:
  // `base` is the place of `bytes` in the file, for messages. Keeps references.
  ProtobufReader(std::string_view bytes, size_t base, const std::string& place)
      : bytes_(bytes), base_(base), place_(place) {}

  // Moves to the next field, over the value of the one before it. False at the end. Throws
  // kInvalidFile for a field that is cut off, longer than what is left, or a group.
  bool next();
  uint64_t field() const { return field_; }

  // The value of the field; throws kInvalidFile naming it where it has another wire type.
  uint64_t varint() const;
  bool boolean() const { return varint() != 0; }
  int32_t int32() const { return static_cast<int32_t>(varint()); }
  float float32() const;
  std::string_view bytes() const;
  ProtobufReader message() const;
  // As bytes(), but valid UTF-8.
  std::string_view string() const;

  [[noreturn]] void fail(const std::string& rule) const;

 private:
  uint64_t read_varint();
  uint64_t read_fixed(size_t size);
  void expect(uint64_t wire) const;

  std::string_view bytes_;
  size_t base_;
  const std::string& place_;
  size_t at_ = 0;
  uint64_t field_ = 0;
  uint64_t wire_ = 0;
  uint64_t number_ = 0;     // value of a varint or fixed field
  size_t value_begin_ = 0;  // of a field of bytes
  std::string_view value_;
};

}  // namespace longformer::text
