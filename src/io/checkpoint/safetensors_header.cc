// The header comes from anywhere: it is read as a stream of events into a fixed structure, so that
// memory is bounded by the tensors it describes.
#include "io/checkpoint/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/limits.h"
#include "io/json.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

constexpr size_t kHeaderOffset = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

// Types of the format that have no counterpart here.
constexpr std::string_view kOtherDTypes[] = {"F4",          "F6_E2M3", "F6_E3M2", "F8_E5M2",
                                             "F8_E4M3",     "F8_E8M0", "C64",     "F8_E4M3FNUZ",
                                             "F8_E5M2FNUZ", "I4",      "U4"};

[[noreturn]] void refuse(const std::string& place, const std::string& rule,
                         ErrorCode code = ErrorCode::kInvalidFile) {
  throw Error(code, rule, place);
}

std::string in_quotes(std::string_view name) { return short_value(Json(std::string(name))); }

// The events of {"__metadata__": {text: text}, name: {"dtype": text, "shape": [n, …],
// "data_offsets": [n, n]}, …}.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string place) : place_(std::move(place)) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a truth value"); }
  bool binary(binary_t&) override { return scalar("binary data"); }
  bool number_float(number_float_t, const string_t&) override { return scalar("a fraction"); }

  bool number_integer(number_integer_t value) override {
    return value == 0 ? number_unsigned(0) : scalar("a negative number");
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ == Where::kShape) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        refuse(tensor_place(), "a dimension does not fit into a signed 64-bit number");
      }
      if (last().shape->size() == kMaxRank) {
        refuse(tensor_place(), "has more than " + std::to_string(kMaxRank) + " dimensions");
      }
      last().shape->push_back(static_cast<int64_t>(value));
      return true;
    }
    if (where_ == Where::kOffsets) {
      if (offsets_.size() == 2) refuse(tensor_place(), "data_offsets must be two numbers");
      offsets_.push_back(value);
      return true;
    }
    return scalar("a number");
  }

  bool string(string_t& value) override {
    if (where_ == Where::kMetadataValue) {
      if (header_.metadata.size() >= kMaxTensors) {
        refuse(place_, "__metadata__ holds more than " + std::to_string(kMaxTensors) + " entries");
      }
      header_.metadata[key_] = std::move(value);
      where_ = Where::kMetadata;
      return true;
    }
    if (where_ == Where::kDType) {
      read_dtype(value);
      where_ = Where::kEntry;
      return true;
    }
    return scalar("a string");
  }

  bool start_object(size_t) override {
    switch (where_) {
      case Where::kStart:
        where_ = Where::kTop;
        return true;
      case Where::kTensorValue:
        where_ = key_ == kMetadataKey ? Where::kMetadata : Where::kEntry;
        if (where_ == Where::kEntry) begin_entry();
        fields_.clear();
        return true;
      default:
        return open_other("an object");
    }
  }

  bool end_object() override {
    switch (where_) {
      case Where::kMetadata:
        where_ = Where::kTop;
        return true;
      case Where::kEntry:
        end_entry();
        where_ = Where::kTop;
        return true;
      case Where::kOther:
        return close_other();
      default:
        return true;
    }
  }

  bool start_array(size_t) override {
    if (where_ == Where::kShapeValue) {
      last().shape.emplace();
      where_ = Where::kShape;
      return true;
    }
    if (where_ == Where::kOffsetsValue) {
      offsets_.clear();
      where_ = Where::kOffsets;
      return true;
    }
    return open_other("a list");
  }

  bool end_array() override {
    if (where_ == Where::kOther) return close_other();
    if (where_ == Where::kOffsets) {
      if (offsets_.size() != 2) refuse(tensor_place(), "data_offsets must be two numbers");
      last().range = {offsets_[0], offsets_[1]};
    }
    where_ = Where::kEntry;
    return true;
  }

  bool key(string_t& name) override {
    switch (where_) {
      case Where::kTop:
        if (!names_.insert(name).second)
          refuse(place_, in_quotes(name) + " stands twice in the header");
        key_ = name;
        where_ = Where::kTensorValue;
        return true;
      case Where::kMetadata:
        if (!fields_.insert(name).second) {
          refuse(place_, "__metadata__ holds the key " + in_quotes(name) + " twice");
        }
        key_ = name;
        where_ = Where::kMetadataValue;
        return true;
      case Where::kEntry:
        if (!fields_.insert(name).second) {
          refuse(tensor_place(), "holds the field " + in_quotes(name) + " twice");
        }
        where_ = name == "dtype"          ? Where::kDType
                 : name == "shape"        ? Where::kShapeValue
                 : name == "data_offsets" ? Where::kOffsetsValue
                                          : Where::kOther;
        return true;
      default:
        return true;  // inside a field that is not ours
    }
  }

  bool parse_error(size_t offset, const std::string&,
                   const nlohmann::detail::exception& error) override {
    refuse(place_ + ": byte " + std::to_string(kHeaderOffset + json_offset(offset)),
           "the header is not valid JSON: " + json_reason(error));
  }

 private:
  // What the next event belongs to.
  enum class Where {
    kStart,
    kTop,          // between tensors
    kTensorValue,  // after a tensor's name or "__metadata__"
    kMetadata,     // between metadata keys
    kMetadataValue,
    kEntry,  // between the fields of a tensor
    kDType,
    kShapeValue,
    kShape,
    kOffsetsValue,
    kOffsets,
    kOther,  // inside the value of an unknown field, which is passed over
  };

  SafetensorsEntry& last() { return header_.entries.back(); }
  const SafetensorsEntry& last() const { return header_.entries.back(); }

  std::string tensor_place() const { return place_ + ": tensor " + in_quotes(last().name); }

  // A value where none, or one of another kind, belongs.
  bool scalar(const char* kind) {
    if (where_ == Where::kOther) {
      if (other_depth_ == 0) where_ = Where::kEntry;
      return true;
    }
    misplaced(kind);
  }

  bool open_other(const char* kind) {
    if (where_ != Where::kOther) misplaced(kind);
    ++other_depth_;
    return true;
  }

  bool close_other() {
    if (--other_depth_ == 0) where_ = Where::kEntry;
    return true;
  }

  [[noreturn]] void misplaced(const std::string& kind) const {
    switch (where_) {
      case Where::kStart:
        refuse(place_, "the header holds " + kind + "; it must be a JSON object");
      case Where::kTensorValue:
        refuse(place_, in_quotes(key_) + " is " + kind + "; it must be an object");
      case Where::kMetadataValue:
        refuse(place_,
               "__metadata__ key " + in_quotes(key_) + " is " + kind + "; it must be a string");
      case Where::kDType:
        refuse(tensor_place(), "dtype is " + kind + "; it must be a string");
      case Where::kShapeValue:
      case Where::kShape:
        refuse(tensor_place(), "shape holds " + kind + "; it must be a list of whole numbers >= 0");
      default:
        refuse(tensor_place(),
               "data_offsets holds " + kind + "; it must be two whole numbers >= 0");
    }
  }

  void begin_entry() {
    if (header_.entries.size() == kMaxTensors) {
      refuse(place_, "holds more than " + std::to_string(kMaxTensors) + " tensors");
    }
    if (key_.size() > kMaxNameBytes) {
      refuse(place_, "the name " + in_quotes(key_) + " has more than " +
                         std::to_string(kMaxNameBytes) + " bytes");
    }
    header_.entries.emplace_back().name = key_;
  }

  void end_entry() const {
    const SafetensorsEntry& entry = last();
    const char* missing = !entry.dtype   ? "dtype"
                          : !entry.shape ? "shape"
                          : !entry.range ? "data_offsets"
                                         : nullptr;
    if (missing != nullptr) refuse(tensor_place(), std::string("has no ") + missing);
  }

  void read_dtype(const std::string& name) {
    last().dtype = dtype_from_name(name);
    if (last().dtype) return;
    if (std::find(std::begin(kOtherDTypes), std::end(kOtherDTypes), name) !=
        std::end(kOtherDTypes)) {
      refuse(
          tensor_place(),
          "has type " + name + ", which this version does not read; store it as F32, F16 or BF16",
          ErrorCode::kUnsupported);
    }
    refuse(tensor_place(), "has the unknown type " + in_quotes(name));
  }

  std::string place_;
  SafetensorsHeader header_;
  Where where_ = Where::kStart;
  std::string key_;
  std::set<std::string> names_;   // keys of the header
  std::set<std::string> fields_;  // keys of the object at hand
  std::vector<uint64_t> offsets_;
  size_t other_depth_ = 0;
};

}  // namespace

SafetensorsHeader read_safetensors_header(std::string_view text, const std::string& place) {
  if (const size_t start = text.find_first_not_of(" \t\r\n");
      start == std::string_view::npos || text[start] != '{') {
    refuse(place + ": byte " + std::to_string(kHeaderOffset),
           "the header must be a JSON object that begins with '{'");
  }
  check_json_text(text, place);
  HeaderReader reader(place);
  nlohmann::json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace longformer::io
