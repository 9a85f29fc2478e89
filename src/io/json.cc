#include "io/json.h"

#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer::io {
namespace {

[[noreturn]] void throw_at(const std::string& place, size_t offset, const std::string& rule) {
  throw Error(ErrorCode::kInvalidFile, rule, place + ": byte " + std::to_string(offset));
}

// Builds the document from parser events. The library's own builder searches all keys of an object
// for each new key; here an index does, so that a hostile file cannot make it quadratic.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string place, DuplicateKeys duplicates)
      : place_(std::move(place)), duplicates_(duplicates) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    auto& object = level.value->get_ref<Json::object_t&>();
    const auto [place, added] = level.keys.try_emplace(name, object.size());
    if (added) {
      object.emplace_back(name, Json());
    } else if (duplicates_ == DuplicateKeys::kRefused) {
      throw Error(ErrorCode::kInvalidFile,
                  "the key " + short_value(Json(name)) + " stands twice in one object", place_);
    }
    slot_ = &std::next(object.begin(), static_cast<std::ptrdiff_t>(place->second))->second;
    return true;
  }

  bool parse_error(size_t offset, const std::string&,
                   const nlohmann::detail::exception& error) override {
    throw_at(place_, json_offset(offset), "is not valid JSON: " + json_reason(error));
  }

 private:
  struct Level {
    Json* value;
    std::map<std::string, size_t> keys;  // of an object; ordered: crafted keys cannot collide
  };

  // Parents do not change while a child is open, so pointers into them stay good.
  template <typename Value>
  Json* place_value(Value&& value) {
    if (++values_ > kMaxJsonValues) {
      throw Error(ErrorCode::kInvalidFile,
                  "holds more than " + std::to_string(kMaxJsonValues) + " values", place_);
    }
    Json* target = &root_;
    if (!levels_.empty()) {
      if (levels_.back().value->is_array()) {
        auto& array = levels_.back().value->get_ref<Json::array_t&>();
        target = &array.emplace_back();
      } else {
        target = slot_;
      }
    }
    *target = std::forward<Value>(value);
    return target;
  }

  template <typename Value>
  bool add(Value&& value) {
    place_value(std::forward<Value>(value));
    return true;
  }

  bool open(Json&& container) {
    Json* const target = place_value(std::move(container));
    levels_.push_back({target, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string place_;
  DuplicateKeys duplicates_;
  Json root_;
  std::vector<Level> levels_;
  Json* slot_ = nullptr;  // where the value of the last key goes
  uint64_t values_ = 0;
};

}  // namespace

void check_json_text(std::string_view text, const std::string& place) {
  // The JSON library takes a NUL byte for the end of its input.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw_at(place, nul, "is not valid JSON: a NUL byte");
  }
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        throw_at(place, i, "JSON is nested deeper than " + std::to_string(kMaxJsonDepth));
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
}

size_t json_offset(size_t bytes_read) noexcept { return bytes_read == 0 ? 0 : bytes_read - 1; }

std::string json_reason(const std::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while parsing
  // value - invalid literal; last read: '…'; expected …": the piece of the file after "last read"
  // may be anything.
  std::string_view text = error.what();
  text = text.substr(0, text.find("; last read"));
  if (const size_t number = text.find("number overflow"); number != std::string_view::npos) {
    return "a number is too large";
  }
  if (const size_t start = text.find(": "); start != std::string_view::npos) {
    text.remove_prefix(start + 2);
  }
  return std::string(text.substr(0, 120));
}

std::string short_value(const Json& value) {
  constexpr size_t kShown = 40;
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  if (value.is_object()) return "an object";
  if (!value.is_string()) return value.dump();
  std::string text = value.get_ref<const std::string&>();
  const bool cut = text.size() > kShown;
  if (cut) {
    size_t end = kShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
  }
  text = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return cut ? text + "..." : text;
}

Json parse_json(std::string_view text, const std::string& place, DuplicateKeys duplicates) {
  if (text.size() > kMaxJsonBytes) {
    throw Error(ErrorCode::kInvalidFile,
                "JSON is larger than " + std::to_string(kMaxJsonBytes) + " bytes", place);
  }
  check_json_text(text, place);
  Builder builder(place, duplicates);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace longformer::io
