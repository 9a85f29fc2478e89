#include "text/files/json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer::text {
namespace {

// Builds the DOM from the parser's events; keeps the first fault with its place.
class Builder : public nlohmann::json_sax<Json> {
 public:
  // `where` are the keys on the way to the object that fills the vocabulary.
  Builder(Vocabulary* vocabulary, std::vector<std::string> where, std::string place)
      : vocabulary_(vocabulary), where_(std::move(where)), place_(std::move(place)) {}

  Json take() { return std::move(root_); }
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kInvalidFile, message, place_);
  }

  bool null() override { return value(Json()); }
  bool boolean(bool v) override { return value(Json(v)); }
  bool number_integer(number_integer_t v) override {
    return in_vocabulary_ ? entry(v) : value(Json(v));
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (!in_vocabulary_) return value(Json(v));
    return entry(v > INT32_MAX ? int64_t{INT32_MAX} : static_cast<int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t&) override { return value(Json(v)); }
  bool string(string_t& v) override { return value(Json(std::move(v))); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (vocabulary_ != nullptr && !in_vocabulary_ && keys_ == where_) {
      in_vocabulary_ = true;
      return true;
    }
    return open(Json::object());
  }
  bool end_object() override {
    if (in_vocabulary_) {
      in_vocabulary_ = false;
      return value(Json());
    }
    return close();
  }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& v) override {
    if (in_vocabulary_) {
      if (v.size() > kMaxTokenBytes)
        fail(entry_name() + " is longer than " + limit(kMaxTokenBytes));
      vocabulary_->emplace_back(std::move(v), 0);
      if (vocabulary_->size() > static_cast<size_t>(kMaxVocabulary)) {
        fail("more than " + std::to_string(kMaxVocabulary) + " vocabulary entries");
      }
      return true;
    }
    if (stack_.back()->contains(v))
      fail("the key \"" + printable(v) + "\" occurs twice in an object");
    keys_.back() = std::move(v);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail("not valid JSON at byte " + std::to_string(position));
  }

 private:
  static std::string limit(size_t bytes) { return std::to_string(bytes) + " bytes"; }
  std::string entry_name() const {
    return "vocabulary entry " + std::to_string(vocabulary_->size());
  }

  bool entry(int64_t id) {
    vocabulary_->back().second = checked_id(id, entry_name(), place_);
    return true;
  }

  // Puts a value where the parser stands and returns its address.
  Json* put(Json v) {
    if (++values_ > kMaxTokenizerValues) {
      fail("more than " + std::to_string(kMaxTokenizerValues) + " values outside the vocabulary");
    }
    if (in_vocabulary_) fail(entry_name() + " has no whole number as its id");
    if (stack_.empty()) {
      root_ = std::move(v);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(v));
      return &parent.back();
    }
    return &(parent[keys_.back()] = std::move(v));
  }
  bool value(Json v) {
    put(std::move(v));
    return true;
  }
  bool open(Json v) {
    if (stack_.size() >= kMaxJsonDepth) {
      fail("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    }
    Json* place = put(std::move(v));
    stack_.push_back(place);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  Vocabulary* vocabulary_;
  std::vector<std::string> where_;
  std::string place_;
  size_t values_ = 0;
  Json root_;
  std::vector<Json*>
      stack_;  // open containers; an open one is the last element of its parent, so it stays put
  std::vector<std::string> keys_;  // the current key of each
  bool in_vocabulary_ = false;
};

Json parse(std::string_view text, uint64_t max_bytes, Builder builder, const std::string& place) {
  if (text.size() > max_bytes) {
    throw Error(ErrorCode::kInvalidFile,
                "larger than the limit of " + std::to_string(max_bytes) + " bytes", place);
  }
  // The JSON library takes a NUL byte for the end of its input.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw Error(ErrorCode::kInvalidFile,
                "not valid JSON: a NUL byte at byte " + std::to_string(nul), place);
  }
  if (!Json::sax_parse(text, &builder)) builder.fail("not valid JSON");
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, uint64_t max_bytes, const std::string& place,
                Vocabulary* vocabulary) {
  return parse(text, max_bytes, Builder(vocabulary, {"model", "vocab"}, place), place);
}

Vocabulary parse_vocabulary(std::string_view text, uint64_t max_bytes, const std::string& place) {
  Vocabulary vocabulary;
  if (!parse(text, max_bytes, Builder(&vocabulary, {}, place), place).is_null()) {
    throw Error(ErrorCode::kInvalidFile, "must be an object of tokens and their ids", place);
  }
  return vocabulary;
}

JsonObject::JsonObject(const Json& json, std::string name, std::string place)
    : json_(json), name_(std::move(name)), place_(std::move(place)) {
  if (!json.is_object()) throw Error(ErrorCode::kInvalidFile, name_ + " must be an object", place_);
}

const Json* JsonObject::find(const char* key) const {
  const auto it = json_.find(key);
  return it == json_.end() || it->is_null() ? nullptr : &*it;
}

void JsonObject::fail(const char* key, const std::string& rule) const {
  throw Error(ErrorCode::kInvalidFile, member(key) + " " + rule, place_);
}

const Json& JsonObject::get(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) fail(key, "is missing");
  return *value;
}

bool JsonObject::boolean(const char* key) const {
  const Json& value = get(key);
  if (!value.is_boolean()) fail(key, "must be true or false");
  return value.get<bool>();
}

bool JsonObject::boolean(const char* key, bool fallback) const {
  return find(key) == nullptr ? fallback : boolean(key);
}

std::string JsonObject::string(const char* key) const {
  const Json& value = get(key);
  if (!value.is_string()) fail(key, "must be a string");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMaxTokenBytes) {
    fail(key, "is longer than " + std::to_string(kMaxTokenBytes) + " bytes");
  }
  return text;
}

std::string JsonObject::string(const char* key, const std::string& fallback) const {
  return find(key) == nullptr ? fallback : string(key);
}

uint64_t JsonObject::natural(const char* key) const {
  const Json& value = get(key);
  if (!value.is_number_unsigned()) fail(key, "must be a whole number, zero or more");
  return value.get<uint64_t>();
}

const Json& JsonObject::array(const char* key) const {
  const Json& value = get(key);
  if (!value.is_array()) fail(key, "must be a list");
  return value;
}

const Json& JsonObject::object(const char* key) const {
  const Json& value = get(key);
  if (!value.is_object()) fail(key, "must be an object");
  return value;
}

std::string printable(const std::string& name) {
  std::string out;
  for (const char c : name.substr(0, 64)) out += c >= 0x20 && c < 0x7F ? c : '?';
  return out;
}

int32_t checked_id(int64_t id, const std::string& what, const std::string& place) {
  if (id < 0 || id >= kMaxVocabulary) {
    throw Error(ErrorCode::kInvalidFile,
                what + ": its id must lie in 0.." + std::to_string(kMaxVocabulary - 1), place);
  }
  return static_cast<int32_t>(id);
}

void check_vocabulary(const Vocabulary& vocabulary, const std::string& place) {
  std::vector<bool> used;
  std::vector<std::string_view> tokens;
  tokens.reserve(vocabulary.size());
  for (const auto& [token, id] : vocabulary) {
    const auto index = static_cast<size_t>(id);
    if (index >= used.size()) used.resize(std::max(index + 1, used.size() * 2));
    if (used[index]) {
      throw Error(ErrorCode::kInvalidFile,
                  "two vocabulary entries have the id " + std::to_string(id), place);
    }
    used[index] = true;
    tokens.push_back(token);
  }
  std::sort(tokens.begin(), tokens.end());  // not hashed: a file can make hashes collide
  if (std::adjacent_find(tokens.begin(), tokens.end()) != tokens.end()) {
    throw Error(ErrorCode::kInvalidFile, "the vocabulary has the same token twice", place);
  }
}

}  // namespace longformer::text
